"""`assay words generate`: paraphrases of tasks, cell by cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.errors import PerturbationError
from assay.support.console import say

if TYPE_CHECKING:
    from assay.tasks import Task


def generate(
    selection: Annotated[
        str, typer.Option("--tasks", help="all, suites, ids and .bddl files with commas.")
    ] = "libero_goal",
    per_cell: Annotated[int, typer.Option(min=1, help="Paraphrases per cell, over all tasks.")] = 100,
    out: Annotated[Path | None, typer.Option(help="The CSV file to write.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed, other paraphrases.")] = 0,
    lexicon: Annotated[Path | None, typer.Option(help="A YAML file with more nouns.")] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a table with an example of every cell.")
    ] = False,
) -> None:
    """Paraphrase tasks along two axes: how things are named, and how the action is expressed.

    43 cells, spread evenly over the tasks. The columns: task, object_type, action_type, original, paraphrase.
    """
    from assay.perturb.words.grid.generate import grid, markdown, shortfalls
    from assay.perturb.words.grid.table import write

    if out is None and not as_markdown:
        raise PerturbationError("say where to write with --out FILE.csv, or ask for a table with --markdown")
    chosen = tasks_named(selection)
    made = grid(chosen, per_cell, seed, words=lexicon)
    for task, cell, count in shortfalls(made, chosen, per_cell):
        reason = f"has {count} of its {per_cell // len(chosen)}" if count else "is left out"
        say(f"{task}: {reason} in cell {cell}; the others make up for it", aside=True)
    if out is not None:
        write(made, out)
        say(f"{len(made)} paraphrases in {out}", aside=True)
    if as_markdown:
        say(markdown(made))


def tasks_named(selection: str) -> tuple[Task, ...]:
    """The tasks of a selection as on the command line, which may hold task files."""
    from assay import tasks

    parts = [part.strip() for part in selection.split(",")]
    found = [
        task
        for part in parts
        for task in ((tasks.bddl.read(part),) if part.endswith(".bddl") else tasks.resolve(part))
    ]
    return tuple({task.id: task for task in found}.values())
