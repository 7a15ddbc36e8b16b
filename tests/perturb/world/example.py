"""The task that most tests change, and how."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay import tasks
from assay.perturb import Perturbation, apply_perturbations
from assay.sim import CompiledScene
from assay.tasks import Task

TASK = tasks.load("libero_goal/8")
BOWL = "akita_black_bowl_1"
Built = Callable[[Task], CompiledScene]
Places = Callable[[Task], dict[str, np.ndarray]]


def changed(*perturbations: Perturbation, task: Task = TASK, seed: int = 1) -> Task:
    """The task with perturbations."""
    return apply_perturbations(task, perturbations, seed=seed)
