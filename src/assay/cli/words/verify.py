"""`assay words verify`: whether paraphrases keep to the rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.words.generate import tasks_named
from assay.console import say
from assay.errors import PerturbationError


def verify(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.csv", help="As `assay words generate` writes it, or LIBERO-Para's metadata.csv."
        ),
    ],
    selection: Annotated[
        str, typer.Option("--tasks", help="Task files (.bddl, with commas) that rows may speak of.")
    ] = "",
    lexicon: Annotated[Path | None, typer.Option(help="A YAML file with more nouns.")] = None,
) -> None:
    """Check every row of a grid against the rules, as far as rules can tell.

    Exit status 1 if anything is wrong.
    """
    from assay import tasks
    from assay.perturb.words.grid.table import read, with_tasks
    from assay.perturb.words.grid.verify import verify as faults_of

    own = {task.id: task for task in tasks_named(selection)} if selection else {}
    rows = with_tasks(read(table, with_cells=True))
    if not rows:
        raise PerturbationError(f"{table} has no rows below its header: there is nothing to verify")
    faults = list(faults_of(rows, load=lambda id: own.get(id) or tasks.load(id), words=lexicon))
    for fault in faults:
        line = f"{table}:{fault.line}: {fault.rule}: {fault.reason}: {fault.text}"
        say(line)
    wrong = len({fault.line for fault in faults})
    say(f"{len(rows)} rows, {wrong} with faults", aside=True)
    for rule, count in Counter(fault.rule for fault in faults).most_common():
        say(f"{count} x {rule}", aside=True)
    if faults:
        raise typer.Exit(1)
