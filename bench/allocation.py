"""Active allocation against the plain design: verdicts, errors and episodes, in simulated runs with known truth.

Ten tasks x ten seeds x forty changes, as `pro` on LIBERO-Goal. The log-odds of an episode are task + start (shared by
all conditions of the start) + noise of the start under this change; a change takes away a fraction of what succeeds.
Every run is judged twice, on the same outcomes: with all episodes, and with those that the allocation chooses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from assay.episodes import CONTROL
from assay.runs.schedulers.allocate import Allocation
from assay.support.stats.power import NAMED
from assay.support.stats.significance import binomial_at_least, holm
from assay.support.streams import stream
from bench.figure import Figure

TASKS, SEEDS, CHANGES, RUNS = 10, 10, 40, 40
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
    broken[:BROKEN] = 0.8
    in_a_task[:, 3] = 1.0
    return [
        Policy("flawless", 0.8, nothing),
        Policy("broken under one kind of change", 0.8, broken),
        Policy("broken under every change in one task", 0.8, in_a_task),
        Policy("general decline", 0.8, all_lower),
        Policy("weak, half of the tasks never succeed", 0.15, nothing, 3.0),
    ]


def outcomes(policy: Policy, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sample controls (tasks, seeds) and changed episodes (changes, tasks, seeds)."""
    tasks = policy.tasks * rng.permutation(np.linspace(-1.5, 1.5, TASKS))[:, None]
    odds = tasks + START_SD * rng.normal(size=(TASKS, SEEDS))
    odds = odds + _level(odds, policy.success)
    own = odds + CELL_SD * rng.normal(size=(CHANGES, TASKS, SEEDS))
    chances = expit(own) * (1 - policy.lost[:, :, None])
    return rng.random(odds.shape) < expit(odds), rng.random(own.shape) < chances


def _level(odds: np.ndarray, wanted: float) -> float:
    low, high = -20.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(odds + middle).mean() < wanted else (low, middle)
    return low


def plain(controls: np.ndarray, changed: np.ndarray) -> np.ndarray:
    """Return which changes have a significant loss if all episodes are executed."""
    lost, won = ((controls & ~changed).sum(axis=(1, 2)), (~controls & changed).sum(axis=(1, 2)))
    p = [binomial_at_least(int(a), int(a + b), 0.5) for a, b in zip(lost, won, strict=True)]
    return np.array(holm(p)) < NAMED


def allocated(controls: np.ndarray, changed: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the same for the episodes that the allocation chooses, and their number."""
    names = [CONTROL, *map(str, range(len(changed)))]
    allocation = Allocation({(name, str(task)): SEEDS for name in names for task in range(TASKS)})
    count = 0
    for seed in range(SEEDS):
        results = {}
        for name, task in sorted(allocation.open_cells()):
            control = bool(controls[int(task), seed])
            results[CONTROL, task] = [control], control
            results[name, task] = [bool(changed[int(name), int(task), seed])], control
        count += len(results)
        allocation.complete(results)
    return np.array([allocation.verdicts.get(name) == "loss" for name in names[1:]]), count


def measure() -> list[Figure]:
    """Measure the share of episodes, the agreement of verdicts, and false verdicts."""
    figures = []
    for policy in policies():
        shares, same, false, found, power = [], [], [], [], []
        for run in range(RUNS):
            data = outcomes(policy, stream("allocation", policy.name, run))
            full = plain(*data)
            chosen, count = allocated(*data)
            shares.append(count / ((CHANGES + 1) * TASKS * SEEDS))
            same.append((full == chosen).mean())
            is_lost = policy.lost.any(axis=1)
            false.append(bool(chosen[~is_lost].any()))
            found.append(chosen[is_lost].mean() if is_lost.any() else np.nan)
            power.append(full[is_lost].mean() if is_lost.any() else np.nan)
        note = f"verdicts equal to the plain design's: {100 * np.mean(same):.1f} %"
        if not np.isnan(found[0]):
            note += f"; losses found: {100 * np.mean(found):.0f} %, plain {100 * np.mean(power):.0f} %"
        figures.append(
            Figure(
                f"episodes of the plain design, {policy.name}",
                100 * float(np.mean(shares)),
                "%",
                60.0,
                note=note,
            )
        )
        figures.append(
            Figure(
                f"runs with a false loss, {policy.name}",
                100 * float(np.mean(false)),
                "%",
                5.0,
                note=f"{sum(false)} of {RUNS}",
            )
        )
    return figures
