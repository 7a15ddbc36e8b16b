from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from assay.extensions.eqa.actions import describe, difference, format_action, is_clear, signs

THRESHOLDS = (0.1, 0.1, 0.1, 18.0, 18.0, 18.0, 0.2)
NOWHERE = np.zeros(7)


def test_angles_take_the_shorter_way():
    start, end = NOWHERE.copy(), NOWHERE.copy()
    start[3:6], end[3:6] = (179, -170, 10), (-179, 170, -10)
    assert difference(start, end)[3:6] == pytest.approx([2, -20, -20])


def test_exact_turns_are_rotation_vectors_about_the_axes_of_the_base():
    start, end = NOWHERE.copy(), NOWHERE.copy()
    start[3:6] = (180, 0, 40)
    before = Rotation.from_euler("xyz", start[3:6], degrees=True)
    for vector in ([0, 0, 30], [0, 25, 0]):
        after = Rotation.from_rotvec(vector, degrees=True) * before
        end[3:6] = after.as_euler("xyz", degrees=True)
        assert difference(start, end, "exact")[3:6] == pytest.approx(vector, abs=1e-9)
    assert difference(start, end)[3:6] != pytest.approx([0, 25, 0], abs=1.0), "angle by angle is not the turn"


def test_labels_name_dimensions_above_their_thresholds():
    action = np.array([0.2, -0.3, 0.05, 20, -40, 30, -0.5])
    pattern = signs(action, THRESHOLDS)
    assert pattern.tolist() == [1, -1, 0, 1, -1, 1, -1]
    labels = describe(pattern.tolist()).split(", ")
    assert len(labels) == 6 and labels[1] == "move along negative Y" and labels[5] == "close the gripper"
    amounts = describe([1, 0, 0, 0, 0, -1, 1], np.array([0.12, 0, 0, 0, 0, -33.4, 0.5])).split(", ")
    assert [label.partition(" by ")[2] for label in amounts] == ["12 cm", "33 degrees", "50 % of its range"]


def test_changes_near_the_threshold_are_not_clear():
    for x, yaw, clear in (
        *((0.2, 0, True), (0.04, 0, True)),
        *((0.07, 0, False), (0.101, 0, False), (0.2, 170, False)),
    ):
        assert bool(is_clear(np.array([x, 0, 0, 0, 0, yaw, 0]), THRESHOLDS)) is clear


@given(st.lists(st.floats(-1, 1), min_size=7, max_size=7))
def test_all_actions_have_the_same_length(values: list[float]):
    text = format_action(np.array(values) * (1, 1, 1, 180, 180, 180, 1))
    assert len(text) == len(format_action(NOWHERE))
    assert not re.search(r"-0+\.?0*[,\]]", text), "no negative zero"
