from __future__ import annotations

import math

import pytest

from assay.errors import TaskError
from assay.tasks import Arena, Entity, Rectangle
from assay.tasks.catalogue.format import parse_suite

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
    suite = parse_suite(TEXT, file="mine.yaml")
    first, second = suite.entries
    scene = first.task.scene
    assert (suite.name, suite.about) == ("mine", "A suite for tests.")
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
    first, second = parse_suite(TEXT, file="mine.yaml").entries
    assert second.task.scene.regions == first.task.scene.regions
    assert [str(atom) for atom in second.task.scene.initial] == ["TurnOn flat_stove_1"]


CASES = [
    ("about:", "abuot:", "mine.yaml: unknown key 'abuot'; did you mean 'about'?"),
    ("about: A suite for tests.\n", "", "mine.yaml: key 'about' is missing"),
    ("    arena: kitchen\n", "", "mine.yaml: scenes.counter: key 'arena' is missing"),
    (
        "arena: kitchen",
        "arena: kitchn",
        "mine.yaml: scenes.counter.arena: unknown arena 'kitchn'; did you mean 'kitchen'?",
    ),
    ("arena: kitchen", "arena: kitchen\n    arena: study", "mine.yaml:6: key 'arena' is given twice"),
    (
        "half: [0.01, 0.01]",
        "halb: [0.01, 0.01]",
        "mine.yaml: scenes.counter.regions.kitchen_table.plate_region: unknown key 'halb'",
    ),
    ("half: [0.01, 0.01]", "yaw: 0", "plate_region: key 'half' is missing"),
    ("half: [0.01, 0.01]", "half: [0.01]", "plate_region.half: expected 2 numbers, found 1"),
    ("half: [0.01, 0.01]", "half: 0.01", "plate_region.half: expected a list, found '0.01'"),
    ("half: [0.01, 0.01]", "half: [yes, 0.01]", "plate_region.half[0]: expected a number, found 'True'"),
    (
        "half: [0.01, 0.01]",
        "half: [0.01, 0.01], rectangle: [0, 0, 1, 1]",
        "plate_region: unknown key 'rectangle'",
    ),
    (
        "half: [0.01, 0.01]",
        "half: [.nan, 0.01]",
        "regions[0].rectangles[0]: a rectangle needs finite numbers",
    ),
    (
        "half: [0.01, 0.01]",
        "half: [-1, 0.01]",
        "regions[0].rectangles[0]: the rectangle ends before it begins",
    ),
    ("yaw: pi,", "yaw: po,", "mug_region.yaw: 'po' is not a number"),
    (
        "{mug: red_mug}",
        "mug",
        "scenes.counter.objects[1]: 'mug' does not end in a number: write {mug: category}",
    ),
    (
        "{mug: red_mug}",
        "{mug: red_mug, cup: cup}",
        "scenes.counter.objects[1]: expected one {name: category}",
    ),
    (
        "like: counter",
        "like: conter",
        "scenes.on_fire.like: no scene 'conter' above; did you mean 'counter'?",
    ),
    ("scene: counter", "scene: conter", "tasks[0].scene: unknown scene 'conter'; did you mean 'counter'?"),
    ("[Turnon flat_stove_1]", "[Turno flat_stove_1]", "scenes.on_fire.initial[0]: unknown predicate 'Turno'"),
    ("[Turnon flat_stove_1]", "[Turnon a b]", "scenes.on_fire.initial[0]: TurnOn takes one name, not 2"),
    (
        "goal: [TurnOff flat_stove_1]",
        "goal: [TurnOff flat_stov_1]",
        "tasks[1]: mine/1: goal[0]: unknown object or region 'flat_stov_1'; did you mean 'flat_stove_1'?",
    ),
    ("goal: [TurnOff flat_stove_1]", "goal: []", "tasks[1]: mine/1: goal: the goal is empty"),
    ("instruction: turn it off", "instruction:", "tasks[1].instruction: expected a text, found nothing"),
    ("scenes:", "\tscenes:", "mine.yaml:3: "),
    (TEXT, "", "mine.yaml: expected a mapping, found nothing"),
    (TEXT, "a: !!python/object/apply:os.getcwd []", "mine.yaml:1: could not determine a constructor"),
]


@pytest.mark.parametrize(("old", "new", "message"), CASES, ids=[case[2][-40:] for case in CASES])
def test_a_mistake_is_one_line_with_file_and_key(old: str, new: str, message: str):
    assert old in TEXT
    with pytest.raises(TaskError) as caught:
        parse_suite(TEXT.replace(old, new, 1), file="mine.yaml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("mine.yaml:")
    assert str(caught.value).isprintable()
