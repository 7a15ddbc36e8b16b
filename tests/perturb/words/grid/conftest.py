from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.perturb.words.grid.generate import Paraphrase, grid
from assay.tasks import Entity, Goal, Instruction, Task


@pytest.fixture(scope="session")
def goal_grid() -> tuple[Paraphrase, ...]:
    """The full grid of libero_goal."""
    return grid(tasks.suite("libero_goal"), 100, 0)


@pytest.fixture
def made_up() -> Task:
    """A task nobody published: another scene with other words."""
    task = tasks.load("libero_goal/8")
    objects = (Entity("mug", "red_coffee_mug"), Entity("tray", "wooden_tray"))
    scene = replace(task.scene, objects=objects, fixtures=(), regions=(), initial=())
    (atom,) = task.goal.atoms
    goal = Goal((replace(atom, arguments=("mug", "tray")),))
    return Task("mine", scene, goal, Instruction("Place the red mug on the tray."))
