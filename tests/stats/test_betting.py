from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.betting import evidence
from assay.streams import stream


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
