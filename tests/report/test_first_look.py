from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay import tasks
from assay.report.first_look import ABOVE, LABEL_COLOURS, STEPS, TASKS, reach
from assay.sim.compile import CompiledScene
from assay.sim.simulation import Simulation
from assay.tasks import Arena

# The sheet as a whole is drawn once, by the test of the command.


def test_the_demo_shows_every_suite_that_evaluations_report_and_every_room():
    shown = tasks.resolve("all")
    assert {name.split("/")[0] for name in TASKS} == {task.id.split("/")[0] for task in shown}
    rooms: set[Arena] = {task.scene.arena for task in shown}
    assert {tasks.load(name).scene.arena for name in TASKS} == rooms


def test_no_two_things_of_a_task_are_drawn_in_one_colour():
    most = max(len(task.scene.entities) for task in tasks.resolve("all"))
    colours = LABEL_COLOURS[: 2 + most]
    assert len({tuple(colour) for colour in colours.tolist()}) == 2 + most


@pytest.mark.parametrize("task_id", ["libero_goal/5", "libero_10/5", "libero_object/0"])
def test_the_hand_reaches_for_what_the_task_is_about(
    task_id: str, compiled: Callable[[str], CompiledScene], world_of: Callable[[CompiledScene], Simulation]
):
    world = world_of(compiled(task_id))
    world.reset(world.sample(0))
    name = tasks.load(task_id).goal.atoms[0].arguments[0]
    target = world.data.xpos[world.compiled.entities[name].body] + ABOVE
    seen = reach(world, target.copy())
    assert seen.step == STEPS
    assert np.linalg.norm(seen.eef_position - target) < 0.03
    assert seen.gripper[0] > 0.035, "the gripper is open"
