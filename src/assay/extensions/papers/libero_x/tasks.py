"""Statistics of the tasks of runs: Tables XI and XII, Figures 8 and 12."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from assay.extensions.papers.libero_x.tables import level_rows
from assay.measures.frames import atoms
from assay.measures.result import MeasureError
from assay.measures.success.task_labels import label_families
from assay.measures.task_statistics import flow_figure, frequency_table, tree_figure
from assay.measures.views.style import Drawing
from assay.report.papers import PaperRun, Part, of_each
from assay.tasks.labels import COLUMN, Asked, Census, census, read

OWN_LEVELS = (1, 4)
"""Levels with their own tasks: 2 and 3 repeat those of 1, and 5 repeats those of 4."""


def _census_of(run: PaperRun, *levels: int) -> Census:
    """Count the tasks of a run's levels: each task of a level, and each other goal that a seed sampled."""
    rows = level_rows(run, *levels).filter(pl.col("truth") != "{}")
    if not len(rows):
        raise MeasureError("no episode records its goal")
    families = label_families(rows)
    goal = pl.col("truth").map_elements(lambda text: "; ".join(sorted(atoms(text))), return_dtype=pl.String)
    by = ["task", "level", "_goal", *(f"{COLUMN}{family}" for family in families)]
    asked = rows.with_columns(_goal=goal).select(by).unique(maintain_order=True)
    return census(
        Asked(
            tuple(str(row["_goal"]).split("; ")),
            {family: read(row[f"{COLUMN}{family}"]) for family in families},
        )
        for row in asked.iter_rows(named=True)
    )


def frequencies(runs: Sequence[PaperRun], *levels: int) -> Iterator[Part]:
    """Tables XI and XII: frequency of each predicate, object and container."""
    results, missing = of_each(runs, lambda run: _census_of(run, *levels))
    yield frequency_table(results)
    yield from missing


def label_tree(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 8: label families, labels, and their numbers of tasks."""
    yield from _draw_distinct(runs, tree_figure, "tree", lambda result: result.labels)


def flows(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 12: flow diagram from predicates through objects to containers."""
    yield from _draw_distinct(runs, flow_figure, "flows", lambda result: result.flows)


def _draw_distinct(
    runs: Sequence[PaperRun],
    draw: Callable[[Census, str, str], Drawing],
    name: str,
    content: Callable[[Census], object],
) -> Iterator[Part]:
    """Draw one figure for each run, or a single figure if all runs have the same tasks."""
    results, missing = of_each(runs, lambda run: _census_of(run, *OWN_LEVELS))
    if len({repr(content(result)) for result in results.values()}) == 1:
        results = {"": next(iter(results.values()))}
    for place, (run, result) in enumerate(results.items(), start=1):
        yield draw(result, run, f"{name}-{place}")
    yield from missing
