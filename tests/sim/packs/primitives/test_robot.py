"""The robot of the primitives moves, weighs and grips as LIBERO's does, and does not get in its own way."""

from __future__ import annotations

import copy
import gzip
import os
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
import pytest

from assay.sim.packs.primitives.robot import arm, gripper, mount

SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).resolve().parents[5] / "shared"))
COMPOSED = SHARED / "libero" / "reference" / "composed" / "libero_goal_00.xml.gz"
HOME = np.array([0.0, -0.161037389, 0.0, -2.44459747, 0.0, 2.2267522, np.pi / 4])
OPEN = np.array([0.04, -0.04])
FINGERS = {"leftfinger", "rightfinger", "finger_joint1_tip", "finger_joint2_tip"}


def assembled(*, pedestal: bool = False) -> mujoco.MjModel:
    """Arm and hand in one model, the base at the origin."""
    root, hand = arm(), gripper()
    place = root.find(".//body[@name='right_hand']")
    worldbody, bodies = root.find("worldbody"), hand.find("worldbody")
    assert place is not None and worldbody is not None and bodies is not None
    place.extend(list(bodies))
    for section in ("actuator", "sensor"):
        own = root.find(section)
        own = SubElement(root, section) if own is None else own
        own.extend(list(hand.find(section) or ()))
    if pedestal:
        feet = mount().find("worldbody")
        assert feet is not None
        for body in feet.iter("body"):
            body.set("name", f"mount_{body.get('name')}")
        feet[0].set("pos", "0 0 0.01")
        worldbody.extend(list(feet))
    return compiled(root)


def compiled(root: Element) -> mujoco.MjModel:
    SubElement(root, "compiler", {"angle": "radian", "inertiagrouprange": "0 0"})
    options = {"timestep": "0.002", "impratio": "20", "cone": "elliptic"}
    SubElement(root, "option", options)
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return assembled()


@pytest.fixture(scope="module")
def real() -> mujoco.MjModel:
    """LIBERO's robot, cut out of a composed scene: without its meshes, which weigh nothing there."""
    if not COMPOSED.is_file():
        pytest.skip(f"LIBERO's composed scenes are not at {COMPOSED.parent} (set ASSAY_SHARED)")
    scene = ElementTree.fromstring(gzip.decompress(COMPOSED.read_bytes()))
    base = scene.find("./worldbody/body[@name='robot0_base']")
    actuators = scene.find("actuator")
    assert base is not None and actuators is not None
    root = Element("mujoco")
    SubElement(root, "worldbody").append(copy.deepcopy(base))
    root.append(copy.deepcopy(actuators))
    for body in root.iter("body"):
        for geom in body.findall("geom"):
            if geom.get("type") == "mesh":
                body.remove(geom)
    base_pos = root.find("./worldbody/body")
    assert base_pos is not None
    base_pos.set("pos", "0 0 0")
    return compiled(root)


def posed(model: mujoco.MjModel, arm_angles: np.ndarray, fingers: np.ndarray = OPEN) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:7], data.qpos[7:9] = arm_angles, fingers
    mujoco.mj_forward(model, data)
    return data


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, full, data.qM)
    return full


def plain(name: str) -> str:
    return name.removeprefix("robot0_").removeprefix("gripper0_")


def test_grip_site_at_home_is_where_the_pandas_is(model: mujoco.MjModel) -> None:
    where = posed(model, HOME).site("grip_site").xpos
    np.testing.assert_allclose(where, (0.45153534, 0.0, 0.26127948), atol=1e-7)


def test_joints_come_in_the_order_initial_states_use(model: mujoco.MjModel) -> None:
    names = [model.joint(i).name for i in range(model.njnt)]
    assert names == [*(f"joint{i}" for i in range(1, 8)), "finger_joint1", "finger_joint2"]
    assert [model.actuator(i).name for i in range(model.nu)] == [
        *(f"torq_j{i}" for i in range(1, 8)),
        "gripper_finger_joint1",
        "gripper_finger_joint2",
    ]


def test_mass_matrix_and_hand_are_the_real_ones(model: mujoco.MjModel, real: mujoco.MjModel) -> None:
    rng = np.random.default_rng(0)
    for angles in (HOME, *(HOME + rng.uniform(-0.5, 0.5, size=(5, 7)))):
        ours, theirs = posed(model, angles), posed(real, angles)
        np.testing.assert_allclose(mass_matrix(model, ours), mass_matrix(real, theirs), atol=1e-6)
        np.testing.assert_allclose(ours.qfrc_bias, theirs.qfrc_bias, atol=1e-6)
        for site in ("grip_site", "ft_frame"):
            there = theirs.site(f"gripper0_{site}")
            np.testing.assert_allclose(ours.site(site).xpos, there.xpos, atol=1e-9)
            np.testing.assert_allclose(ours.site(site).xmat, there.xmat, atol=1e-9)
        for camera in ("eye_in_hand", "robotview"):
            there = theirs.cam(f"robot0_{camera}")
            np.testing.assert_allclose(ours.cam(camera).xpos, there.xpos, atol=1e-9)
            np.testing.assert_allclose(ours.cam(camera).xmat, there.xmat, atol=1e-9)
    assert model.cam("eye_in_hand").fovy == real.cam("robot0_eye_in_hand").fovy


def test_joints_and_actuators_are_the_real_ones(model: mujoco.MjModel, real: mujoco.MjModel) -> None:
    assert [model.joint(i).name for i in range(9)] == [plain(real.joint(i).name) for i in range(9)]
    assert [model.actuator(i).name for i in range(9)] == [plain(real.actuator(i).name) for i in range(9)]
    of_joints = ("jnt_type", "jnt_range", "jnt_axis", "jnt_pos", "jnt_limited")
    of_dofs = ("dof_damping", "dof_armature", "dof_frictionloss")
    of_actuators = ("ctrlrange", "forcerange", "ctrllimited", "forcelimited", "gainprm", "biasprm", "gear")
    for field in (*of_joints, *of_dofs, *(f"actuator_{name}" for name in of_actuators)):
        np.testing.assert_allclose(getattr(model, field), getattr(real, field), atol=1e-6, err_msg=field)


def test_pads_of_the_fingers_are_the_real_ones(model: mujoco.MjModel, real: mujoco.MjModel) -> None:
    ours, theirs = posed(model, HOME), posed(real, HOME)
    for name in ("finger1_pad_collision", "finger2_pad_collision"):
        mine, other = model.geom(name), real.geom(f"gripper0_{name}")
        for field in ("size", "friction", "solref", "contype", "conaffinity"):
            np.testing.assert_allclose(getattr(mine, field), getattr(other, field), err_msg=field)
        place = theirs.geom(f"gripper0_{name}").xpos
        np.testing.assert_allclose(ours.geom(name).xpos, place, atol=1e-9)


def test_every_body_and_site_of_the_real_robot_is_there(model: mujoco.MjModel, real: mujoco.MjModel) -> None:
    bodies = {plain(real.body(i).name) for i in range(1, real.nbody)}
    bodies = {name for name in bodies if not name.startswith("mount0_")}
    assert bodies <= {model.body(i).name for i in range(model.nbody)}
    sites = {plain(real.site(i).name) for i in range(real.nsite)}
    assert sites <= {model.site(i).name for i in range(model.nsite)}


def test_arm_touches_nothing_of_itself_around_the_workspace() -> None:
    model = assembled(pedestal=True)
    rng = np.random.default_rng(1)
    low, high = model.jnt_range[:7].T
    data, site = mujoco.MjData(model), model.site("grip_site").id
    tried = 0
    for _ in range(6000):
        angles = np.clip(HOME + rng.uniform(-1, 1, 7) * (1.0, 0.8, 0.8, 0.7, 0.8, 0.8, 1.5), low, high)
        data.qpos[:7], data.qpos[7:9] = angles, OPEN
        mujoco.mj_kinematics(model, data)
        x, y, z = data.site_xpos[site]
        downwards = -data.site_xmat[site, 8]
        if not (0.3 < x < 0.8 and abs(y) < 0.45 and 0.0 < z < 0.5 and downwards > 0.7):
            continue
        tried += 1
        mujoco.mj_collision(model, data)
        touching = {
            (model.body(model.geom_bodyid[c.geom1]).name, model.body(model.geom_bodyid[c.geom2]).name)
            for c in data.contact[: data.ncon]
        }
        assert not {pair for pair in touching if not set(pair) <= FINGERS}, angles.tolist()
    assert tried > 300


def test_arm_does_collide_when_it_is_folded_onto_itself() -> None:
    model = assembled(pedestal=True)
    data = posed(model, np.array([0.0, -0.5, 0.0, -3.0, 0.0, 0.5, 0.0]))
    bodies = {
        model.body(model.geom_bodyid[geom]).name
        for contact in data.contact[: data.ncon]
        for geom in (contact.geom1, contact.geom2)
    }
    assert bodies - FINGERS


def test_camera_in_the_hand_looks_past_both_fingertips(model: mujoco.MjModel) -> None:
    data = posed(model, HOME)
    camera = data.cam("eye_in_hand")
    axes, half = camera.xmat.reshape(3, 3), np.tan(np.radians(75.0 / 2))
    columns = []
    for name in ("finger1_pad_collision", "finger2_pad_collision"):
        x, y, z = axes.T @ (data.geom(name).xpos - camera.xpos)
        assert z < 0, "the pad is in front of the camera"
        row, column = 0.5 - y / -z / half / 2, 0.5 + x / -z / half / 2
        assert 0.6 < row < 0.95
        columns.append(column)
    assert 0.05 < min(columns) < 0.45 and 0.55 < max(columns) < 0.95


@pytest.mark.parametrize("width", [0.016, 0.06])
def test_gripper_holds_a_block_against_gravity(width: float) -> None:
    root = gripper()
    world = root.find("worldbody")
    assert world is not None
    wrist = Element("body", {"name": "wrist", "pos": "0 0 0.5", "quat": "0 1 0 0"})
    # On a joint, however stiff: a hand that is part of the world would collide with its own fingers.
    SubElement(wrist, "joint", {"type": "slide", "axis": "0 0 1", "damping": "1e6", "armature": "1e3"})
    wrist.extend(list(world))
    for child in list(world):
        world.remove(child)
    world.append(wrist)
    block = SubElement(world, "body", {"name": "block", "pos": f"0 0 {0.5 - 0.0524 - 0.041}"})
    SubElement(block, "freejoint")
    SubElement(block, "geom", {"type": "box", "size": f"0.012 {width / 2} 0.02", "mass": "0.1"})
    model = compiled(root)
    data = mujoco.MjData(model)
    data.qpos[1:3] = OPEN
    model.opt.gravity[:] = 0.0
    mujoco.mj_step(model, data, 300)
    model.opt.gravity[2] = -9.81
    start = data.body("block").xpos.copy()
    mujoco.mj_step(model, data, 500)
    assert np.linalg.norm(data.body("block").xpos - start) < 0.003
    assert data.qpos[1] == pytest.approx(width / 2, abs=0.003)


def test_markers_are_invisible(model: mujoco.MjModel) -> None:
    assert not model.site_rgba[:, 3].any()
