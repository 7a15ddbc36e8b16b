"""Audit of an experiment for shortcuts: conditions that policies still solve without one of their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import plausible
from assay.measures.result import MeasureError, Result
from assay.measures.success.rates import Rate, rates
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import NOT, between, number, percent, plural
from assay.support.stats.intervals import wilson_interval

MAX_NAMES = 8
"""Maximum number of conditions listed in a sentence; the table lists all of them."""
WORDS, SIGHT, MEMORY = "without words", "without sight", "memory alone"
KINDS: Mapping[str, str] = {
    WORDS: "the policy understands the words",
    SIGHT: "the policy uses its cameras",
    MEMORY: "the policy understands anything",
}
"""Missing input -> conclusion not supported by success in a condition that a policy without this input solves."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Policy that is run in the audit, with all inputs or without one of them."""

    name: str
    """Name of the policy's run."""
    policy: str
    """Address of the policy."""
    lacks: str | None = None
    """Missing input: a key of `KINDS`, or another description; None for a policy with all inputs."""

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
    """The interval includes the threshold: more seeds are needed."""
    UNKNOWN = "no episode"
    """All episodes ended in an error, or there are none."""


@dataclass(frozen=True, slots=True)
class ConditionRow(Result):
    """Success rates of all policies in one condition."""

    condition: str
    expected: bool
    """Whether success is expected; if not, success shows that an input was ignored."""
    rates: Mapping[str, Rate]
    """Success rate by name of the policy; policies without episodes are left out."""
    solved: Mapping[str, Solved]
    """Whether the condition is solved, by name of the policy."""

    @property
    def most_episodes(self) -> int:
        """Largest number of error-free episodes of any policy."""
        return max((rate.count for rate in self.rates.values()), default=0)

    def as_json(self) -> dict[str, Any]:
        """Return the counts, rates and intervals of all policies as a JSON object."""
        success = {}
        for name, solved in self.solved.items():
            rate = self.rates.get(name)
            interval = rate and rate.interval
            success[name] = {
                "successes": rate and rate.successes,
                "n": rate and rate.count,
                "errors": rate and rate.errors,
                "rate": rate and rate.rate,
                "low": interval and interval.low,
                "high": interval and interval.high,
                "solved": str(solved),
            }
        return {"condition": self.condition, "success_expected": self.expected, "success": success}


@dataclass(frozen=True, slots=True)
class Shortcuts(Result):
    """Success rates in an audit: every policy in every condition of an experiment."""

    probes: tuple[Probe, ...]
    rows: tuple[ConditionRow, ...]
    """Conditions, with the control first."""
    least: float
    """Success rate above which a condition counts as solved."""

    def conditions(self, probe: Probe, solved: Solved) -> list[str]:
        """Return the conditions in which success is expected and the policy has this result."""
        return [row.condition for row in self.rows if row.expected and row.solved[probe.name] is solved]

    @property
    def fewest(self) -> int:
        """Smallest number of episodes with which it can be decided whether a condition is solved."""
        count = 1
        while (
            wilson_interval(1.0, count).low <= self.least and wilson_interval(0.0, count).high >= self.least
        ):
            count += 1
        return count

    @property
    def too_few(self) -> dict[str, int]:
        """Conditions in which every policy has too few episodes, with the largest number that a policy has.

        Conditions in which success is not expected are left out.
        """
        most = {row.condition: row.most_episodes for row in self.rows if row.expected}
        return {condition: count for condition, count in most.items() if 0 < count < self.fewest}

    @property
    def lacking(self) -> tuple[Probe, ...]:
        """Policies that lack an input."""
        return tuple(probe for probe in self.probes if probe.lacks is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {
            "least": self.least,
            "policies": [
                {
                    "name": probe.name,
                    "policy": probe.policy,
                    "lacks": probe.lacks,
                    "blind_spots": self.conditions(probe, Solved.YES),
                    "telling": self.conditions(probe, Solved.NO),
                    "undecided": self.conditions(probe, Solved.OPEN),
                }
                for probe in self.probes
            ],
            "conditions": [row.as_json() for row in self.rows],
        }


def check_least(least: float) -> None:
    """Raise MeasureError if the threshold is invalid."""
    if not 0 < least < 1:
        raise MeasureError(f"audit: least {least:g}: expected a number between 0 and 1, for example 0.5")


def shortcuts(frames: Mapping[Probe, pl.DataFrame], least: float = 0.5) -> Shortcuts:
    """Measure the success of each policy in each condition. Raises MeasureError if there are no episodes."""
    check_least(least)
    by_condition: dict[str, dict[str, Rate]] = {}
    expected: set[str] = set()
    for probe, frame in frames.items():
        expected.update(plausible(frame)["condition"] if len(frame) else ())
        for rate in rates(frame) if len(frame) else ():
            by_condition.setdefault(str(rate.group["condition"]), {})[probe.name] = rate
    if not by_condition:
        raise MeasureError("audit: the runs have no episodes")
    rows = []
    for condition in sorted(by_condition, key=lambda name: name != CONTROL):  # the control first
        own = by_condition[condition]
        solved = {probe.name: Solved.UNKNOWN for probe in frames}
        for name, rate in own.items():
            if rate.interval is not None:
                low, high = rate.interval.low, rate.interval.high
                solved[name] = Solved.YES if low > least else Solved.NO if high < least else Solved.OPEN
        rows.append(ConditionRow(condition, condition in expected, own, solved))
    return Shortcuts(tuple(frames), tuple(rows), least)


def shortcuts_table(result: Shortcuts, experiment: str) -> Table:
    """Make the table of the success of every policy in every condition."""

    def missing_inputs(row: ConditionRow) -> str:
        inputs = (
            "all but memory" if probe.lacks == MEMORY else str(probe.lacks).removeprefix("without ")
            for probe in result.lacking
            if row.solved[probe.name] is Solved.YES
        )
        return ", ".join(inputs) if row.expected else "(not expected)"

    def column_of(probe: Probe) -> Column:
        def read(row: ConditionRow) -> str:
            rate = row.rates.get(probe.name)
            if rate is None or rate.rate is None:
                return NOT
            return f"{number(100 * rate.rate, 0)} ({between(rate.interval, 100, 0)})"

        return Column(probe.title, value=read)

    return Table.of(
        "audit",
        f"Shortcuts through {experiment}",
        result.rows,
        Column("condition", value=lambda row: row.condition),
        Column("n", "count", value=lambda row: row.most_episodes),
        *map(column_of, result.probes),
        Column("blind to", value=missing_inputs),
        note="Success rate in per cent with its 95 % Wilson interval; n: number of episodes per policy (the "
        "largest, if they differ). Blind to: inputs without which a policy still succeeds in significantly more than "
        f"{percent(result.least, 0)} of the episodes.",
    )


def describe_shortcuts(result: Shortcuts) -> list[str]:
    """Describe which conditions the policies without an input solve or fail, and which are undecided."""
    expected = [row for row in result.rows if row.expected]
    sentences = []
    for probe in result.lacking:
        blind, telling, undecided, broken = (
            result.conditions(probe, solved)
            for solved in (Solved.YES, Solved.NO, Solved.OPEN, Solved.UNKNOWN)
        )
        parts = [f"{probe.title}: all episodes of {_join_names(broken)} ended in an error"] if broken else []
        judged = len(expected) - len(broken)
        if judged and len(undecided) == judged:
            scope = "the only condition" if judged == 1 else f"all {plural(judged, 'condition')}"
            parts.append(
                f"{probe.title}: undecided in {scope} in which success is expected: {_join_names(undecided)}"
            )
        elif judged:
            text = f"solves {len(blind)} of {plural(judged, 'condition')} in which success is expected"
            if blind and (conclusion := KINDS.get(probe.lacks or "")):
                text += f", so success there is no evidence that {conclusion}"
            parts.append(f"{probe.title}: {text}{f': {_join_names(blind)}' if blind else ''}")
            parts += [f"fails {_join_names(telling)}"] if telling else []
            parts += [f"undecided: {_join_names(undecided)}"] if undecided else []
        sentences.append("; ".join(parts) + ".")
    unexpected = [row.condition for row in result.rows if not row.expected]
    if unexpected:
        sentences.append(
            f"Not counted as blind spots: {_join_names(unexpected)}. Success is not expected there, and a policy that "
            "succeeds ignores the change."
        )
    if few := result.too_few:
        counts = ", ".join(dict.fromkeys(map(str, few.values())))
        sentences.append(
            f"Too few episodes to decide: {_join_names(list(few))} (n = {counts}; at least "
            f"{result.fewest} per condition are needed). Use more --seeds or tasks."
        )
    weak = [
        row.condition
        for row in expected
        if row.condition not in few and row.solved.get("oracle") in (Solved.NO, Solved.OPEN)
    ]
    if weak:
        sentences.append(
            f"Caution: the oracle, which has all inputs, does not solve {_join_names(weak)} either."
        )
    return sentences


def _join_names(conditions: Sequence[str]) -> str:
    more = len(conditions) - MAX_NAMES
    names = conditions if more <= 1 else conditions[:MAX_NAMES]
    return ", ".join(names) + (f" and {more} more" if more > 1 else "")
