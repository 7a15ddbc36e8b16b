"""Things stand elsewhere: where there is room, and as far off as it says."""

from __future__ import annotations

import numpy as np
import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.world.ground import Ground, move_entity
from assay.perturb.world.position import SWEEP, Displace, DisplaceAlong, MoveFixture, WorkspaceAxis

from .example import BOWL, Places, changed


@pytest.mark.parametrize("distance", np.round(np.arange(0, 0.41, 0.05), 2).tolist())
def test_the_displacement_sweep_of_libero_pro(distance: float):
    possible = 0
    for task in tasks.suite("libero_object"):
        (atom,) = task.goal.atoms
        try:
            after = Ground(changed(Displace(distance), task=task).scene).spots[atom.arguments[0]]
        except PerturbationError:
            continue
        before = Ground(task.scene).spots[atom.arguments[0]]
        assert before.distance(after) == pytest.approx(distance, abs=1e-9)
        possible += 1
    assert possible >= 8


def test_a_sweep_of_displacements_goes_one_way():
    ways = []
    for distance in SWEEP:
        task = tasks.load("libero_object/5")
        after = Ground(changed(Displace(distance), task=task).scene).spots["tomato_sauce_1"]
        before = Ground(task.scene).spots["tomato_sauce_1"]
        ways.append(np.arctan2(after.y - before.y, after.x - before.x))
    np.testing.assert_allclose(ways, ways[0], atol=1e-9)


@pytest.mark.parametrize("along", WorkspaceAxis)
def test_a_displacement_along_an_axis_leaves_the_other_coordinate(along: WorkspaceAxis):
    ways = set()
    for task in tasks.suite("libero_object"):
        name = task.goal.atoms[0].arguments[0]
        after = Ground(changed(DisplaceAlong(along, 0.1), task=task).scene).spots[name]
        before = Ground(task.scene).spots[name]
        step = (after.x - before.x, after.y - before.y)
        gone, stays = step if along is WorkspaceAxis.X else step[::-1]
        assert abs(gone) == pytest.approx(0.1) and stays == pytest.approx(0)
        ways.add(gone > 0)
    assert ways == {True, False}, "both ways"


def test_a_moved_fixture_takes_along_what_stands_in_it(places: Places):
    task = tasks.load("libero_spatial/4")
    made = changed(MoveFixture(0.1, "wooden_cabinet_1"), task=task, seed=3)
    before, after = places(task), places(made)
    shift = after["wooden_cabinet_1"] - before["wooden_cabinet_1"]
    assert 0.04 < np.linalg.norm(shift) < 0.11
    np.testing.assert_allclose((after[BOWL] - before[BOWL])[:2], shift[:2], atol=0.01)


def test_a_moved_fixture_is_clear_of_the_robot():
    task = tasks.load("libero_spatial/0")
    for seed in range(4):  # with the first of them, the stove once ended in the robot's base
        stove = Ground(changed(MoveFixture(0.1), task=task, seed=seed).scene).spots["flat_stove_1"]
        x, y = abs(stove.x + 0.66) - stove.half_x, abs(stove.y) - stove.half_y
        assert np.hypot(max(x, 0.0), max(y, 0.0)) > 0.17


@pytest.mark.parametrize(
    ("task", "landmark", "place"),
    [
        ("libero_10/6", "plate_1", "living_room_table_plate_right_region"),
        ("libero_goal/5", "flat_stove_1", "main_table_stove_front_region"),
    ],
)
def test_a_place_named_after_a_thing_comes_along_with_it(task: str, landmark: str, place: str):
    usual = tasks.load(task).scene
    scene = move_entity(usual, landmark, 0.03, -0.05)
    before, after = usual.region(place), scene.region(place)
    assert before is not None and after is not None
    shift = np.subtract(after.rectangles[0], before.rectangles[0])
    np.testing.assert_allclose(shift, (0.03, -0.05, 0.03, -0.05), atol=1e-9)
    other = next(name for name in Ground(usual).spots if name != landmark)
    assert move_entity(usual, other, 0.03, 0.0).region(place) == before
