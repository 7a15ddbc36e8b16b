"""What a diagnosis rests on: numbers, and hypotheses about flaws that they test. No sentences: reports write them.

Every test is one-sided: only what is worse than chance is a flaw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl

from assay.measures.flaws import Degree
from assay.measures.profile import Profile
from assay.measures.result import Result
from assay.measures.success.drops import Drop
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import binomial_at_least

TOLERATED = 0.05
"""The share of unchanged episodes lost, or of nonsense obeyed, that is nobody's fault."""
HARMLESS = 0.05
"""A loss that does no harm, if it is less than this beyond doubt."""

Among = Sequence[tuple[int, Profile]]
"""Runs and which they are, from 0."""


class Shows(StrEnum):
    """What a piece of evidence shows by itself, adjusted for its like."""

    NOTHING = ""
    LOSS = "loss"
    NO_HARM = "no harm"


@dataclass(frozen=True, slots=True)
class Evidence(Result):
    """A number that a finding rests on."""

    run: int
    """Which of the profiles, from 0; the first, where it is from several."""
    measure: str
    """The name of the measure in the profile."""
    part: str
    """What of it: a change, a noun, an axis, a condition, ...; empty for all."""
    value: float
    """A share, or a difference of shares."""
    interval: Interval | None
    p: float | None
    """One-sided: of a flaw, not of its opposite. Before it was adjusted; None for what was not tested."""
    hits: int | None = None
    """What was counted: successes, or what the measure is about."""
    count: int | None = None
    """Among so many."""
    reference_hits: int | None = None
    """The same of what it is compared with."""
    reference_count: int | None = None
    share: float | None = None
    """The share that was measured, where it is a mean of shares."""
    reference: float | None = None
    """The share that it is compared with."""
    cost: bool = False
    """Whether the value is what a whole change costs: success with it less success without."""
    shows: Shows = Shows.NOTHING
    at_least: bool = False
    """Whether there may be more hits, among what could not be judged."""
    same_tasks: bool = True
    """Whether it is compared with the same tasks."""
    runs: tuple[int, ...] = ()
    """All the profiles that it was taken from together; empty where that is one."""
    task: str = ""
    """The task that it is about; empty where that is all of them."""


@dataclass(frozen=True, slots=True)
class FlawTest:
    """A flaw as a hypothesis about runs."""

    flaw: str
    """A `Flaw`, or one that the measure brings."""
    evidence: tuple[Evidence, ...]
    """What was tested first."""
    p: float
    """One-sided."""
    size: Interval
    """The share of episodes that the flaw spoils."""
    min_effect: float = 0.0
    """What the tested number must come to, to be worth telling."""
    least_p: float = 0.0
    """The least p, one-sided, that the starts that can tell can come to."""
    refuted: bool = False
    """Whether the runs show that the flaw is not there, unless the test finds it."""
    detail: Result | None = None
    """What else the runs tell about it."""
    table: pl.DataFrame | None = None
    """Of a loss, start by start: task, start, control, perturbed (successes of either), count."""

    @property
    def degree(self) -> Degree:
        """How much of what the policy does the flaw spoils."""
        return Degree.of(self.size)

    def covers(self, other: FlawTest) -> bool:
        """Whether it may be the cause of another flaw: it is as large as that surely is, but for what does no harm."""
        return abs(self.evidence[0].value) >= other.size.low - max(other.min_effect, HARMLESS)


@dataclass(frozen=True, slots=True)
class Untested(Result):
    """Why runs cannot tell whether there is a flaw."""

    flaw: str
    measure: str
    """The one that would tell."""
    too_few: bool = False
    """Whether there is what could tell, but too little of it; otherwise there is nothing of the kind."""
    notes: tuple[str, ...] = ()
    """What the measure itself says is missing."""


def evidence_from(
    runs: tuple[int, ...],
    measure: str,
    part: str,
    value: float,
    interval: Interval | None,
    p: float | None,
    **more: Any,
) -> Evidence:
    """A number from one run or from several together."""
    return Evidence(runs[0], measure, part, value, interval, p, **more, runs=runs if len(runs) > 1 else ())


def drop_evidence(runs: tuple[int, ...], measure: str, part: str, drop: Drop) -> Evidence:
    """What a change costs."""
    once = drop.pairs == drop.starts  # otherwise controls are counted several times
    return evidence_from(
        runs,
        measure,
        part,
        drop.change,
        drop.interval,
        one_sided_p(drop.change, drop.p),
        hits=drop.both + drop.only_perturbed,
        count=drop.pairs,
        reference_hits=drop.both + drop.only_control if once else None,
        reference_count=drop.pairs if once else None,
        reference=drop.control,
        cost=True,
    )


def one_sided_p(change: float, p: float) -> float:
    """The one-sided p of a fall, from that of a change either way (twice a tail): a rise is no flaw."""
    return p / 2 if change < 0 else 1.0


def loss(change: Interval) -> Interval:
    """What is lost, from what is changed."""
    return Interval(-change.high, -change.low, change.method)


def p_above_tolerated(hits: int, count: int) -> float:
    """One-sided exact p of a share that is tolerated."""
    return binomial_at_least(hits, count, TOLERATED)
