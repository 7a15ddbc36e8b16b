"""`assay audit`: how much of an experiment is solved without words, without sight, or by memory alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import rich.box
import typer
from rich.table import Column

from assay.cli.options import (
    ExperimentAddress,
    JsonFile,
    Markdown,
    Yes,
    complete_policy,
    run_options,
    write_json,
)
from assay.errors import RunError
from assay.runs.options import RunOptions
from assay.support.console import number_of, output, say, table_of


@run_options("tasks", "seeds", "conditions", "workers", "assets", "states", "steps", "certified", "timeout")
def audit(
    experiment: ExperimentAddress,
    options: RunOptions,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A further policy beside the auditing ones, e.g. a network trained without words; repeatable.",
            autocompletion=complete_policy,
        ),
    ] = None,
    least: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="A condition is solved if its whole 95 % interval is above this share."
        ),
    ] = 0.5,
    out: Annotated[Path | None, typer.Option(help="A folder for the runs, one per policy.")] = None,
    target: JsonFile = None,
    markdown: Markdown = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the table: a .png, .svg or .pdf.")
    ] = None,
    yes: Yes = False,
) -> None:
    """Measure how much of an experiment a policy solves without words, without sight, or by memory alone.

    Conditions that such a policy solves are blind spots: success there is no evidence of what it lacks. The oracle's
    success is shown beside it. The same command resumes an interrupted audit.
    """
    from assay import api
    from assay.cli.confirm import ConfirmingDisplay
    from assay.report.audit import FORMATS, describe_shortcuts, shortcuts_table, write_figure
    from assay.report.audit import markdown as as_markdown

    if figure is not None and figure.suffix not in FORMATS:
        raise RunError(f"--figure {figure}: valid: a name that ends in {', '.join(FORMATS)}")
    with ConfirmingDisplay(yes=yes) as display:
        result = api.audit(
            experiment,
            policies=policy or (),
            least=least,
            out=out,
            observer=display,
            starting=lambda probe: say(f"{probe.title} ...", aside=True),
            options=options,
        )
    shortcuts = result.shortcuts
    table, sentences = shortcuts_table(shortcuts, experiment), describe_shortcuts(shortcuts)
    if markdown is not None:
        markdown.write_text(as_markdown(table, sentences), encoding="utf-8")
        say(f"written to {markdown}", aside=True)
    if target is None or not write_json({"experiment": experiment, **shortcuts.as_json()}, target):
        columns = [
            Column(column.heading, justify="right" if column.right else "left") for column in table.columns
        ]
        shown = table_of(*columns, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for row in table.shown:
            shown.add_row(*row)
        output.print(shown)
        for line in (table.note, *sentences):
            say(line)
    if figure is not None:
        write_figure(shortcuts, experiment, figure)
        say(f"written to {figure}", aside=True)
    if result.left:
        say(f"{number_of(result.left, 'episode')} left: run the same command to resume", aside=True)
        raise typer.Exit(130)
