from __future__ import annotations

import numpy as np
import pytest

from assay.errors import ActionError, TaskError
from assay.extensions.tabletop.scene import Item, TableScene, Tool
from assay.extensions.tabletop.simulation import Effect, TableSimulation, action

BOWL = Item("base", "bowl", "tiles", 0.5, 0.25, fixed=True)
BLOCK = Item("block", "block", "red", 0.4, -0.2)
DISC = Item("disc", "round", "blue", 0.6, -0.35)


@pytest.fixture
def world() -> TableSimulation:
    return TableSimulation(TableScene((BOWL, BLOCK, DISC)))


def test_picks_a_thing_and_puts_it_elsewhere_turned(world: TableSimulation) -> None:
    report = world.step(action((0.41, -0.2), (0.61, 0.0), np.radians(30)))
    assert report.effect is Effect.MOVED
    assert report.held == 1
    x, y, yaw = world.poses()[1]
    turned = np.array([np.cos(np.radians(30)), np.sin(np.radians(30))]) * 0.01
    assert np.allclose((x, y), (0.61, 0.0) - turned, atol=0.004)
    assert np.isclose(yaw, np.radians(30), atol=0.03)
    assert abs(world.heights()[1]) < 0.002


def test_carries_what_it_holds_through_the_air_without_a_jump(world: TableSimulation) -> None:
    trail = world.step(action((0.4, -0.2), (0.6, 0.1))).trail
    steps = np.linalg.norm(np.diff(trail[:, 1, :2], axis=0), axis=1)
    assert len(trail) > 8
    assert steps.max() < 0.15


def test_a_thing_put_into_a_bowl_rests_in_it(world: TableSimulation) -> None:
    world.step(action((0.6, -0.35), (0.5, 0.25)))
    assert np.hypot(*(world.poses()[2, :2] - (0.5, 0.25))) < 0.04
    assert 0.004 < world.heights()[2] < 0.06


def test_a_thing_put_on_another_lies_on_it_or_beside_it(world: TableSimulation) -> None:
    world.step(action((0.6, -0.35), (0.4, -0.2)))
    assert world.heights()[2] == pytest.approx(0.064, abs=0.003)


def test_a_thing_put_on_the_edge_of_another_topples(world: TableSimulation) -> None:
    report = world.step(action((0.6, -0.35), (0.4, -0.26)))
    assert report.effect is Effect.MOVED
    assert world.heights()[2] < 0.05


@pytest.mark.parametrize("place", [(0.5, 0.0), (0.5, 0.25)], ids=["bare table", "fixed bowl"])
def test_a_pick_of_nothing_that_moves_misses(world: TableSimulation, place: tuple[float, float]) -> None:
    before = world.poses()
    report = world.step(action(place, (0.6, 0.1)))
    assert report.effect is Effect.MISSED
    assert np.allclose(world.poses(), before, atol=1e-3)


def test_a_pick_through_the_hole_of_a_ring_misses() -> None:
    world = TableSimulation(TableScene((Item("ring", "ring", "red", 0.5, 0.0),)))
    assert world.step(action((0.5, 0.0), (0.6, 0.2))).effect is Effect.MISSED
    assert world.step(action((0.5, 0.037), (0.6, 0.2))).effect is Effect.MOVED


def test_a_pose_outside_is_brought_to_the_edge_and_told(world: TableSimulation) -> None:
    report = world.step(action((0.4, -0.2), (9.0, -9.0)))
    assert report.clipped
    assert np.allclose(world.poses()[1, :2], (0.75, -0.5), atol=0.01)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.zeros(7), r"shape \(7,\).*\(12,\)"),
        (np.full(12, np.nan), "not finite"),
        (np.array(["left"] * 12), "12 numbers"),
    ],
)
def test_an_action_that_is_none_is_refused(world: TableSimulation, given: np.ndarray, said: str) -> None:
    with pytest.raises(ActionError, match=said):
        world.step(given)


def test_two_equal_poses_do_nothing(world: TableSimulation) -> None:
    before = world.poses()
    assert world.step(action((0.4, -0.2), (0.4, -0.2))).effect is Effect.NOTHING
    assert (world.poses() == before).all()


def test_a_zero_quaternion_turns_nothing(world: TableSimulation) -> None:
    given = action((0.4, -0.2), (0.6, 0.0))
    given[[2, 8]] = 0.0
    world.step(given)
    assert np.isclose(world.poses()[1, 2], 0.0, atol=0.03)


def test_the_spatula_pushes_a_block_along_and_leaves_others() -> None:
    near, far = Item("a", "small block", "red", 0.6, 0.0, 0.4), Item("b", "small block", "blue", 0.6, 0.2)
    world = TableSimulation(TableScene((near, far), Tool.SPATULA))
    world.step(action((0.608, 0.0), (0.4, 0.0)))
    (x, y, _), other = world.poses()
    assert 0.41 < x < 0.45
    assert abs(y) < 0.015
    assert np.allclose(other[:2], (0.6, 0.2), atol=1e-3)


def test_a_push_that_is_too_short_is_none() -> None:
    world = TableSimulation(TableScene((Item("a", "small block", "red", 0.6, 0.0),), Tool.SPATULA))
    for given in (action((0.5, 0.2), (0.5, 0.2), 0.5), action((0.5, 0.2), (0.475, 0.2))):
        assert world.step(given).effect is Effect.NOTHING


def test_what_is_foreseen_happens_and_looking_ahead_changes_nothing() -> None:
    scenes = (
        (TableScene((BOWL, BLOCK, DISC)), action((0.6, -0.35), (0.4, -0.25), 0.5)),
        (
            TableScene((Item("a", "small block", "red", 0.6, 0.0, 0.4),), Tool.SPATULA),
            action((0.61, 0), (0.4, 0)),
        ),
    )
    for scene, given in scenes:
        world = TableSimulation(scene)
        before = world.poses()
        trail = world.foresee(given)
        assert (world.poses() == before).all() and world.actions == 0
        assert (world.step(given).trail == trail).all() and np.abs(trail[-1] - before).max() > 0.1


def test_the_same_actions_give_the_same_poses_bit_for_bit() -> None:
    ends = []
    for _ in range(2):
        world = TableSimulation(TableScene((BOWL, BLOCK, DISC)))
        world.step(action((0.6, -0.35), (0.4, -0.25), 0.5))
        ends.append(world.poses())
    assert (ends[0] == ends[1]).all()


def test_a_reset_undoes_everything(world: TableSimulation) -> None:
    before = world.poses()
    world.step(action((0.4, -0.2), (0.6, 0.1)))
    world.reset()
    assert (world.poses() == before).all()
    assert world.actions == 0


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (Item("x", "lettr A", "red", 0.5, 0.0), "did you mean 'letter A'"),
        (Item("x", "block", "dark olive", 0.5, 0.0), "there is no texture 'dark olive'"),
    ],
)
def test_a_thing_that_does_not_exist_is_refused(item: Item, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        TableSimulation(TableScene((item,)))


def test_names_in_a_scene_are_unique() -> None:
    with pytest.raises(TaskError, match="more than one item 'block'"):
        TableScene((BLOCK, BLOCK))
