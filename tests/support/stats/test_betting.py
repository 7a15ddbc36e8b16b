from __future__ import annotations

import math
from math import comb

import numpy as np
import pytest

from assay.support.stats.betting import LOSSES, Wager, anytime_interval, evidence, loss_evidence
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


def test_bets_towards_a_plan_are_won_sooner_than_bets_without_one():
    differences = stream(1, "wager").choice([-1.0, 0.0, 1.0], size=(80, 200), p=[0.2, 0.5, 0.3])
    won = []
    for planned in (0, 80):
        wager = Wager(0.0, 0.025, planned=planned, reserve=0.05 if planned else 1.0, shape=(200,))
        for difference in differences:
            wager.see(difference)
        won.append(int(wager.won.sum()))
    assert won[1] > won[0] + 20


def test_bets_on_a_true_bound_are_seldom_won_however_the_differences_are_spread():
    """A mean of 0 with rare large losses, a mean at the margin, and an extension once the plan is over."""
    spread = {
        "rare losses": ([-1.0, 0.25], [0.2, 0.8], 0.0),
        "margin": ([-1.0, 0.0, 1.0], [0.15, 0.75, 0.1], -0.05),
    }
    for name, (values, chances, above) in spread.items():
        differences = stream(name, "null").choice(values, size=(60, 1000), p=chances)
        wager = Wager(above, 0.05, planned=40, shape=(1000,))
        for place, difference in enumerate(differences):
            if place == 40:
                wager.extend(20)
            wager.see(difference)
        assert wager.won.mean() <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5


def test_missing_differences_move_no_capital():
    wager = Wager(0.0, 0.05, planned=30)
    for _ in range(20):
        wager.see(np.nan)
    assert not wager.won
    for _ in range(9):
        wager.see(1.0)
    assert wager.won


def test_the_interval_is_narrower_with_a_plan_and_symmetric():
    wins = np.ones(12)
    low, high = anytime_interval(wins, 0.05, (12,))
    assert 0 < low < 1 and high == pytest.approx(1.0, abs=1e-3)
    assert anytime_interval(-wins, 0.05, (12,)) == pytest.approx((-high, -low), abs=1e-3)
    assert anytime_interval(wins, 0.05)[0] < low
    assert anytime_interval(np.append(wins, [-1.0] * 3), 0.05)[0] == pytest.approx(
        anytime_interval(wins, 0.05)[0], abs=1e-3
    ), "what is excluded stays excluded"
    assert anytime_interval(np.zeros(0), 0.05) == (-1.0, 1.0)


def test_the_interval_holds_the_mean_at_all_times():
    """In at least 95 % of sequences; looked at where it is narrowest, after the last of 80, beyond a plan of 40."""
    rng = stream("coverage", "betting")
    held = 0
    for _ in range(60):
        differences = rng.choice([-1.0, 0.0, 1.0], size=80, p=[0.1, 0.6, 0.3])
        low, high = anytime_interval(differences, 0.05, (40, 80))
        held += low <= 0.2 <= high
    assert held >= 54


def test_bet_on_a_loss_is_not_expected_to_gain_if_outcomes_can_be_exchanged():
    """Exactly, over all outcomes with the change: the mean capital is 1."""
    total, won, drawn = 7, 3, 2
    mean = 0.0
    for now in range(drawn + 1):
        counts = np.array([[won - now], [total - drawn], [now], [drawn]], float)
        chance = comb(won, now) * comb(total - won, drawn - now) / comb(total, drawn)
        mean += chance * np.exp(loss_evidence(*counts))
    assert mean == pytest.approx(1.0)
    ones, none = np.ones(10), np.zeros(10)
    assert np.exp(loss_evidence(ones, ones, none, ones)) == pytest.approx(
        np.mean([(2 / (2 - loss)) ** 10 for loss in LOSSES])
    )
