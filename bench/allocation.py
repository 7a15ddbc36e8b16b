"""Active allocation against the plain design: verdicts, errors and episodes, in simulated runs with known truth.

Ten tasks x ten seeds x forty changes, as `pro` on LIBERO-Goal. The log-odds of an episode are task + start (shared by
all conditions of the start) + noise of the start in a condition; a change takes away a fraction of what succeeds.
Every run is judged twice, on the same outcomes: with all episodes, and with those that the allocation chooses.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit

from assay.episodes import CONTROL
from assay.measures.success.drops import drops
from assay.measures.success.rates import rates
from assay.runs.schedulers.allocate import Allocation
from assay.support.stats.power import NAMED
from assay.support.stats.significance import binomial_at_least, holm
from assay.support.streams import stream
from bench.figure import Figure

TASKS, SEEDS, CHANGES, RUNS = 10, 10, 40, 40
REPORTS = 2
"""Number of runs of each policy for which the intervals of a report are computed."""
TASK_SD, START_SD, CELL_SD = 1.0, 0.7, 0.5
"""Standard deviations of tasks, starts, and starts under a change, in log-odds."""
BROKEN = 4
"""Number of changes under which the policy is broken."""


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    success: float
    lost: np.ndarray
    """Fraction of the successes lost, by change and task."""
    tasks: float = TASK_SD


def policies() -> list[Policy]:
    nothing = np.zeros((CHANGES, TASKS))
    broken, in_a_task, all_lower = nothing.copy(), nothing.copy(), np.full_like(nothing, 0.2)
    broken[:BROKEN] = 0.4
    in_a_task[:, 3] = 1.0
    return [
        Policy("flawless", 0.8, nothing),
        Policy("broken under one kind of change", 0.8, broken),
        Policy("broken under every change in one task", 0.8, in_a_task),
        Policy("general decline", 0.8, all_lower),
        Policy("weak, half of the tasks never succeed", 0.15, nothing, 3.0),
    ]


def outcomes(policy: Policy, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sample controls (tasks, seeds) and changed episodes (changes, tasks, seeds).

    Also return the true success rates for new starts, the control first: (1 + changes, tasks).
    """
    tasks = policy.tasks * rng.permutation(np.linspace(-1.5, 1.5, TASKS))
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    spread = np.hypot(START_SD, CELL_SD) * nodes
    low, high = -20.0, 20.0
    for _ in range(40):
        level = (low + high) / 2
        usual = expit(tasks[:, None] + spread + level) @ weights / weights.sum()
        low, high = (level, high) if usual.mean() < policy.success else (low, level)
    odds = level + tasks[:, None] + START_SD * rng.normal(size=(TASKS, SEEDS))
    own = odds + CELL_SD * rng.normal(size=(1 + CHANGES, TASKS, SEEDS))
    kept = np.vstack([np.ones((1, TASKS)), 1 - policy.lost])
    won = rng.random(own.shape) < expit(own) * kept[:, :, None]
    return won[0], won[1:], usual * kept


def plain(controls: np.ndarray, changed: np.ndarray) -> np.ndarray:
    """Return which changes have a significant loss if all episodes are executed."""
    lost, won = ((controls & ~changed).sum(axis=(1, 2)), (~controls & changed).sum(axis=(1, 2)))
    p = [binomial_at_least(int(a), int(a + b), 0.5) for a, b in zip(lost, won, strict=True)]
    return np.array(holm(p)) < NAMED


def allocated(controls: np.ndarray, changed: np.ndarray) -> tuple[Allocation, np.ndarray]:
    """Return an allocation, and which episodes it chooses, the control first: (1 + changes, tasks, seeds)."""
    names = [CONTROL, *map(str, range(len(changed)))]
    allocation = Allocation({(name, str(task)): SEEDS for name in names for task in range(TASKS)})
    chosen = np.zeros((len(names), TASKS, SEEDS), bool)
    for seed in range(SEEDS):
        results = {}
        for name, task in sorted(allocation.open_cells()):
            control = bool(controls[int(task), seed])
            results[CONTROL, task] = [control], control
            results[name, task] = [bool(changed[int(name), int(task), seed])], control
            chosen[[0, 1 + int(name)], int(task), seed] = True
        allocation.complete(results)
    return allocation, chosen


def covers(
    allocation: Allocation, chosen: np.ndarray, won: np.ndarray, truth: np.ndarray
) -> tuple[list[bool], list[bool]]:
    """Return whether the intervals of a report cover the true rates, and the true differences, of the conditions."""
    condition, task, seed = np.nonzero(chosen)
    names = [CONTROL, *map(str, range(CHANGES))]
    frame = pl.DataFrame(
        {
            "key": [f"{a} {b} {c}" for a, b, c in zip(condition, task, seed, strict=True)],
            "condition": [names[place] for place in condition],
            "task": [f"libero_goal/{place}" for place in task],
            "seed": seed,
            "start": seed,
            "outcome": np.where(won[condition, task, seed], "success", "failure"),
            "experiment": "pro",
            "axis": "world",
        }
    )
    stopped = {name: {"rounds": SEEDS, "low": 0.0, "high": 1.0} for name in allocation.verdicts}
    usual, means = truth[0].mean(), dict(zip(names, truth.mean(axis=1), strict=True))
    intervals = [
        (rate.interval, means[str(rate.group["condition"])]) for rate in rates(frame, stopped=stopped)
    ]
    results = drops(frame, resampling=False, stopped=stopped)
    apart = [(drop.interval, means[str(drop.group["condition"])] - usual) for drop in results]
    return tuple(  # type: ignore[return-value]
        [interval is not None and interval.low <= value <= interval.high for interval, value in pairs]
        for pairs in (intervals, apart)
    )


def measure() -> list[Figure]:
    """Measure the share of episodes, the agreement of verdicts, false verdicts, and coverage."""
    figures = []
    for policy in policies():
        is_lost = policy.lost.any(axis=1)
        counts = Counter[str]()
        for run in range(RUNS):
            controls, changed, truth = outcomes(policy, stream("allocation", policy.name, run))
            full = plain(controls, changed)
            allocation, chosen = allocated(controls, changed)
            found = np.array([allocation.verdicts.get(str(place)) == "loss" for place in range(CHANGES)])
            counts["episodes"] += int(chosen.sum())
            counts["same"] += int((full == found).sum())
            counts["false"] += bool(found[~is_lost].any())
            counts["found"] += int(found[is_lost].sum())
            counts["found by the plain design"] += int(full[is_lost].sum())
            if run < REPORTS:
                won = np.concatenate([controls[None], changed])
                for name, covered in zip(
                    ("rates", "drops"), covers(allocation, chosen, won, truth), strict=True
                ):
                    counts[name] += sum(covered)
                    counts[f"all {name}"] += len(covered)
        note = f"verdicts equal to the plain design's: {100 * counts['same'] / (RUNS * CHANGES):.1f} %; "
        if is_lost.any():
            losses = RUNS * int(is_lost.sum())
            plainly = 100 * counts["found by the plain design"] / losses
            note += f"losses found: {100 * counts['found'] / losses:.0f} %, plain {plainly:.0f} %; "
        coverage = [
            f"{name} {100 * counts[name] / counts[f'all {name}']:.1f} %" for name in ("rates", "drops")
        ]
        note += f"intervals cover: {', '.join(coverage)}"
        share = 100 * counts["episodes"] / (RUNS * (CHANGES + 1) * TASKS * SEEDS)
        figures.append(Figure(f"episodes of the plain design, {policy.name}", share, "%", 60.0, note=note))
        what = f"runs with a false loss, {policy.name}"
        figures.append(
            Figure(what, 100 * counts["false"] / RUNS, "%", 5.0, note=f"{counts['false']} of {RUNS}")
        )
    return figures
