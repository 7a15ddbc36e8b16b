from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from assay.errors import RenderingError
from assay.sim.compile import CompiledScene, bounding_box
from assay.sim.observation import Observation
from assay.sim.render import BACKGROUND, CAMERAS, FIRST_ENTITY, ROBOT_LABEL
from assay.sim.simulation import Simulation
from assay.sim.states import InitialState

Compiled = Callable[[str], CompiledScene]

pytestmark = pytest.mark.usefixtures("drawing")


@pytest.fixture(scope="module")
def table(compiled: Compiled) -> Simulation:
    """A world that the tests of this file share, so that one GL context is enough."""
    return Simulation(compiled("libero_goal/0"))


@pytest.fixture
def world(table: Simulation) -> Simulation:
    table.reset(table.sample(0))
    return table


@pytest.fixture
def seen(table: Simulation) -> Observation:
    return table.reset(table.sample(0))


class Camera:
    """A pinhole camera, worked out from its pose alone."""

    def __init__(self, world: Simulation, name: str, height: int, width: int) -> None:
        camera = world.compiled.model.camera(name).id
        self.position = world.data.cam_xpos[camera].copy()
        self.rotation = world.data.cam_xmat[camera].reshape(3, 3).copy()
        self.focal = height / 2 / np.tan(np.radians(world.compiled.model.cam_fovy[camera]) / 2)
        self.height, self.width = height, width

    def pixel(self, point: np.ndarray) -> tuple[float, float, float]:
        """Row and column of a point in the world, counted from the top left, and its distance."""
        x, y, z = self.rotation.T @ (point - self.position)
        return self.height / 2 + self.focal * y / z, self.width / 2 - self.focal * x / z, -z

    def plane(self, height: float) -> tuple[np.ndarray, np.ndarray]:
        """Where each pixel's ray meets a level plane, (h, w, 3), and how far along the axis, (h, w)."""
        rows, columns = np.mgrid[: self.height, : self.width] + 0.5
        rays = np.stack(
            [
                (columns - self.width / 2) / self.focal,
                (self.height / 2 - rows) / self.focal,
                -np.ones_like(rows),
            ],
            axis=-1,
        )
        turned = rays @ self.rotation.T
        along = (height - self.position[2]) / turned[..., 2]
        return self.position + turned * along[..., None], along


# -- colour


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize(("height", "width"), [(64, None), (48, 80), (80, 48), (1, 1)])
def test_images_have_the_size_asked_for(seen: Observation, camera: str, height: int, width: int | None):
    shape = (height, height if width is None else width)
    image, depth, labels = (
        getattr(seen, kind)(camera, height, width) for kind in ("image", "depth", "segmentation")
    )
    assert image.shape == (*shape, 3) and image.dtype == np.uint8
    assert depth.shape == shape and depth.dtype == np.float32
    assert labels.shape == shape and labels.dtype == np.int32


@pytest.mark.parametrize("name", ["libero_goal_00"])
def test_images_are_those_of_libero(name: str, reference: Path, compiled_libero: Compiled):
    record = np.load(reference / "images" / f"{name}_images.npz")
    world = Simulation(compiled_libero(f"{record['suite']}/{record['task']}"))
    roots = record["root_bodies"].tolist()
    rows = [roots.index(f"{fixture.name}_main") for fixture in world.compiled.scene.fixtures]
    poses = np.hstack([record["root_pos"], record["root_quat_wxyz"]])[rows].reshape(-1, 7)
    for index, vector in enumerate(record["states"]):
        seen = world.reset(InitialState(vector, poses))
        for camera, key in zip(CAMERAS, ("agentview", "wrist"), strict=True):
            theirs = record[key][index][::-1].astype(int)
            assert np.abs(seen.image(camera, 128) - theirs).mean() <= 1, (camera, index)
            # And not just any picture agrees: the same upside down does not.
            assert np.abs(seen.image(camera, 128)[::-1] - theirs).mean() > 5
    world.close()


# -- depth


def test_depth_of_the_table_is_what_geometry_says(world: Simulation):
    seen = world.reset(world.sample(0))
    size = 128
    camera = Camera(world, "agentview", size, size)
    points, along = camera.plane(0.9)
    labels = seen.segmentation("agentview", size)
    depth = seen.depth("agentview", size)
    on_table = (np.abs(points[..., 0]) < 0.45) & (np.abs(points[..., 1]) < 0.55) & (labels == BACKGROUND)
    assert on_table.sum() > 2000
    error = np.abs(depth - along)[on_table] / along[on_table]
    assert np.quantile(error, 0.99) < 0.01
    assert np.median(error) < 0.002


# -- segmentation


@pytest.mark.parametrize("task_id", ["libero_goal/0", "libero_object/0", "libero_10/5", "libero_10/9"])
def test_every_object_and_the_robot_are_seen(task_id: str, compiled: Compiled, table: Simulation):
    world = table if task_id == "libero_goal/0" else Simulation(compiled(task_id))
    labels = world.reset(world.sample(0)).segmentation("agentview", 256)
    entities = world.compiled.scene.entities
    assert set(np.unique(labels)) == {BACKGROUND, ROBOT_LABEL, *range(2, 2 + len(entities))}
    if world is not table:
        world.close()


@pytest.mark.parametrize("camera", ["agentview", "frontview"])
def test_labels_are_the_scenes_entities_in_order_and_the_right_way_up(world: Simulation, camera: str):
    size = 256
    seen = world.reset(world.sample(0))
    labels = seen.segmentation(camera, size)
    eye = Camera(world, camera, size, size)
    for index, entity in enumerate(world.compiled.scene.objects):
        rows, columns = np.nonzero(labels == FIRST_ENTITY + index)
        low, high = bounding_box(world.model, world.data, world.compiled.entities[entity.name].geoms)
        pixels = np.array(
            [eye.pixel(np.array(corner))[:2] for corner in product(*zip(low, high, strict=True))]
        )
        assert rows.min() >= pixels[:, 0].min() - 2 and rows.max() <= pixels[:, 0].max() + 2, entity.name
        assert columns.min() >= pixels[:, 1].min() - 2 and columns.max() <= pixels[:, 1].max() + 2, (
            entity.name
        )
        # Nothing stands in front of them: they fill a good part of the box around them.
        assert np.ptp(rows) > 0.5 * np.ptp(pixels[:, 0]), entity.name


# -- when


def test_an_old_observation_renders_its_own_moment(world: Simulation):
    state = world.sample(0)
    expected = world.reset(state).image("agentview", 64)
    seen = world.reset(state)
    elsewhere = InitialState(state.vector, state.fixtures + (0.1, 0, 0, 0, 0, 0, 0))
    later = world.reset(elsewhere)
    moved = later.image("agentview", 64)
    assert np.array_equal(seen.image("agentview", 64), expected)
    assert np.abs(moved.astype(int) - expected).mean() > 1, "the cabinet stands elsewhere now"
    # The episode goes on with its own fixtures.
    world.step(np.zeros(7))
    place = world.data.xpos[world.compiled.entities["wooden_cabinet_1"].body]
    assert place == pytest.approx(elsewhere.fixtures[0, :3])


@pytest.mark.parametrize("pack", ["compiled", "compiled_libero"])
def test_drawing_does_not_disturb_the_physics(pack: str, request: pytest.FixtureRequest):
    world = Simulation(request.getfixturevalue(pack)("libero_goal/0"))
    state, other = world.sample(0), world.sample(1)
    old = world.reset(other)
    moves = np.random.default_rng(0).uniform(-1, 1, (6, 7))
    results = []
    for drawn in (False, True):
        world.reset(state)
        trail = []
        for move in moves:
            seen = world.step(move)
            if drawn:
                seen.image("agentview", 16), seen.depth("robot0_eye_in_hand", 16)
                old._images.clear()
                old.image("agentview", 16)
            trail.append(world.state().flat())
        results.append(trail)
    assert np.array_equal(*results)
    world.close()


def test_a_light_that_begins_to_cast_shadows_is_seen_to(compiled: Compiled):
    """What GL needs for shadows is made when they are wanted: as if they had been from the start."""
    pictures = []
    for drawn_before in (True, False):
        world = Simulation(compiled("libero_goal/0"))
        seen = world.reset(world.sample(0))
        if drawn_before:
            usual = seen.image("agentview", 64)
        world.model.light_castshadow[:] = 1
        pictures.append(world.renderer.colour(seen.moment, "agentview", 64, 64))
        world.close()
    assert np.array_equal(*pictures) and not np.array_equal(usual, pictures[0])


def test_a_closed_world_renders_again_when_asked(compiled: Compiled):
    world = Simulation(compiled("libero_goal/0"))
    seen = world.reset(world.sample(0))
    before = seen.image("agentview", 32)
    world.close()
    world.close()
    again = world.reset(world.sample(0)).image("agentview", 32)
    assert np.array_equal(before, again)
    world.close()


# -- the stove


def burner(world: Simulation, angle: float, size: int = 128) -> np.ndarray:
    """The part of the picture where the burner is, with the knob at an angle."""
    state = world.sample(0)
    vector = state.vector.copy()
    knob = world.model.joint("flat_stove_1_button").id
    vector[1 + world.model.jnt_qposadr[knob]] = angle
    seen = world.reset(InitialState(vector, state.fixtures))
    eye = Camera(world, "agentview", size, size)
    site = world.compiled.regions["flat_stove_1_cook_region"].site
    row, column, _ = eye.pixel(world.data.site_xpos[site])
    return seen.image("agentview", size)[
        int(row) - 8 : int(row) + 8, int(column) - 8 : int(column) + 8
    ].astype(int)


def test_the_burner_glows_exactly_while_the_stove_is_on(world: Simulation):
    dark = burner(world, 0.0)
    for angle, glows in ((0.3, False), (0.499, False), (0.5, True), (1.5, True), (0.0, False)):
        difference = np.abs(burner(world, angle) - dark).mean()
        assert bool(difference > 10) is glows, (angle, difference)
    lit = burner(world, 1.0)
    assert (lit - dark)[..., 0].mean() > (lit - dark)[..., 2].mean() + 10, "it is red"


# -- what cannot be drawn


@pytest.mark.parametrize(
    ("height", "width"),
    [
        (0, None),
        (-1, None),
        (32, 0),
        (32, -5),
        (4097, None),
        (16, 10**9),
        (2.5, None),
        ("64", None),
    ],
)
def test_a_invalid_size_is_refused(seen: Observation, height: int, width: int | None):
    with pytest.raises(RenderingError, match="4096") as caught:
        seen.image("agentview", height, width)
    assert "\n" not in str(caught.value)
    assert seen.image("agentview", 8).shape == (8, 8, 3)


# -- processes and threads


def test_a_forked_process_is_told_that_it_cannot_draw():
    script = """
import os, sys
from assay import tasks
from assay.errors import RenderingError
from assay.sim import Simulation, compile_scene, load_pack
world = Simulation(compile_scene(tasks.load("libero_10/5").scene, load_pack("primitives")))
seen = world.reset(world.sample(0))
seen.image("agentview", 16)
child = os.fork()
if child == 0:
    try:
        seen.image("agentview", 17)
        os._exit(1)
    except RenderingError as error:
        os._exit(0 if "spawn" in str(error) else 2)
status = os.waitpid(child, 0)[1]
print(status, seen.image("agentview", 18).shape)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.stderr) == ("0 (18, 18, 3)", "")


def test_another_thread_renders_the_same_or_is_refused_with_a_reason(seen: Observation):
    expected = seen.image("agentview", 16)
    told: list[object] = []

    def draw() -> None:
        try:
            told.append(seen.depth("agentview", 16).shape)
        except RenderingError as error:
            told.append(str(error))

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    assert told == [(16, 16)] or "thread" in str(told[0])
    assert np.array_equal(seen.image("agentview", 16), expected)
    assert seen.image("agentview", 20).shape == (20, 20, 3), "this thread goes on"
