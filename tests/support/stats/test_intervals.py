from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.support.stats.intervals import (
    effective_count,
    median_interval,
    paired_difference,
    share_interval,
    wilson_interval,
)


@pytest.mark.parametrize(("hits", "count"), [(0, 3), (7, 10), (81, 263), (50, 50)])
def test_wilson_is_what_scipy_says(hits: int, count: int):
    found, want = (
        wilson_interval(hits / count, count),
        stats.binomtest(hits, count).proportion_ci(method="wilson"),
    )
    assert (found.low, found.high) == pytest.approx((want.low, want.high), abs=1e-12)


def pairs(both: int, first: int, second: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    counts = [both, first, second, neither]
    return np.repeat([1.0, 1, 0, 0], counts), np.repeat([1.0, 0, 1, 0], counts)


def test_newcombe_joins_wilsons_limits_as_if_independent_where_pairs_are_uncorrelated():
    one, other = pairs(24, 16, 6, 4)  # 40 and 30 of 50, and 24 / 50 = 40 / 50 * 30 / 50
    ones = np.ones(50)
    found = paired_difference((one, other), (ones, ones), (50, 50))
    first, second = (stats.binomtest(hits, 50).proportion_ci(method="wilson") for hits in (40, 30))
    assert found.difference == pytest.approx(-0.2)
    assert found.interval.low == pytest.approx(-0.2 - np.hypot(0.6 - second.low, first.high - 0.8))
    assert found.interval.high == pytest.approx(-0.2 + np.hypot(second.high - 0.6, 0.8 - first.low))


def test_pairs_that_go_together_are_surer_of_a_difference_than_strangers():
    ones = np.ones(50)
    widths = [
        np.subtract(found.interval.high, found.interval.low)
        for table in ((30, 10, 0, 10), (24, 16, 6, 4), (20, 20, 10, 0))
        for found in [paired_difference(pairs(*table), (ones, ones), (50, 50))]
    ]
    assert widths == sorted(widths) and widths[0] < 0.8 * widths[1] < 0.8 * widths[2]


def test_pairs_that_all_agree_leave_room_for_doubt():
    ones = np.ones(20)
    found = paired_difference((ones, ones), (ones, ones), (20, 20))
    assert found.difference == 0 and found.interval.low < -0.1 and found.interval.high > 0.1


def test_episodes_that_repeat_each_other_count_once():
    hits = np.repeat([0.0, 5.0], 10)  # twenty starts, five episodes each, all five alike
    assert effective_count(hits, np.full(20, 5.0), 100) <= 20
    mixed = np.tile([2.0, 3.0], 10)  # more even than chance
    assert 95 < effective_count(mixed, np.full(20, 5.0), 100) < 100


@pytest.mark.parametrize(("clusters", "each"), [(2, 9), (5, 9), (5, 100), (20, 5)])
def test_one_rule_for_all_rates_more_successes_are_never_less_sure_of_many(clusters: int, each: int):
    """From where each cluster has a failure: before, it is not known whether failures come alone."""
    sizes, ends = np.full(clusters, float(each)), []
    for lost in range(clusters, clusters * each // 2 + 1):
        failures = lost // clusters + (np.arange(clusters) < lost % clusters)  # spread evenly
        ends.append(share_interval(sizes - failures, sizes, clusters * each).low)
    assert ends == sorted(ends, reverse=True)


@pytest.mark.parametrize("each", [10, 43, 430])
def test_fifty_starts_that_all_succeed_are_worth_fifty_episodes(each: int):
    sizes = np.full(50, float(each))
    assert effective_count(sizes, sizes, 50 * each) == pytest.approx(50)
    one = sizes - np.where(np.arange(50) == 0, float(each), 0.0)  # one start fails in all its wordings
    assert effective_count(one, sizes, 50 * each) == pytest.approx(50, rel=0.03)


def test_a_single_cluster_shows_nothing_of_what_it_shares():
    assert share_interval(np.array([7.0]), np.array([10.0]), 10).low == pytest.approx(
        wilson_interval(0.7, 10).low
    )


def test_few_values_have_no_interval():
    assert median_interval(np.arange(5.0)) is None
    assert median_interval(np.arange(50.0), 5.9) is None, "fifty that are worth no more than five"


@pytest.mark.parametrize("count", [6, 7, 12, 25, 200])
def test_the_interval_of_a_median_lies_between_order_statistics(count: int):
    values = np.sort(np.random.default_rng(count).normal(size=count))
    found = median_interval(values)
    assert found is not None and values[0] <= found.low < np.median(values) < found.high <= values[-1]
