from __future__ import annotations

import mujoco
import numpy as np
import pytest

from assay.episodes import EpisodeSpec
from assay.sim.robot_contacts import ARENA, RobotContacts
from assay.sim.world import LIBERO_WORLD

DOWN = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0])


def test_the_forces_on_table_and_objects_are_those_that_mujoco_tells():
    env = LIBERO_WORLD.open()
    env.reset(EpisodeSpec("libero_goal/7", 0))
    simulation = env.simulation
    contacts = RobotContacts(simulation.compiled)
    assert not len(contacts.now(simulation.data).geoms), "the robot hangs in the air"
    for _ in range(40):
        simulation.step(DOWN)
    data, model = simulation.data, simulation.model
    touches = contacts.now(data)
    assert touches is not None and ARENA in {contacts.names[each] for each in touches.owners}
    told, force = np.zeros(3), np.zeros(6)
    for number in range(data.ncon):
        bodies = [model.body(model.geom_bodyid[geom]).name for geom in data.contact.geom[number]]
        mine = [body.startswith(("gripper0_", "robot0_")) for body in bodies]
        if sum(mine) == 1:
            mujoco.mj_contactForce(model, data, number, force)
            told += (1 if mine[0] else -1) * (data.contact.frame[number].reshape(3, 3).T @ force[:3])
    assert touches.forces.sum(axis=0) == pytest.approx(told)
    assert told[2] < -1, "it presses down"
    env.close()
