from __future__ import annotations

import math

import numpy as np
import pytest

from assay.runs.schedulers.search import least_starts
from assay.support.stats.thresholds import LadderEvidence

RUNGS = 8


def searched(chances: np.ndarray, starts: int, seed: int, control: float = 1.0) -> LadderEvidence:
    """What is known after so many starts of a policy with these chances of success, rung by rung."""
    rng, evidence = np.random.default_rng(seed), LadderEvidence(len(chances))
    for _ in range(starts):
        if evidence.is_settled(range(len(chances))):
            break
        outcomes = {rung: bool(rng.random() < chances[rung]) for rung in evidence.next(range(len(chances)))}
        evidence.see(bool(rng.random() < control), outcomes)
    return evidence


@pytest.mark.parametrize("threshold", [0, 3, RUNGS])
def test_a_policy_that_fails_from_a_rung_on_is_found_there(threshold: int):
    found = searched((np.arange(RUNGS) < threshold) * 1.0, 30, 0)
    assert found.interval == (threshold, threshold) and found.best == threshold


def test_nothing_is_known_at_first_and_the_smallest_number_of_starts_is_enough_for_one_rung():
    assert LadderEvidence(RUNGS).interval == (0, RUNGS)
    evidence = LadderEvidence(1)
    for _ in range(least_starts() - 1):
        evidence.see(True, {0: True})
    assert evidence.interval == (0, 1)
    evidence.see(True, {0: True})
    assert evidence.interval == (1, 1)


def test_the_true_threshold_is_rarely_refuted_where_chances_are_just_at_the_level():
    chances = np.where(np.arange(RUNGS) < 4, 0.5, 0.499)  # nothing can be told: all that is refuted is luck
    false = 0
    for seed in range(60):
        ends = searched(chances, 30, seed).interval
        false += ends is None or not ends[0] <= 4 <= ends[1]
    assert false / 60 <= 0.1


@pytest.mark.parametrize("control", [0.3, 0.5, 0.7, 0.95])
def test_random_failures_are_no_lost_success(control: float):
    """A change without effect, at any success rate of the controls; the luck of each episode is its own."""
    ends = [searched(np.full(RUNGS, control), 30, seed, control).interval for seed in range(20)]
    assert sum(end is None or end[1] < RUNGS for end in ends) <= 1


def test_a_sharp_loss_of_a_policy_of_half_success_is_found():
    chances = (np.arange(RUNGS) < 4) * 0.5
    found = searched(chances, 150, 1, 0.5)
    assert found.interval == (4, 4)


@pytest.mark.parametrize("succeeds", [True, False])
def test_of_one_start_each_threshold_is_bet_against_once(succeeds: bool):
    evidence = LadderEvidence(RUNGS)
    stakes = [evidence._bet(rung)[1] for rung in range(RUNGS)]
    single = {math.log1p(stake * (succeeds - evidence.level)) for stake in stakes}
    evidence.see(True, dict.fromkeys(range(RUNGS), succeeds))
    assert np.count_nonzero(evidence._capital) >= RUNGS
    for capital in map(float, evidence._capital[evidence._capital != 0]):
        assert min(abs(capital - each) for each in single) < 1e-9


def test_success_on_a_rung_says_nothing_of_those_after_it():
    one, many = LadderEvidence(RUNGS), LadderEvidence(RUNGS)
    for _ in range(12):
        one.see(True, {0: True})
        many.see(True, dict.fromkeys(range(RUNGS), True))
    assert one.interval == (1, RUNGS) and many.interval == (RUNGS, RUNGS)


def test_a_rung_that_cannot_be_played_is_never_asked_for_and_leaves_the_end_open():
    evidence, playable = LadderEvidence(RUNGS), range(RUNGS - 2)
    for _ in range(30):
        if evidence.is_settled(playable):
            break
        rungs = evidence.next(playable)
        assert set(rungs) <= set(playable)
        evidence.see(True, dict.fromkeys(rungs, True))
    assert evidence.interval == (RUNGS - 2, RUNGS)


def test_success_that_grows_with_the_change_refutes_nothing():
    evidence = LadderEvidence(2)
    for _ in range(40):
        evidence.see(True, {0: False, 1: True})
    assert evidence.interval == (0, 2) and not evidence.is_settled((0, 1))
