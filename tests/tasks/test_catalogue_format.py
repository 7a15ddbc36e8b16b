from __future__ import annotations

import math

import pytest

from assay.errors import TaskError
from assay.tasks import Arena, Entity, Rectangle
from assay.tasks.catalogue import parse_suite

TEXT = """\
suite: mine
about: A suite for tests.
scenes:
  counter:
    arena: kitchen
    fixtures: [flat_stove_1]
    objects: [plate_1, {mug: red_mug}]
    regions:
      kitchen_table:
        plate_region: {centre: [0.05, -0.02], half: [0.01, 0.01]}
        mug_region: {rectangle: [0.1, -0.1, 0.2, 0.1], yaw: pi, rgba: [1, 0, 0, 0.5]}
        stove_region: {rectangles: [[0, 0, 0.1, 0.1], [0.5, 0.5, 0.6, 0.6]], yaw: [-pi/2, 0]}
      flat_stove_1: [cook_region]
    initial:
      - On plate_1 kitchen_table_plate_region
      - On mug kitchen_table_mug_region
      - On flat_stove_1 kitchen_table_stove_region
  on_fire:
    like: counter
    initial: [Turnon flat_stove_1]
tasks:
  - instruction: put the plate on the stove
    file: a_file
    file_wording: Put it there
    scene: counter
    goal: [On plate_1 flat_stove_1_cook_region]
    of_interest: [plate_1]
  - instruction: turn it off
    scene: on_fire
    goal: [TurnOff flat_stove_1]
"""


def test_a_suite_is_read_as_it_is_written():
    about, (first, second) = parse_suite(TEXT, file="mine.yaml")
    scene = first.task.scene
    assert about == "A suite for tests."
    assert (first.task.id, second.task.id) == ("mine/0", "mine/1")
    assert (first.file, first.file_wording) == ("a_file", "Put it there")
    assert (second.file, second.file_wording) == (None, None)
    assert scene.arena is Arena.KITCHEN
    assert scene.objects == (Entity("plate_1", "plate"), Entity("mug", "red_mug"))
    plate, mug, stove, cook = scene.regions
    assert plate.rectangles == (Rectangle(0.04, -0.03, 0.060000000000000005, -0.01),)
    assert mug.yaw == (math.pi, math.pi) and mug.rgba == (1, 0, 0, 0.5)
    assert len(stove.rectangles) == 2 and stove.yaw == (-math.pi / 2, 0)
    assert cook.rectangles == () and cook.yaw is None


def test_a_scene_like_another_takes_over_what_it_does_not_say():
    _, (first, second) = parse_suite(TEXT, file="mine.yaml")
    assert second.task.scene.regions == first.task.scene.regions
    assert [str(atom) for atom in second.task.scene.initial] == ["TurnOn flat_stove_1"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("about:", "abuot:", "about"),
        ("arena: kitchen", "arena: kitchn", "scenes.counter.arena"),
        ("half: [0.01, 0.01]", "halb: [0.01, 0.01]", "halb"),
        ("yaw: pi,", "yaw: po,", "mug_region"),
        ("like: counter", "like: conter", "unknown scene 'conter'"),
        ("[Turnon flat_stove_1]", "[Turno flat_stove_1]", "unknown predicate 'Turno'"),
        ("goal: [TurnOff flat_stove_1]", "goal: []", "mine/1: goal: the goal is empty"),
        ("scenes:", "\tscenes:", "mine.yaml: "),
    ],
)
def test_an_invalid_suite_is_rejected_with_file_and_reason(old: str, new: str, message: str):
    with pytest.raises(TaskError) as caught:
        parse_suite(TEXT.replace(old, new, 1), file="mine.yaml")
    assert str(caught.value).startswith("mine.yaml:") and message in str(caught.value)
