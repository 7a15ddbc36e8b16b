from __future__ import annotations

import mujoco
import numpy as np
import pytest

from assay.episodes import EpisodeSpec
from assay.sim.robot_contacts import ARENA, RobotContacts
from assay.sim.world import LIBERO_WORLD

DOWN = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0])


def test_the_forces_on_the_table_are_those_that_mujoco_tells():
    env = LIBERO_WORLD.open()
    env.reset(EpisodeSpec("libero_goal/7", 0))
    simulation = env.simulation
    contacts = RobotContacts(simulation.compiled)
    assert contacts.now(simulation.data) is None, "the robot hangs in the air"
    for _ in range(40):
        simulation.step(DOWN)
    data, model = simulation.data, simulation.model
    touches = contacts.now(data)
    assert touches is not None and {contacts.names[each] for each in touches.owners} == {ARENA}
    told, force = np.zeros(3), np.zeros(6)
    for number in range(data.ncon):
        bodies = [model.body(model.geom_bodyid[geom]).name for geom in data.contact.geom[number]]
        if any(body.startswith("gripper0_") for body in bodies):
            mujoco.mj_contactForce(model, data, number, force)
            sign = 1 if bodies[0].startswith("gripper0_") else -1
            told += sign * (data.contact.frame[number].reshape(3, 3).T @ force[:3])
    assert touches.forces.sum(axis=0) == pytest.approx(told)
    assert told[2] < -1, "it presses down"
    env.close()
