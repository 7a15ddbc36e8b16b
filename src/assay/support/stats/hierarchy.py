"""Logistic model with partial pooling over tasks, starts, changes, and changes within tasks, without a sampler.

The log-odds of success in a start of task t under change c (0: unperturbed) are

    m + a[t] + s[start] + (c > 0) (d + b[c] + h[t] + g[t, c])

with normal a and s. b, h and g have Student's distribution, whose tails do not shrink a single broken change, task or
cell away. Variances are estimated by EM, with the Laplace approximation of the posterior in each step (Newton's
method). Starts form a diagonal block of the Hessian and are eliminated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from assay.support.streams import stream

FREEDOM = 2.0
"""Degrees of freedom of b, h and g."""
_STEPS, _FINE = 40, 0.02
"""Maximum number of steps of EM, and the change of a log variance that ends them."""
_PRIOR, _PRIOR_WEIGHT = 0.2, 3.0
"""Prior value of the variances of a, b, h and g, and its weight as a number of effects."""
_VAGUE = 25.0
"""Variance of m and d."""
_MAX_START_VARIANCE = 16.0
"""Beyond it, outcomes are fixed by the start; the estimate would grow without bound."""
_WIDER = 1.15
"""Factor by which the posterior is widened, because the variances are estimated; calibrated by simulation."""
DRAWS, _NEW_TASKS = 1000, 40


@dataclass(frozen=True, slots=True)
class Cells:
    """Posterior of success in cells, as draws."""

    control: np.ndarray
    """Unperturbed success rate of each task: (draws, tasks)."""
    changed: np.ndarray
    """Success rate under each change: (draws, tasks, changes)."""
    general: np.ndarray
    """Difference between success under a change and without it, mean over tasks in general: (draws, changes)."""


def fit(
    task: np.ndarray, start: np.ndarray, change: np.ndarray, hits: np.ndarray, count: np.ndarray
) -> Cells:
    """Fit the model to successes ``hits`` among ``count`` episodes, one row (n,) for each start and change.

    ``task``, ``start`` and ``change`` are codes from 0; change 0 is the control. Counts may be effective counts.
    """
    tasks, changes = int(task.max()) + 1, int(change.max())
    design, blocks = _design(tasks, changes)
    cells, size = design.shape
    cell = task * (changes + 1) + change
    random_blocks = [blocks == block for block in range(1, 5)]
    heavy_tailed = blocks >= 2
    variance, weight = np.where(blocks == 0, _VAGUE, _PRIOR), np.ones(size)
    effects, starts, start_variance = np.zeros(size), np.zeros(int(start.max()) + 1), 1.0
    for _ in range(_STEPS):
        precision = weight / variance
        chance = scipy.special.expit(np.clip((design @ effects)[cell] + starts[start], -30, 30))
        information, off = np.maximum(count * chance * (1 - chance), 1e-9), hits - count * chance
        table = np.bincount(start * cells + cell, information, len(starts) * cells).reshape(-1, cells)
        own, cross = table.sum(axis=1) + 1 / start_variance, table @ design  # (starts,), (starts, size)
        reduced = cross / own[:, None]
        hessian = (design.T * table.sum(axis=0)) @ design + np.diag(precision) - cross.T @ reduced
        covariance = np.linalg.inv(hessian)
        start_gradient = np.bincount(start, off) - starts / start_variance
        gradient = np.bincount(cell, off, cells) @ design - precision * effects
        step = covariance @ (gradient - reduced.T @ start_gradient)
        start_step = (start_gradient - cross @ step) / own
        limit = min(1.0, 2.0 / max(np.abs(step).max(), np.abs(start_step).max(), 1e-9))
        effects, starts = effects + limit * step, starts + limit * start_step
        squares, before = effects**2 + np.diag(covariance), variance
        variance = variance.copy()
        for block in random_blocks:
            total = (weight * squares)[block].sum() + _PRIOR_WEIGHT * _PRIOR
            variance[block] = total / (block.sum() + _PRIOR_WEIGHT)
        weight[heavy_tailed] = ((FREEDOM + 1) / (FREEDOM + squares / variance))[heavy_tailed]
        start_squares = starts**2 + 1 / own + ((reduced @ covariance) * reduced).sum(axis=1)
        start_variance = min(_MAX_START_VARIANCE, float(start_squares.mean()))
        if np.abs(np.log(variance / before)).max() < _FINE and np.abs(step).max() < _FINE:
            break
    random = stream("hierarchy", tasks, changes, len(task))
    drawn = effects + _WIDER * random.normal(size=(DRAWS, size)) @ np.linalg.cholesky(covariance).T
    # Success over new starts: a normal mean of the logistic function (MacKay, 1992).
    flat = (1 + np.pi * start_variance / 8) ** 0.5
    rates = scipy.special.expit(drawn @ design.T / flat).reshape(DRAWS, tasks, changes + 1)
    spread = [float(variance[block][0]) ** 0.5 for block in random_blocks]
    shape = (DRAWS, _NEW_TASKS, 1)
    usual = drawn[:, :1, None] + spread[0] * random.normal(size=shape)  # (draws, new tasks, 1)
    cost = (drawn[:, 1:2] + drawn[:, blocks == 2])[:, None, :] + spread[2] * random.standard_t(FREEDOM, shape)
    cost = cost + spread[3] * random.standard_t(FREEDOM, (DRAWS, _NEW_TASKS, changes))
    general = scipy.special.expit((usual + cost) / flat) - scipy.special.expit(usual / flat)
    return Cells(rates[:, :, 0], rates[:, :, 1:], general.mean(axis=1))


def _design(tasks: int, changes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the effects of each cell, (tasks * (changes + 1), effects), and the block of each effect.

    The blocks are 0 (m and d), 1 (a), 2 (b), 3 (h) and 4 (g).
    """
    task, change = np.indices((tasks, changes + 1)).reshape(2, -1)
    changed = (change > 0)[:, None] * 1.0
    by_task = np.eye(tasks)[task]
    by_change = np.eye(changes + 1)[change][:, 1:]
    by_cell = (by_task[:, :, None] * by_change[:, None, :]).reshape(len(task), -1)
    parts = (np.hstack([np.ones_like(changed), changed]), by_task, by_change, by_task * changed, by_cell)
    return np.hstack(parts), np.repeat(np.arange(5), [part.shape[1] for part in parts])
