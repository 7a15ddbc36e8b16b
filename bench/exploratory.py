"""Exploratory findings: how many planted losses they name, and how many of them are false.

    python -m bench.exploratory              # 20 reports per row
    python -m bench.exploratory --reports 50

Policies and plans are those of `bench.shapes`; losses are planted in single tasks or under entire changes. In
``mixed``, a change of the room costs half of the successes everywhere, and one of position helps in half of the tasks.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.episodes.perturbation import TOGETHER
from assay.measures.flaws import Flaw
from bench.diagnosis import examined
from bench.figure import Figure, exact_interval
from bench.shapes import DESIGNS, SHAPES, sample
from bench.synthetic import GOALS, Held, Plan, plan_of, planned

LOOK, ROOM, POSITION = "appearance", "room", "position"
MOST_FALSE, LEAST_NAMED, LEAST_NAMED_MIXED = 0.05, 0.8, 0.2


@dataclass(frozen=True, slots=True)
class Case:
    """Planted losses: the number of tasks that a new look breaks, and whether other changes cost or help, too."""

    name: str
    design: str
    seeds: int
    broken: int = 1
    mixed: bool = False


CASES = (
    Case("a new look breaks one task of ten (80 to 0 %)", "nine", 10),
    Case("a new look breaks one task of ten (80 to 0 %)", "whole", 10),
    Case("a new look breaks two tasks of ten", "nine", 10, broken=2),
    Case("mixed", "nine", 10, mixed=True),
    Case("mixed", "whole", 10, mixed=True),
)


def plant(
    plan: Plan, run: Held, chances: Mapping[tuple[str, str], float], random: np.random.Generator
) -> Held:
    """Return a run in which outcomes are turned: to failure with a positive chance, to success with a negative one."""
    outcome = run.frame()["outcome"].to_numpy().copy()
    luck = random.random(len(outcome))
    for row, spec in enumerate(plan.specs):
        if spec.labels.get("asked_goal") or not spec.labels.get("plausible", True):
            continue
        for part in str(spec.labels.get("change", "")).split(TOGETHER):
            chance = chances.get((spec.task, part), 0.0)
            if luck[row] < abs(chance) and outcome[row] != "error":
                outcome[row] = "failure" if chance > 0 else "success"
    return Held(plan, run.frame().with_columns(outcome=pl.Series(outcome)), run._hands, run._lengths)


def report(case: Case, number: int) -> tuple[bool, int, int]:
    """Return whether all broken tasks are named, and the numbers of exploratory cases and of false ones."""
    plan = plan_of(planned(DESIGNS[case.design], GOALS, case.seeds))
    random = np.random.default_rng([number, case.seeds, case.broken, case.mixed])
    tasks = [GOALS[place] for place in random.permutation(len(GOALS))]
    chances = {(task, LOOK): 1.0 for task in tasks[: case.broken]}
    if case.mixed:
        chances |= {(task, ROOM): 0.5 for task in tasks} | {(task, POSITION): -0.5 for task in tasks[5:]}
    held = sample(SHAPES[1], plan, random)
    findings = examined(plant(plan, held, chances, random))[1]
    lost = {key for key, chance in chances.items() if chance > 0}
    changes = {spec.condition: str(spec.labels.get("change", "")) for spec in plan.specs}
    named, count, false = set(), 0, 0
    for finding in findings:
        if finding.where is not None and finding.verdict == "found":
            named |= {cell.task for cell in finding.where.tasks}
        for evidence in finding.evidence if finding.flaw == Flaw.PARTICULAR else ():
            parts = changes.get(evidence.part, evidence.part).split(TOGETHER)
            named |= {evidence.task}
            count += 1
            false += not any(part in parts and evidence.task in ("", task) for task, part in lost)
    return set(tasks[: case.broken]) <= named, count, false


def measure(reports: int = 4) -> list[Figure]:
    """Measure the power and the false discovery rate of each case."""
    figures = []
    for case in CASES:
        results = [report(case, number) for number in range(reports)]
        hits = sum(is_named for is_named, _, _ in results)
        low, high = exact_interval(hits, reports)
        least = LEAST_NAMED_MIXED if case.mixed else LEAST_NAMED
        what = f"{case.name}, {case.design} design, {case.seeds} seeds"
        note = f"{hits} of {reports}; 95 % interval {100 * low:.0f} to {100 * high:.0f} %"
        figures.append(
            Figure(f"{what}: tasks named", hits / reports, "of reports", least, at_most=False, note=note)
        )
        rate = float(np.mean([false / max(count, 1) for _, count, false in results]))
        note = f"{sum(false for *_, false in results)} of {sum(count for _, count, _ in results)} cases"
        figures.append(Figure(f"{what}: false discoveries", rate, "of cases", MOST_FALSE, note=note))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.exploratory", description=__doc__.split("\n")[0])
    parser.add_argument("--reports", type=int, default=20)
    for figure in measure(parser.parse_args().reports):
        print(f"{figure.what}: {figure.measured}, target {figure.target}: {figure.verdict}")


if __name__ == "__main__":
    main()
