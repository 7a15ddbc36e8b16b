"""Shortcuts of an experiment: success by condition of policies that lack an input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import plausible
from assay.measures.result import MeasureError, Result
from assay.measures.success.rates import Rate, rates
from assay.support.stats.intervals import wilson_interval

LEAST = 0.5
"""Success rate above which a condition counts as solved."""


WORDS, SIGHT, MEMORY = "without words", "without sight", "memory alone"
KINDS: Mapping[str, str] = MappingProxyType(
    {
        WORDS: "the words were understood",
        SIGHT: "it looked where things are",
        MEMORY: "anything was understood",
    }
)
"""Missing input of a policy -> the conclusion that its success rules out."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A policy that lacks an input."""

    name: str
    """Name of the policy's run."""
    policy: str
    """Address of the policy."""
    lacks: str | None = None
    """Missing input: one of `KINDS`, or another description; None for a policy with all inputs."""

    @property
    def title(self) -> str:
        """Heading of the policy's column."""
        return self.name if self.lacks is None else f"{self.lacks} ({self.name})"


class Solved(StrEnum):
    """Whether a policy solves a condition, judged by the interval of its success."""

    YES = "solved"
    """Success is significantly above the threshold."""
    NO = "not solved"
    """Success is significantly below the threshold."""
    OPEN = "undecided"
    """The threshold is within the interval: more seeds are needed."""
    UNKNOWN = "no episode"
    """No episode ended without an error."""

    @classmethod
    def of(cls, rate: Rate | None, least: float) -> Solved:
        """Return the verdict for a success rate."""
        if rate is None or rate.interval is None:
            return cls.UNKNOWN
        return cls.YES if rate.interval.low > least else cls.NO if rate.interval.high < least else cls.OPEN


@dataclass(frozen=True, slots=True)
class ProbeCell(Result):
    """Success of one policy in one condition."""

    rate: Rate | None
    """Success rate; None without episodes."""
    solved: Solved


@dataclass(frozen=True, slots=True)
class ConditionRow(Result):
    """Success of all policies in one condition."""

    condition: str
    expected: bool
    """Whether success is expected; otherwise success shows that an input was ignored."""
    cells: Mapping[str, ProbeCell]
    """Cell by name of the policy."""


@dataclass(frozen=True, slots=True)
class Shortcuts(Result):
    """Conditions of an experiment that policies without an input solve."""

    probes: tuple[Probe, ...]
    rows: tuple[ConditionRow, ...]
    """Conditions, with the control first."""
    least: float

    def blind_spots(self, probe: Probe) -> tuple[str, ...]:
        """Conditions in which success is expected and the policy succeeds without its missing input."""
        return self._which(probe, Solved.YES)

    def telling(self, probe: Probe) -> tuple[str, ...]:
        """Conditions in which success is expected and the policy fails without its missing input."""
        return self._which(probe, Solved.NO)

    def open(self, probe: Probe) -> tuple[str, ...]:
        """Return the conditions in which success is expected and the policy's success is undecided."""
        return self._which(probe, Solved.OPEN)

    def broken(self, probe: Probe) -> tuple[str, ...]:
        """Conditions in which all episodes ended in an error."""
        return self._which(probe, Solved.UNKNOWN)

    @property
    def fewest(self) -> int:
        """Smallest number of episodes with which a condition can be decided."""
        count = 1
        while (
            wilson_interval(1.0, count).low <= self.least and wilson_interval(0.0, count).high >= self.least
        ):
            count += 1
        return count

    @property
    def too_few(self) -> dict[str, int]:
        """Condition without enough episodes of any policy -> its largest number of episodes.

        Only conditions in which success is expected are included.
        """
        most = {
            row.condition: max(0 if cell.rate is None else cell.rate.count for cell in row.cells.values())
            for row in self.rows
            if row.expected
        }
        return {condition: count for condition, count in most.items() if 0 < count < self.fewest}

    @property
    def lacking(self) -> tuple[Probe, ...]:
        """Policies that lack an input."""
        return tuple(probe for probe in self.probes if probe.lacks is not None)

    def _which(self, probe: Probe, solved: Solved) -> tuple[str, ...]:
        return tuple(
            row.condition for row in self.rows if row.expected and row.cells[probe.name].solved is solved
        )

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
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
                    "success": {name: _cell_as_json(cell) for name, cell in row.cells.items()},
                }
                for row in self.rows
            ],
        }


def _cell_as_json(cell: ProbeCell) -> dict[str, object]:
    interval = cell.rate.interval if cell.rate else None
    counts = _counts(cell.rate) if cell.rate else dict.fromkeys(("successes", "n", "errors", "rate"))
    ends = {"low": interval.low if interval else None, "high": interval.high if interval else None}
    return {**counts, **ends, "solved": str(cell.solved)}


def check_least(least: float) -> None:
    """Raise MeasureError for an invalid threshold."""
    if not 0 < least < 1:
        raise MeasureError(f"audit: least {least:g}: valid: between 0 and 1, such as 0.5")


def shortcuts(frames: Mapping[Probe, pl.DataFrame], least: float = LEAST) -> Shortcuts:
    """Measure the success of each policy in each condition. Raises MeasureError without episodes."""
    check_least(least)
    if not any(len(frame) for frame in frames.values()):
        raise MeasureError("audit: there is no episode")
    by_probe = {
        probe.name: {str(rate.group["condition"]): rate for rate in rates(frame)} if len(frame) else {}
        for probe, frame in frames.items()
    }
    conditions = dict.fromkeys([CONTROL, *(name for own in by_probe.values() for name in own)])
    sensible = {
        name
        for frame in frames.values()
        if len(frame)
        for name in plausible(frame)["condition"].unique().to_list()
    }
    rows = tuple(
        ConditionRow(
            condition,
            condition in sensible,
            {
                name: ProbeCell(own.get(condition), Solved.of(own.get(condition), least))
                for name, own in by_probe.items()
            },
        )
        for condition in conditions
        if any(condition in own for own in by_probe.values())
    )
    return Shortcuts(tuple(frames), rows, least)


def _counts(rate: Rate) -> dict[str, object]:
    return {"successes": rate.successes, "n": rate.count, "errors": rate.errors, "rate": rate.rate}
