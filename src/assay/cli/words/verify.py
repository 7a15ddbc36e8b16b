"""`assay words verify`: whether paraphrases keep to the rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.words.scenes import task_loader
from assay.errors import PerturbationError
from assay.support.console import say

if TYPE_CHECKING:
    from assay.perturb.words.grid.rules import Fault


def verify(
    table: Annotated[
        Path,
        typer.Argument(metavar="FILE.csv", help="A grid, or LIBERO-Para's metadata.csv."),
    ],
    selection: Annotated[
        str, typer.Option("--tasks", help="Task files (.bddl, with commas) that rows may speak of.")
    ] = "",
    lexicon: Annotated[Path | None, typer.Option(help="A YAML file with more nouns.")] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="How many rows break each rule, and no row by itself.")
    ] = False,
) -> None:
    """Check every row of a grid against the rules, as far as rules can tell.

    Exit status 1 if anything is wrong.
    """
    from assay.perturb.words.grid.rules import verify as faults_of
    from assay.perturb.words.grid.table import read, with_tasks

    rows = with_tasks(read(table, with_cells=True))
    if not rows:
        raise PerturbationError(f"{table} has no rows below its header: there is nothing to verify")
    faults = list(faults_of(rows, load=task_loader(selection), words=lexicon))
    for fault in faults if not summary else ():
        say(f"{table}:{fault.line}: {fault.rule}: {fault.reason}: {fault.text}")
    wrong = len({fault.line for fault in faults})
    say(f"{len(rows)} rows, {wrong} with faults", aside=not summary)
    for rule, count in Counter(rule for rule, _ in {(each.rule, each.line) for each in faults}).most_common():
        say(f"{rule:<10} {count:>5} row{'s' * (count != 1)}: {_most_common(faults, rule)}", aside=not summary)
    if faults:
        raise typer.Exit(1)


def _most_common(faults: Sequence[Fault], rule: str) -> str:
    """The reasons that a rule gives most often, whatever line they speak of."""
    reasons = Counter(
        re.sub(r"line \d+", "another line", fault.reason) for fault in faults if fault.rule == rule
    )
    return "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3))
