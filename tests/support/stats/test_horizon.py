from __future__ import annotations

import numpy as np
import pytest

from assay.support.stats.horizon import HorizonTest
from assay.support.stats.significance import binomial_at_least


def test_test_is_the_exact_one_if_the_expected_number_of_starts_is_right():
    """All starts differ and the number is known: p is the binomial one, rounded up to the next level."""
    for losses in (7, 15, 19):
        test = HorizonTest()
        signs = np.repeat([-1.0, 1.0], [losses, 30 - losses])
        for place, sign in enumerate(np.random.default_rng(1).permutation(signs)):
            test.see(sign, int((30 - place) * (place + 2) / (place + 1)))
        exact = binomial_at_least(losses, 30, 0.5)
        assert exact <= test.p * 1.0001 and test.p <= 1.05 * exact


def test_capital_of_a_fair_game_does_not_grow_however_starts_are_chosen():
    """Starts are chosen to flatter: the game stops at the first small p, and the number left is whatever was seen."""
    rng, runs = np.random.default_rng(5), 400
    rejected = 0
    for _ in range(runs):
        test = HorizonTest()
        while test.starts < 40 and test.p > 0.1:
            test.see(rng.choice((-1.0, 0.0, 1.0)), 40 - test.starts if test.lost > test.won else 5)
        rejected += test.p <= 0.1
    assert 0.02 < rejected / runs <= 0.1 + 3 * (0.09 / runs) ** 0.5


def test_total_loss_is_confirmed_long_before_the_end():
    test = HorizonTest()
    for place in range(22):
        test.see(-1.0, 100 - place)
    assert test.p < 0.001
    assert HorizonTest.of([(0, 0.0)] * 20, 5).p == 1.0


def test_power_is_that_of_the_remaining_starts():
    test = HorizonTest()
    for place in range(20):
        test.see((-1.0, 0.0, 1.0, 0.0)[place % 4], 100 - place)
    powers = [test.power(0.01, left, 0.2) for left in (5, 40, 200)]
    assert powers == pytest.approx(sorted(powers)) and powers[0] < 0.01 and powers[2] > 0.7
