"""How long a policy may take: the time limits that evaluations on LIBERO share."""

from __future__ import annotations

from assay.tasks.files import load_file, names_file
from assay.tasks.scene import Goal

HORIZONS = {
    "libero_spatial": 220,
    "libero_object": 280,
    "libero_goal": 300,
    "libero_10": 520,
    "libero_90": 400,
}
"""Control steps that the literature gives a task, by suite."""
DEFAULT_HORIZON = 400
PER_ATOM = 200
"""Control steps for each atom of a goal of three and more, where no suite says how many."""


def horizon(task_id: str) -> int:
    """How many control steps a task gets; one in a file, as its goal needs."""
    if names_file(task_id):
        return goal_horizon(load_file(task_id).goal)
    return HORIZONS.get(task_id.split("/")[0], DEFAULT_HORIZON)


def goal_horizon(goal: Goal) -> int:
    """How many control steps a goal gets that is not one of a suite's."""
    return max(DEFAULT_HORIZON, PER_ATOM * len(goal.atoms))
