"""`assay search`: the smallest change that breaks a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.box
import typer

from assay.cli import completing
from assay.cli.execution import (
    Assets,
    Certified,
    JsonFile,
    Replan,
    RetryErrors,
    Seeds,
    Selection,
    Silence,
    States,
    Steps,
    Workers,
    say_on_primitives,
    write_json,
)
from assay.errors import RunError
from assay.runs.seeds import parse_seeds
from assay.support.console import number_of, output, say, table_of

if TYPE_CHECKING:
    from assay.api.searches.run import Searched
    from assay.measures.views.table import Table


def search(
    policy: Annotated[
        str, typer.Argument(help="A policy's address: assay policies.", autocompletion=completing.policies)
    ],
    axes: Annotated[
        str,
        typer.Option(
            help="What is changed: distance, camera, light, delay, noise, rewording, size, with commas."
        ),
    ] = "distance",
    selection: Selection = None,
    budget: Annotated[
        int | None,
        typer.Option(
            help="The most episodes, controls too; 30 for each task and axis by default, at least 12 (more where "
            "--level or --confidence ask for it)."
        ),
    ] = None,
    combine: Annotated[
        int, typer.Option(min=0, help="The most episodes besides, for small changes that break it together.")
    ] = 0,
    level: Annotated[
        float, typer.Option(help="Success is lost where less than this share of it is kept.")
    ] = 0.5,
    confidence: Annotated[float, typer.Option(help="That an interval holds its threshold.")] = 0.95,
    at_random: Annotated[
        bool, typer.Option("--at-random", help="Play magnitudes and combinations at random, for comparison.")
    ] = False,
    seeds: Seeds = None,
    out: Annotated[Path | None, typer.Option(help="The run's file, NAME.assay.")] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="A folder for tables (LaTeX, CSV, Markdown), the figure and videos of the worst cases."
        ),
    ] = None,
    videos: Annotated[int, typer.Option(min=0, help="With --report: how many videos at most.")] = 6,
    label: Annotated[str | None, typer.Option(help="What reports call the policy.")] = None,
    workers: Workers = None,
    assets: Assets = None,
    states: States = None,
    steps: Steps = None,
    replan: Replan = None,
    certified: Certified = None,
    retry_errors: RetryErrors = False,
    timeout: Silence = 1800.0,
    target: JsonFile = None,
    yes: Annotated[bool, typer.Option("--yes", help="Begin without asking, however long it takes.")] = False,
) -> None:
    """Find the smallest change that breaks a policy: how far, how dark, how late, how differently said.

    For each task and axis: at which magnitude success is known to be kept, and at which to be lost. The same command
    again goes on where it was interrupted, and with a larger --budget where that was used up.
    """
    from assay import api
    from assay.cli.asking import DuelDisplay
    from assay.measures.world.thresholds import cases_table, thresholds_table
    from assay.runs.certificates import counted, recall
    from assay.runs.display import print_errors, print_refused
    from assay.runs.store import Store

    say_on_primitives(policy, assets)
    with DuelDisplay(yes=yes) as display:
        found = api.search(
            policy,
            axes,
            tasks=selection,
            budget=budget,
            combine=combine,
            level=level,
            confidence=confidence,
            seeds=None if seeds is None else parse_seeds(seeds),
            guided=not at_random,
            out=out,
            label=label,
            workers=workers,
            assets=assets,
            states=states,
            steps=steps,
            replan=replan,
            certified=certified,
            retry_errors=retry_errors,
            timeout=timeout,
            observer=display,
        )
    if found is None:  # nobody wanted to begin
        raise typer.Exit(1)
    written: dict[str, str] = {}
    if report is not None:
        from assay.api.searches.writing import write

        written = write(found, report, videos)
        say(f"written to {report}", aside=True)
    if target is None or not write_json(found.as_json() | {"videos": written}, target):
        _print(thresholds_table(found.thresholds))
        if (cases := cases_table(found.cases, videos=written)) is not None:
            _print(cases)
        for note in found.notes:
            say(note)
        say(f"{number_of(found.played, 'episode')} in {found.path}")
    with Store.reading(found.path) as store:
        if target is None:
            print_refused(counted(recall(store)))
        if print_errors(store):
            raise RunError(
                "every episode ended in an error; --retry-errors tries them again when that is mended"
            )
    _end(found)


def _print(table: Table) -> None:
    shown = table_of(
        *(column.heading for column in table.columns), box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for row in table.formatted_rows:
        shown.add_row(*row)
    output.print(shown)
    say(table.note)


def _end(found: Searched) -> None:
    if found.reason:
        raise RunError(f"stopped: {found.reason}; the same command goes on when the policy is back")
    if not found.played and found.refused:
        raise RunError(
            "nothing was played: the oracle solves none of the scenes; valid: other tasks, or more --steps"
        )
    if found.left:
        which = "one search is" if found.left == 1 else f"{found.left} searches are"
        say(f"{which} not finished: the same command goes on", aside=True)
        raise typer.Exit(130)
