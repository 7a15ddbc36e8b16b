from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from assay.errors import AssetError
from assay.sim.compile import CompiledScene
from assay.sim.controller import Controller
from assay.sim.layout import HOME
from assay.sim.simulation import Simulation

Compiled = Callable[[str], CompiledScene]
SimulationOf = Callable[[CompiledScene], Simulation]

TASK = "libero_goal/0"
STILL = np.zeros(7)


@pytest.fixture
def world(compiled: Compiled, world_of: SimulationOf) -> Simulation:
    """A world at the start of an episode."""
    world = world_of(compiled(TASK))
    world.reset(world.sample(0))
    return world


def action(*first: float, gripper: float = 0.0) -> np.ndarray:
    """An action of translation and rotation, the rest zero."""
    values = np.zeros(7)
    values[: len(first)] = first
    values[6] = gripper
    return values


def hand(world: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Where the grip site is, (3,), and how it is turned, (3, 3)."""
    site = world.compiled.model.site("gripper0_grip_site").id
    return world.data.site_xpos[site].copy(), world.data.site_xmat[site].reshape(3, 3).copy()


# -- torques


def textbook(model: mujoco.MjModel, data: mujoco.MjData, x: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The torques (7,) that pull the grip site to the position ``x`` and orientation ``r``, by the book."""
    site = model.site("gripper0_grip_site").id
    jp, jr = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jacSite(model, data, jp, jr, site)
    jp, jr = jp[:, :7], jr[:, :7]
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, full, data.qM)
    m = full[:7, :7]
    m_inv = np.linalg.inv(m)
    v = data.qvel[:7]
    here = data.site_xpos[site]
    turned = data.site_xmat[site].reshape(3, 3)

    kp, kd = 150.0, 2 * np.sqrt(150.0)
    error = sum(np.cross(turned[:, i], r[:, i]) for i in range(3)) / 2
    force = kp * (x - here) - kd * jp @ v
    torque = kp * error - kd * jr @ v
    lambda_p = np.linalg.inv(jp @ m_inv @ jp.T)
    lambda_r = np.linalg.inv(jr @ m_inv @ jr.T)

    j = np.vstack([jp, jr])
    j_bar = m_inv @ j.T @ np.linalg.inv(j @ m_inv @ j.T)  # the dynamically consistent inverse
    nullspace = np.eye(7) - j_bar @ j
    posture = m @ (10.0 * (np.array(HOME) - data.qpos[:7]) - 2 * np.sqrt(10.0) * v)
    result = jp.T @ lambda_p @ force + jr.T @ lambda_r @ torque + nullspace.T @ posture
    return np.asarray(result + data.qfrc_bias[:7])


def posed(model: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """The arm somewhere around home and moving."""
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(model)
    data.qpos[:7] = HOME + rng.uniform(-0.3, 0.3, 7)
    data.qvel[:7] = rng.uniform(-0.15, 0.15, 7)
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize("pack", ["compiled", "compiled_libero"])
def test_torques_are_those_of_the_textbook(pack: str, request: pytest.FixtureRequest):
    model = request.getfixturevalue(pack)(TASK).model
    limits = np.array([80.0] * 5 + [12.0] * 2)
    free = 0
    for seed in range(20):
        data = posed(model, seed)
        site = model.site("gripper0_grip_site").id
        here, turned = data.site_xpos[site].copy(), data.site_xmat[site].reshape(3, 3).copy()
        move = np.random.default_rng(100 + seed).uniform(-0.4, 0.4, 7)
        controller = Controller(model, data, HOME)
        controller.hold()
        controller.aim(move)
        controller.command(0.0)
        goal = Rotation.from_rotvec(move[3:6] * 0.5).as_matrix() @ turned
        expected = textbook(model, data, here + move[:3] * 0.05, goal)
        free += int((np.abs(expected) < limits).sum())
        # The goal's rotation goes through single precision, as LIBERO's does.
        assert data.ctrl[:7] == pytest.approx(np.clip(expected, -limits, limits), rel=1e-4, abs=2e-4)
    assert free > 100  # most torques are within their limits, or this would show nothing


def test_a_new_goal_of_position_leaves_the_goal_of_orientation(compiled: Compiled):
    model = compiled(TASK).model
    data = posed(model, 3)
    data.qvel[:] = 0
    mujoco.mj_forward(model, data)
    site = model.site("gripper0_grip_site").id
    start = data.site_xmat[site].reshape(3, 3).copy()
    controller = Controller(model, data, HOME)
    controller.hold()
    data.qpos[6] += 0.1  # the hand is turned away from its goal
    mujoco.mj_forward(model, data)
    controller.update()
    controller.aim(action(0.0, 0.0, 0.2))
    controller.command(0.0)
    expected = textbook(model, data, data.site_xpos[site] + (0, 0, 0.01), start)
    assert data.ctrl[:7] == pytest.approx(expected, rel=1e-4, abs=2e-4)


# -- motion


@pytest.mark.parametrize(
    "target", [(-0.05, 0.15, 1.15), (-0.15, -0.2, 1.3), (0.05, 0.0, 1.25), (-0.25, 0.1, 1.3)]
)
def test_the_end_effector_reaches_a_target(world: Simulation, target: tuple[float, float, float]):
    before = hand(world)[1]
    for _ in range(60):
        wish = np.clip((np.array(target) - hand(world)[0]) / 0.05, -1, 1)
        world.step(action(*wish))
    position, rotation = hand(world)
    assert np.linalg.norm(position - target) < 0.01
    turned = Rotation.from_matrix(rotation @ before.T).magnitude()
    assert np.degrees(turned) < 3  # and it is not turned on the way


def test_zero_actions_hold_the_end_effector_still(world: Simulation):
    position, rotation = hand(world)
    for _ in range(60):
        world.step(STILL)
    later, turned = hand(world)
    assert np.linalg.norm(later - position) < 1e-3
    assert np.degrees(Rotation.from_matrix(turned @ rotation.T).magnitude()) < 0.2
    assert np.abs(world.data.qvel[:7]).max() < 5e-3


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("amount", [0.5, -0.5])
def test_a_rotation_turns_about_the_worlds_axis_by_half_a_radian_per_unit(
    world: Simulation, axis: int, amount: float
):
    position, before = hand(world)
    turn = np.zeros(7)
    turn[3 + axis] = amount
    world.step(turn)
    for _ in range(80):
        pull = np.clip((position - hand(world)[0]) / 0.05, -1, 1)
        world.step(action(*pull))
    vector = Rotation.from_matrix(hand(world)[1] @ before.T).as_rotvec()
    expected = np.zeros(3)
    expected[axis] = 0.5 * amount
    assert np.degrees(np.abs(vector - expected)).max() < 1.5


# -- gripper


def fingers(world: Simulation) -> np.ndarray:
    """What the two fingers are told, metres, (2,)."""
    actuators = [world.compiled.model.actuator(f"gripper0_gripper_finger_joint{i}").id for i in (1, 2)]
    return world.data.ctrl[actuators].copy()


def test_the_gripper_opens_and_closes_by_a_quarter_of_its_half_range_per_step(world: Simulation):
    # 0.01 per substep and 25 substeps, of a half range of 1 that stands for 0.02 m, from the middle.
    for step in range(1, 7):
        world.step(action(gripper=-1.0))
        opening = 0.02 + 0.02 * min(0.25 * step, 1.0)
        assert fingers(world) == pytest.approx((opening, -opening), abs=1e-12)
    for step in range(1, 11):
        world.step(action(gripper=1.0))
        world.step(action(gripper=0.0))  # keeps the command
        opening = 0.04 - 0.02 * min(0.25 * step, 2.0)
        assert fingers(world) == pytest.approx((opening, -opening), abs=1e-12)


@pytest.mark.parametrize("axis", range(7))
def test_actions_beyond_one_count_as_one(axis: int, world: Simulation):
    state = world.state()
    results = []
    for size in (1.0, 1.5, 1e6):
        world.reset(state)
        move = np.zeros(7)
        move[axis] = -size
        world.step(move)
        results.append(world.state().flat())
    assert np.ptp(results, axis=0).max() == 0


def test_a_model_whose_arm_does_not_come_first_is_refused():
    joints = "".join(
        f"<body><joint name='{name}'/><geom size='1'/></body>"
        for name in ("first", *(f"robot0_joint{i}" for i in range(1, 8)))
    )
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><site name='gripper0_grip_site'/>{joints}</worldbody></mujoco>"
    )
    with pytest.raises(AssetError, match="come first"):
        Controller(model, mujoco.MjData(model), HOME)
