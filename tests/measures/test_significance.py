from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.measures.significance import holm, mostly, sign_flip


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_sign_flip_counts_the_signs_that_go_as_far(differences: list[int]):
    sizes = [abs(each) for each in differences if each]
    sums = [abs(sum(np.multiply(signs, sizes))) for signs in product((1, -1), repeat=len(sizes))]
    want = np.mean([each >= abs(sum(differences)) for each in sums])
    assert sign_flip(np.array(differences, int)) == pytest.approx(want, abs=1e-9)


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


def test_most_of_most_clusters_is_an_exact_binomial_test():
    hits, counts = np.array([3, 2, 1, 0]), np.array([3, 3, 2, 5])
    two_of_four = 6 * 0.05**2 * 0.95**2 + 4 * 0.05**3 * 0.95 + 0.05**4
    assert mostly(hits, counts, 0.05) == pytest.approx(two_of_four), "a tie is not most"
