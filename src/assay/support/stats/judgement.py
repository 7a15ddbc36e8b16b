"""Comparison of two policies as data: the verdicts of duels and gates, and their exit status."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class PairVerdict(StrEnum):
    """Verdict on B relative to A."""

    BETTER = "better"
    """The difference B - A is above 0."""
    EQUIVALENT = "equivalent"
    """The difference is within the margin on both sides."""
    NOT_WORSE = "not worse"
    """B is not worse than A by more than the margin; whether it is better is undecided."""
    WORSE = "worse"
    """The difference is below 0, possibly by more than the margin."""
    UNDECIDED = "undecided"

    @property
    def final(self) -> bool:
        """Whether a duel ends with this verdict; after "not worse", more episodes may still show that B is better."""
        return self in (PairVerdict.BETTER, PairVerdict.EQUIVALENT, PairVerdict.WORSE)

    @property
    def status(self) -> int:
        """Exit status: 0 if B may replace A, 1 if it may not, 3 if undecided."""
        return {PairVerdict.WORSE: 1, PairVerdict.UNDECIDED: 3}.get(self, 0)


def verdict_of(*, above_zero: bool, below_zero: bool, above_loss: bool, below_gain: bool) -> PairVerdict:
    """Return the verdict, given whether the difference is known to be > 0, < 0, > -margin and < margin.

    A loss within the margin is acceptable, however certain it is.
    """
    if above_zero:
        return PairVerdict.BETTER
    if above_loss and below_gain:
        return PairVerdict.EQUIVALENT
    if below_zero:
        return PairVerdict.WORSE
    return PairVerdict.NOT_WORSE if above_loss else PairVerdict.UNDECIDED


@dataclass(frozen=True, slots=True)
class Line:
    """Comparison of B with A in one condition, or overall."""

    condition: str | None
    """Name of the condition; None for all conditions combined, including controls."""
    starts: int
    """Number of starts (task and initial state)."""
    pairs: int
    """Number of episode pairs in which neither episode ended in an error."""
    first_rate: float | None
    """Success rate or progress of A, 0 to 1; None if there are no pairs."""
    second_rate: float | None
    change: float | None
    """Difference B - A. After a duel that found one, corrected for having stopped then (see `median_unbiased`)."""
    low: float
    """Lower end of the interval for the difference, -1 to 1."""
    high: float
    verdict: PairVerdict
    planned: int | None = None
    """Number of starts that a duel planned at first; None for a gate."""
    rule: str | None = None
    """`Rule` by which a duel was decided; None if it was not."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Comparison of B with A, overall and by condition."""

    first: str
    """Name of A."""
    second: str
    overall: Line
    conditions: tuple[Line, ...]
    """Comparisons by condition, in the order of the plan; their intervals hold simultaneously."""
    margin: float
    """Margin within which differences are considered irrelevant, 0 to 1."""
    alpha: float
    """Maximum probability that any verdict, overall or for a single condition, is false."""
    anytime: bool
    """Whether the intervals are anytime-valid (a duel), or valid for these episodes only (a gate)."""
    each: bool
    """Whether a verdict for every condition was also requested."""
    played: int
    """Number of episodes recorded for both policies."""
    planned: int
    """Number of episodes planned for both policies."""
    errors: int
    """Number of episodes with errors, for both policies together; these are not compared."""
    measure: str = "success"
    """Quantity that is compared: success or progress."""

    @property
    def asked(self) -> tuple[Line, ...]:
        """The comparisons that determine the verdict."""
        return (self.overall, *self.conditions) if self.each else (self.overall,)

    @property
    def verdict(self) -> PairVerdict:
        """Overall verdict: worse if any requested comparison is worse, else undecided if any is undecided."""
        verdicts = {line.verdict for line in self.asked}
        for verdict in (PairVerdict.WORSE, PairVerdict.UNDECIDED):
            if verdict in verdicts:
                return verdict
        return self.overall.verdict

    @property
    def status(self) -> int:
        """Exit status for the verdict: 0, 1 or 3."""
        return self.verdict.status

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as plain JSON types."""
        return {"verdict": self.verdict, "status": self.status, **asdict(self)}
