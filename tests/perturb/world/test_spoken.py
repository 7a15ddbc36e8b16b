"""Wherever things are moved, the words still say which one is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import hypot

import pytest

from assay import tasks
from assay.episodes import task_of
from assay.errors import PerturbationError
from assay.experiments import load_experiment
from assay.perturb import apply_perturbations
from assay.perturb.world.ground import Ground, Spot
from assay.perturb.world.position import Displace, Swap
from assay.perturb.world.spoken import Spoken, named_colours
from assay.tasks import Entity, Instruction, Task

MEANT, OTHER = "akita_black_bowl_1", "akita_black_bowl_2"
PLATE, RAMEKIN, BOX = "plate_1", "glazed_rim_porcelain_ramekin_1", "cookies_1"
MOVING = (
    *("x/level1", "x/level2", "x/level3"),
    *("pro/position", "pro/position=nudge", "pro/displace=0.05", "pro/displace=0.2"),
)
POSITIONS = {
    "libero_spatial/0": (PLATE, RAMEKIN),
    "libero_spatial/1": (RAMEKIN,),
    "libero_spatial/6": (BOX,),
    "libero_spatial/8": (PLATE,),
}
"""What the bowl that is meant is next to or between."""


def told(id: str, text: str) -> Task:
    return replace(tasks.load(id), instruction=Instruction(text))


def spots_of(task: Task) -> Mapping[str, Spot]:
    return Ground(task.scene, snug=True).spots


def realised(id: str) -> list[Task]:
    """A task moved about in all ways of two suites that are not refused."""
    found = []
    for suite in ("x", "pro"):
        for spec in load_experiment(suite).plan([tasks.load(id)], (0,)):
            if spec.condition in MOVING:
                try:
                    found.append(task_of(spec))
                except PerturbationError as error:
                    assert "\n" not in str(error)
    assert len(found) >= 4
    return found


@pytest.mark.parametrize("id", POSITIONS)
def test_the_bowl_that_is_meant_stays_the_one_that_stands_there(id: str):
    for task in realised(id):
        spots = spots_of(task)
        other = spots.get(OTHER, spots["flat_stove_1"])

        def way(spot: Spot, spots: Mapping[str, Spot] = spots) -> float:
            return sum(spot.distance(spots[each]) for each in POSITIONS[id])

        assert way(spots[MEANT]) < way(other) - 0.04
        if len(POSITIONS[id]) == 2:
            assert way(spots[MEANT]) < spots[PLATE].distance(spots[RAMEKIN]) + 0.031
        else:
            assert spots[MEANT].air(spots[POSITIONS[id][0]]) < 0.081


def test_the_bowl_at_the_centre_stays_there():
    for task in realised("libero_spatial/2"):
        spots = spots_of(task)
        assert hypot(spots[MEANT].x, spots[MEANT].y) < 0.121 < hypot(spots[OTHER].x, spots[OTHER].y)


@pytest.mark.parametrize("number", [3, 4, 5, 7, 9])
def test_what_stands_on_a_thing_comes_along_with_it(number: int):
    usual = tasks.load(f"libero_spatial/{number}")
    for task in realised(usual.id):
        for atom in usual.scene.initial:
            if atom.arguments[0] in (MEANT, OTHER):
                assert atom in task.scene.initial


def test_the_left_plate_stays_on_the_left():
    for task in realised("libero_10/4"):
        spots = spots_of(task)
        assert spots["plate_1"].y <= spots["plate_2"].y - 0.08


def test_what_would_make_the_words_untrue_is_rejected_with_the_words():
    with pytest.raises(PerturbationError, match="'between the plate and the ramekin'"):
        apply_perturbations(tasks.load("libero_spatial/0"), Displace(0.3), seed=0)


def test_two_things_that_look_the_same_do_not_change_places():
    with pytest.raises(PerturbationError, match="there is no object with which"):
        apply_perturbations(tasks.load("libero_10/8"), Swap("moka_pot_1", "moka_pot_2"), seed=0)


@pytest.mark.parametrize(
    ("id", "text", "said"),
    [
        ("libero_spatial/0", "put the left black bowl on the plate", {"left black bowl"}),
        ("libero_spatial/0", "pick up the bowl on the left and put it on the plate", {"bowl on the left"}),
        ("libero_spatial/8", "pick up the bowl to the right of the plate", {"to the right of the plate"}),
        ("libero_spatial/8", "pick up the bowl to the left of the plate", set()),
        ("libero_spatial/1", "take the bowl nearest to the robot", {"nearest to the robot"}),
        ("libero_spatial/1", "take the bowl furthest from the robot", set()),
        ("libero_goal/1", "put the bowl on the stove", set()),
        ("libero_10/6", tasks.load("libero_10/6").instruction.text, set()),
    ],
)
def test_words_are_read_that_are_true_at_the_start(id: str, text: str, said: set[str]):
    """Others say where a thing should go."""
    assert {each.text for each in Spoken(told(id, text)).relations} == said


@pytest.mark.parametrize("task", tasks.resolve("all"), ids=lambda task: task.id)
def test_the_words_of_every_built_in_task_pick_out_one_thing(task: Task):
    spoken = Spoken(task)
    assert spoken.hold(spoken.spots)


@pytest.mark.parametrize(
    ("text", "category", "colours"),
    [
        ("put the black bowl on the plate", "akita_black_bowl", {"black"}),
        ("put the bowl on the white plate", "akita_black_bowl", set()),
        ("put the orange juice in the basket", "orange_juice", set()),
        ("put the bowl on the plate", "porcelain_mug", set()),
    ],
)
def test_colours_belong_to_the_name_that_follows(text: str, category: str, colours: set[str]):
    assert named_colours(told("libero_goal/0", text), Entity("thing", category)) == colours
