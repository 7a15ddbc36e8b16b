"""Which of two policies is better, as data: what duels and gates say, and the exit status that goes with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class PairVerdict(StrEnum):
    """What is known of B against A."""

    BETTER = "better"
    """The difference is above 0."""
    EQUIVALENT = "equivalent"
    """The difference is within the margin, on either side."""
    NOT_WORSE = "not worse"
    """B is not worse than A by more than the margin; whether it is better is open."""
    WORSE = "worse"
    """The difference is below 0, and may be beyond the margin."""
    UNDECIDED = "undecided"

    @property
    def final(self) -> bool:
        """Whether a duel ends with it: more episodes could still say more where B is only not worse."""
        return self in (PairVerdict.BETTER, PairVerdict.EQUIVALENT, PairVerdict.WORSE)

    @property
    def status(self) -> int:
        """The exit status: 0 for what may replace A, 1 for what may not, 3 if undecided."""
        return {PairVerdict.WORSE: 1, PairVerdict.UNDECIDED: 3}.get(self, 0)


def verdict_of(*, above_zero: bool, below_zero: bool, above_loss: bool, below_gain: bool) -> PairVerdict:
    """The verdict on a difference that is sure to be above or below 0, above -margin, below margin.

    A loss within the margin does not matter, however sure it is.
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
    """B against A in one condition, or in all."""

    condition: str | None
    """None for all together, controls too."""
    starts: int
    """Tasks and initial states."""
    pairs: int
    """Episodes that both did without an error."""
    first_rate: float | None
    """Success of A, or its progress, 0 to 1; None where there is no pair."""
    second_rate: float | None
    change: float | None
    """B - A."""
    low: float
    """Lower end of its interval, -1 to 1."""
    high: float
    verdict: PairVerdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """B against A, overall and by condition."""

    first: str
    """What A is called."""
    second: str
    overall: Line
    conditions: tuple[Line, ...]
    """In the order of the plan; their intervals hold together."""
    margin: float
    """Differences within it do not matter, 0 to 1."""
    alpha: float
    """How often anything false is said at most: of all together, and of any of the conditions."""
    anytime: bool
    """Whether the intervals hold whenever one looks (a duel), or for these episodes alone (a gate)."""
    each: bool
    """Whether every condition was asked for, too."""
    played: int
    """Episodes of both that were recorded."""
    planned: int
    """Episodes of both that the plan has."""
    errors: int
    """Episodes of both that broke, and count for neither."""
    measure: str = "success"
    """What is compared: success, or how far episodes come (progress)."""

    @property
    def asked(self) -> tuple[Line, ...]:
        """What was to be decided."""
        return (self.overall, *self.conditions) if self.each else (self.overall,)

    @property
    def verdict(self) -> PairVerdict:
        """On what was asked for: the worst of it that is known, else whether something is open."""
        verdicts = {line.verdict for line in self.asked}
        for verdict in (PairVerdict.WORSE, PairVerdict.UNDECIDED):
            if verdict in verdicts:
                return verdict
        return self.overall.verdict

    @property
    def status(self) -> int:
        """The exit status."""
        return self.verdict.status

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"verdict": self.verdict, "status": self.status, **asdict(self)}
