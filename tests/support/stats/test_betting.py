from __future__ import annotations

import math

import numpy as np
import pytest

from assay.support.stats.betting import Wager, anytime_interval, capital, evidence
from assay.support.streams import stream


def test_nothing_and_draws_say_nothing():
    assert evidence(np.zeros(0)) == pytest.approx(0.0) and evidence(np.zeros(9)) == pytest.approx(0.0)


def test_every_win_counts_for_it_and_every_loss_against():
    wins = [evidence(np.ones(n)) for n in range(6)]
    assert wins == sorted(wins) and wins[5] > math.log(10)
    assert evidence(-np.ones(5)) < 0 < evidence(np.array([1.0, 1.0, 1.0, -1.0]))


def test_a_fair_coin_is_seldom_taken_for_a_false_one_at_any_time():
    """Ville: beyond 20 : 1 ever, in at most one of twenty sequences."""
    ever = 0
    for number in range(100):
        flips = np.sign(stream(number, "flips").normal(size=60))
        ever += max(evidence(flips[:n]) for n in range(1, 61)) > math.log(20)
    assert ever <= 12


def test_a_wager_wins_what_the_capital_does():
    differences = stream(1, "wager").uniform(-1, 1, size=30)
    for above in (-0.3, 0.0, 0.2):
        wager = Wager(above)
        for each in differences:
            wager.see(float(each))
        assert wager.most == pytest.approx(max(0.0, capital(differences, above).max()))
        assert evidence(differences, above) == pytest.approx(capital(differences, above)[-1])


def test_the_interval_says_what_the_bets_have_won_and_never_takes_it_back():
    wins = np.ones(12)
    low, high = anytime_interval(wins, 0.05)
    assert 0 < low < 1 and high == pytest.approx(1.0, abs=1e-3)
    assert anytime_interval(-wins, 0.05) == pytest.approx((-high, -low), abs=1e-3)
    assert anytime_interval(np.append(wins, [-1.0] * 3), 0.05)[0] == pytest.approx(low, abs=1e-3)
    assert anytime_interval(np.zeros(0), 0.05) == (-1.0, 1.0)


def test_the_interval_holds_the_mean_at_all_times():
    """In at least 95 % of sequences; looked at where it is narrowest, after the last of 80."""
    rng = stream("coverage", "betting")
    held = 0
    for _ in range(60):
        low, high = anytime_interval(rng.choice([-1.0, 0.0, 1.0], size=80, p=[0.1, 0.6, 0.3]), 0.05)
        held += low <= 0.2 <= high
    assert held >= 54
