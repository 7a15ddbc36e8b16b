from __future__ import annotations

import pytest

from assay.perturb.world.spoken import colours_of
from assay.tasks.language.phrases import Position, positions

NAMES = {"bowl_1": ("bowl",), "bowl_2": ("bowl",), "plate_1": ("plate",), "mug_1": ("mug",)}


@pytest.mark.parametrize(
    ("text", "names", "colours"),
    [
        ("put the black bowl on the plate", ("bowl",), {"black"}),
        ("put the black bowl on the plate", ("bowl", "black bowl"), {"black"}),
        ("put the bowl on the white plate", ("bowl",), set()),
        ("put the orange juice in the basket", ("orange juice", "juice"), set()),
        ("put the bowl on the plate", ("mug",), None),
    ],
)
def test_colours_belong_to_the_name_that_follows(text: str, names: tuple[str, ...], colours: set[str] | None):
    assert colours_of(text, names) == colours


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
