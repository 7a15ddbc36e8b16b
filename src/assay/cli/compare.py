"""`assay compare`: runs on the same episodes, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.box
import typer
from rich.table import Column

from assay.cli.options import (
    FigureFormat,
    FigureWidth,
    Font,
    FontSize,
    JsonFile,
    Names,
    print_settings,
    write_json,
)
from assay.errors import RunError
from assay.support.console import number_of, output, say, styled, table_of

if TYPE_CHECKING:
    from assay.measures.compare import Robustness, RunContrast
    from assay.measures.views.printing import Print
    from assay.report.comparison import Compared


def compare(
    paths: Annotated[list[Path], typer.Argument(metavar="A B ...", help="Two or more runs, NAME.assay.")],
    target: JsonFile = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Names of the runs, one per run (default: their labels).")
    ] = None,
    margin: Annotated[
        float,
        typer.Option(
            min=0.1, max=99, metavar="POINTS", help="Smallest relevant difference in percentage points."
        ),
    ] = 5.0,
    out: Annotated[
        Path | None, typer.Option(help="A folder for tables (LaTeX, CSV, Markdown) and the figure.")
    ] = None,
    figures: FigureFormat = None,
    width: FigureWidth = "column",
    font: Font = None,
    font_size: FontSize = 8.0,
    names: Names = None,
) -> None:
    """Compare runs on the episodes that all of them have: success rates, and losses due to changes.

    Episodes match if task, seed, assets and perturbations are equal. With --out: tables (LaTeX, CSV, Markdown) and a
    figure of the losses.
    """
    from assay.report.comparison import compare_runs, verdicts
    from assay.report.run_report import name_runs

    how = print_settings(figures or ("pdf" if out else None), width, font, font_size, names, out)
    if len(paths) < 2:
        raise RunError("compare: 1 run; needs two at least")
    if len(set(paths)) < len(paths):
        raise RunError("compare: the same run twice")
    runs = name_runs(paths, label or ())
    compared = compare_runs(runs, margin=margin / 100)
    if out is not None and how is not None:
        _write(compared, out, how)
    if target is not None:
        write_json(compared.as_json(), target)
    if target == "-":
        return
    comparison = compared.comparison
    for pair in combinations(runs, 2):
        say(f"A: {pair[0]}\nB: {pair[1]}\nB - A in percentage points")
        for line in verdicts(comparison, *pair):
            output.print(styled(line, "bold"), soft_wrap=True, highlight=False)
        _show(pair, (*comparison.overall, *comparison.conditions))
        drops = (*comparison.robustness, *comparison.robustness_by_condition)
        if drops := tuple(drop for drop in drops if drop.aspect == "drop"):
            say("Loss of each run against its own controls; positive: B is more robust")
            _show_drops(pair, drops)
        if comparison.implausible:
            say("Conditions in which success is not expected, not included above:")
            _show(pair, comparison.implausible)
    say(compared.note)
    for name in runs:
        unmatched, errors = compared.unmatched[name], compared.errors[name]
        say(f"{name}: {comparison.shared} shared, {unmatched} not matched, {number_of(errors, 'error')}")


def _write(compared: Compared, folder: Path, how: Print) -> None:
    """Write the comparison's tables, and its figure if something was changed."""
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
    """Print one row per condition."""
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


def _show_drops(pair: tuple[str, str], drops: Sequence[Robustness]) -> None:
    """Print one row per condition: both drops, their difference, and the verdict."""
    from assay.measures.views.wording import between, points
    from assay.report.comparison import describe_decision

    heads = ("A", "B", "B - A", "95 % interval", "B is")
    numbers = [Column(head, justify="right", no_wrap=head != "B is") for head in heads]
    table = table_of(Column("condition"), *numbers, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for drop in drops:
        if (drop.first, drop.second) == pair:
            table.add_row(
                drop.condition or "all changes",
                points(drop.first_value),
                points(drop.second_value),
                points(drop.change),
                between(drop.interval, 100),
                describe_decision(drop),
            )
    output.print(table)
