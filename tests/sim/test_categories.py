from __future__ import annotations

import numpy as np
import pytest

from assay.sim.categories import GLOWING, OPENING, SWITCHING, JointBound, Mechanism, resting_pose
from assay.sim.packs.pack import AssetPack

MECHANISMS = {**OPENING, **SWITCHING}


@pytest.mark.parametrize(
    ("threshold", "below", "at", "above"),
    [
        (JointBound(0.5, above=True), False, False, True),
        (JointBound(0.5, above=True, inclusive=True), False, True, True),
        (JointBound(0.5, above=False), True, False, False),
        (JointBound(0.5, above=False, inclusive=True), True, True, False),
    ],
)
def test_a_threshold_has_a_side(threshold: JointBound, below: bool, at: bool, above: bool):
    assert [threshold.holds(value) for value in (0.4, 0.5, 0.6)] == [below, at, above]


@pytest.mark.parametrize("category", MECHANISMS)
def test_what_is_put_into_a_state_is_in_it(category: str):
    mechanism: Mechanism = MECHANISMS[category]
    for bound, values in (
        (mechanism.active, mechanism.active_range),
        (mechanism.passive, mechanism.passive_range),
    ):
        low, high = values
        for share in np.linspace(0.01, 0.99, 9):
            assert bound.holds(low + (high - low) * share), (category, share)


@pytest.mark.parametrize("category", MECHANISMS)
def test_nothing_is_in_both_states(category: str):
    mechanism = MECHANISMS[category]
    for value in np.linspace(-3, 3, 2001):
        assert not (mechanism.active.holds(value) and mechanism.passive.holds(value)), value


def test_what_glows_can_be_switched():
    assert set(GLOWING) <= set(SWITCHING)


@pytest.mark.parametrize("category", sorted(AssetPack().categories))
def test_a_resting_pose_is_a_turn_and_a_range(category: str):
    pose = resting_pose(category)
    assert np.linalg.norm(pose.tilt) == pytest.approx(1)
    assert pose.yaw[0] <= pose.yaw[1]
