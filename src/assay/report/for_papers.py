"""A report's figures and its main table as a paper takes them, in a folder beside the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assay.measures.compare import robustness_figure
from assay.measures.result import MeasureError, Missing
from assay.measures.views.printing import Print
from assay.measures.views.style import Drawing
from assay.measures.views.table import Table
from assay.report.main_table import main_table
from assay.report.page import Report

FOLDER = "paper"


def write_for_papers(report: Report, runs: Mapping[str, Path], folder: Path, how: Print) -> list[str]:
    """Write ``paper/`` into a report's folder: every figure printed, every table with the names that were chosen.

    Returns the names of figures that are printed as wide as the page, because they cannot be read in a column.
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
    """Who is more robust, of every group of runs that can be compared."""
    for place, group in enumerate(report.compared, start=1):
        if not isinstance(group.found, Missing):
            with suppress(MeasureError):  # nothing is changed: there is nothing to draw
                suffix = f"-{place}" if len(report.compared) > 1 else ""
                yield robustness_figure(group.found.comparison, suffix)


def write_printed(
    folder: Path,
    drawings: Sequence[Drawing],
    tables: Sequence[Table],
    how: Print,
    *,
    every_form: bool = False,
) -> list[str]:
    """Write figures as they are printed, and tables as LaTeX, or in ``every_form``.

    Returns the names of figures that are as wide as the page, because they cannot be read in a column.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        (folder / f"{drawing.name}.{how.format}").write_bytes(drawing.render_print(how))
    for table in tables:
        (folder / f"{table.name}.tex").write_text(renamed(table, how).as_latex(), encoding="utf-8")
        if every_form:
            (folder / f"{table.name}.csv").write_text(table.as_csv(), encoding="utf-8")
            (folder / f"{table.name}.md").write_text(table.as_markdown(), encoding="utf-8")
    return [each.name for each in drawings if not each.in_a_column and how.narrow]


def renamed(table: Table, how: Print) -> Table:
    """A table whose conditions, tasks and runs are called as was chosen."""
    rows = tuple(
        tuple(how.name(value) if isinstance(value, str) else value for value in row) for row in table.rows
    )
    return replace(table, rows=rows)
