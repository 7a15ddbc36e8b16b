"""The fixtures of the primitives: drawers slide and hold things, knobs turn, doors open."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
import pytest

from assay.sim.packs.primitives.fixtures import BUILDERS
from assay.sim.packs.primitives.robot import gripper

SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).resolve().parents[5] / "shared"))
ASSETS = SHARED / "libero" / "assets"
OF_THE_TASKS = ("flat_stove", "microwave", "white_cabinet", "wine_rack", "wooden_cabinet")
CABINETS = ("wooden_cabinet", "white_cabinet")
LEVELS = ("top", "middle", "bottom")
PLACEMENT = {"bottom_site", "top_site", "horizontal_radius_site"}
every_fixture = pytest.mark.parametrize("category", sorted(BUILDERS))


def compiled(root: Element) -> mujoco.MjModel:
    for tag in ("compiler", "size", "option"):
        for section in root.findall(tag):
            root.remove(section)
    SubElement(root, "compiler", {"angle": "radian", "inertiagrouprange": "0 0"})
    options = {"timestep": "0.002", "impratio": "20", "cone": "elliptic", "density": "1.2"}
    SubElement(root, "option", options | {"viscosity": "0.00002"})
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def real(category: str) -> mujoco.MjModel:
    """What LIBERO's fixture consists of, without textures and meshes, none of which collide."""
    names = (f"articulated_objects/{category}.xml", f"turbosquid_objects/{category}/{category}.xml")
    path = next((ASSETS / name for name in names if (ASSETS / name).is_file()), None)
    if path is None:
        pytest.skip(f"LIBERO's {category} is not at {ASSETS} (set ASSAY_SHARED)")
    root = ElementTree.parse(path).getroot()
    for asset in root.findall("asset"):
        root.remove(asset)
    for parent in list(root.iter()):
        for child in list(parent):
            child.attrib.pop("material", None)
            drawn = child.get("class") in {"microwave", "slidecabinet"}
            if child.tag == "region" or child.get("mesh") or (child.tag == "geom" and drawn):
                parent.remove(child)
    return compiled(root)


def named(model: mujoco.MjModel, kind: str) -> list[str]:
    count = {"joint": model.njnt, "body": model.nbody, "site": model.nsite}[kind]
    return [getattr(model, kind)(i).name for i in range(count)]


def drop(model_root: Element, where: np.ndarray, *, radius: float = 0.015) -> mujoco.MjModel:
    """The fixture with a ball above it that weighs 30 g."""
    world = model_root.find("worldbody")
    assert world is not None
    ball = SubElement(world, "body", {"name": "ball", "pos": " ".join(map(str, where))})
    SubElement(ball, "freejoint", {"name": "ball"})
    shape = {"type": "sphere", "size": str(radius), "mass": "0.03", "friction": "1 0.02 0.02", "condim": "6"}
    SubElement(ball, "geom", shape)
    return compiled(model_root)


def touching(model: mujoco.MjModel, data: mujoco.MjData) -> set[tuple[str, str]]:
    return {
        (model.body(model.geom_bodyid[c.geom1]).name, model.body(model.geom_bodyid[c.geom2]).name)
        for c in data.contact[: data.ncon]
    }


def inside(data: mujoco.MjData, model: mujoco.MjModel, point: np.ndarray, site: str) -> bool:
    frame = data.site(site).xmat.reshape(3, 3)
    return bool((np.abs(frame.T @ (point - data.site(site).xpos)) < model.site(site).size).all())


def run(model: mujoco.MjModel, data: mujoco.MjData, seconds: float) -> None:
    mujoco.mj_step(model, data, round(seconds / model.opt.timestep))


@every_fixture
def test_fixture_left_alone_does_not_move(category: str) -> None:
    model = compiled(BUILDERS[category]())
    data = mujoco.MjData(model)
    for share in (0.0, 0.5):
        data.qpos[:] = wanted = share * np.sum(model.jnt_range, axis=1)
        data.qvel[:] = 0.0
        run(model, data, 1.0)
        np.testing.assert_allclose(data.qpos, wanted, atol=1e-5)


@every_fixture
def test_moving_parts_touch_nothing_of_the_fixture_over_their_whole_range(category: str) -> None:
    model = compiled(BUILDERS[category]())
    data = mujoco.MjData(model)
    for index in range(model.njnt):
        for position in np.linspace(*model.jnt_range[index], 25):
            data.qpos[:] = 0.0
            data.qpos[index] = position
            mujoco.mj_forward(model, data)
            assert not touching(model, data), f"{model.joint(index).name} at {position:.3f}"


def test_a_drawer_that_overlapped_its_case_would_be_noticed() -> None:
    root = BUILDERS["wooden_cabinet"]()
    drawer = root.find(".//body[@name='cabinet_top']")
    assert drawer is not None
    drawer.set("pos", "0.004 0 0")
    model = compiled(root)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert touching(model, data)


@every_fixture
def test_joints_are_the_real_ones_in_the_same_order(category: str) -> None:
    ours, theirs = compiled(BUILDERS[category]()), real(category)
    assert named(ours, "joint") == named(theirs, "joint")
    for field in ("jnt_type", "jnt_axis", "jnt_pos", "jnt_range", "jnt_limited", "jnt_qposadr"):
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), atol=1e-6, err_msg=field)
    for field in ("dof_damping", "dof_armature", "dof_frictionloss", "dof_M0"):
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), atol=1e-6, err_msg=field)


@every_fixture
def test_bodies_and_regions_are_where_the_real_ones_are(category: str) -> None:
    ours, theirs = compiled(BUILDERS[category]()), real(category)
    assert set(named(theirs, "body")) <= set(named(ours, "body"))
    assert set(named(theirs, "site")) == set(named(ours, "site"))
    here, there = mujoco.MjData(ours), mujoco.MjData(theirs)
    for share in (0.0, 0.8):
        here.qpos[:] = there.qpos[:] = share * np.sum(theirs.jnt_range, axis=1)
        mujoco.mj_forward(ours, here)
        mujoco.mj_forward(theirs, there)
        for name in named(theirs, "site"):
            assert ours.body(ours.site(name).bodyid[0]).name == theirs.body(theirs.site(name).bodyid[0]).name
            np.testing.assert_allclose(here.site(name).xpos, there.site(name).xpos, atol=2e-6, err_msg=name)
            if name not in PLACEMENT:
                np.testing.assert_allclose(here.site(name).xmat, there.site(name).xmat, atol=2e-5)
                np.testing.assert_allclose(ours.site(name).size, theirs.site(name).size, atol=1e-6)


def below(model: mujoco.MjModel, data: mujoco.MjData, point: np.ndarray) -> float:
    """Height of the first colliding surface below a point; -inf if there is none."""
    groups = np.array([1, 0, 0, 0, 0, 0], np.uint8)
    down, hit = np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
    distance = mujoco.mj_ray(model, data, point, down, groups, 1, -1, hit)
    return float(point[2] - distance) if distance >= 0 else -np.inf


@pytest.mark.parametrize("category", OF_THE_TASKS)
def test_things_rest_at_the_same_height_as_on_the_real_one(category: str) -> None:
    ours, theirs = compiled(BUILDERS[category]()), real(category)
    # Rays pass through what is transparent, and LIBERO's burner is.
    theirs.geom_rgba[:, 3] = 1.0
    here, there = mujoco.MjData(ours), mujoco.MjData(theirs)
    checked = 0
    for share in (0.0, 0.9):
        here.qpos[:] = there.qpos[:] = share * np.sum(theirs.jnt_range, axis=1)
        mujoco.mj_forward(ours, here)
        mujoco.mj_forward(theirs, there)
        for name in set(named(theirs, "site")) - PLACEMENT - {"burner"}:
            frame = there.site(name).xmat.reshape(3, 3)
            for corner in ((0, 0, 0), (0.5, 0.5, 0.5), (-0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.5, 0.5, -0.5)):
                point = there.site(name).xpos + frame @ (np.array(corner) * theirs.site(name).size)
                point[2] += 0.03
                assert below(ours, here, point) == pytest.approx(below(theirs, there, point), abs=0.002)
                checked += 1
    assert checked >= 10


@pytest.mark.parametrize("category", CABINETS)
@pytest.mark.parametrize("level", LEVELS)
def test_drawer_holds_a_ball_that_is_dropped_into_it_and_carries_it_in(category: str, level: str) -> None:
    root = BUILDERS[category]()
    model = compiled(root)
    data = mujoco.MjData(model)
    data.joint(f"{level}_level").qpos[0] = -0.15
    mujoco.mj_forward(model, data)
    start = data.site(f"{level}_region").xpos + np.array([0.0, -0.05, 0.05])
    model = drop(root, start)
    data = mujoco.MjData(model)
    data.joint(f"{level}_level").qpos[0] = -0.15
    data.joint("ball").qpos[:3] = start
    run(model, data, 1.0)
    assert inside(data, model, data.body("ball").xpos, f"{level}_region")
    for _ in range(1000):
        data.joint(f"{level}_level").qfrc_applied[0] = 15.0
        mujoco.mj_step(model, data)
    assert data.joint(f"{level}_level").qpos[0] == pytest.approx(0.01, abs=0.002)
    assert inside(data, model, data.body("ball").xpos, f"{level}_region")


@pytest.mark.parametrize("category", CABINETS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_gripper_pulls_a_drawer_open_by_its_handle(category: str, level: str) -> None:
    """The fingers reach behind the bar from above and below, close on it, and go back by 12 cm."""
    handles = {"top": 0.18393, "middle": 0.11041, "bottom": 0.04114}
    root, hand = BUILDERS[category](), gripper()
    world, bodies = root.find("worldbody"), hand.find("worldbody")
    assert world is not None and bodies is not None
    reach = 0.0524 + 0.041
    # The hand's z points along +y of the world and its fingers close along z.
    carriage = {
        "name": "carriage",
        "pos": f"0 {-0.1016 - reach} {handles[level]}",
        "quat": "0 0 0.70710678 0.70710678",
    }
    place = SubElement(world, "body", carriage)
    SubElement(place, "inertial", {"pos": "0 0 0", "mass": "5", "diaginertia": "1 1 1"})
    rail = {"name": "rail", "type": "slide", "axis": "0 0 1"}
    SubElement(place, "joint", rail | {"damping": "20"})
    place.extend(list(bodies))
    actuators = SubElement(root, "actuator")
    actuators.extend(list(hand.find("actuator") or ()))
    SubElement(actuators, "position", {"name": "rail", "joint": "rail", "kp": "800"})
    model = compiled(root)
    data = mujoco.MjData(model)
    data.joint("finger_joint1").qpos[0], data.joint("finger_joint2").qpos[0] = 0.02, -0.02
    mujoco.mj_forward(model, data)
    axis = data.body("carriage").xmat.reshape(3, 3)[:, 2]
    np.testing.assert_allclose(axis, (0.0, 1.0, 0.0), atol=1e-9)
    assert not touching(model, data)
    run(model, data, 0.6)
    assert data.joint("finger_joint1").qpos[0] == pytest.approx(0.00817, abs=0.002), "it holds the bar"
    for step in range(1500):
        data.actuator("rail").ctrl[0] = -0.12 * min(1.0, step / 1000)
        mujoco.mj_step(model, data)
    assert data.joint(f"{level}_level").qpos[0] < -0.09


def test_knob_turns_to_its_stop_and_stays_there() -> None:
    model = compiled(BUILDERS["flat_stove"]())
    data = mujoco.MjData(model)
    for _ in range(1000):
        data.joint("button").qfrc_applied[0] = 4.0
        mujoco.mj_step(model, data)
    assert data.joint("button").qpos[0] == pytest.approx(2.1, abs=0.02)
    data.joint("button").qfrc_applied[0] = 0.0
    run(model, data, 1.0)
    assert data.joint("button").qpos[0] > 2.05


def test_knob_has_a_ridge_fingers_can_hold() -> None:
    model = compiled(BUILDERS["flat_stove"]())
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    high = [g for g in range(model.ngeom) if model.geom_group[g] == 0 and data.geom_xpos[g][2] > 0.02]
    ridge = [g for g in high if model.body(model.geom_bodyid[g]).name == "button"]
    widths = [2 * min(model.geom_size[g][:2]) for g in ridge]
    assert ridge and all(0.015 < width < 0.04 for width in widths)


def test_stove_has_a_glow_between_its_rings() -> None:
    model = compiled(BUILDERS["flat_stove"]())
    site = model.site("burner")
    assert site.rgba[0] > 0.8 and site.rgba[3] == 1.0
    assert model.body(site.bodyid[0]).name == "burner"


def test_microwave_opens_wide_enough_for_a_mug() -> None:
    root = BUILDERS["microwave"]()
    world = root.find("worldbody")
    assert world is not None
    mug = SubElement(world, "body", {"name": "mug", "mocap": "true"})
    SubElement(mug, "geom", {"type": "cylinder", "size": "0.05 0.05"})
    model = compiled(root)
    data = mujoco.MjData(model)
    for angle, free in ((-2.094, True), (-1.9, True), (0.0, False)):
        data.joint("microjoint").qpos[0] = angle
        hits = 0
        for y in np.linspace(-0.35, 0.0, 30):
            data.mocap_pos[0] = (-0.04, y, 0.024 + 0.053)
            mujoco.mj_forward(model, data)
            hits += data.ncon
        assert (hits == 0) is free


def test_things_put_into_the_microwave_stay_in_its_region_when_the_door_closes() -> None:
    root = BUILDERS["microwave"]()
    start = np.array([-0.04, 0.0, 0.05])
    model = drop(root, start)
    data = mujoco.MjData(model)
    data.joint("ball").qpos[:3] = start
    data.joint("microjoint").qpos[0] = -1.8
    run(model, data, 0.5)
    for _ in range(1500):
        data.joint("microjoint").qfrc_applied[0] = 0.6
        mujoco.mj_step(model, data)
    assert data.joint("microjoint").qpos[0] > -0.005
    assert inside(data, model, data.body("ball").xpos, "heating_region")


def test_wine_rack_keeps_a_bottle_from_rolling_off() -> None:
    root = BUILDERS["wine_rack"]()
    world = root.find("worldbody")
    assert world is not None
    pose = {"name": "bottle", "pos": "0 -0.062 0.254", "quat": "0.7071 0 0.7071 0"}
    bottle = SubElement(world, "body", pose)
    SubElement(bottle, "freejoint")
    SubElement(bottle, "geom", {"type": "cylinder", "size": "0.025 0.10", "mass": "0.2"})
    model = compiled(root)
    data = mujoco.MjData(model)
    run(model, data, 3.0)
    assert data.body("bottle").xpos[2] > 0.2
    assert np.abs(data.qvel[:3]).max() < 0.01


@pytest.mark.parametrize("category", ["wooden_two_layer_shelf", "wooden_shelf", "bowl_drainer"])
def test_regions_of_open_furniture_can_be_reached(category: str) -> None:
    """The middle of each region is empty space with a floor below it."""
    model = compiled(BUILDERS[category]())
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for name in set(named(model, "site")) - PLACEMENT - {"top_side"}:
        middle = data.site(name).xpos
        if (category, name) != ("wooden_two_layer_shelf", "bottom_region"):
            assert 0.0 < middle[2] - below(model, data, middle) < 0.1
