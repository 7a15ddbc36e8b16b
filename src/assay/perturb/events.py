"""Events during an episode: a held object is knocked away, a drawer closes, a request is cancelled.

    At(lifted(0.05), Knock())
    At(near(0.1), Cancel("stop"))

All other changes that `At` accepts are perturbations that can also apply from the start of an episode.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.episodes import Change, Effect, MidEpisodeChange, perturbation, within
from assay.sim.bare_mujoco import mujoco
from assay.sim.categories import OPENING
from assay.sim.robot_contacts import Fingers
from assay.sim.triggers import SafeStop
from assay.tasks import Goal, Instruction

if TYPE_CHECKING:
    from assay.sim.compile import EntityIndex
    from assay.sim.simulation import Simulation
    from assay.sim.world import SceneEnv

DIRECTIONS = 16
"""Number of evenly spaced directions around the gripper to try."""
RELEASE_HEIGHT_M = 0.01
"""Height above the surface at which an object is released, in metres."""
SEARCH_HEIGHT_M = 0.05
"""Height above the gripper from which to search for the surface below, in metres."""


@perturbation
class Knock(MidEpisodeChange):
    """Knocks the held object out of the gripper; the object lands beside the gripper, upright as at the start."""

    kind = "world/knock"
    effects = frozenset({Effect.PHYSICS})
    change = Change.MEANWHILE

    distance: float = within(0.05, 0.3, default=0.1)
    """Horizontal distance from the gripper at which the object lands, in metres."""

    def happen(self, env: SceneEnv, rng: np.random.Generator) -> bool:
        """Put the held object at the first free position around the gripper; return False if nothing moved."""
        simulation = env.simulation
        fingers = Fingers(simulation)
        held = next((e for e in simulation.compiled.entities.values() if e.movable and fingers.hold(e)), None)
        if held is None:
            return False
        model, data = simulation.model, simulation.data
        first = int(model.jnt_qposadr[held.joints[-1]])
        initial_pose = env.state.vector[1 + first : 8 + first]
        before = simulation.state().vector.copy()
        gripper = simulation.controller.last_pose[0]
        start = rng.uniform(0, 2 * np.pi)
        initial_x, initial_y, initial_z = map(float, initial_pose[:3])
        initial_ground = _surface_below(simulation, held, initial_x, initial_y, initial_z + SEARCH_HEIGHT_M)
        for number in range(DIRECTIONS):
            angle = start + 2 * np.pi * number / DIRECTIONS
            x, y = gripper[:2] + self.distance * np.array([np.cos(angle), np.sin(angle)])
            below = _surface_below(simulation, held, float(x), float(y), float(gripper[2]) + SEARCH_HEIGHT_M)
            if below is None or initial_ground is None or abs(below - initial_ground) > RELEASE_HEIGHT_M:
                continue  # off the table, or on top of another object
            vector = before.copy()
            vector[1 + first : 8 + first] = (
                x,
                y,
                below + initial_z - initial_ground + RELEASE_HEIGHT_M,
                *initial_pose[3:],
            )
            dof = 1 + model.nq + int(model.jnt_dofadr[held.joints[-1]])
            vector[dof : dof + 6] = 0.0
            trial = mujoco.MjData(model)
            trial.qpos[:], trial.qvel[:] = vector[1 : 1 + model.nq], vector[1 + model.nq :]
            mujoco.mj_forward(model, trial)
            involved = np.isin(trial.contact.geom[: trial.ncon], list(held.geoms))
            if (involved[:, 0] == involved[:, 1]).all():  # without contact
                simulation.overwrite(vector)
                mujoco.mj_forward(model, data)
                env.become(env.task)
                return True
        return False


@perturbation
class Shut(MidEpisodeChange):
    """Closes the open drawer or door of the compartment in which the goal requires an object."""

    kind = "world/shut"
    effects = frozenset({Effect.PHYSICS})
    change = Change.MEANWHILE

    def happen(self, env: SceneEnv, rng: np.random.Generator) -> bool:
        """Close the drawer or door; return False if none is open, or if the robot touches it."""
        simulation = env.simulation
        compiled, fingers = simulation.compiled, Fingers(simulation)
        vector = simulation.state().vector.copy()
        closed = False
        for atom in env.task.goal.atoms:
            region = compiled.regions.get(atom.arguments[-1])
            owner = None if region is None else compiled.entities.get(region.parent or "")
            if region is None or owner is None or owner.category not in OPENING:
                continue
            mechanism = OPENING[owner.category]
            for joint in region.inner_joints:
                place = int(simulation.model.jnt_qposadr[joint])
                if mechanism.active.holds(float(vector[1 + place])):
                    if fingers.touch(owner):
                        return False
                    vector[1 + place] = sum(mechanism.passive_range) / 2
                    vector[1 + simulation.model.nq + int(simulation.model.jnt_dofadr[joint])] = 0.0
                    closed = True
        if closed:
            simulation.overwrite(vector)
            mujoco.mj_forward(simulation.model, simulation.data)
            env.become(env.task)
        return closed


@perturbation
class Cancel(MidEpisodeChange):
    """Cancels the request. A safe stop is then success: gripper empty, goal not reached, no motion for 2 s."""

    kind = "words/cancel"
    effects = frozenset({Effect.WORDS, Effect.GOAL})
    change = Change.CANCEL

    text: str = "stop"
    """New instruction."""

    def happen(self, env: SceneEnv, rng: np.random.Generator) -> bool:
        """Replace the instruction, and check from then on whether the robot stops safely."""
        if env.ending is None:  # unless the request was already cancelled
            env.ending = SafeStop(env.simulation, env.task.goal)
        env.become(replace(env.task, goal=Goal(()), instruction=Instruction(self.text)))
        return True


def _surface_below(
    simulation: Simulation, entity: EntityIndex, x: float, y: float, height: float
) -> float | None:
    """Return the height, in metres, of the static surface below a point; None if missing or below an entity."""
    model, data = simulation.model, simulation.data
    owned = {geom for other in simulation.compiled.entities.values() for geom in other.geoms}
    robot, solid = Fingers(simulation).robot, model.geom_contype | model.geom_conaffinity
    point, down, geom = np.array([x, y, height]), np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
    groups = np.array([1, 0, 0, 0, 0, 0], np.uint8)
    while True:
        distance = mujoco.mj_ray(model, data, point, down, groups, 1, -1, geom)
        hit = int(geom[0])
        if hit < 0:
            return None
        point = point + distance * down
        if hit not in entity.geoms and not robot[hit] and solid[hit]:
            return None if hit in owned else float(point[2])
        point = point - (0.0, 0.0, 1e-6)
