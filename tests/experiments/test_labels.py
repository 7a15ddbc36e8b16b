"""Whether the task can still be done as told, so that success is expected, and what kind of task it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.experiments.labels import families, nature
from assay.perturb import Perturbation
from assay.perturb.senses import BlankPictures, Brightness, Contrast, DroppedCamera, Fog, FrozenCamera, Patch
from assay.tasks import Predicate

BOTH = "placement, state change, composite"
SCENE, HAND = ("agentview",), ("robot0_eye_in_hand",)


@pytest.mark.parametrize(
    "changes",
    [
        (Patch(1.0),),
        (Brightness(0.0),),
        (Contrast(0.01),),
        (DroppedCamera(cameras=(*SCENE, *HAND)),),
        (DroppedCamera(cameras=SCENE), BlankPictures(cameras=HAND)),
        (Brightness(0.0, cameras=SCENE), FrozenCamera(cameras=HAND)),
    ],
    ids=str,
)
def test_nobody_can_do_a_task_without_seeing_anything(changes: tuple[Perturbation, ...]):
    assert nature(changes)["plausible"] is False
    assert len(changes) > 1 or not getattr(changes[0], "plausible", True)


@pytest.mark.parametrize(
    "changes",
    [
        (Patch(1.0, cameras=SCENE),),
        (Patch(0.8),),
        (Brightness(0.1),),
        (Contrast(0.1), Brightness(0.5)),
        (DroppedCamera(cameras=SCENE), Fog(5, cameras=HAND)),
        (DroppedCamera(cameras=(*SCENE, "frontview")),),
    ],
    ids=str,
)
def test_a_task_can_be_done_as_long_as_something_is_seen(changes: tuple[Perturbation, ...]):
    assert nature(changes)["plausible"] is True


def test_whatever_opens_must_be_opened_first_whatever_it_is_called():
    task = tasks.load("libero_10/9")  # the microwave is open
    assert families(task)["interaction"] == BOTH and families(task)["subtasks"] == "2"
    scene = replace(
        task.scene,
        initial=tuple(atom for atom in task.scene.initial if atom.predicate is not Predicate.OPEN),
    )
    inside = tuple(atom for atom in task.goal.atoms if atom.predicate is Predicate.IN)
    closed = replace(task, scene=scene, goal=replace(task.goal, atoms=inside))
    assert families(closed)["interaction"] == BOTH and families(closed)["subtasks"] == "2"
    opened = replace(closed, scene=task.scene)
    assert families(opened)["interaction"] == "placement" and families(opened)["subtasks"] == "1"


def test_the_cameras_of_the_world_decide_whether_anything_is_seen():
    hidden = (DroppedCamera(cameras=SCENE),)
    assert nature(hidden)["plausible"] is True
    assert nature(hidden, cameras=SCENE)["plausible"] is False, "a world with that camera alone"
    assert nature(hidden, cameras=())["plausible"] is True, "a world without pictures"
