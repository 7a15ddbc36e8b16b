"""The diagnosis of policies that never were: false alarms, power and coverage, from a run to its headline.

    python -m bench.diagnosis                  # everything, and the tables of docs/report.md
    python -m bench.diagnosis alarms 40        # one part, with so many runs of each setting
    python -m bench.diagnosis power 40 5,10    # ... and so many seeds

Every run is planned with a real experiment on the ten tasks of libero_goal, its outcomes and paths are drawn
(``synthetic``), and it is read as a user's run is. It is held in memory, and measures that no diagnosis asks for are
not taken; the first run of each setting is also written into a file and read from there, and both must say the same.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np

from assay.episodes import CONTROL, EpisodeSpec
from assay.measures import (
    MEASURES,
    Finding,
    Flaw,
    Missing,
    Profile,
    RunData,
    Verdict,
    diagnose,
    profile,
)
from assay.measures.drops import CHANGES
from assay.measures.headline import ABILITY
from assay.measures.rates import CONTROLS
from assay.measures.task_changes import TASK_CHANGES
from assay.runs.store import Store
from assay.stats.intervals import Interval, wilson
from assay.stats.result import plain
from bench.figure import Figure
from bench.synthetic import GOALS, Synthetic, changes_of, drawn, even, planned, uneven

RATES = (0.2, 0.5, 0.8)
EXPERIMENTS = {"pro": "pro", "para": "para?per_cell=1"}
SEEDS = (5, 10, 20, 50)
ALARMS, POWER = 200, 100
"""Runs of each setting."""
SOME = 20
"""The same, in `python -m bench`."""
POWER_AT_10 = 0.8
"""How often each of the flaws below should be named from ten seeds."""
ALLOWED = 0.05
USUAL = 0.9
"""Success with nothing changed, of the policies that lose something."""
FALLS = (0.2, 0.4)
"""True falls under one change of ``pro``, the look of things: two episodes of a start at most."""


@dataclass
class Counted:
    """How often something was so, of so many."""

    hits: int = 0
    count: int = 0

    def add(self, hit: bool) -> None:
        self.hits += hit
        self.count += 1

    @property
    def share(self) -> float:
        return self.hits / self.count if self.count else float("nan")

    def __str__(self) -> str:
        low, high = wilson(self.share, self.count)
        return f"{100 * self.share:.0f} ({100 * low:.0f} to {100 * high:.0f})"


@dataclass
class Covered:
    """How often intervals contain the truth, by what they are of."""

    of: dict[str, Counted] = field(default_factory=dict)

    def add(self, name: str, interval: Interval | None, truth: float) -> None:
        if interval is not None:
            self.of.setdefault(name, Counted()).add(interval.low - 1e-9 <= truth <= interval.high + 1e-9)


Told = tuple[Profile, tuple[Finding, ...]]


class AsRead(Profile):
    """A run's profile in which a measure is taken when the diagnosis asks for it: pages need many more."""

    def __init__(self, store: Store) -> None:
        self._run = RunData(store)
        applying = [measure for name in MEASURES if (measure := MEASURES[name]).applies(self._run)]
        replaced = {name for measure in applying for name in measure.instead_of}
        super().__init__(
            store.planned, store.done, {}, {each.name: each for each in applying if each.name not in replaced}
        )

    def __contains__(self, name: object) -> bool:
        return name in self._results

    def __getitem__(self, name: str) -> Any:
        return self._run.attempt(self._results[name])

    def get(self, key: Any, default: Any = None) -> Any:
        name = key if isinstance(key, str) else key.name
        found = self[name] if name in self._results else default
        return default if isinstance(found, Missing) else found

    def why(self, name: str) -> str:
        found = self[name] if name in self._results else None
        return found.missing if isinstance(found, Missing) else ""


def examined(policy: Synthetic, specs: tuple[EpisodeSpec, ...], key: object) -> Told:
    """A run of a policy that never was, read as a user's."""
    found = AsRead(drawn(policy, specs, key))
    with patch("assay.measures.drops.bootstrap", lambda *_: None):  # an interval that only tables show
        return found, diagnose(found)


def as_a_user(policy: Synthetic, specs: tuple[EpisodeSpec, ...], key: object) -> tuple[Finding, ...]:
    """The same run written episode by episode, and measured whole."""
    with drawn(policy, specs, key).written() as store:
        return diagnose(profile(store))


def named(findings: Sequence[Finding]) -> set[str]:
    """The flaws that are claimed to be there, but for those that show with nothing changed."""
    apart = {*ABILITY, Flaw.NOTHING}
    return {each.flaw for each in findings if each.verdict is Verdict.FOUND and each.flaw not in apart}


@dataclass
class Cell:
    """What many reports on one policy say."""

    name: str
    seeds: int
    told: Counted
    """Reports that are wrong, of a flawless policy; that name every flaw, of another."""
    covered: Covered
    said: Counter[str]
    """How often each flaw was named."""


def repeated(
    name: str,
    experiment: str,
    seeds: int,
    runs: int,
    policy: Callable[[int], Synthetic],
    right: Callable[[set[str]], bool],
) -> Cell:
    """So many reports on one policy; the ``number`` of a run may decide about its tasks."""
    specs = planned(experiment, GOALS, seeds)
    cell = Cell(name, seeds, Counted(), Covered(), Counter())
    for number in range(runs):
        mine, key = policy(number), (name, experiment, seeds, number)
        found, findings = examined(mine, specs, key)
        if not number and plain(findings) != plain(as_a_user(mine, specs, key)):
            raise AssertionError(f"{name}: the file says something else than the run in memory")
        cell.said.update(named(findings))
        cell.told.add(right(named(findings)))
        if not mine.replays:
            _cover(cell.covered, mine, specs, found)
    return cell


def alarms(runs: int = ALARMS, seeds: Sequence[int] = (5,)) -> Iterator[tuple[str, Cell]]:
    """Reports that claim a flaw of a flawless policy whose tasks differ, by experiment."""
    for (experiment, address), count, rate in product(EXPERIMENTS.items(), seeds, RATES):
        name = f"flawless, about {100 * rate:.0f} %"
        yield experiment, repeated(name, address, count, runs, partial(_uneven, rate), bool)


def _uneven(rate: float, number: int) -> Synthetic:
    return Synthetic(uneven(rate, key=(rate, number)))


def power(runs: int = POWER, seeds: Sequence[int] = SEEDS) -> Iterator[Cell]:
    """Reports that name a true fall where things look different, memory of half of the episodes, or two flaws."""
    settings: list[tuple[str, Synthetic, set[str]]] = [
        (
            f"90 %, loses {100 * fall:.0f} points where things look different",
            Synthetic(even(USUAL), {"appearance": fall / USUAL}),
            {Flaw.APPEARANCE},
        )
        for fall in FALLS
    ]
    settings.append(
        ("90 %, plays back half of the time", Synthetic(even(USUAL), replays=0.5), {Flaw.MEMORISES})
    )
    settings.append(
        (
            "90 %, plays back half of the time and loses 54 points in another room",
            Synthetic(even(USUAL), {"room": 0.6}, replays=0.5),
            {Flaw.MEMORISES, Flaw.ROOM},
        )
    )
    for count, (name, policy, flaws) in product(seeds, settings):
        yield repeated(name, "pro", count, runs, partial(_same, policy), partial(set.issubset, flaws))


def _same(policy: Synthetic, number: int) -> Synthetic:
    return policy


def _cover(covered: Covered, policy: Synthetic, specs: Sequence[EpisodeSpec], found: Profile) -> None:
    """Whether the intervals of a profile contain what was drawn from."""
    control = found.get(CONTROLS)
    truth = _mean(policy, specs, lambda spec: spec.condition == CONTROL)
    if control is not None:
        covered.add("success, control", control.interval, truth)
    for drop in found.get(CHANGES) or ():
        change = str(drop.group["change"])
        if change in ("position", "appearance", "room", "names", "wording") and not drop.unpaired:
            mine = _is(change)
            if change in ("names", "wording"):  # told from the text, not from the label
                continue
            usual = _mean(policy, [spec.control() for spec in specs if mine(spec)], lambda spec: True)
            covered.add("difference to the control", drop.interval, _mean(policy, specs, mine) - usual)
    for cost in (each for each in [found.get(TASK_CHANGES)] if each is not None):
        for each in cost.costs:
            if each.change in ("position", "appearance", "room"):
                mine = _is(each.change)
                weights = [policy.able[spec.task] for spec in specs if mine(spec)]
                rates = [policy.rate(spec) for spec in specs if mine(spec)]
                covered.add("success kept", each.interval, float(np.average(rates, weights=weights)))


def _is(change: str) -> Callable[[EpisodeSpec], bool]:
    return lambda spec: (
        changes_of(spec) == [change]
        and bool(spec.labels.get("plausible", True))
        and not spec.labels.get("milder")
    )


def _mean(policy: Synthetic, specs: Sequence[EpisodeSpec], which: Callable[[EpisodeSpec], bool]) -> float:
    return float(np.mean([policy.rate(spec) for spec in specs if which(spec)]))


def measure() -> list[Figure]:
    figures, every = [], Covered()
    for experiment, cell in alarms(SOME):
        what = f"false alarms, policy {cell.name} on {experiment}, {cell.seeds} seeds"
        low, _ = wilson(cell.told.share, cell.told.count)  # so few reports cannot show 5 %, only exclude it
        note = f"the least that {cell.told} % of {cell.told.count} reports allow"
        figures.append(Figure(what, low, "of reports", ALLOWED, note=note))
        _join(every, cell.covered)
    for cell in power(SOME, (10,)):
        what = f"power: {cell.name}, {cell.seeds} seeds"
        figures.append(
            Figure(what, cell.told.share, "of reports", POWER_AT_10, at_most=False, note=f"{cell.told} %")
        )
        _join(every, cell.covered)
    for name, each in every.of.items():
        what = f"coverage of 95 % intervals: {name}"
        figures.append(Figure(what, each.share, "of intervals", 0.93, at_most=False, note=f"{each} %"))
    return figures


def _join(every: Covered, more: Covered) -> None:
    for name, each in more.of.items():
        known = every.of.setdefault(name, Counted())
        known.hits, known.count = known.hits + each.hits, known.count + each.count


def main(part: str = "", runs: str = "", seeds: str = "") -> None:
    chosen = tuple(map(int, seeds.split(","))) if seeds else ()
    if part in ("", "alarms"):
        print(
            "| policy | experiment | seeds | false alarms, % | n | named | coverage, % |",
            _RULE * 7 + "|",
            sep="\n",
        )
        for experiment, cell in alarms(int(runs or ALARMS), chosen or (5,)):
            print(f"| {cell.name} | `{experiment}` {_row(cell)}", flush=True)
    if part in ("", "power"):
        print("| policy | seeds | named, % | n | also named | coverage, % |", _RULE * 6 + "|", sep="\n")
        for cell in power(int(runs or POWER), chosen or SEEDS):
            print(f"| {cell.name} {_row(cell)}", flush=True)


_RULE = "| --- "


def _row(cell: Cell) -> str:
    said = ", ".join(f"{flaw} {count}" for flaw, count in cell.said.most_common())
    covered = "; ".join(f"{what} {each} of {each.count}" for what, each in cell.covered.of.items())
    return f"| {cell.seeds} | {cell.told} | {cell.told.count} | {said} | {covered} |"


if __name__ == "__main__":
    main(*sys.argv[1:])
