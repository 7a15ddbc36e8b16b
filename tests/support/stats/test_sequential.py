from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from assay.support.stats.judgement import PairVerdict
from assay.support.stats.sequential import Rule, SignBoundary, decide, interval_at_stop, median_unbiased
from assay.support.stats.significance import sign_flip
from assay.support.streams import stream


def outcomes(control: float, other: float, starts: int, duels: int) -> np.ndarray:
    rng = stream(f"{control} {other} {starts}", "outcomes")
    return (rng.random((duels, starts, 2)) < (control, other)) * 1.0


def test_boundary_rejects_exactly_what_it_may_for_every_pattern_of_ties():
    """All signs of nine starts that differ, with ties between them: the share rejected is at most alpha."""
    for ties in ([], [0, 3, 4], [9, 10, 11]):
        places = [place for place in range(12) if place not in ties][:9]
        signs = np.array(list(product((-1.0, 1.0), repeat=len(places))))
        differences = np.zeros((len(signs), 12))
        differences[:, places] = signs
        boundary = SignBoundary(12, 0.1, len(signs))
        shares = []
        for place, difference in enumerate(differences.T, start=1):
            boundary.see(difference)
            shares.append((boundary.higher | boundary.lower).mean())
            assert shares[-1] <= 0.1 * (place / 12) ** 2 + 1e-12
        assert shares[-1] > 0.03 and (boundary.higher == boundary.lower[::-1]).all()
        rejected = boundary.p[boundary.higher | boundary.lower]
        assert (rejected <= 0.1 + 1e-12).all() and rejected.max() == pytest.approx(shares[-1])


def test_starts_beyond_the_plan_do_not_count_for_the_boundary():
    boundary = SignBoundary(3, 0.05)
    for _ in range(40):
        boundary.see(np.ones(1))
    assert not boundary.higher[0] and boundary.p[0] == 1


@pytest.mark.parametrize(("control", "other", "starts"), [(0.6, 0.8, 50), (0.5, 0.7, 100), (0.8, 0.95, 100)])
def test_power_is_that_of_a_fixed_test_with_fewer_starts(control: float, other: float, starts: int):
    played = outcomes(control, other, starts, 400)
    fixed = np.mean([sign_flip(duel[:, 1] - duel[:, 0]) < 0.05 for duel in played])
    decisions = decide(played)
    assert (decisions.verdicts == PairVerdict.BETTER).mean() > fixed - 0.04
    assert decisions.stops.mean() < 0.9 * starts
    assert set(decisions.rules[decisions.verdicts == PairVerdict.BETTER]) <= {Rule.BOUNDARY, Rule.BETS}


def test_extended_duels_are_decided_by_bets():
    played = outcomes(0.3, 0.9, 40, 100)
    played[:, :6] = 1.0  # undecided at first
    decisions = decide(played, plans=(6, 40))
    better = decisions.verdicts == PairVerdict.BETTER
    assert better.mean() > 0.9 and set(decisions.rules[better]) == {Rule.BETS}
    assert (decisions.stops[better] > 6).all()


def test_equal_policies_are_seldom_told_apart_after_an_extension():
    decisions = decide(outcomes(0.5, 0.5, 80, 1000), plans=(40, 80))
    false = np.isin(decisions.verdicts, [PairVerdict.BETTER, PairVerdict.WORSE]).mean()
    assert false <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5


def test_scores_with_a_skewed_distribution_are_bet_on():
    """Mostly a little better, rarely much worse, equal on average: flipped signs would find a difference."""
    rng = stream("skewed", "scores")
    differences = np.where(rng.random((400, 60)) < 0.2, -1.0, 0.25)
    played = np.stack([np.zeros_like(differences), differences], axis=-1)
    false = np.isin(decide(played, binary=False).verdicts, [PairVerdict.BETTER, PairVerdict.WORSE]).mean()
    assert false <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def test_difference_at_the_stop_is_corrected():
    played = outcomes(0.6, 0.8, 200, 400)
    raw, corrected = [], []
    for duel, stop in zip(played, decide(played).stops, strict=True):
        differences = duel[:stop, 1] - duel[:stop, 0]
        raw.append(differences.mean())
        corrected.append(median_unbiased(differences))
    assert abs(np.median(corrected) - 0.2) < 0.02 < np.mean(raw) - 0.2
    assert median_unbiased(np.array([1.0, 1.0])) == 1 and median_unbiased(np.array([0.0, np.nan])) == 0


def test_interval_agrees_with_the_verdict():
    differences = np.array([1.0] * 8 + [0.0] * 2)
    for verdict, inside in (
        (PairVerdict.BETTER, 0.0),
        (PairVerdict.UNDECIDED, 0.0),
        (PairVerdict.WORSE, -1.0),
    ):
        low, high = interval_at_stop(differences, verdict, alpha=0.05, plans=(40,))
        assert -1 <= low <= 0 <= high if verdict is PairVerdict.UNDECIDED else low >= inside
