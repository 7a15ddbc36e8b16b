"""`assay words review`: a person accepts or rejects paraphrases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.words.scenes import drawn_scenes, task_loader
from assay.errors import PerturbationError
from assay.support.console import say


def review(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE.csv", help="A grid, or LIBERO-Para's metadata.csv.")
    ],
    sheet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a sheet for the reviewer: .html with pictures, or .csv."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="What the reviewer decided, as the sheet saves it."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the table without the rejected rows to this file.")
    ] = None,
    selection: Annotated[
        str, typer.Option("--tasks", help="Task files (.bddl, with commas) that rows may speak of.")
    ] = "",
    pictures: Annotated[bool, typer.Option(help="Show the initial scene of each task.")] = True,
) -> None:
    """Make a sheet on which a person accepts or rejects each paraphrase; then drop what was rejected.

    First --sheet review.html, which is opened in a browser and saves decisions.csv; then --decisions
    decisions.csv --out kept.csv. Rows that nobody decided are kept.
    """
    from assay.perturb.words.grid.table import read, with_tasks
    from assay.perturb.words.human_check import keep, read_decisions, write_review_sheet
    from assay.support.files import replacing

    rows = with_tasks(read(table, with_cells=True))
    if not rows:
        raise PerturbationError(f"{table} has no rows below its header: there is nothing to review")
    if (sheet is None) == (decisions is None):
        raise PerturbationError(
            "say either --sheet FILE, to make a sheet, or --decisions FILE.csv, to apply one"
        )
    if sheet is not None:
        if sheet.suffix.lower() == ".html":
            from assay.perturb.words.grid.rules import verify
            from assay.report.review_page import review_page

            load = task_loader(selection)
            chosen = [load(id) for id in sorted({row.task for row in rows})] if pictures else []
            with drawn_scenes(chosen) as files:
                page = review_page(rows, list(verify(rows, load=load)), files, name=table.name)
            with replacing(sheet) as unfinished:
                unfinished.write_text(page, encoding="utf-8")
        elif sheet.suffix.lower() == ".csv":
            write_review_sheet(rows, sheet)
        else:
            raise PerturbationError(f"--sheet '{sheet}': valid: a file that ends in .html or .csv")
        say(f"{len(rows)} paraphrases in {sheet}", aside=True)
        return
    assert decisions is not None
    if out is None:
        raise PerturbationError("say where the kept rows go with --out FILE.csv")
    if out.resolve() == table.resolve():
        raise PerturbationError(f"--out '{out}' is the table itself: name another file")
    decided = read_decisions(decisions, rows)
    with replacing(out) as unfinished:
        found = keep(table, rows, decided, unfinished)
    say(f"{found.accepted} accepted, {found.rejected} rejected, {found.undecided} undecided and kept")
    for (thing, action), count in found.by_cell.most_common():
        say(f"rejected {count:>5} in obj={thing},act={action}")
    say(f"{len(rows) - found.rejected} paraphrases in {out}", aside=True)
