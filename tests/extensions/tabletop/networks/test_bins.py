from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.tabletop.networks.dataset import (
    BINS,
    bin_centres,
    from_bins,
    nearest_bins,
    target_shares,
    to_bins,
)
from assay.extensions.tabletop.world.simulation import action


@pytest.mark.parametrize("turn", [0.0, -np.pi / 6, np.pi / 2, -2.6, 3.1, -3.14])
def test_an_action_comes_back_from_its_bins_to_half_a_centimetre_and_half_of_five_degrees(turn: float):
    given = action((0.2512, -0.4988), (0.7499, 0.333), turn)
    got = from_bins(nearest_bins(to_bins(given[None]))[0])
    assert np.abs(got[[0, 1, 6, 7]] - given[[0, 1, 6, 7]]).max() <= 0.005 + 1e-9
    off = 2 * (np.arctan2(got[11], got[8]) - np.arctan2(given[11], given[8]))
    assert abs((off + np.pi) % (2 * np.pi) - np.pi) <= np.radians(2.5) + 1e-6


def test_not_turning_is_among_the_bins():
    assert from_bins(nearest_bins(to_bins(action((0.4, 0.1), (0.5, 0.2))[None]))[0])[11] == pytest.approx(0)


def test_a_target_is_spread_around_its_bin_and_turns_go_round():
    positions = to_bins(np.array([action((0.3, 0.1), (0.5, 0.2), turn) for turn in (-np.pi, 0.4, 3.12)]))
    for axis, count in enumerate(BINS):
        target = target_shares(positions[:, axis], axis)
        assert target.shape == (3, count) and np.allclose(target.sum(axis=1), 1)
        off = np.abs(target.argmax(axis=1) - nearest_bins(positions)[:, axis])
        assert np.minimum(off, count - off).max() <= 1
    assert target_shares(positions[:1, 4], 4)[0, -1] == pytest.approx(
        target_shares(positions[:1, 4], 4)[0, 1]
    )


def test_the_middles_of_bins_are_where_the_view_from_above_shows_them():
    for axis, (low, covered) in enumerate(((0.245, 0.51), (-0.51, 1.02))):
        chosen = np.zeros(5)
        chosen[axis] = 7
        assert bin_centres(axis)[7] == pytest.approx((from_bins(chosen)[axis] - low) / covered)
