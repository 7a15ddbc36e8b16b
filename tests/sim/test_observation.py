from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from assay.sim.compile import CompiledScene
from assay.sim.simulation import Simulation

Compiled = Callable[[str], CompiledScene]
SimulationOf = Callable[[CompiledScene], Simulation]


@pytest.fixture
def world(compiled: Compiled, world_of: SimulationOf) -> Simulation:
    return world_of(compiled("libero_goal/0"))


def actions(count: int) -> np.ndarray:
    """Actions that move the arm about, (count, 7)."""
    return np.clip(np.random.default_rng(0).normal(0, 0.7, (count, 7)), -1, 1)


# -- the robot's own sensing


def test_an_observation_keeps_what_it_saw(world: Simulation):
    seen = world.reset(world.sample(0))
    before = [each.copy() for each in (seen.joints, seen.eef_position, seen.eef_quaternion, seen.gripper)]
    for move in actions(5):
        world.step(move)
    after = (seen.joints, seen.eef_position, seen.eef_quaternion, seen.gripper)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_poses_are_those_of_the_images_and_joints_those_of_a_substep_later(world: Simulation):
    # As in LIBERO, whose sensors read positions that are integrated and poses that are not computed anew yet.
    world.reset(world.sample(0))
    for move in actions(5):
        seen = world.step(move)
    data = mujoco.MjData(world.model)
    data.qpos[:] = seen.moment.qpos
    mujoco.mj_kinematics(world.model, data)
    site = world.compiled.model.site("gripper0_grip_site").id
    assert data.site_xpos[site] == pytest.approx(seen.eef_position, abs=1e-12)
    assert 0 < np.abs(seen.joints - seen.moment.qpos[:7]).max() < 0.01
    assert seen.joints - seen.moment.qpos[:7] == pytest.approx(0.002 * seen.joint_velocities, abs=1e-12)
    assert seen.gripper - seen.moment.qpos[7:9] == pytest.approx(0.002 * seen.gripper_velocities, abs=1e-12)


# -- pictures


@pytest.mark.usefixtures("drawing")
def test_nothing_is_rendered_until_it_is_read_and_then_once(world: Simulation):
    seen = world.reset(world.sample(0))
    for _ in range(3):
        world.step(np.zeros(7))
    assert world.renderer.count == 0
    first = seen.image("agentview", 32)
    assert world.renderer.count == 1
    seen.image("agentview", 32)[:] = 0  # a copy
    assert np.array_equal(seen.image("agentview", 32), first)
    assert np.array_equal(seen.image("agentview", 32, 32), first)
    assert world.renderer.count == 1
    seen.image("robot0_eye_in_hand", 32), seen.depth("agentview", 32), seen.image("agentview", 16)
    assert world.renderer.count == 4
