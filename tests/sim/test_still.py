"""What stands still is drawn once, and nobody can tell from the pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from assay.sim import still
from assay.sim.compile import CompiledScene
from assay.sim.render import Snapshot
from assay.sim.simulation import Simulation
from assay.sim.states import InitialState
from assay.sim.still import _is_software, _SceneBytes

Compiled = Callable[[str], CompiledScene]
ACTION = np.array([1, -1, -1, 1, 0, 1, 1.0])
SIZE = 64


CHANGED = ("mat_rgba", "light_diffuse", "cam_fovy")
"""What tests change of a model."""


FEW = 100
"""Triangles that a layer must save here: primitives have fewer than LIBERO's meshes, and take a tenth of the time."""


@pytest.fixture(scope="module")
def started(drawing: str, compiled: Compiled) -> Iterator[tuple[Simulation, InitialState]]:
    """A world in the middle of an episode: handed to GL once, for that takes longer than the pictures."""
    world = Simulation(compiled("libero_object/0"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(still, "MIN_TRIANGLES", FEW)
        world.reset(world.sample(0))
        world.renderer.colour(world.step(ACTION).moment, "agentview", SIZE, SIZE)
    if not _is_software():
        pytest.skip("GL is not software here, and draws everything in every picture")
    yield world, world.state()
    world.close()


@pytest.fixture
def simulation(
    started: tuple[Simulation, InitialState], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Simulation]:
    """That world as it was, with nothing kept."""
    monkeypatch.setattr(still, "MIN_TRIANGLES", FEW)
    world, state = started
    world.reset(state, 1)
    usual = {name: getattr(world.model, name).copy() for name in CHANGED}
    yield world
    for name, values in usual.items():
        getattr(world.model, name)[:] = values
    world.renderer._still.free()


def drawn(simulation: Simulation, moment: Snapshot) -> np.ndarray:
    """A picture, which has to equal the one that is drawn whole."""
    renderer = simulation.renderer
    found = renderer.colour(moment, "agentview", SIZE, SIZE)
    renderer._still._usable = False
    whole = renderer.colour(moment, "agentview", SIZE, SIZE)
    renderer._still._usable = True
    assert np.array_equal(found, whole)
    return found


def kept(simulation: Simulation) -> int:
    """How many geoms are not drawn any more."""
    [view] = simulation.renderer._still._views.values()
    return 0 if view.kept is None else int(view.kept.sum())


def test_no_pixel_changes_while_the_arm_moves(simulation: Simulation):
    pictures = [drawn(simulation, simulation.step(ACTION).moment) for _ in range(8)]
    assert kept(simulation) > 5
    assert not np.array_equal(pictures[-2], pictures[-1]), "the arm is seen to move"


def test_what_begins_to_move_is_seen_to(simulation: Simulation):
    moment = simulation.observe().moment
    for _ in range(4):
        before = drawn(simulation, moment)
    [view] = simulation.renderer._still._views.values()
    body = simulation.compiled.entities["tomato_sauce_1"].body
    can = (simulation.model.geom_bodyid == body) & (simulation.model.geom_group == 1)
    assert view.kept is not None and view.kept[can].any()
    address = simulation.model.jnt_qposadr[simulation.model.joint("tomato_sauce_1_joint0").id]
    moved = moment.qpos.copy()
    moved[address] += 0.1
    after = drawn(simulation, replace(moment, qpos=moved))
    assert not np.array_equal(before, after)
    assert kept(simulation) > 5 and not view.kept[can].any()


def test_another_colour_light_or_camera_is_seen(simulation: Simulation):
    model, moment = simulation.model, simulation.observe().moment
    last = drawn(simulation, moment)
    for field, change in (("mat_rgba", 0.5), ("light_diffuse", 0.5), ("cam_fovy", 1.2)):
        for _ in range(4):
            drawn(simulation, moment)
        assert kept(simulation), "all of it, as nothing moves"
        getattr(model, field)[:] *= change
        if field == "mat_rgba":
            model.mat_rgba[:, 3] = 1
        now = drawn(simulation, moment)
        assert not np.array_equal(last, now), field
        last = now


def test_what_is_looked_through_is_rendered_in_every_image(simulation: Simulation):
    simulation.model.mat_rgba[:, 3] = 0.5
    for _ in range(8):
        drawn(simulation, simulation.step(ACTION).moment)
    assert not kept(simulation)


def test_images_with_mirrors_have_no_layer(drawing: str, compiled_libero: Compiled):
    world = Simulation(compiled_libero("libero_goal/0"))  # the stove reflects
    at_rest = world.reset(world.sample(0)).moment
    for _ in range(still.STATIC_AFTER + 1):
        drawn(world, at_rest)
    assert not world.renderer._still._views
    world.close()


def test_numbers_are_read_where_mujoco_has_them(simulation: Simulation):
    simulation.renderer._draw(simulation.observe().moment, "agentview", SIZE, SIZE, segmented=True)
    scene = simulation.renderer._scene
    read = _SceneBytes(scene)
    for place, geom in enumerate(scene.geoms[: scene.ngeom]):
        numbers, floats = read.looks[place, :7], read.looks[place, 7:].view(np.float32)
        own = (geom.type, geom.dataid, geom.objtype, geom.objid, geom.category, geom.matid, geom.texcoord)
        assert tuple(numbers) == own and read.geoms[place] == geom.objid
        looks = [geom.size, geom.pos, geom.mat.ravel(), geom.rgba]
        shine = [geom.emission, geom.specular, geom.shininess, geom.reflectance]
        assert np.array_equal(floats, np.concatenate([*looks, shine]).astype(np.float32))
