from __future__ import annotations

import numpy as np
import pytest

from assay.support.stats.resampling import labels_behind, table_correlation


def test_labels_dealt_by_chance_are_seldom_behind():
    """Forty tasks, a tenth of them hopeless: what a few labels share is chance."""
    rng, runs = np.random.default_rng(7), 150
    hits = np.where(np.arange(40) < 4, 0.0, 10.0)
    found = [labels_behind(hits, np.full(40, 10.0), rng.permutation(40) < 5) for _ in range(runs)]
    assert np.mean(np.array(found) < 0.05) <= 0.05 + 3 * 0.018


def test_few_ways_to_deal_are_all_tried():
    hits, counts = np.array([0.0, 0, 9, 9, 9, 9, 9, 9]), np.full(8, 10.0)
    assert labels_behind(hits, counts, np.arange(8) < 2) == pytest.approx(1 / 28)
    assert labels_behind(hits, counts, np.zeros(8, bool)) == 1.0


def test_rows_that_differ_by_themselves_are_no_correlation():
    """Four rows, eleven columns; success differs between rows, distance too, and independently."""
    rng, runs = np.random.default_rng(7), 60
    small = 0
    for _ in range(runs):
        x, y = (rng.normal(size=(4, 1)) + 0.2 * rng.normal(size=(4, 11)) for _ in range(2))
        x[0, 0] = np.nan
        small += table_correlation(x, y)[1] < 0.05
    assert small / runs <= 0.05 + 3 * 0.03


def test_a_correlation_that_is_there_is_found():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(4, 11))
    r, p, interval = table_correlation(x, -x + 0.3 * rng.normal(size=x.shape))
    assert r < -0.9 and p < 0.001 and interval.high < -0.7
    assert r == pytest.approx(np.corrcoef(x.ravel(), (-x + 0.0).ravel())[0, 1], abs=0.1)
