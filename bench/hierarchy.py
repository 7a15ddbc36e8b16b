"""Coverage of the pooled map of tasks x changes, on outcomes that its model does not generate.

Ten tasks x ten starts x twelve changes. A change takes away a fraction of the successes of a task; the luck of starts
is independent, beta-distributed, shared by all conditions, or decides everything.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtr, ndtri

from assay.support.stats.hierarchy import fit
from assay.support.streams import stream
from bench.figure import Figure

TASKS, STARTS, CHANGES, RUNS = 10, 10, 12, 20
CASES = (
    "no loss",
    "three changes cost 20, 40 and 80 %",
    "one task broken under every change",
    "one cell broken",
    "near 0 %",
    "near 100 %",
    "losses and gains in every cell",
    "beta-overdispersed starts under a change",
    "luck of the start, shared",
    "outcome decided by the start",
)


def rates(case: str, rng: np.random.Generator, tasks: int = TASKS) -> np.ndarray:
    """Return the true success rates of tasks and conditions, the control first: (tasks, 1 + changes)."""
    level = {"near 0 %": -3.2, "near 100 %": 4.0}.get(case, 1.2)
    usual = expit(level + 1.2 * rng.normal(size=(tasks, 1)))
    lost = np.zeros((tasks, CHANGES))
    if case == "one task broken under every change":
        lost[tasks // 3] = 1.0
    elif case == "one cell broken":
        lost[tasks // 3, 2] = 1.0
    elif case == "losses and gains in every cell":
        lost = rng.uniform(-0.4, 0.8, size=lost.shape)
    elif case != "no loss":
        lost[:, :3] = 0.2, 0.4, 0.8
    return np.hstack([usual, np.clip(usual * (1 - lost), 0, 1)])


def outcomes(case: str, chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sample outcomes (tasks, starts, conditions) whose mean over starts is the rate (tasks, conditions)."""
    shape = (len(chance), STARTS, chance.shape[1])
    wide = np.broadcast_to(chance[:, None, :], shape)
    if case.startswith("beta"):
        wide = rng.beta(np.maximum(1.5 * wide, 1e-6), np.maximum(1.5 * (1 - wide), 1e-6))
    elif case.startswith("luck"):
        luck = rng.standard_normal(shape[:2])[:, :, None]
        wide = ndtr(ndtri(np.clip(wide, 1e-9, 1 - 1e-9)) * (1 + 1.5**2) ** 0.5 + 1.5 * luck)
    uniform = rng.random((*shape[:2], 1) if case.startswith("outcome") else shape)
    return np.asarray(uniform < wide)


def measure() -> list[Figure]:
    """Measure coverage of the cells and of the changes in general, and the error relative to unpooled cells."""
    figures = []
    for case in CASES:
        covered, general, errors, own_errors = [], [], [], []
        for run in range(RUNS):
            rng = stream("hierarchy", case, run)
            chance = rates(case, rng)
            won = outcomes(case, chance, rng)
            task, start, change = np.indices(won.shape).reshape(3, -1)
            cells = fit(task, task * STARTS + start, change, won.ravel() * 1.0, np.ones(won.size))
            apart = cells.changed - cells.control[:, :, None]
            truth, raw = chance[:, 1:] - chance[:, :1], won.mean(axis=1)[:, 1:] - won.mean(axis=1)[:, :1]
            low, high = np.quantile(apart, (0.025, 0.975), axis=0)
            covered.append(((low <= truth) & (truth <= high)).mean())
            errors.append(np.abs(apart.mean(axis=0) - truth).mean())
            own_errors.append(np.abs(raw - truth).mean())
            many = rates(case, stream("tasks", case), 3000)
            low, high = np.quantile(cells.general, (0.025, 0.975), axis=0)
            mean = (many[:, 1:] - many[:, :1]).mean(axis=0)
            general.append(((low <= mean) & (mean <= high)).mean())
        note = f"tasks in general: {100 * np.mean(general):.1f} %; mean error {100 * np.mean(errors):.1f} points, "
        note += f"unpooled {100 * np.mean(own_errors):.1f}"
        what = f"intervals of cells that cover, {case}"
        figures.append(Figure(what, 100 * float(np.mean(covered)), "%", 93.0, False, note))
    return figures
