"""How much of an experiment can be solved without an input: success of policies that lack one, by condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import plausible, valid_rows
from assay.measures.result import MeasureError, Result
from assay.measures.success.rates import Rate, rates
from assay.runs.audit import Probe
from assay.support.stats.intervals import Difference, Interval, newcombe, tested, wilson_interval
from assay.support.stats.significance import within

LEAST = 0.5
"""The share of episodes above which a condition counts as solved."""


class Solved(StrEnum):
    """Whether a policy solves a condition, as far as the interval of its success tells."""

    YES = "solved"
    """In more than the share that counts, beyond doubt."""
    NO = "not solved"
    """In less, beyond doubt."""
    OPEN = "undecided"
    """The share is within the interval: more seeds would tell."""
    UNKNOWN = "no episode"
    """None ended without an error."""

    @classmethod
    def of(cls, rate: Rate | None, least: float) -> Solved:
        """What a rate says."""
        if rate is None or rate.interval is None:
            return cls.UNKNOWN
        return cls.YES if rate.interval.low > least else cls.NO if rate.interval.high < least else cls.OPEN


@dataclass(frozen=True, slots=True)
class Cell(Result):
    """One policy in one condition."""

    rate: Rate | None
    """None where it has no episode there."""
    solved: Solved


@dataclass(frozen=True, slots=True)
class Row(Result):
    """One condition."""

    condition: str
    expected: bool
    """Whether success is expected there; where it is not, success itself shows that something was ignored."""
    cells: Mapping[str, Cell]
    """By the name of the policy."""


@dataclass(frozen=True, slots=True)
class Shortcuts(Result):
    """What policies that lack something solve of an experiment."""

    probes: tuple[Probe, ...]
    rows: tuple[Row, ...]
    """The control first."""
    least: float

    def blind_spots(self, probe: Probe) -> tuple[str, ...]:
        """The conditions in which success is expected and the policy succeeds without what it lacks."""
        return self._which(probe, Solved.YES)

    def telling(self, probe: Probe) -> tuple[str, ...]:
        """The conditions in which success is expected and the policy fails for what it lacks."""
        return self._which(probe, Solved.NO)

    def open(self, probe: Probe) -> tuple[str, ...]:
        """The conditions in which it is undecided."""
        return self._which(probe, Solved.OPEN)

    def broken(self, probe: Probe) -> tuple[str, ...]:
        """The conditions of which no episode ended without an error."""
        return self._which(probe, Solved.UNKNOWN)

    @property
    def fewest(self) -> int:
        """With fewer episodes of a condition nothing is decided, whatever comes of them."""
        count = 1
        while (
            wilson_interval(1.0, count).low <= self.least and wilson_interval(0.0, count).high >= self.least
        ):
            count += 1
        return count

    @property
    def too_few(self) -> dict[str, int]:
        """Conditions in which success is expected and no policy has enough episodes -> the most that one has."""
        most = {
            row.condition: max(0 if cell.rate is None else cell.rate.count for cell in row.cells.values())
            for row in self.rows
            if row.expected
        }
        return {condition: count for condition, count in most.items() if 0 < count < self.fewest}

    @property
    def lacking(self) -> tuple[Probe, ...]:
        """All but the one that lacks nothing."""
        return tuple(probe for probe in self.probes if probe.lacks is not None)

    def _which(self, probe: Probe, solved: Solved) -> tuple[str, ...]:
        return tuple(
            row.condition for row in self.rows if row.expected and row.cells[probe.name].solved is solved
        )

    def as_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "least": self.least,
            "policies": [
                {
                    "name": probe.name,
                    "policy": probe.policy,
                    "lacks": probe.lacks,
                    "blind_spots": list(self.blind_spots(probe)),
                    "telling": list(self.telling(probe)),
                    "undecided": list(self.open(probe)),
                }
                for probe in self.probes
            ],
            "conditions": [
                {
                    "condition": row.condition,
                    "success_expected": row.expected,
                    "success": {name: _as_json(cell) for name, cell in row.cells.items()},
                }
                for row in self.rows
            ],
        }


def _as_json(cell: Cell) -> dict[str, object]:
    rate = cell.rate
    interval = None if rate is None else rate.interval
    return {
        "successes": None if rate is None else rate.successes,
        "n": None if rate is None else rate.count,
        "errors": None if rate is None else rate.errors,
        "rate": None if rate is None else rate.rate,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "solved": str(cell.solved),
    }


def check_least(least: float) -> None:
    """Raise MeasureError for a share from which on a condition cannot count as solved."""
    if not 0 < least < 1:
        raise MeasureError(f"audit: least {least:g}: valid: between 0 and 1, such as 0.5")


def shortcuts(frames: Mapping[Probe, pl.DataFrame], least: float = LEAST) -> Shortcuts:
    """Success of each policy in each condition. Raises MeasureError where nothing was played."""
    check_least(least)
    if not any(len(frame) for frame in frames.values()):
        raise MeasureError("audit: there is no episode")
    found = {
        probe.name: {str(rate.group["condition"]): rate for rate in rates(frame)} if len(frame) else {}
        for probe, frame in frames.items()
    }
    conditions = dict.fromkeys([CONTROL, *(name for several in found.values() for name in several)])
    sensible = {
        name
        for frame in frames.values()
        if len(frame)
        for name in plausible(frame)["condition"].unique().to_list()
    }
    rows = tuple(
        Row(
            condition,
            condition in sensible,
            {
                name: Cell(own.get(condition), Solved.of(own.get(condition), least))
                for name, own in found.items()
            },
        )
        for condition in conditions
        if any(condition in own for own in found.values())
    )
    return Shortcuts(tuple(frames), rows, least)


@dataclass(frozen=True, slots=True)
class StatesTask(Result):
    """One task from both kinds of initial state."""

    task: str
    stored: Rate
    sampled: Rate


@dataclass(frozen=True, slots=True)
class States(Result):
    """Success from stored initial states and from sampled ones."""

    tasks: tuple[StatesTask, ...]
    stored: Rate
    sampled: Rate
    difference: float
    """Sampled less stored, within tasks."""
    interval: Interval
    """Newcombe's, over episodes within tasks; reaches to 0 where the test cannot exclude that."""
    p: float
    """Exact: episodes of a task could have changed places (Mantel and Haenszel)."""

    def as_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "tasks": [
                {"task": task.task, **{kind: _of(getattr(task, kind)) for kind in ("stored", "sampled")}}
                for task in self.tasks
            ],
            "stored": _of(self.stored),
            "sampled": _of(self.sampled),
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "p": self.p,
        }


def _of(rate: Rate) -> dict[str, object]:
    return {"successes": rate.successes, "n": rate.count, "errors": rate.errors, "rate": rate.rate}


def states(stored: pl.DataFrame, sampled: pl.DataFrame) -> States:
    """Compare two runs of the same tasks, whose starts have nothing to do with each other.

    Raises MeasureError where they share no task with an episode that counts on both sides.
    """
    sides = [valid_rows(frame.filter(pl.col("condition") == CONTROL)) for frame in (stored, sampled)]
    shared = [name for name in sides[0]["task"].unique(maintain_order=True) if name in set(sides[1]["task"])]
    if not shared:
        raise MeasureError("audit: no task has episodes from stored and from sampled states")
    sides = [frame.filter(pl.col("task").is_in(shared)) for frame in sides]
    each = [{str(rate.group["task"]): rate for rate in rates(frame, ("task",))} for frame in sides]
    hits, counts = (
        [np.array([getattr(side[task], name) for task in shared], float) for side in each]
        for name in ("successes", "count")
    )
    found, p = within_tasks(hits[0], counts[0], hits[1], counts[1])
    (all_stored,), (all_sampled,) = (rates(frame, ()) for frame in sides)
    return States(
        tuple(StatesTask(task, each[0][task], each[1][task]) for task in shared),
        all_stored,
        all_sampled,
        found.difference,
        found.interval,
        p,
    )


def within_tasks(
    hits: np.ndarray, counts: np.ndarray, now: np.ndarray, counts_now: np.ndarray
) -> tuple[Difference, float]:
    """Two shares compared within tasks, (tasks,) each, and p; episodes are independent, and the tasks are given.

    A task weighs as much as it knows about the difference (Mantel and Haenszel). Newcombe's interval takes the variance
    of all tasks pooled, which is no less than that within them.
    """
    weights = counts * counts_now / (counts + counts_now)
    shares = [
        float((weights * hit / count).sum() / weights.sum())
        for hit, count in ((hits, counts), (now, counts_now))
    ]
    worth = [float(weights.sum() ** 2 / (weights**2 / count).sum()) for count in (counts, counts_now)]
    found = newcombe((shares[0], shares[1]), (worth[0], worth[1]), 0.0)
    p = within(hits, counts, now, counts_now)
    return replace(found, interval=tested(found.interval, p)), p
