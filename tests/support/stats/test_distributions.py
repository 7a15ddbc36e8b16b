"""Against scipy.stats, which has them all and is slow to import."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.support.stats import significance as ours
from assay.support.stats.intervals import LEVEL, Z

PROBABILITIES = (0.001, 0.025, 0.3, 0.5, 0.9, 0.975)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_normal_and_students_quantiles_and_tails(p: float):
    z = ours.normal_quantile(p)
    assert z == pytest.approx(stats.norm.ppf(p)) and ours.normal_below(z) == pytest.approx(p)
    for freedom in (1, 2, 7, 30, 500):
        t = ours.t_quantile(p, freedom)
        assert t == pytest.approx(stats.t.ppf(p, freedom)) and ours.t_below(t, freedom) == pytest.approx(p)


def test_the_quantile_of_intervals_is_the_one_that_is_written_down():
    assert ours.normal_quantile((1 + LEVEL) / 2) == Z


@pytest.mark.parametrize("chance", [0.05, 0.5, 0.93])
@pytest.mark.parametrize("count", [1, 8, 200])
def test_binomial_tails(count: int, chance: float):
    hits = np.arange(count + 1)
    for each in hits:
        expected = stats.binomtest(int(each), count, chance, alternative="greater").pvalue
        assert ours.binomial_at_least(int(each), count, chance) == pytest.approx(expected, rel=1e-9)


def test_hypergeometric_chances_and_moments():
    total, won, drawn = np.array([[4], [10], [300]]), np.array([[2], [9], [30]]), np.array([[3], [5], [100]])
    hits = np.arange(101)
    assert ours.hypergeometric(total, won, drawn, hits) == pytest.approx(
        stats.hypergeom.pmf(hits, total, won, drawn), rel=1e-9, abs=1e-300
    )
    mean, variance = ours.hypergeometric_moments(total, won, drawn)
    expected = stats.hypergeom(total, won, drawn)
    assert mean == pytest.approx(expected.mean()) and variance == pytest.approx(expected.var())
