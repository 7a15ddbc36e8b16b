"""The diagnosis of policies that never were: false alarms, power and coverage, through store, profile and diagnosis.

    python -m bench.diagnosis            # everything, and the tables of docs/report.md
    python -m bench.diagnosis alarms 5   # one part, with so many runs of each setting

Every run is planned with a real experiment on the ten tasks of libero_goal, its outcomes and paths are drawn
(``synthetic``), written with ``Store.append``, and read as a user's run is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.episodes import CONTROL, EpisodeSpec
from assay.measures import Finding, Flaw, Profile, Verdict, diagnose, profile
from assay.measures.drops import CHANGES
from assay.measures.headline import ABILITY
from assay.measures.rates import CONTROLS
from assay.measures.task_changes import TASK_CHANGES
from assay.stats.intervals import Interval, wilson
from bench.figure import Figure
from bench.synthetic import GOALS, Synthetic, changes_of, even, planned, uneven, written

RATES = (0.2, 0.5, 0.8)
EXPERIMENTS = {"pro": "pro", "para": "para?per_cell=1"}
SEEDS = (5, 10, 20, 50)
ALARMS, POWER = 60, 12
"""Runs of each setting."""
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


def examined(policy: Synthetic, specs: Sequence[EpisodeSpec], key: object) -> Told:
    """A run of a policy that never was, read as a user's."""
    with written(policy, specs, key) as store:
        found = profile(store)
    return found, diagnose(found)


def named(findings: Sequence[Finding]) -> set[str]:
    """The flaws that are claimed to be there, but for those that show with nothing changed."""
    apart = {*ABILITY, Flaw.NOTHING}
    return {each.flaw for each in findings if each.verdict is Verdict.FOUND and each.flaw not in apart}


def alarms(runs: int = ALARMS, seeds: int = 5) -> Iterator[tuple[str, float, Counted, Covered]]:
    """Reports that claim a flaw of a flawless policy whose tasks differ."""
    for name, experiment in EXPERIMENTS.items():
        specs = planned(experiment, GOALS, seeds)
        for rate in RATES:
            wrong, covered = Counted(), Covered()
            for number in range(runs):
                policy = Synthetic(uneven(rate, key=(rate, number)))
                found, findings = examined(policy, specs, ("alarms", name, rate, number))
                wrong.add(bool(named(findings)))
                _cover(covered, policy, specs, found)
            yield name, rate, wrong, covered


def power(runs: int = POWER, seeds: Sequence[int] = SEEDS) -> Iterator[tuple[str, int, Counted, Covered]]:
    """Reports that name a true fall where things look different, or memory of half of the episodes."""
    settings: list[tuple[str, Synthetic, str]] = [
        (
            f"{100 * fall:.0f} points where things look different",
            Synthetic(even(USUAL), {"appearance": fall / USUAL}),
            Flaw.APPEARANCE,
        )
        for fall in FALLS
    ]
    settings.append(("plays back half of the time", Synthetic(even(USUAL), replays=0.5), Flaw.MEMORISES))
    for count in seeds:
        specs = planned("pro", GOALS, count)
        for name, policy, flaw in settings:
            seen, covered = Counted(), Covered()
            for number in range(max(2, runs * 5 // max(count, 5)) if count > 20 else runs):
                found, findings = examined(policy, specs, ("power", name, count, number))
                seen.add(flaw in named(findings))
                if not policy.replays:
                    _cover(covered, policy, specs, found)
            yield name, count, seen, covered


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
    for name, rate, wrong, covered in alarms():
        what = f"false alarms, flawless policy of {100 * rate:.0f} % on {name}, 5 seeds"
        note = f"{wrong} % of {wrong.count} reports"
        figures.append(Figure(what, wrong.share, "of reports", ALLOWED, note=note))
        _join(every, covered)
    for name, count, seen, covered in power():
        figures.append(
            Figure(
                f"power: {name}, {count} seeds", seen.share, "of reports", 0.0, at_most=False, note=str(seen)
            )
        )
        _join(every, covered)
    for name, each in every.of.items():
        what = f"coverage of 95 % intervals: {name}"
        figures.append(Figure(what, each.share, "of intervals", 0.93, at_most=False, note=str(each)))
    return figures


def _join(every: Covered, more: Covered) -> None:
    for name, each in more.of.items():
        known = every.of.setdefault(name, Counted())
        known.hits, known.count = known.hits + each.hits, known.count + each.count


def main(part: str = "", runs: str = "", seeds: str = "") -> None:
    if part in ("", "alarms"):
        print(
            "| experiment | success | reports with a false alarm, % | coverage, % |\n| --- | --- | --- | --- |"
        )
        for name, rate, wrong, covered in alarms(int(runs or ALARMS), int(seeds or 5)):
            said = "; ".join(f"{what} {each}" for what, each in covered.of.items())
            print(f"| `{name}` | {100 * rate:.0f} % | {wrong} of {wrong.count} | {said} |", flush=True)
    if part in ("", "power"):
        print("| true flaw | seeds | named, % of reports | coverage, % |\n| --- | --- | --- | --- |")
        chosen = tuple(map(int, seeds.split(","))) if seeds else SEEDS
        for name, count, seen, covered in power(int(runs or POWER), chosen):
            said = "; ".join(f"{what} {each}" for what, each in covered.of.items())
            print(f"| {name} | {count} | {seen} of {seen.count} | {said} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
