"""Other rooms and surfaces, another start of the robot."""

from __future__ import annotations

import pytest

from assay.perturb.world import (
    Recolour,
    Repaint,
    Room,
)
from assay.tasks import Arena
from assay.tasks.scene import Pattern, Surface

from .example import TASK, Built, changed


def test_a_room_that_is_not_named_is_drawn_from_all_others_in_which_the_robot_has_room():
    drawn = {changed(Room(), seed=seed).scene.arena for seed in range(20)}
    assert drawn == set(Arena) - {TASK.scene.arena, Arena.STUDY}, "in the study the stove stands in the robot"


def test_a_choice_may_be_given_by_its_name():
    assert Room("kitchen") == Room(Arena.KITCHEN)  # type: ignore[arg-type]
    assert changed(Room("kitchen")).scene.arena is Arena.KITCHEN  # type: ignore[arg-type]
    assert Recolour(None, "checker").pattern is Pattern.CHECKER  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arena", "surface", "furniture"),
    [(Arena.LIVING_ROOM, Surface.FLOOR, "floor_lamp"), (Arena.COFFEE_TABLE, Surface.WALLS, "wall_unit")],
)
def test_furniture_is_no_wall_and_no_floor(arena: Arena, surface: Surface, furniture: str, built: Built):
    model = built(changed(Room(arena), Repaint(surface, (0.2, 0.4, 0.9)))).model
    names = {model.geom(geom).name: model.geom_matid[geom] for geom in range(model.ngeom)}
    painted = model.material(f"staging_{surface}").id
    assert [name for name, material in names.items() if material == painted]
    assert all(material != painted for name, material in names.items() if name.startswith(furniture))
