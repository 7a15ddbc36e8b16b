"""`assay compare`: runs on the same episodes, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.box
import typer
from rich.table import Column

from assay.cli.execution import JsonFile, write_json
from assay.console import number_of, output, say, table_of
from assay.errors import RunError

if TYPE_CHECKING:
    from assay.measures.compare import Contrast


def compare(
    paths: Annotated[list[Path], typer.Argument(metavar="A B ...", help="Two runs, NAME.assay, or more.")],
    target: JsonFile = None,
) -> None:
    """Compare runs on the episodes that all of them did: differences with intervals, exact tests, Holm.

    Episodes are the same if task, seed, assets and perturbations are.
    """
    from assay.report.comparison import compare_runs
    from assay.report.run_report import named

    if len(paths) < 2:
        raise RunError("compare: 1 run; needs two at least")
    runs = named(paths)
    if len(runs) < len(paths):
        raise RunError("compare: the same run twice")
    compared = compare_runs(runs)
    if target is not None:
        write_json(compared.as_json(), target)
    if target == "-":
        return
    found = compared.comparison
    for pair in combinations(runs, 2):
        say(f"A: {pair[0]}\nB: {pair[1]}\nB - A in percentage points")
        _show(pair, (*found.overall, *found.conditions))
        if found.implausible:
            say("Where success is not expected, and enters nothing above:")
            _show(pair, found.implausible)
    say(compared.note)
    for name in runs:
        unmatched, errors = compared.unmatched[name], compared.errors[name]
        say(f"{name}: {found.shared} shared, {unmatched} not matched, {number_of(errors, 'error')}")


def _show(pair: tuple[str, str], contrasts: Sequence[Contrast]) -> None:
    """A row for each condition, narrow enough for a terminal, or a pipe."""
    from assay.report.wording import between, number, p_value, points

    heads = ("n", "A %", "B %", "B - A", "95 % interval", "Holm p")
    numbers = [Column(head, justify="right", no_wrap=True) for head in heads]
    table = table_of(Column("condition"), *numbers, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for each in contrasts:
        if (each.first, each.second) == pair:
            table.add_row(
                each.condition or "all, controls too",
                f"{each.count:,}",
                number(100 * each.first_rate),
                number(100 * each.second_rate),
                points(each.change),
                between(each.interval, 100),
                p_value(each.p_holm),
            )
    output.print(table)
