from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from assay.measures.memory.memorisation import share_above
from assay.support.stats.significance import (
    control_false_discoveries,
    holm,
    least_p,
    paired_p,
    sign_flip,
    telling,
    within,
)


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_sign_flip_counts_the_signs_that_go_as_far(differences: list[int]):
    sizes = [abs(each) for each in differences if each]
    sums = [abs(sum(np.multiply(signs, sizes))) for signs in product((1, -1), repeat=len(sizes))]
    want = np.mean([each >= abs(sum(differences)) for each in sums])
    assert sign_flip(np.array(differences, int)) == pytest.approx(want, abs=1e-9)


@given(st.lists(st.tuples(st.integers(-6, 6), st.sampled_from([3, 5, 7, 11])), max_size=9))
def test_ties_are_ties_whatever_the_denominators(parts: list[tuple[int, int]]):
    """2/7 and 3/7 are no multiples of the smallest: sums that are the same must count as the same."""
    fractions = [Fraction(*each) for each in parts if each[0]]
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, fractions, strict=True)))
        for signs in product((1, -1), repeat=len(fractions))
    ]
    want = np.mean([each >= abs(sum(fractions)) for each in sums])
    assert sign_flip(np.array([float(each) for each in fractions])) == pytest.approx(want, abs=1e-9)


def test_many_odd_differences_are_not_surer_than_random_signs_say():
    rng = np.random.default_rng(7)
    sizes = rng.random(60)
    signs = rng.choice([-1, 1], size=(20_000, 60))
    for seed in range(5):
        found = sizes * np.random.default_rng(seed).choice([-1, 1], size=60, p=[0.35, 0.65])
        want = (np.abs(signs @ sizes) >= abs(found.sum())).mean()
        assert want - 0.01 <= sign_flip(found) <= 1.3 * want + 0.02


def test_the_least_p_counts_starts_that_can_tell_and_the_family():
    assert least_p(6) == 2 / 2**6 and least_p(6, family=8) == 16 / 2**6
    assert least_p(2, family=8) == 1.0 and least_p(0) == 1.0
    assert telling(np.array([1, 0, 0, 1]), np.array([0, 0, 2, 3])) == 3


def test_a_share_above_chance_is_binomial_between_whole_numbers_too():
    assert share_above(0.4, 10, 0.05) == pytest.approx(stats.binom.sf(3, 10, 0.05))
    assert share_above(0.0, 10, 0.05) == 1.0
    assert share_above(0.4, 10, 0.05) > share_above(0.4, 10.5, 0.05) > share_above(0.4, 11, 0.05)


def test_with_single_pairs_it_is_mcnemars_exact_test():
    differences = np.repeat([1, -1, 0], [3, 14, 40])
    assert sign_flip(differences) == pytest.approx(stats.binomtest(3, 17).pvalue, rel=1e-12)


def test_no_difference_is_no_evidence():
    assert sign_flip(np.zeros(5)) == sign_flip(np.array([])) == 1.0


def test_many_large_clusters_are_no_trouble():
    rng = np.random.default_rng(7)
    even = rng.integers(-50, 51, size=500)
    assert 0.01 < sign_flip(even) <= 1.0
    assert 0.0 < sign_flip(np.abs(even)) < 1e-12


def test_holm_multiplies_the_smallest_most_and_never_falls():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0] and holm([]) == []


def test_within_strata_it_is_fishers_exact_test_of_the_changed_places():
    hits, counts, hits_now, counts_now = (np.array([each]) for each in (9, 10, 3, 8))
    table = stats.hypergeom(18, 12, 10)
    assert within(hits, counts, hits_now, counts_now) == pytest.approx(2 * table.sf(8))
    assert within(hits, counts, hits, counts) == 1.0


def test_single_pairs_are_mcnemars_either_way():
    one, other = np.repeat([1, 0, 1, 0], [20, 3, 14, 5]), np.repeat([1, 1, 0, 0], [20, 3, 14, 5])
    ones = np.ones(len(one))
    want = stats.binomtest(3, 17).pvalue
    assert within(one, ones, other, ones) == pytest.approx(want)
    assert paired_p(one, ones, other, ones) == pytest.approx(want)


def false_positives(control: np.ndarray, changed: np.ndarray, each: int, many: int) -> float:
    """The share of runs (runs, strata) in which chance passes for a difference."""
    counts, counts_now = np.full(control.shape[1], float(each)), np.full(control.shape[1], float(many))
    found = [
        paired_p(one.astype(float), counts, other.astype(float), counts_now)
        for one, other in zip(control, changed, strict=True)
    ]
    return float(np.mean(np.array(found) < 0.05))


@pytest.mark.parametrize("rate", [0.9, 0.98])
@pytest.mark.parametrize(("strata", "each", "many"), [(10, 1, 4), (20, 1, 20), (50, 1, 40), (20, 2, 10)])
def test_few_against_many_is_no_difference_by_itself(rate: float, strata: int, each: int, many: int):
    """One control against many variants: if no control fails, all differences are falls."""
    rng, runs = np.random.default_rng(7), 150
    few, rest = (rng.binomial(count, rate, size=(runs, strata)) for count in (each, many))
    assert false_positives(few, rest, each, many) <= 0.05 + 3 * 0.0178


@pytest.mark.parametrize(("odds", "apart"), [(0.0, 3.0), (1.5, 1.0), (3.0, 2.0)])
def test_a_change_that_helps_here_and_hurts_there_is_no_difference(odds: float, apart: float):
    rng, runs, strata, many = np.random.default_rng(7), 150, 20, 10
    chance, chance_now = expit(odds + apart * rng.normal(size=(2, runs, strata)))
    found = false_positives(rng.binomial(1, chance), rng.binomial(many, chance_now), 1, many)
    assert found <= 0.05 + 3 * 0.0178


def test_a_planted_fall_is_found():
    rng, runs = np.random.default_rng(7), 100
    few, rest = (rng.binomial(count, rate, size=(runs, 20)) for count, rate in ((1, 0.95), (5, 0.5)))
    assert false_positives(few, rest, 1, 5) > 0.9


def test_a_hundred_thousand_episodes_take_no_more_than_a_few_megabytes():
    rng = np.random.default_rng(7)
    counts = rng.integers(1500, 2500, size=50).astype(float)
    before, after = rng.binomial(counts.astype(int), 0.9), rng.binomial(counts.astype(int), 0.5)
    tracemalloc.start()
    assert paired_p(before.astype(float), counts, after.astype(float), counts) < 1e-12
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_false_discovery_rate_counts_the_discoveries_of_each_level():
    """Of four e-values, 90 alone is a discovery at 4 / 90; two of 50 are discoveries at 4 / (3 * 50)."""
    levels = control_false_discoveries(list(np.log([50.0, 1.0, 90.0, 50.0])))
    assert levels == pytest.approx([4 / 150, 1.0, 4 / 150, 4 / 150])
    assert control_false_discoveries(list(np.log([90.0, 1.0, 1.0, 1.0])))[0] == pytest.approx(4 / 90)
