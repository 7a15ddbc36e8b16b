"""LIBERO-X: five levels of difficulty, task labels and time limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import polars as pl

from assay.extensions.papers.libero_x import figures, tables
from assay.extensions.papers.libero_x.tables import level_rows
from assay.measures.frames import atoms
from assay.measures.result import MeasureError
from assay.measures.success.task_labels import label_families
from assay.measures.task_statistics import flow_figure, frequency_table, tree_figure
from assay.measures.views.style import Drawing
from assay.report.papers import ExhibitPlan, Paper, PaperRun, Part, by_run, of_each, plan_sections
from assay.tasks.labels import COLUMN, Census, LabelledTask, census, read

OWN_LEVELS = (1, 4)
"""Levels that introduce tasks; levels 2 and 3 repeat the tasks of level 1, and level 5 those of level 4."""


def _census_of(run: PaperRun, *levels: int) -> Census:
    """Count a run's distinct tasks at the given levels; seeds with different goals count as different tasks."""
    rows = level_rows(run, *levels).filter(pl.col("truth") != "{}")
    if not len(rows):
        raise MeasureError("no episode records its goal")
    families = label_families(rows)
    goal = pl.col("truth").map_elements(lambda text: "; ".join(sorted(atoms(text))), return_dtype=pl.String)
    by = ["task", "level", "_goal", *(f"{COLUMN}{family}" for family in families)]
    requests = rows.with_columns(_goal=goal).select(by).unique(maintain_order=True)
    return census(
        LabelledTask(
            tuple(str(row["_goal"]).split("; ")),
            {family: read(row[f"{COLUMN}{family}"]) for family in families},
        )
        for row in requests.iter_rows(named=True)
    )


def _draw_distinct(
    runs: Sequence[PaperRun],
    draw: Callable[[Census, str, str], Drawing],
    name: str,
    content: str,
) -> Iterator[Part]:
    """Yield one figure for each run, or a single one if ``content`` is the same for all runs."""
    results, missing = of_each(runs, lambda run: _census_of(run, *OWN_LEVELS))
    if len({repr(getattr(result, content)) for result in results.values()}) == 1:
        results = {"": next(iter(results.values()))}
    for place, (run, result) in enumerate(results.items(), start=1):
        yield draw(result, run, f"{name}-{place}")
    yield from missing


TASK_EXHIBITS = (
    ExhibitPlan(
        "Figure 8",
        "Labels of the tasks",
        partial(_draw_distinct, draw=tree_figure, name="tree", content="labels"),
    ),
    ExhibitPlan(
        "Table XI",
        "Level 1: predicates, objects, containers",
        by_run(lambda run: _census_of(run, 1))(frequency_table),
    ),
    ExhibitPlan(
        "Table XII",
        "Levels 1 and 4: predicates, objects, containers",
        by_run(lambda run: _census_of(run, *OWN_LEVELS))(frequency_table),
    ),
    ExhibitPlan(
        "Figure 12",
        "Flow from predicates to objects to containers",
        partial(_draw_distinct, draw=flow_figure, name="flows", content="flows"),
    ),
)
LAYOUT = (
    (
        "Levels",
        "Success rates as the levels add changes: placement, layout, object swaps, appearance, wording.",
        ("Table II", "Figure 5", "Table III", "Table IV"),
    ),
    (
        "Labels and time limits",
        "Success rate by task label at each level, within multiples of a reference time.",
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
