"""Whether the task can still be done as told, so that success is expected, and what kind of task it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay import tasks
from assay.experiments.labels import families, label_sets, nature
from assay.perturb.senses.images import (
    BlankPictures,
    Brightness,
    Contrast,
    DroppedCamera,
    Fog,
    FrozenCamera,
    Patch,
)
from assay.perturb.words.rewordings.corrupted import Shuffle
from assay.perturb.words.rewordings.sentences import Semantic
from assay.perturb.words.text import Mask
from assay.tasks import Predicate

BOTH = "placement, state change, composite"
SCENE, HAND = ("agentview",), ("robot0_eye_in_hand",)


def test_a_change_is_plausible_as_long_as_a_camera_shows_something():
    for changes, plausible in (
        ((Patch(1.0),), False),
        ((Brightness(0.0),), False),
        ((Contrast(0.01),), False),
        ((DroppedCamera(cameras=(*SCENE, *HAND)),), False),
        ((DroppedCamera(cameras=SCENE), BlankPictures(cameras=HAND)), False),
        ((Brightness(0.0, cameras=SCENE), FrozenCamera(cameras=HAND)), False),
        ((Patch(1.0, cameras=SCENE),), True),
        ((Patch(0.8),), True),
        ((Contrast(0.1), Brightness(0.5)), True),
        ((DroppedCamera(cameras=SCENE), Fog(5, cameras=HAND)), True),
        ((DroppedCamera(cameras=(*SCENE, "frontview")),), True),
    ):
        assert nature(changes)["plausible"] is plausible, changes
    hidden = (DroppedCamera(cameras=SCENE),)
    assert nature(hidden, cameras=SCENE)["plausible"] is False, "a world with that camera alone"
    assert nature(hidden, cameras=())["plausible"] is True, "a world without images"


def test_words_in_another_order_can_be_guessed_and_nonsense_cannot():
    assert nature((Shuffle(),))["guessable"] is True
    assert not any("guessable" in nature(each) for each in [(Mask(),), (Shuffle(), Mask()), (Semantic(),)])


def test_opening_is_a_subtask_unless_it_is_open():
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


def test_labels_are_derived_from_the_words():
    for words, relation, attribute in (
        ("place the smallest bowl on the middle-sized black bowl", (), ("colour", "size")),
        ("place the navy speckle book in the top region of the shelf", ("ordinal",), ("colour", "pattern")),
        ("place the large off-white bowl on the plate", (), ("colour", "size")),
        ("place the bowl on the farthest plate relative to the robot", ("relative distance",), ("category",)),
        ("place the bowl on the plate next to the stove", (), ("category",)),
        ("close the top and middle drawer of the cabinet", ("ordinal",), ("category",)),
        ("place the frypan on the bottom layer of the shelf", ("ordinal",), ("category",)),
        ("pick up the mug that is second from the left", ("left-right", "ordinal"), ("category",)),
    ):
        task = tasks.load("libero_goal/7")  # a state change: its goal has no relation
        found = label_sets(replace(task, instruction=replace(task.instruction, text=words)))
        assert (found["relation"], found["attribute"]) == (relation, attribute)


def test_tasks_of_the_release_have_the_labels_of_the_paper(shared: Path):
    found = {
        task.instruction.text: label_sets(task)
        for level in ("LEVEL1", "LEVEL2")
        for task in tasks.resolve(str(shared / "libero_x" / "bddl" / level))
    }
    stove = found["place the moka pot on the stove and turn off the stove"]
    assert stove["interaction"] == ("placement", "state change", "composite") and stove["subtasks"] == ("2",)
    (drawer,) = (labels for words, labels in found.items() if "farthest" in words)
    assert drawer["relation"] == ("surface", "container", "ordinal", "relative distance")
    assert found["place the black book into the back desk caddy's right compartment"] == {
        "interaction": ("placement",),
        "subtasks": ("1",),
        "relation": ("container", "left-right"),
        "attribute": ("colour",),
    }
