"""LIBERO-X: five levels of difficulty, task labels, and time limits."""

from __future__ import annotations

from functools import partial

from assay.extensions.papers.libero_x import figures, tables, tasks
from assay.report.papers import ExhibitPlan, Paper, plan_sections

TASK_EXHIBITS = (
    ExhibitPlan("Figure 8", "Labels of the tasks", tasks.label_tree),
    ExhibitPlan(
        "Table XI",
        "Level 1: predicates, objects, containers",
        lambda runs: tasks.frequencies(runs, 1),
    ),
    ExhibitPlan(
        "Table XII",
        "Levels 1 and 4: predicates, objects, containers",
        lambda runs: tasks.frequencies(runs, *tasks.OWN_LEVELS),
    ),
    ExhibitPlan("Figure 12", "Flow from predicates to objects to containers", tasks.flows),
)
LAYOUT = (
    (
        "Levels",
        "Success rates as the levels add up: placement, layout, object swaps, appearance, wording.",
        ("Table II", "Figure 5", "Table III", "Table IV"),
    ),
    (
        "Labels and time limits",
        "Success by task label, level by level, within multiples of a reference time.",
        ("Figure 6", "Figure 7", *tables.LABEL_TABLES.values(), "Figure 9"),
    ),
    (
        "The tasks",
        "Labels of the tasks and paths of the arm. `assay tasks labels` makes the same tables from task files.",
        ("Figure 3", *(plan.label for plan in TASK_EXHIBITS)),
    ),
)

make = plan_sections(LAYOUT, (*tables.EXHIBITS, *figures.EXHIBITS, *TASK_EXHIBITS))
PAPER = Paper(
    "libero-x",
    "LIBERO-X: Robustness Litmus for Vision-Language-Action Models",
    make,
    partial(make, beside=True),
)
