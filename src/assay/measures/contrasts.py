"""What a comparison of runs says, as data: differences of success and of robustness, and what is decided about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.measures.result import Result
from assay.support.stats.intervals import Interval


class Decision(StrEnum):
    """What is decided about the second run against the first."""

    BETTER = "better"
    """The difference is certain (Holm), and positive."""
    WORSE = "worse"
    """The difference is certain, and negative."""
    EQUIVALENT = "equivalent"
    """Not certain, and the whole interval is within the margin."""
    UNDECIDED = "undecided"


class Aspect(StrEnum):
    """In what robustness is compared."""

    DROP = "drop"
    """Success perturbed less success of the control of the same task and seed."""
    KEPT = "kept"
    """Success perturbed, of the episodes whose control succeeds with the same policy."""


@dataclass(frozen=True, slots=True)
class Contrast(Result):
    """Two runs on the same episodes."""

    first: str
    second: str
    condition: str | None
    """None for all together in which success is expected; of all, if there is none of these."""
    count: int
    """Specs that both did."""
    both: int
    only_first: int
    only_second: int
    neither: int
    first_rate: float
    second_rate: float
    change: float
    """second - first"""
    interval: Interval
    """Newcombe's, over starts and wordings; reaches to 0 where the test cannot exclude that."""
    p: float
    """The larger of an exact test over starts, McNemar's where each has one episode, and Student's over both."""
    p_holm: float
    """Adjusted for all pairs of runs, and for all conditions where it is about one of them."""
    starts: int
    """Tasks and initial states that both did."""
    telling: int
    """Those of them in which one of the runs succeeded at least once: the others cannot tell the runs apart."""
    least_p: float
    """The least p that so many telling starts can come to, adjusted as ``p_holm`` at its smallest."""
    tasks: int
    over_tasks: Interval | None
    """Of the difference, if the tasks are a sample of tasks in general: Student's; None for fewer than three."""
    p_over_tasks: float | None
    """Exact, over tasks; not adjusted."""
    decision: Decision
    margin: float
    """Within which two runs are equivalent."""
    starts_needed: int | None
    """As many starts would show such a difference with 80 % power, adjusted likewise; None where there is none."""


@dataclass(frozen=True, slots=True)
class Robustness(Result):
    """What a change costs one run, against what it costs another, on the same episodes and controls."""

    first: str
    second: str
    aspect: Aspect
    condition: str | None
    """None for all perturbed episodes in which success is expected."""
    pairs: int
    """Perturbed specs that both did, with their controls."""
    starts: int
    telling: int
    """Starts in which one of the runs succeeded at least once, with the change or without it."""
    tasks: int
    first_control: float
    """Success of the first run's controls, one for each pair."""
    second_control: float
    first_value: float
    """The first run's drop (negative where success fell), or the share that it keeps."""
    second_value: float
    change: float
    """second - first: positive where the second is more robust."""
    interval: Interval
    """Over starts and wordings: Student's for drops, Newcombe's for what is kept. Reaches to 0 as in a Contrast."""
    p: float
    """The larger of an exact test over starts, were the runs the same, and Student's over starts and wordings."""
    p_holm: float
    """Adjusted for all pairs of runs and both aspects, and for all conditions where it is about one of them."""
    least_p: float
    over_tasks: Interval | None
    p_over_tasks: float | None
    decision: Decision
    margin: float
    starts_needed: int | None


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """Two or more runs on the same episodes."""

    runs: dict[str, int]
    """Episodes of each that are no errors."""
    shared: int
    """Specs that all did; the others do not count."""
    overall: tuple[Contrast, ...]
    conditions: tuple[Contrast, ...]
    """Those in which success is expected."""
    implausible: tuple[Contrast, ...]
    """The other conditions: success is not expected there, and enters nothing else."""
    robustness: tuple[Robustness, ...]
    """Over all changes after which success is expected; empty where no perturbed episode has a shared control."""
    robustness_by_condition: tuple[Robustness, ...]
