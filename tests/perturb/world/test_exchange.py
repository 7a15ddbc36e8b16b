"""What a task is about changes places with something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.perturb.world.exchange import MIN_EXCHANGE_M, ExchangePlaces, goal_objects, has_partners
from assay.perturb.world.ground import Ground
from assay.perturb.world.spoken import Spoken
from assay.sim.packs.registry import planning_pack
from assay.tasks import Task

from .example import BOWL, TASK, Places, changed

PLATE = "plate_1"


def gone(before: Task, after: Task) -> dict[str, float]:
    """How far things were moved, metres; what stayed is left out."""
    here, there = Ground(before.scene, snug=True).spots, Ground(after.scene, snug=True).spots
    return {name: moved for name in here if (moved := here[name].distance(there[name])) > 1e-9}


def test_target_and_receptacle_stand_where_others_stood(places: Places):
    made = changed(ExchangePlaces())
    before, after = Ground(TASK.scene, snug=True).spots, Ground(made.scene, snug=True).spots
    for name in (BOWL, PLATE):
        stood = [each for each in before if after[name].distance(before[each]) < 1e-9]
        assert len(stood) == 1 and stood != [name]
        assert after[stood[0]].distance(before[name]) == pytest.approx(0, abs=1e-9)
    rest = places(made)
    assert (abs(rest[BOWL][:2] - (after[BOWL].x, after[BOWL].y)) < 0.02).all()


@pytest.mark.parametrize("suite", ["libero_goal", "libero_spatial"])
def test_what_a_task_is_about_is_moved_as_far_as_the_release_moves_it(suite: str):
    free = set()
    for task in tasks.suite(suite):
        exchanges = has_partners(task, planning_pack())
        if not exchanges:
            free.add(task.id)
        made = changed(ExchangePlaces(free=not exchanges), task=task)
        far = {name for name, distance in gone(task, made).items() if distance >= MIN_EXCHANGE_M - 1e-9}
        assert far & set(goal_objects(task)), task.id
        spoken = Spoken(task)
        assert spoken.hold(Ground(made.scene, snug=True).spots), f"{task.id}: the words are no longer true"
    assert free == ({"libero_goal/0", "libero_goal/3"} if suite == "libero_goal" else set())


def test_for_a_fixture_that_goes_elsewhere_others_make_room():
    task = tasks.load("libero_goal/0")
    made = changed(ExchangePlaces(free=True), task=task)
    ground = Ground(made.scene, task.goal, snug=True)
    cabinet = ground.spots["wooden_cabinet_1"]
    assert gone(task, made)["wooden_cabinet_1"] >= MIN_EXCHANGE_M
    assert not any(cabinet.overlaps(other, 0.0) for name, other in ground.spots.items() if other != cabinet)


def test_the_place_where_a_thing_goes_stays_free():
    task = tasks.load("libero_goal/5")  # push the plate to the front of the stove
    for seed in range(4):
        made = changed(ExchangePlaces(), task=task, seed=seed)
        region = made.scene.region("main_table_stove_front_region")
        assert region is not None
        (box,) = region.rectangles
        spots = Ground(replace(made, goal=task.goal).scene, snug=True).spots
        inside = [n for n, s in spots.items() if box.x_min < s.x < box.x_max and box.y_min < s.y < box.y_max]
        assert inside == []
