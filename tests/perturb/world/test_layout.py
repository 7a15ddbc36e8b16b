from __future__ import annotations

import numpy as np
import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.world.ground import Ground
from assay.perturb.world.kinds import places_of, sort_of, unseen
from assay.perturb.world.layout import Confound, Distractors, Obstacle
from assay.perturb.world.objects import Replace
from assay.perturb.world.position import Displace
from assay.sim import Simulation
from assay.tasks.scene import Colour

from .example import BOWL, Built, changed


@pytest.mark.parametrize("seed", range(4))
def test_six_distractors_find_room_where_the_first_drawn_do_not_fit(seed: int):
    task = changed(Distractors(6), task=tasks.load("libero_goal/1"), seed=seed)
    assert sum("distractor" in entity.name for entity in task.scene.objects) == 6


@pytest.mark.parametrize(
    ("task", "colour"),
    [
        ("libero_goal/8", (0.9, 0.2, 0.2)),  # "the bowl": the red one?
        ("libero_10/3", (0.1, 0.1, 0.1)),  # "the black bowl", and both are
        ("libero_10/3", None),
        ("libero_object/8", (0.2, 0.4, 0.9)),  # orange juice is no colour
    ],
)
def test_nothing_is_doubled_that_the_words_do_not_tell_from_its_double(task: str, colour: Colour | None):
    with pytest.raises(PerturbationError, match="does not distinguish"):
        changed(Confound(colour), task=tasks.load(task))


def test_a_double_that_looks_the_same_stands_where_the_words_do_not_say():
    task = tasks.load("libero_spatial/8")
    for seed in range(3):
        spots = Ground(changed(Confound(), task=task, seed=seed).scene).spots
        double = next(spot for name, spot in spots.items() if "double" in name)
        assert double.air(spots["plate_1"]) > spots[BOWL].air(spots["plate_1"]) + 0.07


def test_an_obstacle_stands_in_the_way():
    task = changed(Obstacle(), task=tasks.load("libero_goal/1"))
    spots = Ground(task.scene).spots
    start, end, between = spots[BOWL], spots["flat_stove_1"], spots["obstacle_milk_1"]
    assert start.distance(between) + between.distance(end) < start.distance(end) + 0.12


@pytest.mark.parametrize("task", ["libero_goal/1", "libero_object/3", "libero_10/5"])
def test_what_is_moved_or_added_stays_in_the_picture(drawing: str, task: str, built: Built):
    for seed in range(2):
        try:
            made = changed(Displace(0.3), Distractors(2), task=tasks.load(task), seed=seed)
        except PerturbationError:
            continue
        world = Simulation(built(made))
        seen = set(np.unique(world.reset(world.sample(seed)).segmentation("agentview", 128)))
        # Labels 0 and 1 are the arena and the robot.
        labels = {entity.name: number for number, entity in enumerate(world.compiled.scene.entities, 2)}
        world.close()
        wanted = [made.goal.atoms[0].arguments[0], *(each.name for each in made.scene.objects[-2:])]
        assert {labels[name] for name in wanted} <= seen


@pytest.mark.parametrize(
    ("category", "sort"),
    [
        ("akita_black_bowl", "bowl"),
        ("white_cabinet", "cabinet"),
        ("never_heard_of", "never_heard_of"),
    ],
)
def test_colour_size_and_make_do_not_matter_for_the_sort(category: str, sort: str):
    assert sort_of(category) == sort


def test_what_is_unseen_is_small_and_of_no_sort_that_tasks_have():
    assert {"corn", "mayo", "popcorn"} <= set(unseen())
    assert not {"white_bottle", "wooden_tray", "cube", "white_bowl"} & set(unseen())


def test_only_a_cabinet_with_the_same_drawers_replaces_a_cabinet():
    assert "white_cabinet" in {
        entity.category
        for entity in changed(Replace("white_cabinet", thing="wooden_cabinet_1")).scene.entities
    }
    for category in ("short_cabinet", "cube"):
        with pytest.raises(PerturbationError, match=f"{category} cannot be used like wooden_cabinet_1"):
            changed(Replace(category, thing="wooden_cabinet_1"))
    assert {"top_region", "bottom_region"} <= places_of("white_cabinet") and not places_of("cube")
