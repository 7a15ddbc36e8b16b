"""`assay compare`: runs on the same specs, pair by pair."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import rich.table
import typer

from assay.cli.console import output, say
from assay.cli.report import Target, write_json
from assay.errors import RunError


def compare(
    paths: Annotated[list[Path], typer.Argument(metavar="A B ...", help="Two runs, NAME.assay, or more.")],
    target: Target = None,
) -> None:
    """Compare runs on the specs that all of them did: differences with intervals, exact tests, Holm."""
    from assay.report.comparison import compare_runs, comparison_tables
    from assay.report.run_report import named

    if len(paths) < 2:
        raise RunError("compare: 1 run; needs two at least")
    runs = named(paths)
    if len(runs) < len(paths):
        raise RunError("compare: the same run twice")
    found = compare_runs(runs)
    if target is not None:
        write_json(found.as_json(), target)
    if target == "-":
        return
    for table in comparison_tables(found):
        shown = rich.table.Table(title=table.title, title_justify="left")
        for column in table.columns:
            shown.add_column(column.heading, justify="right" if column.right else "left", overflow="fold")
        for row in table.shown:
            shown.add_row(*map(rich.markup.escape, row))
        output.print(shown)
        say(table.note)
