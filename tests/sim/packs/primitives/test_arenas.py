"""The rooms of the primitives: workspaces where LIBERO's are, furniture that is only drawn."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
import pytest

from assay.errors import AssetError
from assay.sim.packs.primitives.arenas import arena
from assay.tasks.scene import Arena

SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).resolve().parents[5] / "shared"))
COMPOSED = SHARED / "libero" / "reference" / "composed"
SCENES = SHARED / "libero" / "assets" / "scenes"

BODIES = {
    Arena.TABLE: "table",
    Arena.KITCHEN: "table",
    Arena.LIVING_ROOM: "living_room_table",
    Arena.STUDY: "study_table",
    Arena.FLOOR: "floor",
    Arena.COFFEE_TABLE: "coffee_table",
}
HEIGHTS = {
    Arena.TABLE: 0.9,
    Arena.KITCHEN: 0.9,
    Arena.LIVING_ROOM: 0.43676,
    Arena.STUDY: 0.88513,
    Arena.FLOOR: 0.0,
    Arena.COFFEE_TABLE: 0.424,
}
REAL = {
    Arena.TABLE: COMPOSED / "libero_goal_00.xml.gz",
    Arena.KITCHEN: COMPOSED / "libero_10_02.xml.gz",
    Arena.LIVING_ROOM: COMPOSED / "libero_10_00.xml.gz",
    Arena.STUDY: SCENES / "libero_study_base_style.xml",
    Arena.FLOOR: COMPOSED / "libero_object_00.xml.gz",
    Arena.COFFEE_TABLE: SCENES / "libero_coffee_table_base_style.xml",
}
every_room = pytest.mark.parametrize("room", list(Arena))


def compiled(root: Element) -> mujoco.MjModel:
    SubElement(root, "compiler", {"angle": "radian", "inertiagrouprange": "0 0"})
    SubElement(root, "option", {"timestep": "0.002", "impratio": "20", "cone": "elliptic"})
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def real(room: Arena) -> mujoco.MjModel:
    """What collides in LIBERO's room, floor and workspace only."""
    path = REAL[room]
    if not path.is_file():
        pytest.skip(f"LIBERO's rooms are not at {path} (set ASSAY_SHARED)")
    raw = path.read_bytes()
    source = ElementTree.fromstring(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    root = Element("mujoco")
    world = SubElement(root, "worldbody")
    for child in source.iterfind("./worldbody/*"):
        if child.get("name") in {BODIES[room], "floor"}:
            world.append(child)
    for parent in list(root.iter()):
        for geom in parent.findall("geom"):
            geom.attrib.pop("material", None)
            if geom.get("type") == "mesh":
                parent.remove(geom)
    return compiled(root)


def surface(model: mujoco.MjModel, x: float, y: float) -> tuple[float, int]:
    """Height of what one hits first from above among the geoms that collide, and which geom that is."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    hits = []
    for geom in np.flatnonzero(model.geom_contype):
        start = np.array([x, y, 2.0])
        model.geom_group[:] = 5
        model.geom_group[geom] = 0
        hit = np.zeros(1, np.int32)
        groups = np.array([1, 0, 0, 0, 0, 0], np.uint8)
        distance = mujoco.mj_ray(model, data, start, np.array([0.0, 0.0, -1.0]), groups, 1, -1, hit)
        if distance >= 0:
            hits.append((2.0 - distance, int(geom)))
    return max(hits)


@every_room
def test_workspace_lies_at_the_height_stored_states_rest_on(room: Arena) -> None:
    model = compiled(arena(room, ""))
    for x in (-0.3, 0.0, 0.15):
        for y in (-0.4, 0.0, 0.4):
            height, geom = surface(model, x, y)
            assert height == pytest.approx(HEIGHTS[room], abs=1e-6)
            assert model.body(model.geom_bodyid[geom]).name == BODIES[room]


@every_room
def test_workspace_is_as_high_and_as_slippery_as_the_real_one(room: Arena) -> None:
    ours, theirs = compiled(arena(room, "")), real(room)
    for x, y in ((0.0, 0.0), (-0.3, 0.25), (0.15, -0.3)):
        (height, geom), (wanted, other) = surface(ours, x, y), surface(theirs, x, y)
        assert height == pytest.approx(wanted, abs=1e-4)
        for field in ("friction", "solref", "solimp", "condim"):
            np.testing.assert_allclose(
                getattr(ours, f"geom_{field}")[geom], getattr(theirs, f"geom_{field}")[other], err_msg=field
            )


@every_room
def test_room_has_the_cameras_and_lights_of_the_real_one(room: Arena) -> None:
    model = compiled(arena(room, ""))
    cameras = {model.cam(i).name for i in range(model.ncam)}
    assert {"frontview", "birdview", "agentview", "sideview"} <= cameras
    assert model.nlight >= 2
    assert not model.light_castshadow.any()


@every_room
def test_agentview_sees_the_middle_of_the_workspace(room: Arena) -> None:
    model = compiled(arena(room, ""))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = data.cam("agentview")
    x, y, z = camera.xmat.reshape(3, 3).T @ (np.array([0.0, 0.0, HEIGHTS[room]]) - camera.xpos)
    half = np.tan(np.radians(model.cam("agentview").fovy[0] / 2))
    assert z < 0 and abs(x / z) < half and abs(y / z) < half


@every_room
def test_furniture_collides_with_nothing(room: Arena) -> None:
    model = compiled(arena(room, ""))
    for geom in range(model.ngeom):
        body = model.body(model.geom_bodyid[geom]).name
        if body != BODIES[room] and model.geom(geom).name != "floor":
            assert not model.geom_contype[geom] and not model.geom_conaffinity[geom], model.geom(geom).name


@every_room
def test_ball_comes_to_rest_on_the_workspace(room: Arena) -> None:
    root = arena(room, "")
    world = root.find("worldbody")
    assert world is not None
    ball = SubElement(world, "body", {"name": "ball", "pos": f"0.1 0.1 {HEIGHTS[room] + 0.05}"})
    SubElement(ball, "freejoint")
    SubElement(ball, "geom", {"type": "box", "size": "0.02 0.02 0.02", "mass": "0.05"})
    model = compiled(root)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)
    np.testing.assert_allclose(data.body("ball").xpos, (0.1, 0.1, HEIGHTS[room] + 0.02), atol=1e-3)


@every_room
def test_room_is_light_enough_to_be_drawn_fast(room: Arena) -> None:
    model = compiled(arena(room, ""))
    assert (model.geom_group == 1).sum() < 60
    assert not model.mat_reflectance.any(), "a reflecting surface draws the scene twice"


def test_rooms_look_different() -> None:
    colours = set()
    for room in Arena:
        model = compiled(arena(room, ""))
        walls = tuple(model.geom("wall_rear_visual").rgba.round(2))
        floor = tuple(int(c) for c in model.tex_data[model.tex_adr[1] : model.tex_adr[1] + 9])
        colours.add((walls, floor))
    assert len(colours) == len(Arena)


def test_textures_are_the_same_every_time() -> None:
    first, second = (compiled(arena(Arena.TABLE, "")).tex_data for _ in range(2))
    assert np.array_equal(first, second)
    assert len(np.unique(first)) > 4


def test_unknown_style_is_refused_in_one_line() -> None:
    with pytest.raises(AssetError, match=r"'kitchen' in one style only, not as 'blue'") as raised:
        arena(Arena.KITCHEN, "blue")
    assert "\n" not in str(raised.value)
