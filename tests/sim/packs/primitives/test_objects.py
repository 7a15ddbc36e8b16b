"""The movable objects of the primitives: they stand, hold, can be gripped, and measure like the real ones."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from assay.sim.packs.primitives.objects import BUILDERS
from assay.sim.packs.primitives.objects.meshes import Mesh, cuboid, sweep, turned

SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).resolve().parents[5] / "shared"))
REAL = SHARED / "libero" / "assets"

OF_THE_TASKS = [
    "akita_black_bowl", "alphabet_soup", "basket", "bbq_sauce", "black_book", "butter", "chefmate_8_frypan",
    "chocolate_pudding", "cookies", "cream_cheese", "desk_caddy", "glazed_rim_porcelain_ramekin", "ketchup",
    "milk", "moka_pot", "orange_juice", "plate", "porcelain_mug", "red_coffee_mug", "salad_dressing",
    "tomato_sauce", "white_yellow_mug", "wine_bottle",
]  # fmt: skip
"""Every category of the movable objects of the 40 tasks, and the caddy that one of them uses as a fixture."""

Y_UP = [
    "alphabet_soup", "bigger_alphabet_soup", "red_alphabet_soup", "tomato_sauce", "yellow_tomato_sauce",
    "corn", "cherries", "ketchup", "blue_ketchup", "mayo", "salad_dressing", "new_salad_dressing",
    "red_salad_dressing", "milk", "yellow_milk", "bigger_milk", "orange_juice", "macaroni_and_cheese",
]  # fmt: skip
"""The categories that stand with their y axis up."""

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
TIPPED = (0.5, 0.5, 0.5, 0.5)


def orientation(category: str) -> tuple[float, float, float, float]:
    """How LIBERO's stored states turn an object of that category, up to its yaw."""
    return TIPPED if category in Y_UP else UPRIGHT


def rotation(quat: tuple[float, float, float, float]) -> NDArray[np.float64]:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.array(quat))
    return matrix.reshape(3, 3)


def compiled(root: Element) -> mujoco.MjModel:
    for compiler in root.findall("compiler"):
        root.remove(compiler)
    SubElement(root, "compiler", {"inertiagrouprange": "0 0"})
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def corners(model: mujoco.MjModel) -> NDArray[np.float64]:
    """Corners of all collision boxes in the frame of the object, metres, shape (n, 3)."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    body = model.body("object").id
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    points = []
    for geom in np.flatnonzero(model.geom_group == 0):
        assert model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX
        local = signs * model.geom_size[geom]
        points.append(data.geom_xpos[geom] + local @ data.geom_xmat[geom].reshape(3, 3).T)
    offsets: NDArray[np.float64] = np.concatenate(points) - data.xpos[body]
    return offsets @ np.asarray(data.xmat[body], dtype=np.float64).reshape(3, 3)


@cache
def solid_corners(category: str) -> NDArray[np.float64]:
    """Those of an object as it ships."""
    return corners(compiled(BUILDERS[category]()))


def scene(category: str, *, support: str = "box") -> tuple[Element, Element]:
    """A world in which the object, without what is only drawn, stands on a support at z = 0; its body."""
    quat = orientation(category)
    low = (solid_corners(category) @ rotation(quat)[2]).min()
    root = Element("mujoco")
    SubElement(root, "option", {"timestep": "0.002", "impratio": "20", "cone": "elliptic"})
    thing = BUILDERS[category]().find("worldbody/body/body")
    assert thing is not None
    for parent in list(thing.iter()):
        for drawn in parent.findall("geom[@group='1']"):
            parent.remove(drawn)
    world = SubElement(root, "worldbody")
    floor = (
        {"type": "plane", "size": "1 1 0.1"}
        if support == "plane"
        else {"type": "box", "size": "1 1 0.1", "pos": "0 0 -0.1"}
    )
    SubElement(world, "geom", floor | {"name": "support"})
    thing.set("pos", f"0 0 {-low}")
    thing.set("quat", " ".join(map(str, quat)))
    SubElement(thing, "freejoint", {"name": "free"})
    world.append(thing)
    return root, world


@cache
def standing(category: str, support: str) -> mujoco.MjModel:
    """The object on a support."""
    root, _ = scene(category, support=support)
    return compiled(root)


def run(model: mujoco.MjModel, data: mujoco.MjData, seconds: float) -> None:
    mujoco.mj_step(model, data, round(seconds / model.opt.timestep))


def tilt(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Angle between the upward axes of two orientations, degrees."""
    lean = (after.reshape(3, 3) @ before.reshape(3, 3).T)[2, 2]
    return math.degrees(math.acos(min(1.0, lean)))


def test_every_object_of_the_builtin_tasks_is_offered() -> None:
    assert set(OF_THE_TASKS) <= set(BUILDERS)


def test_builders_hand_out_fresh_documents() -> None:
    first = BUILDERS["plate"]()
    first.clear()
    assert BUILDERS["plate"]().find("worldbody") is not None


@pytest.mark.parametrize("category", BUILDERS)
def test_document_has_the_layout_of_an_entity_and_few_parts(category: str) -> None:
    root = BUILDERS[category]()
    frame = root.find("worldbody/body")
    assert frame is not None
    assert {site.get("name") for site in frame.findall("site")} == {
        "bottom_site",
        "top_site",
        "horizontal_radius_site",
    }
    assert root.find(".//joint") is None and root.find(".//freejoint") is None
    model = compiled(root)
    collides = model.geom_group == 0
    assert np.all(model.geom_contype[collides] == 1)
    assert set(model.geom_group[~collides]) == {1}
    assert np.all(model.geom_contype[~collides] == 0) and np.all(model.geom_conaffinity[~collides] == 0)
    assert 1 <= collides.sum() <= 29
    assert 1 <= (~collides).sum() <= 8
    assert model.nmeshface <= 900


@pytest.mark.parametrize("category", BUILDERS)
def test_what_is_drawn_fits_what_collides(category: str) -> None:
    model = compiled(BUILDERS[category]())
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    drawn = []
    for geom in np.flatnonzero(model.geom_group == 1):
        mesh = model.geom_dataid[geom]
        start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        vertices = model.mesh_vert[start : start + count]
        drawn.append(data.geom_xpos[geom] + vertices @ data.geom_xmat[geom].reshape(3, 3).T)
    vertices, solid = np.concatenate(drawn), solid_corners(category)
    assert np.abs(vertices.min(axis=0) - solid.min(axis=0)).max() < 0.004
    assert np.abs(vertices.max(axis=0) - solid.max(axis=0)).max() < 0.0045
    up = rotation(orientation(category))[2]
    assert abs((vertices @ up).min() - (solid @ up).min()) < 0.0002


@pytest.mark.parametrize("support", ["plane", "box"])
@pytest.mark.parametrize("gap", [0.0, 0.06])
@pytest.mark.parametrize("category", BUILDERS)
def test_it_stands_where_it_is_put_and_where_it_falls(category: str, gap: float, support: str) -> None:
    model = standing(category, support)
    data = mujoco.MjData(model)
    data.qpos[2] += gap
    mujoco.mj_forward(model, data)
    body = model.body("object").id
    place, attitude = data.xpos[body].copy(), data.xmat[body].copy()
    run(model, data, 1.0)
    assert np.linalg.norm(data.xpos[body] - place + [0.0, 0.0, gap]) < 0.005
    assert tilt(attitude, data.xmat[body]) < 3.0
    assert data.ncon and min(contact.dist for contact in data.contact) > -0.001
    assert np.abs(data.qvel).max() < 0.01


HOLLOWS: dict[str, tuple[float, float]] = {
    "akita_black_bowl": (0.0, 0.0),
    "small_akita_black_bowl": (0.0, 0.0),
    "white_bowl": (0.0, 0.0),
    "glazed_rim_porcelain_ramekin": (0.0, 0.0),
    "plate": (0.0, 0.0),
    "chefmate_8_frypan": (0.005, 0.0),
    "porcelain_mug": (0.0133, -0.0013),
    "red_coffee_mug": (-0.0153, -0.0006),
    "white_yellow_mug": (-0.0186, 0.0),
    "basket": (0.0, 0.0),
    "wooden_tray": (0.0086, -0.0047),
}
"""Hollow things and the middle of their opening, metres."""


@pytest.mark.parametrize("off", [(0.0, 0.0), (0.012, 0.005), (-0.008, 0.012)])
@pytest.mark.parametrize("category", HOLLOWS)
def test_a_ball_dropped_into_it_stays_inside_above_the_bottom(
    category: str, off: tuple[float, float]
) -> None:
    root, world = scene(category)
    top = float(np.ptp(solid_corners(category)[:, 2]))
    x, y = HOLLOWS[category][0] + off[0], HOLLOWS[category][1] + off[1]
    ball = SubElement(world, "body", {"name": "ball", "pos": f"{x} {y} {top + 0.015}"})
    SubElement(ball, "freejoint")
    SubElement(
        ball,
        "geom",
        {"type": "sphere", "size": "0.01", "density": "300", "friction": "1 0.01 0.001", "condim": "6"},
    )
    model = compiled(root)
    data = mujoco.MjData(model)
    run(model, data, 1.5)
    z = data.body("ball").xpos[2]
    assert 0.010 + 0.003 < z < max(top, 0.0201)
    touched = {
        model.geom_bodyid[geom]
        for contact in data.contact
        for geom in contact.geom
        if _touches(model, contact)
    }
    assert touched == {model.body("ball").id, model.body("object").id}


def _touches(model: mujoco.MjModel, contact: mujoco.MjContact) -> bool:
    return model.body("ball").id in model.geom_bodyid[contact.geom]


@pytest.mark.parametrize("compartment", ["left", "right", "front", "back"])
def test_each_compartment_of_the_caddy_holds_a_ball(compartment: str) -> None:
    _assert_region_holds("desk_caddy", f"{compartment}_contain_region")


@pytest.mark.parametrize("category", ["basket", "wooden_tray"])
def test_what_is_dropped_into_a_container_lies_in_its_region(category: str) -> None:
    _assert_region_holds(category, "contain_region")


def _assert_region_holds(category: str, region: str) -> None:
    root, world = scene(category)
    model = compiled(root)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    x, y, _ = data.site(region).xpos
    ball = SubElement(world, "body", {"name": "ball", "pos": f"{x} {y} 0.18"})
    SubElement(ball, "freejoint")
    SubElement(ball, "geom", {"type": "sphere", "size": "0.01", "density": "300", "condim": "6"})
    model = compiled(root)
    data = mujoco.MjData(model)
    run(model, data, 1.5)
    site, ball_at = data.site(region), data.body("ball").xpos
    # LIBERO's regions need not reach down to the floor of the compartment, and a ball is low.
    probe = np.array([*ball_at[:2], max(ball_at[2], site.xpos[2])])
    inside = np.abs((probe - site.xpos) @ site.xmat.reshape(3, 3))
    assert np.all(inside <= model.site(region).size)
    assert 0.0125 < ball_at[2] < 0.035


GRIPS: dict[str, tuple[float, float, float, str, float]] = {
    "alphabet_soup": (0.0, -0.0035, 0.062, "y", 0.08),
    "bbq_sauce": (0.0, 0.0, 0.06, "y", 0.08),
    "black_book": (0.0, -0.012, 0.12, "x", 0.08),
    "yellow_book": (0.0, 0.0, 0.11, "x", 0.08),
    "butter": (0.0, 0.0, 0.004, "y", 0.08),
    "chocolate_pudding": (0.0, 0.0, 0.01, "y", 0.08),
    "cookies": (0.0, 0.0, 0.004, "x", 0.08),
    "cream_cheese": (0.0, 0.0, 0.004, "y", 0.08),
    "popcorn": (0.0, 0.0, 0.004, "y", 0.08),
    "ketchup": (0.0, 0.0, 0.1, "x", 0.08),
    "macaroni_and_cheese": (0.0, 0.0, 0.09, "x", 0.08),
    "milk": (0.0, 0.0, 0.08, "x", 0.08),
    "orange_juice": (0.0, 0.0, 0.08, "y", 0.08),
    "salad_dressing": (0.0, 0.0, 0.1, "x", 0.08),
    "tomato_sauce": (0.0, -0.0035, 0.062, "y", 0.08),
    "wine_bottle": (0.0, 0.0, 0.12, "x", 0.08),
    "akita_black_bowl": (0.0, 0.0505, 0.033, "y", 0.06),
    "white_bowl": (0.0, 0.038, 0.018, "y", 0.05),
    "glazed_rim_porcelain_ramekin": (0.0, 0.042, 0.025, "y", 0.05),
    "porcelain_mug": (0.0573, -0.0013, 0.085, "x", 0.06),
    "red_coffee_mug": (-0.0573, -0.0006, 0.11, "x", 0.06),
    "white_yellow_mug": (-0.067, 0.0, 0.085, "x", 0.06),
    "moka_pot": (0.0, 0.073, 0.09, "x", 0.08),
    "chefmate_8_frypan": (0.15, 0.0, 0.028, "y", 0.08),
    "basket": (0.0, 0.0745, 0.12, "y", 0.06),
    "wooden_tray": (0.0, 0.0764, 0.04, "y", 0.06),
    "desk_caddy": (0.0668, 0.0, 0.14, "x", 0.06),
}
"""Where a hand comes down on an upright object: x, y and height of its fingertips, the axis along which it
closes, and how far it is open before, all in metres."""


@pytest.mark.parametrize("category", GRIPS)
def test_two_fingers_can_lift_it(category: str) -> None:
    x, y, z, axis, opening = GRIPS[category]
    if orientation(category) == TIPPED:
        # Turned as in LIBERO's states, the sides of these objects point along other axes of the world.
        x, y = -y, x
    root, world = scene(category)
    _add_hand(root, world, (x, y, z), axis, opening)
    model = compiled(root)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    fingers = {model.body("left").id, model.body("right").id}
    for contact in data.contact:
        assert not fingers & set(model.geom_bodyid[contact.geom]), "the open hand does not fit over it"
    data.ctrl[:2] = 15.0
    run(model, data, 0.4)
    data.ctrl[2] = 0.1
    run(model, data, 1.0)
    assert data.joint("lift").qpos[0] > 0.09
    touching = {int(body) for contact in data.contact for body in model.geom_bodyid[contact.geom]}
    assert touching == {model.body("object").id, *fingers}, "it hangs between both fingers and nothing else"


def _add_hand(
    root: Element, world: Element, tips: tuple[float, float, float], axis: str, opening: float
) -> None:
    """Two fingers, 16 mm wide and 10 mm thick, that close along ``axis``; ``tips`` is between their ends."""
    thick, wide, long = 0.005, 0.008, 0.03
    size = (thick, wide, long) if axis == "x" else (wide, thick, long)
    hand = SubElement(
        world, "body", {"name": "hand", "pos": f"{tips[0]} {tips[1]} {tips[2] + long}", "gravcomp": "1"}
    )
    SubElement(hand, "joint", {"name": "lift", "type": "slide", "axis": "0 0 1", "damping": "50"})
    SubElement(
        hand,
        "geom",
        {
            "type": "sphere",
            "size": "0.005",
            "pos": "0 0 0.1",
            "mass": "0.5",
            "contype": "0",
            "conaffinity": "0",
        },
    )
    motion = SubElement(root, "actuator")
    for name, side in (("left", -1), ("right", 1)):
        off = side * (opening / 2 + thick)
        place = (off, 0.0, 0.0) if axis == "x" else (0.0, off, 0.0)
        along = (-side, 0, 0) if axis == "x" else (0, -side, 0)
        finger = SubElement(hand, "body", {"name": name, "pos": " ".join(map(str, place)), "gravcomp": "1"})
        SubElement(
            finger,
            "joint",
            {"name": name, "type": "slide", "axis": " ".join(map(str, along)), "damping": "80"},
        )
        SubElement(
            finger,
            "geom",
            {
                "type": "box",
                "size": " ".join(map(str, size)),
                "mass": "0.05",
                "friction": "1 0.05 0.0001",
                "solref": "0.01 0.5",
            },
        )
        SubElement(motion, "motor", {"joint": name})
    SubElement(motion, "position", {"joint": "lift", "kp": "2000"})


def real_file(category: str) -> Path | None:
    found = sorted(REAL.glob(f"*_objects/{category}/{category}.xml"))
    return found[0] if found else None


def real_model(category: str) -> mujoco.MjModel:
    """LIBERO's own object without its drawn parts."""
    path = real_file(category)
    assert path is not None
    root = ElementTree.parse(path).getroot()
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "asset" or (child.tag == "geom" and child.get("group") == "1"):
                parent.remove(child)
    return compiled(root)


def compared() -> Iterator[str]:
    return (category for category in BUILDERS if real_file(category) is not None)


needs_real_assets = pytest.mark.skipif(
    not REAL.is_dir(), reason=f"LIBERO's assets are not at {REAL} (set ASSAY_SHARED)"
)


@needs_real_assets
@pytest.mark.parametrize("category", list(compared()) or ["plate"])
def test_outline_mass_and_sites_are_those_of_the_real_object(category: str) -> None:
    ours, real = compiled(BUILDERS[category]()), real_model(category)
    our_points, real_points = solid_corners(category), corners(real)
    up = rotation(orientation(category))[2]
    assert abs((our_points @ up).min() - (real_points @ up).min()) < 0.0005
    assert np.abs(our_points.min(axis=0) - real_points.min(axis=0)).max() < 0.0025
    assert np.abs(our_points.max(axis=0) - real_points.max(axis=0)).max() < 0.0025
    our_body, real_body = ours.body("object"), real.body("object")
    assert ours.body_subtreemass[our_body.id] == pytest.approx(real.body_subtreemass[real_body.id], rel=0.1)
    if category != "new_salad_dressing":  # the real one declares an inertia of its own, of the wrong place
        assert np.linalg.norm(our_body.ipos - real_body.ipos) < 0.006
    names = {real.site(i).name for i in range(real.nsite)}
    assert {ours.site(i).name for i in range(ours.nsite)} == names
    for name in names:
        mine, theirs = ours.site(name), real.site(name)
        assert mine.pos == pytest.approx(theirs.pos, abs=1e-4)
        assert mine.size == pytest.approx(theirs.size, abs=1e-4)
        assert abs(mine.quat @ theirs.quat) == pytest.approx(1.0, abs=1e-4)


@needs_real_assets
def test_no_object_of_the_tasks_lacks_a_real_counterpart() -> None:
    assert set(OF_THE_TASKS) <= set(compared())


@pytest.mark.parametrize(
    ("mesh", "volume"),
    [
        (cuboid((-1.0, -2.0, 0.0), (1.0, 2.0, 3.0)), 24.0),
        (turned([(0.0, 0.0), (2.0, 0.0), (2.0, 5.0), (0.0, 5.0)], segments=64), 20.0 * math.pi),
        (turned([(0.0, 0.0), (2.0, 0.0), (2.0, 5.0), (0.0, 5.0)], segments=64, faceted=True), 20.0 * math.pi),
        (sweep([(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (10.0, 0.0, 0.0)], 2.0, 2.0), 10.0 * 2.0 * math.sqrt(2.0)),
        (
            sweep([(0.0, 0.0, 0.0), (0.0, 1.0, 5.0), (0.0, 2.0, 10.0)], 2.0, 2.0),
            math.sqrt(104.0) * 2.0 * math.sqrt(2.0),
        ),
    ],
)
def test_generated_surfaces_are_closed_and_face_outwards(mesh: Mesh, volume: float) -> None:
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0 == pytest.approx(volume, rel=0.01)
