"""False alarms, power and coverage of the diagnosis for synthetic policies with known flaws.

    python -m bench.diagnosis                      # everything, including the tables of docs/statistics.md
    python -m bench.diagnosis --most 40 --seeds 5  # at most 40 reports per policy, only with 5 seeds
    python -m bench.diagnosis --of flawless        # only policies whose name contains this, e.g. in a second process
    python -m bench.diagnosis --show               # tables of the results so far

Every run is planned with a real experiment on the ten tasks of libero_goal; its outcomes and trajectories are sampled
(``synthetic``), and it is read like a user's run. Runs are kept in memory, and measures that the diagnosis does not
use are skipped. The first run of each policy with 5 seeds is also written to a file and read back; both must give the
same result.

Each report is one line of ``out/diagnosis.jsonl``, so an interrupted command can be resumed. Delete that file after
changing the diagnosis.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # tables are small: threads cost more than they give

import numpy as np

from assay.episodes import EpisodeSpec
from assay.measures.diagnosis import ABILITY, diagnose
from assay.measures.findings import Finding, Verdict
from assay.measures.flaws import Flaw
from assay.measures.measure import MEASURES, Profile, RunData, profile
from assay.measures.result import Missing
from assay.measures.success.drops import CHANGES
from assay.measures.success.rates import CONTROLS
from assay.measures.success.task_changes import TASK_CHANGES
from assay.runs.store import Store
from assay.support.stats.intervals import Interval, plain, wilson
from assay.support.stats.power import POWER
from bench.figure import Figure
from bench.synthetic import GOALS, Plan, Synthetic, changes_of, drawn, even, plan_of, planned, uneven

RATES = (0.2, 0.5, 0.8)
EXPERIMENTS = {"pro": "pro", "para": "para?per_cell=1"}
ALARMS = 300
"""Reports per flawless policy: if 2 % of them are false alarms, the 95 % interval excludes 5 %."""
NAMED = {5: 100, 10: 100, 20: 50, 50: 30}
"""Number of seeds -> reports per flawed policy; few are needed if nearly all of them name the flaw."""
FEWEST = min(NAMED)
"""Numbers of seeds for flawless policies; number of seeds of the runs that are also written to a file."""
SOME = 20
"""Settings of a short benchmark: those for `python -m bench`."""
AT_ONCE = 10
"""Number of reports on one policy before the command turns to the next one."""
ALLOWED = 0.05
USUAL = 0.9
"""Unperturbed success rate of the flawed policies."""
FALLS = (0.2, 0.4)
"""True losses, in points, of policies that depend on object appearance."""
LOOKS = frozenset({Flaw.APPEARANCE, Flaw.OBJECT})
"""Correct names for the flaw of a policy that depends on the appearance of objects."""
MEMORY = frozenset({Flaw.MEMORISES})
LINES = Path("out/diagnosis.jsonl")
NOTHING, SOMETHING = "which is 0", "which is not 0"
"""Kinds of true difference. Intervals extend to 0 if the exact test cannot exclude it, so they cover 0 more often."""
TABLES_ONLY = ("bootstrap", "conditional_log_odds")
"""Fields of a drop that appear in tables but that the diagnosis does not read."""


@dataclass
class Counted:
    """A count of successes out of a number of trials."""

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


Told = tuple[Profile, tuple[Finding, ...]]


class AsRead(Profile):
    """A run's profile that computes a measure only when the diagnosis requests it."""

    def __init__(self, store: Store) -> None:
        self._run = RunData(store)
        applying = [measure for name in MEASURES if (measure := MEASURES[name]).applies(self._run)]
        replaced = {name for measure in applying for name in measure.instead_of}
        super().__init__(
            store.planned, store.done, {}, {each.name: each for each in applying if each.name not in replaced}
        )

    def __getitem__(self, name: str) -> Any:
        return self._run.attempt(super().__getitem__(name))

    def get(self, key: Any, default: Any = None) -> Any:
        name = key if isinstance(key, str) else key.name
        if name not in self:
            return default
        return default if isinstance(found := self[name], Missing) else found


def examined(run: Store) -> Told:
    """Return the profile and the findings of a run in memory, without what only tables show."""
    found = AsRead(run)
    left_out: dict[str, Any] = dict.fromkeys(TABLES_ONLY, lambda *_: None)
    with patch.multiple("assay.measures.success.drops", **left_out):
        return found, diagnose(found)


def as_a_user(policy: Synthetic, specs: tuple[EpisodeSpec, ...], key: object) -> tuple[Finding, ...]:
    """Return the same run written episode by episode, with all measures."""
    with drawn(policy, specs, key).written() as store:
        return diagnose(profile(store))


def named(findings: Sequence[Finding]) -> set[str]:
    """Return the flaws that a report names, except those found in unperturbed episodes or by search."""
    apart = {*ABILITY, Flaw.NOTHING, Flaw.PARTICULAR}
    return {each.flaw for each in findings if each.verdict is Verdict.FOUND and each.flaw not in apart}


@dataclass(frozen=True, eq=False)
class Cell:
    """A policy in one experiment, with the number of reports to produce."""

    name: str
    experiment: str
    seeds: int
    most: int
    """Number of reports to produce."""
    policy: Synthetic | float
    """Approximate success rate of a flawless policy whose tasks differ from run to run; None for a fixed policy."""
    flaws: tuple[frozenset[Flaw], ...] = ()
    """Planted flaws, each with all names that describe it correctly."""

    @property
    def key(self) -> str:
        return f"{self.name}, {self.experiment}, {self.seeds} seeds"

    def report(self, number: int) -> Line:
        """Produce one report, and return the flaws it names and the intervals that contain the true value."""
        policy = self.policy
        if isinstance(policy, float):
            policy = Synthetic(uneven(policy, key=(policy, number)))
        specs, key = planned(EXPERIMENTS[self.experiment], GOALS, self.seeds), (self.key, number)
        found, findings = examined(drawn(policy, specs, key))
        if not number and self.seeds == FEWEST and plain(findings) != plain(as_a_user(policy, specs, key)):
            raise AssertionError(f"{self.key}: the run in a file gives another result than the run in memory")
        covered = {} if policy.replays else dict(_covered(policy, plan_of(specs), found))
        return Line(self.key, number, sorted(named(findings)), covered)


@dataclass(frozen=True)
class Line:
    """Result of one report."""

    cell: str
    number: int
    named: list[str]
    covered: dict[str, list[int]]
    """Quantity -> number of intervals that contain the true value, and number of all intervals."""


@dataclass
class Result:
    """Summary of the reports on a policy."""

    told: Counted = field(default_factory=Counted)
    """Number of reports that name any flaw of a flawless policy, or all flaws of a flawed one."""
    named: Counter[str] = field(default_factory=Counter)
    covered: dict[str, Counted] = field(default_factory=dict)

    def add(self, cell: Cell, line: Line) -> None:
        self.told.add(all(each & set(line.named) for each in cell.flaws) if cell.flaws else bool(line.named))
        self.named.update(line.named)
        for what, (hits, count) in line.covered.items():
            known = self.covered.setdefault(what, Counted())
            known.hits, known.count = known.hits + hits, known.count + count


def cells(seeds: Sequence[int] = tuple(NAMED), most: int = ALARMS) -> list[Cell]:
    """Return the cells: flawless policies with few seeds, flawed ones with every number of seeds."""
    found = [
        Cell(f"flawless, about {100 * rate:.0f} %", experiment, FEWEST, min(most, ALARMS), rate)
        for experiment in EXPERIMENTS
        for rate in RATES
        if FEWEST in seeds
    ]
    flawed: dict[str, tuple[Synthetic, tuple[frozenset[Flaw], ...]]] = {
        f"90 %, loses {100 * fall:.0f} points if objects look different": (
            Synthetic(even(USUAL), {"appearance": fall / USUAL}),
            (LOOKS,),
        )
        for fall in FALLS
    }
    flawed |= {
        "50 %, loses 20 points if objects look different": (
            Synthetic(even(0.5), {"appearance": 0.4}),
            (LOOKS,),
        ),
        "90 %, replays half of the episodes": (Synthetic(even(USUAL), replays=0.5), (MEMORY,)),
        "90 %, replays half of the episodes, displaced objects block the arm": (
            Synthetic(even(USUAL), replays=0.5, blocked=True),
            (MEMORY,),
        ),
        "80 %, loses 30 points under every change": (
            Synthetic(even(0.8), any_change=0.3 / 0.8),
            (frozenset({Flaw.LOSS}),),
        ),
        "90 %, replays half of the episodes, loses 54 points in another room": (
            Synthetic(even(USUAL), {"room": 0.6}, replays=0.5),
            (MEMORY, frozenset({Flaw.ROOM})),
        ),
    }
    return found + [
        Cell(name, "pro", count, min(most, NAMED[count]), policy, flaws)
        for count in seeds
        for name, (policy, flaws) in flawed.items()
    ]


def results(wanted: Sequence[Cell], lines: Path) -> dict[Cell, Result]:
    """Read the reports that are already stored."""
    found, known = {each: Result() for each in wanted}, {each.key: each for each in wanted}
    for text in lines.read_text().splitlines() if lines.is_file() else ():
        line = Line(**json.loads(text))
        if line.cell in known and line.number < known[line.cell].most:
            found[known[line.cell]].add(known[line.cell], line)
    return found


def work(wanted: Sequence[Cell], lines: Path) -> None:
    """Produce the missing reports, alternating between policies."""
    lines.parent.mkdir(parents=True, exist_ok=True)
    done = {each: result.told.count for each, result in results(wanted, lines).items()}
    with lines.open("a") as file:
        while left := [each for each in wanted if done[each] < each.most]:
            for cell in left:
                ahead = min(done[cell] + AT_ONCE, cell.most)
                for number in range(done[cell], ahead):
                    file.write(json.dumps(vars(cell.report(number))) + "\n")
                    file.flush()
                done[cell] = ahead


def _covered(policy: Synthetic, plan: Plan, found: Profile) -> Iterator[tuple[str, list[int]]]:
    """Return whether the intervals of a profile cover the true parameters."""
    rate = np.array([policy.rate(spec) for spec in plan.kinds])[plan.kind]
    held: dict[str, list[int]] = {}

    def add(name: str, interval: Interval | None, truth: float) -> None:
        if interval is not None:
            kept = held.setdefault(name, [0, 0])
            kept[0] += interval.low - 1e-9 <= truth <= interval.high + 1e-9
            kept[1] += 1

    control = found.get(CONTROLS)
    if control is not None:
        add("success of the controls", control.interval, float(rate[plan.control].mean()))
    changes = _changes(plan)
    for drop in found.get(CHANGES) or ():
        rows = changes.get(str(drop.group["change"]))
        if rows is not None and not drop.unpaired:
            truth = float(rate[rows].mean() - rate[plan.usual[rows]].mean())
            add(
                f"difference from the control, {SOMETHING if abs(truth) > 1e-9 else NOTHING}",
                drop.interval,
                truth,
            )
    costs = found.get(TASK_CHANGES)
    for each in () if costs is None else costs.costs:
        rows = changes.get(each.change)
        if rows is not None:
            add("retention", each.interval, float(rate[rows].mean() / rate[plan.usual[rows]].mean()))
    yield from held.items()


@cache
def _changes(plan: Plan) -> Mapping[str, np.ndarray]:
    """Map each change to a mask of the rows with only that change."""
    return {
        change: np.array(
            [
                row
                for row, spec in enumerate(plan.specs)
                if changes_of(spec) == [change]
                and spec.labels.get("plausible", True)
                and not spec.labels.get("milder")
            ]
        )
        for change in ("position", "appearance", "room")
        if any(changes_of(spec) == [change] for spec in plan.specs)
    }


def measure() -> list[Figure]:
    """Check a few reports of each policy: too few to demonstrate 5 % false alarms, enough to exclude many more."""
    chosen = cells((5, 10), SOME)
    lines = LINES.with_stem("diagnosis-some")
    lines.unlink(missing_ok=True)
    work(chosen, lines)
    figures, every = [], Result()
    for cell, result in results(chosen, lines).items():
        told, note = result.told, f"{result.told} % of {result.told.count} reports"
        if not cell.flaws:
            low, _ = wilson(told.share, told.count)
            figures.append(
                Figure(f"false alarms: {cell.key}", low, "of reports (minimum)", ALLOWED, note=note)
            )
        elif cell.seeds == 10:
            figures.append(
                Figure(f"power: {cell.key}", told.share, "of reports", POWER, at_most=False, note=note)
            )
        for what, each in result.covered.items():
            known = every.covered.setdefault(what, Counted())
            known.hits, known.count = known.hits + each.hits, known.count + each.count
    return figures + [
        Figure(f"coverage: {what}", each.share, "of 95 % intervals", 0.93, at_most=False, note=f"{each} %")
        for what, each in every.covered.items()
    ]


def show(found: Mapping[Cell, Result]) -> None:
    """Print the tables as Markdown."""
    print(
        "| policy | experiment | seeds | reports, % (95 % interval) | n | named |",
        "| --- " * 6 + "|",
        sep="\n",
    )
    covered: dict[tuple[str, str], Counted] = {}
    flawless = Counted()
    for cell, result in found.items():
        told = (
            f"{'all flaws named' if cell.flaws else 'a false alarm'} in {result.told}"
            if result.told.count
            else ""
        )
        said = ", ".join(f"{flaw} {count}" for flaw, count in result.named.most_common())
        print(f"| {cell.name} | `{cell.experiment}` | {cell.seeds} | {told} | {result.told.count} | {said} |")
        if not cell.flaws:
            flawless.hits, flawless.count = (
                flawless.hits + result.told.hits,
                flawless.count + result.told.count,
            )
        for what, each in result.covered.items():
            kind = "flawed" if cell.flaws else "flawless"
            known = covered.setdefault((kind, what), Counted())
            known.hits, known.count = known.hits + each.hits, known.count + each.count
    if flawless.count:
        print(f"| all flawless policies | | | a false alarm in {flawless} | {flawless.count} | |")
    print(
        "\n| policies | 95 % intervals of | that contain the true value, % (95 % interval) | n |",
        "| --- " * 4 + "|",
        sep="\n",
    )
    for (kind, what), each in covered.items():
        print(f"| {kind} | {what} | {100 * each.share:.1f} {str(each).partition(' ')[2]} | {each.count} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis", description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, help="maximum number of reports per policy")
    parser.add_argument("--seeds", type=int, nargs="*", choices=NAMED, default=list(NAMED))
    parser.add_argument(
        "--of", default="", metavar="TEXT", help="only policies whose name contains this text"
    )
    parser.add_argument("--lines", type=Path, default=LINES, help="file of the reports, one per line")
    parser.add_argument("--show", action="store_true", help="only print tables of the reports so far")
    given = parser.parse_args()
    chosen = [each for each in cells(given.seeds, given.most or ALARMS) if given.of in each.name]
    if not given.show:
        work(chosen, given.lines)
    show(results(chosen, given.lines))


if __name__ == "__main__":
    main()
