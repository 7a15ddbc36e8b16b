"""Evidence, tests of flaws and findings, as values; `sentences` turns them into English.

Every test is one-sided: only a result worse than chance is a flaw.
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
from assay.support.stats.significance import binomial_at_least

if TYPE_CHECKING:
    from assay.measures.measure import Measure
    from assay.measures.profile import Profile
    from assay.measures.sample_size import MoreSeeds
    from assay.measures.success.task_changes import TaskChange

T = TypeVar("T")
TOLERATED = 0.05
"""Share of unperturbed episodes lost, or of nonsense obeyed, that does not count as a flaw."""
HARMLESS = 0.05
"""A loss that is significantly smaller than this is harmless."""


class Shows(StrEnum):
    """Conclusion from one piece of evidence, adjusted for the other pieces of its kind."""

    NOTHING = ""
    LOSS = "loss"
    NO_HARM = "no harm"


@dataclass(frozen=True, slots=True)
class Evidence(Result):
    """A number that a finding rests on."""

    run: int
    """Index of the profile, from 0; the first if it is from several."""
    measure: str
    """Name of the measure in the profile."""
    part: str
    """Part of the measure (a change, a noun, an axis, a condition, ...); empty for all of it."""
    value: float
    """A share, or a difference of shares."""
    interval: Interval | None
    p: float | None
    """One-sided p of a flaw before adjustment; None if not tested."""
    hits: int | None = None
    """Count of successes, or of what the measure counts."""
    count: int | None = None
    """Number of episodes behind ``hits``."""
    reference_hits: int | None = None
    """The same counts for the reference."""
    reference_count: int | None = None
    share: float | None = None
    """The measured share, if it is a mean of shares."""
    reference: float | None = None
    """The reference share."""
    cost: bool = False
    """Whether the value is the cost of a whole change: success with it less success without it."""
    shows: Shows = Shows.NOTHING
    at_least: bool = False
    """Whether episodes that could not be judged may add to the hits."""
    same_tasks: bool = True
    """Whether the reference has the same tasks."""
    runs: tuple[int, ...] = ()
    """Indices of all profiles that were pooled; empty for a single one."""
    task: str = ""
    """The task concerned; empty for all tasks."""


@dataclass(frozen=True, slots=True)
class FlawTest:
    """A flaw as a hypothesis about runs."""

    flaw: str
    """A `Flaw`, or one that the measure contributes."""
    evidence: tuple[Evidence, ...]
    """The tested evidence first."""
    p: float
    """One-sided."""
    size: Interval
    """Share of episodes that the flaw spoils."""
    min_effect: float = 0.0
    """Smallest value of the tested number that is reported."""
    least_p: float = 0.0
    """Smallest one-sided p that the informative starts can reach."""
    refuted: bool = False
    """Whether the runs show that the flaw is absent, unless the test finds it."""
    detail: Result | None = None
    """Further results about the flaw."""
    table: pl.DataFrame | None = None
    """Loss by start: task, start, control, perturbed (successes of either), count."""

    @property
    def degree(self) -> Degree:
        """Share of the behaviour that the flaw spoils."""
        return Degree.of(self.size)

    def covers(self, other: FlawTest) -> bool:
        """Whether it is large enough to be the cause of another flaw, apart from harmless losses."""
        return abs(self.evidence[0].value) >= other.size.low - max(other.min_effect, HARMLESS)


@dataclass(frozen=True, slots=True)
class Untested(Result):
    """Reason why runs cannot decide whether a flaw is present."""

    flaw: str
    measure: str
    """The measure that would test it."""
    too_few: bool = False
    """Whether there are suitable episodes, but too few of them."""
    notes: tuple[str, ...] = ()
    """Reasons given by the measure itself."""


Profiles = Sequence[tuple[int, "Profile"]]
"""Profiles of runs with their indices, from 0."""


def select_results(profiles: Profiles, measure: Measure[T]) -> tuple[tuple[int, ...], list[T]]:
    """Indices of the runs that have the result of a measure, and the results."""
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
    """Evidence from one run or several pooled runs; ``counts``: hits and count, then those of the reference."""
    more |= zip(("hits", "count", "reference_hits", "reference_count"), counts, strict=False)
    more["runs"] = runs if len(runs) > 1 else ()
    return Evidence(runs[0], measure, part, value, interval, p, **more)


def one_sided_p(change: float, p: float) -> float:
    """One-sided p of a fall from the two-sided p of a change; 1 for a rise."""
    return p / 2 if change < 0 else 1.0


def loss(change: Interval) -> Interval:
    """Interval of the loss from the interval of the change."""
    return Interval(-change.high, -change.low, change.method)


def p_above_tolerated(hits: int, count: int) -> float:
    """One-sided exact p that a share exceeds the tolerated one."""
    return binomial_at_least(hits, count, TOLERATED)


class Verdict(StrEnum):
    """Conclusion of the runs about a flaw."""

    FOUND = "found"
    EXPLAINED = "explained"
    """Present as the consequence of another flaw that was found."""
    NOT_FOUND = "not found"
    CANNOT_TELL = "cannot tell"


class Claim(StrEnum):
    """Kind of statement about a flaw."""

    PRESENT = "present"
    ABSENT = "absent"
    """The runs show that it is absent."""
    NO_SIGN = "no sign"
    """Neither presence nor absence is significant."""
    TOO_FEW = "too few starts"
    UNTESTED = "untested"
    """The runs have no episodes that would test it."""


@dataclass(frozen=True, slots=True)
class Unnoticed(Result):
    """Sensitivity of the tests if no flaw was found."""

    looked_for: int
    """Number of flaws tested."""
    flaw: str | None
    """The flaw of the change with the widest interval."""
    loss: float | None
    """The largest loss that its interval allows."""
    seen: float | None
    """Loss that every tested change would have revealed with a power of 80 %; None if no loss would."""
    too_few: int = 0
    """Number of flaws with too few starts."""


@dataclass(frozen=True, slots=True)
class Fall(Result):
    """Success of the controls, and over all changes that should not matter."""

    control_hits: int
    control_count: int
    """Starts, each counted once."""
    hits: int
    count: int
    telling: int
    """Informative starts: those whose control succeeds."""
    more: MoreSeeds | None
    """Seeds that would make this fall significant; None without a fall, or if no reasonable number would."""
    alike_p: float | None
    """p that all changes cost the same; None for fewer than three single changes."""
    costly: tuple[str, ...]
    """Changes that cost significantly more than the others."""
    likely: str | None = None
    """Flaw of the change whose loss is suspicious but not significant, if any."""
    likely_p: float | None = None
    """Its adjusted p."""


@dataclass(frozen=True, slots=True)
class Where(Result):
    """Tasks in which a change costs success."""

    uneven_p: float | None
    """p that it costs the same in all tasks; None for a single task."""
    tasks: tuple[TaskChange, ...]
    """Tasks that lose significantly more than the others."""
    of: int
    """Number of tasks."""


@dataclass(frozen=True, slots=True)
class Finding(Result):
    """Conclusion about one flaw."""

    flaw: str
    verdict: Verdict
    claim: Claim
    degree: Degree | None
    """Share of the behaviour that the flaw spoils; None if nothing was tested."""
    evidence: tuple[Evidence, ...]
    """Tested evidence with the smallest p first."""
    p: float | None
    """One-sided, adjusted for all tests and searches; None if nothing was tested."""
    cause: str | None = None
    """The flaw that explains it, if any."""
    untested: Untested | None = None
    """What the runs lack, if it could not be tested."""
    detail: Result | None = None
    """Further results about the flaw."""
    where: Where | None = None
    """Affected tasks, if the flaw is found and there are several tasks."""
    more: MoreSeeds | None = None
    """Seeds that would make an observed loss significant."""
