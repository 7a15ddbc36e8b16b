"""LIBERO-X: five levels of difficulty, labels of tasks, and time limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from assay.extensions.papers.libero_x import figures, tables, tasks
from assay.report.papers.base import Paper, PaperRun, PaperSection, exhibit

LABEL_TABLES = {1: "Table V", 2: "Table VI", 3: "Table VII", 4: "Table VIII", 5: "Table IX"}
"""Level -> the paper's table of its labels."""


def make(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[PaperSection]:
    """Its tables and figures; ``beside``: with the published numbers."""
    yield PaperSection(
        "Levels",
        "Success rates as the levels add up: placement, layout, object swaps, appearance, wording.",
        (
            exhibit("Table II", "Success by level", tables.levels_table, runs, beside=beside),
            exhibit("Figure 5", "Decline over the levels", figures.decline_figures, runs),
            exhibit(
                "Table III",
                "Level 4: unseen and confounding objects",
                tables.unseen_table,
                runs,
                beside=beside,
            ),
            exhibit("Table IV", "Level 5: forms of rewording", tables.forms_table, runs, beside=beside),
        ),
    )
    yield PaperSection(
        "Labels and time limits",
        "Success by task label, level by level, within multiples of a reference time.",
        (
            exhibit("Figure 6", "Success by label, level by level", figures.radars, runs),
            exhibit("Figure 7", "Success against the time limit", figures.limits_figures, runs),
            *(
                exhibit(
                    label,
                    f"Level {level}: success by label and time limit",
                    tables.labels_table,
                    runs,
                    level,
                    beside=beside,
                )
                for level, label in LABEL_TABLES.items()
            ),
            exhibit("Figure 9", "Objects touched under long limits", figures.contact_exhibits, runs),
        ),
    )
    yield PaperSection(
        "The tasks",
        "Labels of the tasks and paths of the arm. `assay tasks labels` makes the same tables from task files.",
        (
            exhibit("Figure 3", "Positions of the end effector", figures.paths_figure, runs),
            exhibit("Figure 8", "Labels of the tasks", tasks.label_tree, runs),
            exhibit("Table XI", "Level 1: predicates, objects, containers", tasks.frequencies, runs, 1),
            exhibit(
                "Table XII",
                "Levels 1 and 4: predicates, objects, containers",
                tasks.frequencies,
                runs,
                *tasks.OWN_LEVELS,
            ),
            exhibit("Figure 12", "Flow from predicates to objects to containers", tasks.flows, runs),
        ),
    )


PAPER = Paper(
    "libero-x",
    "LIBERO-X: Robustness Litmus for Vision-Language-Action Models",
    make,
    partial(make, beside=True),
)
