from __future__ import annotations

import numpy as np
import pytest

from assay.errors import ActionError, TaskError
from assay.extensions.tabletop.world.scene import TableItem, TableScene, Tool
from assay.extensions.tabletop.world.simulation import ActionEffect, TableSimulation, action

BOWL = TableItem("base", "bowl", "tiles", 0.5, 0.25, fixed=True)
BLOCK = TableItem("block", "block", "red", 0.4, -0.2)
DISC = TableItem("disc", "round", "blue", 0.6, -0.35)


@pytest.fixture
def world() -> TableSimulation:
    return TableSimulation(TableScene((BOWL, BLOCK, DISC)))


def test_picks_a_thing_and_puts_it_elsewhere_turned(world: TableSimulation) -> None:
    report = world.step(action((0.41, -0.2), (0.61, 0.0), np.radians(30)))
    assert report.effect is ActionEffect.MOVED
    assert report.held == 1
    x, y, yaw = world.poses()[1]
    turned = np.array([np.cos(np.radians(30)), np.sin(np.radians(30))]) * 0.01
    assert np.allclose((x, y), (0.61, 0.0) - turned, atol=0.004)
    assert np.isclose(yaw, np.radians(30), atol=0.03)
    assert abs(world.heights()[1]) < 0.002


def test_objects_rest_in_a_bowl_and_on_each_other(world: TableSimulation) -> None:
    trail = world.step(action((0.6, -0.35), (0.5, 0.25))).trail
    assert len(trail) > 8 and np.linalg.norm(np.diff(trail[:, 2, :2], axis=0), axis=1).max() < 0.15
    assert np.hypot(*(world.poses()[2, :2] - (0.5, 0.25))) < 0.04
    assert 0.004 < world.heights()[2] < 0.06
    world.reset()
    world.step(action((0.6, -0.35), (0.4, -0.2)))
    assert world.heights()[2] == pytest.approx(0.064, abs=0.003)


def test_a_pick_beside_every_movable_object_misses(world: TableSimulation) -> None:
    before = world.poses()
    for place in ((0.5, 0.0), (0.5, 0.25)):  # the bare table, a fixed bowl
        assert world.step(action(place, (0.6, 0.1))).effect is ActionEffect.MISSED
        assert np.allclose(world.poses(), before, atol=1e-3)
    world = TableSimulation(TableScene((TableItem("ring", "ring", "red", 0.5, 0.0),)))
    assert world.step(action((0.5, 0.0), (0.6, 0.2))).effect is ActionEffect.MISSED
    assert world.step(action((0.5, 0.037), (0.6, 0.2))).effect is ActionEffect.MOVED


def test_a_pose_outside_is_clipped_to_the_edge(world: TableSimulation) -> None:
    assert world.step(action((0.4, -0.2), (9.0, -9.0))).clipped
    assert np.allclose(world.poses()[1, :2], (0.75, -0.5), atol=0.01)


def test_invalid_actions_and_scenes_are_refused(world: TableSimulation) -> None:
    for given, words in (
        (np.zeros(7), r"shape \(7,\).*\(12,\)"),
        (np.full(12, np.nan), "not finite"),
        (np.array(["left"] * 12), "12 numbers"),
    ):
        with pytest.raises(ActionError, match=words):
            world.step(given)
    for items, words in (
        ((TableItem("x", "lettr A", "red", 0.5, 0.0),), "did you mean 'letter A'"),
        ((TableItem("x", "block", "dark olive", 0.5, 0.0),), "there is no texture 'dark olive'"),
        ((BLOCK, BLOCK), "more than one item 'block'"),
    ):
        with pytest.raises(TaskError, match=words):
            TableSimulation(TableScene(items))


def test_an_action_without_a_distance_does_nothing(world: TableSimulation) -> None:
    before = world.poses()
    assert world.step(action((0.4, -0.2), (0.4, -0.2))).effect is ActionEffect.NOTHING
    assert (world.poses() == before).all()
    swept = TableSimulation(TableScene((TableItem("a", "small block", "red", 0.6, 0.0),), Tool.SPATULA))
    for given in (action((0.5, 0.2), (0.5, 0.2), 0.5), action((0.5, 0.2), (0.475, 0.2))):
        assert swept.step(given).effect is ActionEffect.NOTHING


def test_the_spatula_pushes_a_block_along_and_leaves_others() -> None:
    near, far = (
        TableItem("a", "small block", "red", 0.6, 0.0, 0.4),
        TableItem("b", "small block", "blue", 0.6, 0.2),
    )
    world = TableSimulation(TableScene((near, far), Tool.SPATULA))
    world.step(action((0.608, 0.0), (0.4, 0.0)))
    (x, y, _), other = world.poses()
    assert 0.41 < x < 0.45
    assert abs(y) < 0.015
    assert np.allclose(other[:2], (0.6, 0.2), atol=1e-3)


def test_a_foreseen_action_happens_and_foreseeing_changes_nothing() -> None:
    block = TableItem("a", "small block", "red", 0.6, 0.0, 0.4)
    for scene, given in (
        (TableScene((BOWL, BLOCK, DISC)), action((0.6, -0.35), (0.4, -0.25), 0.5)),
        (TableScene((block,), Tool.SPATULA), action((0.61, 0), (0.4, 0))),
    ):
        world = TableSimulation(scene)
        before = world.poses()
        trail = world.foresee(given)
        assert (world.poses() == before).all() and world.actions == 0
        assert (world.step(given).trail == trail).all() and np.abs(trail[-1] - before).max() > 0.1


def test_the_same_actions_give_the_same_poses_bit_for_bit_and_a_reset_undoes_them() -> None:
    ends = []
    for _ in range(2):
        world = TableSimulation(TableScene((BOWL, BLOCK, DISC)))
        before = world.poses()
        world.step(action((0.6, -0.35), (0.4, -0.25), 0.5))
        ends.append(world.poses())
    assert (ends[0] == ends[1]).all()
    world.reset()
    assert (world.poses() == before).all() and world.actions == 0
