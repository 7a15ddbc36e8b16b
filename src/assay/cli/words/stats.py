"""`assay words stats`: what a table of paraphrases holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.box
import typer
from rich.table import Column

from assay.cli.options import JsonFile, write_json
from assay.errors import PerturbationError
from assay.support.console import output, say, table_of

if TYPE_CHECKING:
    from assay.perturb.words.grid.table import CellStats, GridStats

_DISTANCES = {"pd": "mean PD", "keyword_distance": "mean 1 - S_K", "structural_distance": "mean 1 - S_T"}


def stats(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE.csv", help="LIBERO-Para's metadata, or as `assay words generate` writes it."
        ),
    ],
    target: JsonFile = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the tables, and for heat maps of the distances.")
    ] = None,
) -> None:
    """Count the paraphrases of each cell and of each original; say what things are called, and how far words went.

    Distances need the columns s_k and s_t, which `assay words score` adds; LIBERO-Para's metadata has them.
    """
    from assay.perturb.words.grid.table import grid_stats, read_wordings, thing_names

    found = grid_stats(read_wordings(table))
    if not found.paraphrases:
        raise PerturbationError(f"{table} has no rows below its header: there is nothing to count")
    things = thing_names(found.originals)
    if target is not None:
        named = {thing.noun: {name: list(ids) for name, ids in thing.names.items()} for thing in things}
        write_json(found.as_json() | {"things": named}, target)
    if out is not None:
        _write(found, out)
    if target == "-":
        return
    _grid("paraphrases", found, lambda cell: f"{cell.count:,}", total=True)
    for name, title in _DISTANCES.items():
        if any(getattr(cell, name) is not None for cell in found.cells.values()):
            _grid(title, found, lambda cell, name=name: _number(getattr(cell, name)))  # type: ignore[misc]
    originals = table_of(
        "original instruction", Column("paraphrases", justify="right"), box=rich.box.SIMPLE_HEAD
    )
    for text, count in found.originals.items():
        originals.add_row(text, f"{count:,}")
    originals.add_row("total", f"{found.paraphrases:,}")
    output.print(originals)
    for thing in things:
        if len(thing.names) > 1:
            say(f"the {thing.noun} has several names: {', '.join(thing.names)}")
    if things:
        several = sum(len(thing.names) > 1 for thing in things)
        say(f"{len(things)} things are named; {len(things) - several} of them by one name throughout")
    unscored = found.paraphrases - sum(cell.scored for cell in found.cells.values())
    if unscored:
        say(f"{unscored:,} paraphrases have no s_k and s_t: `assay words score` adds them", aside=True)


def _grid(title: str, found: GridStats, text: Callable[[CellStats], str], *, total: bool = False) -> None:
    """A row for each action type, a column for each object type: narrow enough for a terminal."""
    from assay.perturb.words.grid.cells import ActionType, ObjectType

    heads = [*ObjectType, *(["total"] if total else [])]
    numbers = [Column(str(head), justify="right") for head in heads]
    table = table_of(title, *numbers, box=rich.box.SIMPLE_HEAD)
    for action in ActionType:
        cells = [found.cells.get((thing, action)) for thing in ObjectType]
        sums = [f"{found.total(action=action):,}"] if total else []
        table.add_row(action, *("" if cell is None else text(cell) for cell in cells), *sums)
    if total:
        sums = [f"{found.total(object=thing):,}" for thing in ObjectType]
        table.add_row("total", *sums, f"{found.paraphrases:,}")
    output.print(table)


def _number(value: float | None) -> str:
    from assay.measures.views.wording import number

    return "" if value is None else number(value, 2)


def _write(found: GridStats, folder: Path) -> None:
    from dataclasses import replace

    from assay.measures.result import MeasureError
    from assay.measures.words import paraphrase_statistics
    from assay.report.page import write_files

    tables = {
        "table-8": paraphrase_statistics.counts_table,
        "table-9": paraphrase_statistics.originals_table,
        "figure-12": paraphrase_statistics.names_table,
    }
    shown = []
    for name, make in tables.items():
        try:
            shown.append(replace(make(found), name=name))
        except MeasureError as error:
            say(f"{name}: {error}", aside=True)
    drawings = []
    for which, (label, _) in paraphrase_statistics.DISTANCES.items():
        try:
            drawings.append(
                replace(
                    paraphrase_statistics.distance_grid(found, which), name=label.lower().replace(" ", "-")
                )
            )
        except MeasureError as error:
            say(f"{label}: {error}", aside=True)
    write_files(folder, ".", drawings, shown)
    say(f"written to {folder}", aside=True)
