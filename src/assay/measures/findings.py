"""Evidence, tests for flaws and findings, as dataclasses that `sentences` describes in English.

Every test is one-sided: only a result that is worse than expected is a flaw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from assay.measures.flaws import Degree
from assay.measures.result import Result
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import SURE

if TYPE_CHECKING:
    from assay.measures.measure import Measure, Profile
    from assay.measures.sample_size import MoreSeeds
    from assay.measures.success.task_changes import TaskChange

T = TypeVar("T")
TOLERATED = 0.05
"""Tolerated rate of unperturbed episodes that fail, or of episodes that succeed with a nonsense instruction."""
HARMLESS = 0.05
"""Loss of success, 0 to 1, below which a change counts as harmless."""
SUSPICIOUS_P = 0.1
"""Adjusted one-sided p value below which a loss is mentioned as suspicious although it is not significant."""


class Shows(StrEnum):
    """Conclusion from one piece of evidence, corrected for multiple testing over all evidence of its kind."""

    NOTHING = ""
    LOSS = "loss"
    NO_HARM = "no harm"


def shows_loss(p: float, interval: Interval) -> Shows:
    """Return `Shows.LOSS` if the adjusted p value of a change is significant and its interval is below 0."""
    return Shows.LOSS if p < SURE and interval.high < 0 else Shows.NOTHING


@dataclass(frozen=True, slots=True)
class Evidence(Result):
    """Number that supports a finding, with its interval and counts."""

    run: int
    """Index of the run's profile, from 0; the first one if several runs are pooled."""
    measure: str
    """Name of the measure in the profile."""
    part: str
    """Part of the measure (a change, a noun, an axis, a condition, ...); empty for the complete measure."""
    value: float
    """Measured value: a rate (0 to 1), or a difference between two rates."""
    interval: Interval | None
    """Interval of ``value``, for these tasks."""
    p: float | None
    """One-sided p value of the test for the flaw, unadjusted; None if not tested."""
    hits: int | None = None
    """Number of successes, or of other events that the measure counts."""
    count: int | None = None
    """Number of episodes in which ``hits`` were counted."""
    reference_hits: int | None = None
    """Number of successes (or other events) in the reference, such as the controls."""
    reference_count: int | None = None
    """Number of episodes in the reference."""
    share: float | None = None
    """Measured rate, if it is a mean of several rates instead of ``hits / count``."""
    reference: float | None = None
    """Rate in the reference, 0 to 1."""
    cost: bool = False
    """Whether ``value`` is the cost of an entire change: success with the change minus success without it."""
    shows: Shows = Shows.NOTHING
    at_least: bool = False
    """Whether ``hits`` is a lower bound because some episodes could not be judged."""
    same_tasks: bool = True
    """Whether the reference covers the same tasks as the episodes in ``count``."""
    runs: tuple[int, ...] = ()
    """Indices of all pooled runs; empty for a single run."""
    task: str = ""
    """Name of the task; empty for all tasks."""
    over_tasks: Interval | None = None
    """Interval of ``value`` for tasks in general; None if unknown, as for names, phrasings and single tasks.

    Their tests compare episodes within a task, and the verdict is about these tasks.
    """


@dataclass(frozen=True, slots=True)
class FlawTest:
    """Test of whether a policy has a flaw."""

    flaw: str
    """`Flaw` or name of a flaw defined by the measure."""
    evidence: tuple[Evidence, ...]
    """All evidence for the flaw; the evidence that is tested comes first."""
    p: float
    """One-sided p value, unadjusted."""
    size: Interval
    """Interval of the fraction of episodes that the flaw affects."""
    min_effect: float = 0.0
    """Smallest effect, 0 to 1, that counts as a flaw."""
    least_p: float = 0.0
    """Smallest one-sided p value attainable with the informative starts."""
    refuted: bool = False
    """Whether the runs show the flaw to be absent if the test is not significant."""
    detail: Result | None = None
    """Further results about the flaw."""
    table: pl.DataFrame | None = None
    """Successes by start. Columns: task, start, control and perturbed (numbers of successes), count."""
    family_factor: float = 1.0
    """Factor by which multiple testing raises the p value once all tests have enough informative starts."""


@dataclass(frozen=True, slots=True)
class Untested(Result):
    """Reason why a flaw cannot be tested with the runs."""

    flaw: str
    measure: str
    """Measure that would test the flaw."""
    too_few: bool = False
    """Whether there are suitable episodes, but too few."""
    notes: tuple[str, ...] = ()
    """Reasons given by the measure."""


Profiles = Sequence[tuple[int, "Profile"]]
"""Profiles of runs with their indices, from 0."""


def select_results(profiles: Profiles, measure: Measure[T]) -> tuple[tuple[int, ...], list[T]]:
    """Return the indices of the runs for which a measure has a result, and those results."""
    pairs = [(run, value) for run, profile in profiles if (value := profile.get(measure)) is not None]
    return tuple(run for run, _ in pairs), [value for _, value in pairs]


def evidence_from(
    runs: tuple[int, ...],
    measure: str,
    part: str,
    value: float,
    interval: Interval | None,
    p: float | None,
    *counts: int | None,
    **more: Any,
) -> Evidence:
    """Return evidence from one run or from several pooled runs.

    ``counts`` are hits, count, reference_hits and reference_count, as far as they are known.
    """
    more |= zip(("hits", "count", "reference_hits", "reference_count"), counts, strict=False)
    more["runs"] = runs if len(runs) > 1 else ()
    return Evidence(runs[0], measure, part, value, interval, p, **more)


def one_sided_p(change: float, p: float) -> float:
    """Convert the two-sided p value of a change to the one-sided p value of a decrease; 1 for an increase."""
    return p / 2 if change < 0 else 1.0


class Verdict(StrEnum):
    """Verdict on a flaw."""

    FOUND = "found"
    EXPLAINED = "explained"
    """The flaw is a consequence of another flaw that was found."""
    NOT_FOUND = "not found"
    CANNOT_TELL = "cannot tell"


class Claim(StrEnum):
    """Kind of statement about a flaw."""

    PRESENT = "present"
    ABSENT = "absent"
    """The runs show the flaw to be absent."""
    NO_SIGN = "no sign"
    """Neither presence nor absence is significant."""
    TOO_FEW = "too few starts"
    UNTESTED = "untested"
    """The runs have no episodes that test the flaw."""
    ERRORS = "too many errors"
    """The fraction of errors is too high for the other episodes to be representative."""


@dataclass(frozen=True, slots=True)
class Errors(Result):
    """Episodes that ended in an error."""

    count: int
    done: int
    """Number of recorded episodes, including errors."""


@dataclass(frozen=True, slots=True)
class Unnoticed(Result):
    """Sensitivity of the tests when no flaw was found."""

    looked_for: int
    """Number of flaws tested."""
    flaw: str | None
    """Flaw whose loss has the widest interval."""
    loss: float | None
    """Largest loss within that interval, 0 to 1."""
    seen: float | None
    """Smallest loss that would be detected with 80 % power under every tested change; None if there is no such loss."""
    too_few: int = 0
    """Number of flaws that could not be tested because there are too few starts."""
    memory: float | None = None
    """Largest fraction of episodes with a memorised trajectory that is not excluded; None if not tested."""


@dataclass(frozen=True, slots=True)
class Fall(Result):
    """Overall drop in success, from the controls to the episodes with changes that should not matter."""

    control_hits: int
    """Number of controls that succeed."""
    control_count: int
    """Number of controls: one per start."""
    hits: int
    """Number of perturbed episodes that succeed."""
    count: int
    """Number of perturbed episodes."""
    telling: int
    """Number of informative starts: those whose control succeeds."""
    more: MoreSeeds | None
    """Number of seeds with which a loss worth finding would be found; None if it is excluded or found already."""
    p: float | None
    """One-sided p value of the drop, unadjusted: how often chance alone produces such a drop."""
    alike_p: float | None
    """p value of the hypothesis that all changes cost the same; None for fewer than three single changes."""
    costly: tuple[str, ...]
    """Changes that cost significantly more than the others."""
    likely: str | None = None
    """Most likely cause: the flaw whose loss is suspicious but not significant, if any."""
    likely_p: float | None = None
    """Adjusted p value of the loss attributed to ``likely``."""


@dataclass(frozen=True, slots=True)
class Where(Result):
    """Tasks in which a change reduces success."""

    uneven_p: float | None
    """p value of the hypothesis that the change costs the same in all tasks; None for a single task."""
    tasks: tuple[TaskChange, ...]
    """Tasks that lose significantly more success than the others."""
    of: int
    """Total number of tasks, affected or not."""


@dataclass(frozen=True, slots=True)
class Finding(Result):
    """Conclusion about one flaw."""

    flaw: str
    verdict: Verdict
    claim: Claim
    degree: Degree | None
    """Degree of the flaw, from the fraction of episodes it affects; None if nothing was tested."""
    evidence: tuple[Evidence, ...]
    """All evidence for the flaw; the tested evidence with the smallest p value comes first."""
    p: float | None
    """One-sided p value, adjusted for all tests; None if nothing was tested.

    For an exploratory finding: the false discovery rate at which all of its evidence is found.
    """
    cause: str | None = None
    """Another flaw that causes this flaw, if any."""
    untested: Untested | None = None
    """Reason why the flaw could not be tested; None if it was tested."""
    detail: Result | None = None
    """Further results about the flaw."""
    where: Where | None = None
    """Affected tasks, if the flaw was found and there are several tasks."""
    more: MoreSeeds | None = None
    """Number of seeds with which a loss worth finding would be found; None if it is excluded or found already."""
    exploratory: bool = False
    """Whether the finding comes from a search: its false discovery rate is at most 5 %; confirm it with new seeds."""

    @property
    def is_suspicious(self) -> bool:
        """Whether a loss was observed that is nearly significant."""
        first = self.evidence[0] if self.claim in (Claim.NO_SIGN, Claim.TOO_FEW) and self.evidence else None
        is_loss = first is not None and first.cost and first.value < -HARMLESS
        return is_loss and self.p is not None and self.p < SUSPICIOUS_P
