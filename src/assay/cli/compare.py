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
from assay.cli.printing import FigureFormat, FigureWidth, Font, FontSize, Names, Out, print_of
from assay.errors import RunError
from assay.support.console import number_of, output, say, styled, table_of

if TYPE_CHECKING:
    from assay.measures.compare import Robustness, RunContrast
    from assay.measures.views.printing import Print
    from assay.report.comparison import Compared


def compare(
    paths: Annotated[list[Path], typer.Argument(metavar="A B ...", help="Two runs, NAME.assay, or more.")],
    target: JsonFile = None,
    label: Annotated[
        list[str] | None, typer.Option(help="What a run is called, one for each; by default its own label.")
    ] = None,
    margin: Annotated[
        float,
        typer.Option(
            min=0.1, max=99, metavar="POINTS", help="Differences within so many points do not matter."
        ),
    ] = 5.0,
    out: Out = None,
    figures: FigureFormat = None,
    width: FigureWidth = "column",
    font: Font = None,
    font_size: FontSize = 8.0,
    names: Names = None,
) -> None:
    """Compare runs on the episodes that all of them did: who succeeds more, and who loses less to changes.

    Episodes are the same if task, seed, assets and perturbations are. With --out: tables (LaTeX, CSV, Markdown) and
    the figure of who is more robust.
    """
    from assay.report.comparison import compare_runs
    from assay.report.run_report import named
    from assay.report.verdicts import verdicts
    from assay.runs.display import print_damage
    from assay.runs.store import Store

    how = print_of(figures or ("pdf" if out else None), width, font, font_size, names, out)
    if len(paths) < 2:
        raise RunError("compare: 1 run; needs two at least")
    if len(set(paths)) < len(paths):
        raise RunError("compare: the same run twice")
    runs = named(paths, label or ())
    for path in paths:
        with Store.reading(path) as store:
            print_damage(store)
    compared = compare_runs(runs, margin=margin / 100)
    if out is not None and how is not None:
        _write(compared, out, how)
    if target is not None:
        write_json(compared.as_json(), target)
    if target == "-":
        return
    found = compared.comparison
    for pair in combinations(runs, 2):
        say(f"A: {pair[0]}\nB: {pair[1]}\nB - A in percentage points")
        for line in verdicts(found, *pair):
            output.print(styled(line, "bold"), soft_wrap=True, highlight=False)
        _show(pair, (*found.overall, *found.conditions))
        drops = (*found.robustness, *found.robustness_by_condition)
        if drops := tuple(drop for drop in drops if drop.aspect == "drop"):
            say("What changes cost each run, against its own controls; positive: B is more robust")
            _show_drops(pair, drops)
        if found.implausible:
            say("Where success is not expected, and enters nothing above:")
            _show(pair, found.implausible)
    say(compared.note)
    for name in runs:
        unmatched, errors = compared.unmatched[name], compared.errors[name]
        say(f"{name}: {found.shared} shared, {unmatched} not matched, {number_of(errors, 'error')}")


def _write(compared: Compared, folder: Path, how: Print) -> None:
    """The comparison's tables, and its figure where something was changed."""
    from assay.measures.compare import robustness_figure
    from assay.measures.result import MeasureError
    from assay.report.comparison import comparison_tables
    from assay.report.for_papers import write_printed

    try:
        drawings = [robustness_figure(compared.comparison)]
    except MeasureError as error:
        drawings = []
        say(f"no figure: {error}", aside=True)
    write_printed(folder, drawings, list(comparison_tables(compared)), how, every_form=True)
    say(f"written to {folder}", aside=True)


def _show(pair: tuple[str, str], contrasts: Sequence[RunContrast]) -> None:
    """A row for each condition, narrow enough for a terminal, or a pipe."""
    from assay.measures.views.wording import between, number, p_value, points

    heads = ("n", "A %", "B %", "B - A", "95 % interval", "Holm p")
    numbers = [Column(head, justify="right", no_wrap=True) for head in heads]
    table = table_of(Column("condition"), *numbers, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for contrast in contrasts:
        if (contrast.first, contrast.second) == pair:
            table.add_row(
                contrast.condition or "all, controls too",
                f"{contrast.count:,}",
                number(100 * contrast.first_rate),
                number(100 * contrast.second_rate),
                points(contrast.change),
                between(contrast.interval, 100),
                p_value(contrast.p_holm),
            )
    output.print(table)


def _show_drops(pair: tuple[str, str], found: Sequence[Robustness]) -> None:
    """A row for each condition: both drops, their difference, and what is decided."""
    from assay.measures.views.wording import between, points
    from assay.report.verdicts import in_a_word

    heads = ("A", "B", "B - A", "95 % interval", "B is")
    numbers = [Column(head, justify="right", no_wrap=head != "B is") for head in heads]
    table = table_of(Column("condition"), *numbers, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for each in found:
        if (each.first, each.second) == pair:
            table.add_row(
                each.condition or "all changes",
                points(each.first_value),
                points(each.second_value),
                points(each.change),
                between(each.interval, 100),
                in_a_word(each),
            )
    output.print(table)
