"""How long a policy may take: the time limits that evaluations on LIBERO share."""

from __future__ import annotations

from assay.tasks.files import names_file

HORIZONS = {
    "libero_spatial": 220,
    "libero_object": 280,
    "libero_goal": 300,
    "libero_10": 520,
    "libero_90": 400,
}
"""Control steps that the literature gives a task, by suite."""
DEFAULT_HORIZON = 400


def horizon(task_id: str) -> int:
    """How many control steps a task gets."""
    suite = "" if names_file(task_id) else task_id.split("/")[0]
    return HORIZONS.get(suite, DEFAULT_HORIZON)
