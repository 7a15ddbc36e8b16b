from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.world.layout import Confound, Obstacle
from assay.perturb.world.objects import Remove, Replace, Resize
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import MoveCamera, Orbit, Repaint, Room
from assay.tasks import Arena, Task
from assay.tasks.scene import Surface

from .example import TASK, Built, changed


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Replace("ketchap"), "did you mean 'ketchup'?"),
        (lambda: MoveCamera("agentveiw"), "did you mean 'agentview'?"),
        (lambda: changed(Room(Arena.FLOOR), Orbit(elevation=-0.6)), "expected 6 to 80"),
        (lambda: changed(Remove(), task=tasks.load("libero_goal/0")), "is a fixture"),
        (lambda: changed(Confound(), task=tasks.load("libero_goal/0")), "is a fixture"),
        (lambda: changed(Replace("plate"), task=tasks.load("libero_goal/0")), "cannot be used like"),
        (lambda: changed(Room(Arena.TABLE)), "already in the arena table"),
        (lambda: Room("garage"), "arena is 'garage': choose from coffee_table, floor,"),  # type: ignore[arg-type]
        (lambda: Replace(among="shapes"), "did you mean 'shape'?"),  # type: ignore[arg-type]
        (lambda: Repaint(None), "surface is None"),  # type: ignore[arg-type]
        (lambda: changed(Displace(0.1, "bowl_9")), "there is no 'bowl_9'"),
        (lambda: changed(Resize(1.1, "flat_stove_1")), "is a fixture"),
        (lambda: changed(Obstacle(), task=tasks.load("libero_goal/0")), "no object is carried in this task"),
    ],
)
def test_an_invalid_value_is_rejected(make: Callable[[], object], words: str):
    with pytest.raises(PerturbationError) as caught:
        make()
    assert words in str(caught.value)


def test_a_room_that_is_not_named_is_drawn_from_all_others_in_which_the_robot_has_room():
    drawn = {changed(Room(), seed=seed).scene.arena for seed in range(20)}
    assert drawn == set(Arena) - {TASK.scene.arena, Arena.STUDY}, "in the study the stove stands in the robot"


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


def test_a_camera_on_an_orbit_looks_at_the_same_point_from_elsewhere(built: Built):
    usual = built(TASK).model.camera("agentview")

    def point(task: Task) -> tuple[np.ndarray, float]:
        """Where the middle of the picture meets the table, and how far off."""
        model = built(task).model
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, model.camera("agentview").quat)
        ahead, place = -rotation.reshape(3, 3)[:, 2], model.camera("agentview").pos
        reach = (0.9 - place[2]) / ahead[2]
        assert abs(rotation.reshape(3, 3)[2, 0]) < 1e-3, "it does not roll"
        return place + reach * ahead, float(reach)

    centre, reach = point(TASK)
    for orbit in (Orbit(azimuth=0.5), Orbit(elevation=0.2), Orbit(distance=1.5), Orbit(-0.4, -0.1, 0.8)):
        task = changed(orbit)
        there, far = point(task)
        np.testing.assert_allclose(there, centre, atol=1e-4)
        assert far == pytest.approx(orbit.distance * reach, abs=1e-4)
        moved = built(task).model.camera("agentview").pos - usual.pos
        if orbit.azimuth and not orbit.elevation:
            assert moved[1] * orbit.azimuth > 0 and abs(moved[2]) < 1e-6
        if orbit.elevation > 0:
            assert moved[2] > 0.02 and abs(moved[1]) < 1e-3
