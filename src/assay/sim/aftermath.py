"""Whether a reached goal lasts: the hand opens, the arm holds still, and the world goes on for a while.

LIBERO ends an episode the moment that its goal holds, even while a bowl is still held, or is about to roll off. What
comes after is simulated on a copy of the data: the episode, and whoever goes on with it, never notices.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import mujoco
import numpy as np

from assay.episodes.conduct import Aftermath
from assay.sim.controller import Controller
from assay.sim.simulation import SUBSTEPS, Simulation
from assay.sim.torque import ARM
from assay.tasks.scene import Goal

AFTER = 30
"""The most control steps that are simulated on: a second and a half, of which the hand needs 0.4 s to open."""
FEWEST = 4
"""Control steps in which a thing that is let go has begun to fall."""
STILL = 0.01
"""Metres or radians per second below which things are at rest."""
_OPENS = -1.0


def aftermath(
    simulation: Simulation,
    goal: Goal,
    watch: Callable[[mujoco.MjData, int], None] = lambda data, step: None,
) -> Aftermath | None:
    """What becomes of a goal that holds now; None where the simulation breaks.

    It ends when the hand is open and everything is at rest, or after `AFTER` control steps. ``watch`` is shown the data
    after each of them, and its number from 1.
    """
    model = simulation.model
    data = copy.copy(simulation.data)
    controller = Controller(model, data, simulation.compiled.home)
    controller.resume(simulation.controller.drive())
    controller.hold()
    rest, step = False, 0
    while step < AFTER and not rest:
        for _ in range(SUBSTEPS):
            mujoco.mj_step1(model, data)
            controller.look()
            controller.command(_OPENS)
            mujoco.mj_step2(model, data)
        step += 1
        if data.warning.number.any() or not np.isfinite(data.qpos).all():
            return None
        watch(data, step)
        rest = step >= FEWEST and controller.is_open and bool((np.abs(data.qvel[ARM:]) < STILL).all())
    return Aftermath(step, simulation.predicates.satisfied(goal, data), rest)
