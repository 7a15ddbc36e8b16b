from __future__ import annotations

import numpy as np
import pytest

from assay.sim.categories import GLOWING, OPENING, SWITCHING, JointBound, resting_pose
from assay.sim.packs.pack import AssetPack


def test_a_bound_has_a_side_and_may_include_its_value():
    for inclusive in (False, True):
        for above, expected in ((True, [False, inclusive, True]), (False, [True, inclusive, False])):
            bound = JointBound(0.5, above=above, inclusive=inclusive)
            assert [bound.holds(value) for value in (0.4, 0.5, 0.6)] == expected


def test_sampled_mechanisms_are_in_their_state_and_never_in_both():
    for mechanism in (OPENING | SWITCHING).values():
        ranges = ((mechanism.active, mechanism.active_range), (mechanism.passive, mechanism.passive_range))
        for bound, (low, high) in ranges:
            assert all(bound.holds(low + (high - low) * share) for share in np.linspace(0.01, 0.99, 9))
        for value in np.linspace(-3, 3, 2001):
            assert not (mechanism.active.holds(value) and mechanism.passive.holds(value)), value
    assert set(GLOWING) <= set(SWITCHING)


def test_resting_poses_are_rotations_with_ordered_ranges():
    for category in AssetPack().categories:
        pose = resting_pose(category)
        assert np.linalg.norm(pose.tilt) == pytest.approx(1) and pose.yaw[0] <= pose.yaw[1], category
