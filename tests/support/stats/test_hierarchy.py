from __future__ import annotations

import numpy as np
from scipy.special import expit

from assay.support.stats.hierarchy import fit


def apart(won: np.ndarray) -> np.ndarray:
    """Draws of the pooled differences from outcomes (tasks, starts, 1 + changes)."""
    task, start, change = np.indices(won.shape).reshape(3, -1)
    cells = fit(task, task * won.shape[1] + start, change, won.ravel() * 1.0, np.ones(won.size))
    return cells.changed - cells.control[:, :, None]


def test_chance_differences_are_shrunk_and_covered():
    rng, covered, errors = np.random.default_rng(3), [], []
    for _ in range(8):
        chance = expit(1 + rng.normal(size=(8, 1, 1)))
        won = rng.random((8, 8, 7)) < chance
        draws, observed = apart(won), won.mean(axis=1)
        low, high = np.quantile(draws, (0.025, 0.975), axis=0)
        covered.append(((low <= 0) & (high >= 0)).mean())
        errors.append(np.abs(draws.mean(axis=0)).mean() / np.abs(observed[:, 1:] - observed[:, :1]).mean())
    assert np.mean(covered) > 0.95 and np.mean(errors) < 0.6


def test_single_broken_cell_is_not_shrunk_away():
    rng = np.random.default_rng(3)
    won = rng.random((8, 12, 7)) < 0.8
    won[2, :, 4] = False
    draws = apart(won)
    assert np.quantile(draws[:, 2, 3], 0.975) < -0.2 and np.median(draws[:, 2, 3]) < -0.5
    assert np.abs(np.delete(draws.mean(axis=0).ravel(), 2 * 6 + 3)).max() < 0.3


def test_outcomes_without_any_success_or_failure_give_finite_numbers():
    for won in (np.zeros((4, 5, 4)), np.ones((4, 5, 4))):
        draws = apart(won)
        assert np.isfinite(draws).all() and np.abs(draws.mean(axis=0)).max() < 0.15
