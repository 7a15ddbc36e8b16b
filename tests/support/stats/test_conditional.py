from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from assay.support.stats.regression import conditional_log_odds


def test_pairs_have_a_closed_form():
    control, changed = np.repeat([1.0, 1, 0, 0], [20, 12, 3, 5]), np.repeat([1.0, 0, 1, 0], [20, 12, 3, 5])
    ones = np.ones(len(control))
    found = conditional_log_odds(control, ones, changed, ones)
    assert found is not None and found.strata == 15
    assert found.log_odds == pytest.approx(np.log(3.5 / 12.5))
    assert found.interval.low < found.log_odds < found.interval.high < 0 and found.p < 0.05


def test_one_control_against_several_is_what_the_penalised_likelihood_says():
    """By brute force: the chance of so many successes now, given how many there are, at every odds."""
    rng = np.random.default_rng(7)
    control, changed = rng.binomial(1, 0.8, 25), rng.binomial(4, 0.5, 25)

    def penalised(term: float) -> float:
        score, information = 0.0, 0.0
        for before, now in zip(control, changed, strict=True):
            possible = range(max(0, before + now - 1), min(4, before + now) + 1)
            ways = np.array([comb(4, k) * comb(1, before + now - k) * np.exp(term * k) for k in possible])
            chance = ways / ways.sum()
            mean = float(chance @ np.array(possible))
            score += np.log(chance[list(possible).index(now)])
            information += float(chance @ (np.array(possible) - mean) ** 2)
        return -score - np.log(information) / 2

    best = minimize_scalar(penalised, bounds=(-6, 3), method="bounded").x
    found = conditional_log_odds(control * 1.0, np.ones(25), changed * 1.0, np.full(25, 4.0))
    assert found is not None and found.log_odds == pytest.approx(best, abs=1e-4)


def test_strata_that_never_change_say_nothing():
    ones = np.ones(5)
    assert conditional_log_odds(ones, ones, ones, ones) is None
    fall = conditional_log_odds(ones, ones, np.zeros(5), ones)
    assert fall is not None and np.isfinite(fall.interval.low) and fall.log_odds < -2
