"""Changes of looks and places stay true to the words, and what is put on top of another adds to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.experiments import load_experiment
from assay.perturb import Perturbation, apply_perturbations
from assay.perturb.world.ground import Ground, carrier, named_entity, target
from assay.perturb.world.kinds import Among
from assay.perturb.world.layout import Distractors
from assay.perturb.world.objects import Alter, Recolour, Replace, Resize
from assay.perturb.world.position import MIN_TARGET_MOVE_M, Jitter, Relocate
from assay.perturb.world.spoken import matches_colour, named_colours
from assay.perturb.world.staging import MoveCamera, Orbit, Relight, StartPose
from assay.tasks import Entity, Task
from assay.tasks.scene import Finish, Pattern

RED = (0.9, 0.1, 0.1)
BLACK_BOWL = tasks.load("libero_spatial/0")
WHITE_MUG = tasks.load("libero_10/6")
TWO_COLOURS = tasks.load("libero_10/9")
BOWL = tasks.load("libero_goal/1")


def changed(task: Task, *perturbations: Perturbation, seed: int = 0) -> Task:
    return apply_perturbations(task, perturbations, seed=seed)


def about(task: Task) -> Entity:
    return named_entity(task.scene, target(task))


@pytest.mark.parametrize("change", [Recolour(), Recolour(RED), Recolour(RED, Pattern.CHECKER)])
def test_what_the_words_call_black_is_not_painted_red(change: Recolour):
    assert not change.finishes(BLACK_BOWL) and change.finishes(BOWL)
    with pytest.raises(PerturbationError, match="world/recolour: the instruction names the colour black"):
        changed(BLACK_BOWL, change)


@pytest.mark.parametrize("task", [BLACK_BOWL, WHITE_MUG])
def test_a_pattern_is_drawn_in_the_colour_that_the_words_name(task: Task):
    for seed in range(3):
        finish = about(changed(task, Recolour(pattern=Pattern.STRIPES), seed=seed)).finish
        assert finish.colour is not None and matches_colour(named_colours(task, about(task)), finish.colour)
        assert max(finish.colour) > 0.2, "stripes of black on black are none"


@pytest.mark.parametrize(("task", "colour"), [(BLACK_BOWL, "black"), (WHITE_MUG, "white")])
def test_another_of_the_same_sort_has_the_colour_that_the_words_name(task: Task, colour: str):
    drawn = {about(changed(task, Replace(among=Among.SAME), seed=seed)).category for seed in range(8)}
    assert drawn and all(colour in each and "red" not in each and "yellow" not in each for each in drawn)


def test_pro_paints_nothing_in_a_colour_that_makes_the_words_false():
    painted = 0
    for task in tasks.resolve("all"):
        said = named_colours(task, about(task))
        for spec in load_experiment("pro").plan([task], (0,)):
            if not said or not spec.condition.startswith("pro/object") or not spec.labels["plausible"]:
                continue
            changes = [each for each in spec.perturbations if isinstance(each, (Alter, Recolour, Replace))]
            try:
                made = about(changed(task, *changes))
            except PerturbationError as error:
                assert task.id == TWO_COLOURS.id and "as the instruction says" in str(error)
                continue
            assert made.finish.colour is None or matches_colour(said, made.finish.colour), spec.condition
            painted += made.finish != Finish()
    assert painted >= 13, "in their own colour, with a pattern"


@pytest.mark.parametrize("change", [Relocate(1.0), Jitter(0.03)], ids=str)
def test_what_a_task_is_about_is_moved_whatever_it_stands_on(change: Perturbation):
    least = MIN_TARGET_MOVE_M if isinstance(change, Relocate) else 0.03 / 4
    refused = []
    for task in tasks.resolve("all"):
        thing = carrier(task.scene, target(task))
        try:
            after = Ground(changed(task, change).scene).spots[thing]
        except PerturbationError as error:
            refused.append(str(error))
            continue
        assert Ground(task.scene).spots[thing].distance(after) >= least - 1e-9, task.id
    assert len(refused) <= 2, refused


def test_two_starts_of_the_robot_add_up():
    once, twice = (changed(BOWL, *[StartPose(joints=0.1, base=(0.02, 0.0))] * n) for n in (1, 2))
    assert twice.scene.staging.robot.base == (0.04, 0.0)
    assert twice.scene.staging.robot.joints != once.scene.staging.robot.joints
    both = changed(BOWL, StartPose(joints=0.1), StartPose(base=(0.0, 0.1))).scene.staging.robot
    assert both.base == (0.0, 0.1) and any(both.joints)


def test_two_changes_of_the_light_add_up():
    light = changed(BOWL, Relight(0.5, tilt=(0.1, 0.2)), Relight(0.5, tilt=(0.1, 0.0))).scene.staging.lighting
    assert light.intensity == 0.25 and light.tilt == pytest.approx((0.2, 0.2))
    assert changed(BOWL, Relight(shadows=True), Relight(0.5)).scene.staging.lighting.shadows is True


def test_a_camera_is_moved_from_where_it_is():
    (half,), (whole,) = (
        changed(BOWL, *each).scene.staging.cameras for each in ([Orbit(0.2)] * 2, [Orbit(0.4)])
    )
    np.testing.assert_allclose(half.shift, whole.shift, atol=1e-9)
    np.testing.assert_allclose(half.turn, whole.turn, atol=1e-9)
    for order in ((Orbit(0.4), MoveCamera(zoom=1.2)), (MoveCamera(zoom=1.2), Orbit(0.4))):
        (both,) = changed(BOWL, *order).scene.staging.cameras
        np.testing.assert_allclose((*both.shift, *both.turn), (*whole.shift, *whole.turn), atol=1e-9)
        assert both.zoom == 1.2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: changed(BOWL, Resize(1.5), Resize(1.5)),
            "world/resize: factor is 2.25; expected 0.5 to 1.5",
        ),
        (lambda: changed(BOWL, Resize(1.25), Resize(0.8)), "nothing is changed"),
        (lambda: changed(BOWL, Relight(3.0), Relight(2.0)), "intensity is 6.0; expected 0 to 3"),
        (lambda: changed(BOWL, *[StartPose(base=(0.1, 0.0))] * 2), "base is (0.2, 0.0)"),
        (lambda: changed(BOWL, *[MoveCamera(zoom=1.5)] * 2), "zoom is 2.25"),
        (lambda: Distractors(1, ("flat_stove",)), "flat_stove is a fixture: expected a movable object"),
        (lambda: changed(BOWL, Distractors(1, ("white_bowl", "plate"))), None),
        (
            lambda: changed(BOWL, Distractors(1, ("white_bowl",))),
            "already names every object that could be added",
        ),
    ],
)
def test_what_is_too_much_together_or_means_what_the_words_mean_is_rejected(
    make: Callable[[], Task], words: str | None
):
    if words is None:
        assert make().scene.objects[-1].category == "plate"
        return
    with pytest.raises(PerturbationError) as caught:
        make()
    assert words in str(caught.value)
