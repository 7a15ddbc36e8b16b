from __future__ import annotations

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.tasks.language.lexicon import verb_named
from assay.tasks.language.phrases import Position, positions
from assay.tasks.language.steps import Step, read_steps, write_steps

NAMES = {"bowl_1": ("bowl",), "bowl_2": ("bowl",), "plate_1": ("plate",), "mug_1": ("mug",)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pick up the bowl next to the plate", Position("next to the plate", "near", (("plate_1",),))),
        (
            "take the bowl between the plate and the mug",
            Position("between the plate and the mug", "between", (("plate_1",), ("mug_1",))),
        ),
        ("close to the mug put the left black bowl", Position("left black bowl", "left")),
        ("pick up the bowl on the right", Position("bowl on the right", "right")),
        ("pick up the bowl from table center", Position("from table center", "centre")),
        ("take the bowl furthest from the robot", Position("furthest from the robot", "furthest")),
    ],
)
def test_positions_are_read_beside_a_name(text: str, expected: Position):
    assert list(positions(text, "bowl", NAMES)) == [expected]


def test_a_landmark_may_be_any_of_that_name_and_a_surface_is_none():
    (found,) = positions("the mug near the bowl", "mug", NAMES)
    assert found.landmarks == (("bowl_1", "bowl_2"),)
    assert not list(positions("pick up the bowl on the plate", "bowl", NAMES))


@pytest.mark.parametrize("id", tasks.all_ids())
def test_every_built_in_instruction_is_read_and_said_again(id: str):
    text = tasks.load(id).instruction.text
    assert write_steps(read_steps(text)) == text


def test_it_is_spelled_out():
    stove, pot = read_steps("turn on the stove and put the moka pot on it")
    assert stove == Step("turn_on", verb_named("turn on"), "the stove")
    assert pot == Step("put_on", verb_named("put"), "the moka pot", "on", "the stove", place_again="on it")
    _, close = read_steps("put the mug in the microwave and close it")
    assert close.thing == "the microwave"
    (book,) = read_steps("pick up the book and place it in the caddy")
    assert (book.sense, book.fetch, book.thing_again) == ("put_in", verb_named("pick up"), "it")
    assert (book.thing, book.place) == ("the book", "in the caddy")
    assert read_steps("open the top drawer and put the bowl inside")[1].target == "the top drawer"


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("Turn the stove on.", "turn on the stove"),
        ("pick the mug up", "pick up the mug"),
        (
            "close the drawer, then put the bowl on the plate",
            "close the drawer and put the bowl on the plate",
        ),
        ("place the book upright on top of the shelf", "place the book upright on top of the shelf"),
    ],
)
def test_other_ways_to_say_it_are_understood(text: str, again: str):
    assert write_steps(read_steps(text)) == again


@pytest.mark.parametrize(
    ("text", "thing", "place"),
    [
        ("put the black bowl at the back on the plate", "the black bowl at the back", "on the plate"),
        (
            "stack the bowl on the left on the bowl in the middle",
            "the bowl on the left",
            "on the bowl in the middle",
        ),
        (
            "pick up the bowl and put it on the plate next to the mug",
            "the bowl",
            "on the plate next to the mug",
        ),
        ("put carrot on plate", "carrot", "on plate"),
    ],
)
def test_of_two_places_one_tells_which_thing_is_meant(text: str, thing: str, place: str):
    (step,) = read_steps(text)
    assert (step.thing, step.place) == (thing, place)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stelle die Schüssel auf den Herd", "does not begin with a known verb, such as put, place"),
        ("put the bowl", "does not state where to put it"),
        ("put the bowl on", "does not state where to put it"),
    ],
)
def test_a_text_that_is_not_a_request_is_rejected(text: str, words: str):
    with pytest.raises(PerturbationError) as caught:
        read_steps(text)
    assert words in str(caught.value) and len(str(caught.value)) < 400
