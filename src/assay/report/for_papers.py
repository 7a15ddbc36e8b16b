"""A report's figures, tables and main table in print form, in a folder beside the page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl

from assay.episodes import CONTROL, Change
from assay.measures.compare import robustness_figure
from assay.measures.result import MeasureError, Missing
from assay.measures.run_data import RunData
from assay.measures.success.drops import Drop, drops
from assay.measures.views.printing import Print
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table, Value
from assay.report.page import Report
from assay.runs.description import lateness
from assay.runs.store import Store

FOLDER = "paper"
ALL_SUITES = "all"
"""Name of the row for all suites of tasks together."""


def write_for_papers(report: Report, runs: Mapping[str, Path], folder: Path, how: Print) -> list[str]:
    """Write ``paper/`` into a report's folder: every figure in print form, every table with the chosen names.

    Returns the names of figures that are as wide as the page, because they would be illegible in a column.
    """
    place = folder / FOLDER
    shutil.rmtree(place, ignore_errors=True)
    wide: list[str] = []
    for part in report.parts:
        within = place if len(report.parts) == 1 else place / part.anchor
        for section in part.sections:
            wide += write_printed(within, section.drawings, section.tables, how)
    if len(report.parts) > 1:
        drawings = [*report.shared, *_comparisons(report)]
        wide += write_printed(place, drawings, report.comparison_tables, how)
    write_printed(place, (), (main_table(runs, how.name),), how)
    return list(dict.fromkeys(wide))


def _comparisons(report: Report) -> Iterator[Drawing]:
    """The figure of robustness of every group of comparable runs."""
    for place, group in enumerate(report.compared, start=1):
        if not isinstance(group.comparison, Missing):
            with suppress(MeasureError):  # there are no perturbed episodes
                suffix = f"-{place}" if len(report.compared) > 1 else ""
                yield robustness_figure(group.comparison, suffix)


def write_printed(
    folder: Path,
    drawings: Sequence[Drawing],
    tables: Sequence[Table],
    how: Print,
    *,
    every_form: bool = False,
) -> list[str]:
    """Write figures in print form and tables as LaTeX, or in ``every_form``.

    Returns the names of figures that are as wide as the page, because they would be illegible in a column.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        (folder / f"{drawing.name}.{how.format}").write_bytes(drawing.render_print(how))
    for table in tables:
        (folder / f"{table.name}.tex").write_text(rename_values(table, how).as_latex(), encoding="utf-8")
        if every_form:
            (folder / f"{table.name}.csv").write_text(table.as_csv(), encoding="utf-8")
            (folder / f"{table.name}.md").write_text(table.as_markdown(), encoding="utf-8")
    return [drawing.name for drawing in drawings if not drawing.in_a_column and how.narrow]


def rename_values(table: Table, how: Print) -> Table:
    """A table with the chosen names of conditions, tasks and runs."""
    rows = tuple(
        tuple(how.name(value) if isinstance(value, str) else value for value in row) for row in table.rows
    )
    return replace(table, rows=rows)


def main_table(runs: Mapping[str, Path], called: Callable[[str], str] = lambda name: name) -> Table:
    """The main table of a paper: control, perturbed and difference, a row per run, or per suite if it has several.

    ``called`` maps policies, experiments and suites to printed names. Values equal in all rows are in the title.
    """
    rows: list[tuple[str, str, str, Drop]] = []
    for name, path in runs.items():
        with Store.reading(path) as store:
            meta, frame, stopped = store.meta, _without_other_tasks(RunData(store).plausible), store.stopped
        label = str(meta.get("label") or meta.get("policy", path.stem))
        label = ", ".join(filter(None, (label, lateness(meta))))
        policy = label if name in (path.stem, str(path)) else name.removesuffix(f", {meta.get('experiment')}")
        experiment = str(meta.get("experiment", "")).partition("?")[0]
        try:
            rows += [(policy, experiment, suite, drop) for suite, drop in _by_suite(frame, stopped)]
        except MeasureError:  # there are no perturbed episodes or no controls
            continue
    names = ("policy", "experiment", "tasks")
    shown = [place for place in range(3) if len({row[place] for row in rows}) > 1] or [0]
    constant = [place for place in range(3) if place not in shown] if rows else []
    same = ", ".join(called(str(rows[0][place])) for place in constant)
    cells: list[tuple[Value, ...]] = []
    for row in rows:
        drop = row[3]
        numbers = (drop.control, drop.perturbed, drop.change, drop.interval, drop.starts)
        cells.append((*(called(str(row[place])) for place in shown), *numbers))
    return Table(
        "main",
        "Success without and with perturbations" + (f" ({same})" if same else ""),
        (
            *(Column(names[place]) for place in shown),
            Column("control", "share", bare=True),
            Column("perturbed", "share", bare=True),
            Column("diff.", "change", bare=True),
            Column("95 % interval", "change", bare=True),
            Column("starts", "count"),
        ),
        tuple(cells),
        "Success in per cent of the controls and of the perturbed episodes in which success is expected, paired; "
        "difference in percentage points with its 95 % interval over starts. Instructions of other tasks are excluded.",
        narrow=True,
    )


def _without_other_tasks(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose instruction requests the task itself; other requested tasks have their own controls."""
    if "change" not in frame.columns:
        return frame
    return frame.filter(pl.col("change").ne_missing(str(Change.TASK)) | (pl.col("condition") == CONTROL))


def _by_suite(frame: pl.DataFrame, stopped: Collection[str]) -> list[tuple[str, Drop]]:
    """The drops of each suite, if there are several, followed by that of all suites together."""
    rows = frame.with_columns(suite=pl.col("task").str.split("/").list.first(), every=pl.lit(ALL_SUITES))
    suites = drops(rows, ("suite",), resampling=False, stopped=stopped)
    (overall,) = drops(rows, ("every",), resampling=False, stopped=stopped)
    if len(suites) == 1:
        return [(str(suites[0].group["suite"]), overall)]
    return [*((str(drop.group["suite"]), drop) for drop in suites), (ALL_SUITES, overall)]
