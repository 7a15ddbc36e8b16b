"""`assay suites`: the experiment designs."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from assay.cli.console import output

app = typer.Typer(help="The experiment designs.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the suites, and the fields an address may set: para?per_cell=2."""
    from assay.suites import load_suite
    from assay.suites.registry import SUITES

    table = Table(Column("suite", no_wrap=True), "what it is", "tasks", "seeds", "fields")
    for name, made in SUITES.items():
        suite = load_suite(name)
        fields = ", ".join(
            f"{each.name}={each.default}" for each in inspect.signature(made).parameters.values()
        )
        table.add_row(name, suite.about, suite.tasks, str(len(suite.seeds)), fields)
    output.print(table)


@app.command()
def show(
    suite: Annotated[str, typer.Argument(help="The suite, e.g. corruption.")],
    selection: Annotated[str | None, typer.Option("--tasks", help="The suite's own by default.")] = None,
    task: Annotated[str, typer.Option(help="The task whose wordings are shown.")] = "libero_goal/1",
) -> None:
    """Show a suite's conditions: how many episodes each has for one seed, and what one task becomes."""
    from assay import tasks
    from assay.errors import AssayError
    from assay.suites import load_suite

    design = load_suite(suite)
    chosen = tasks.resolve(selection or design.tasks)
    counts = Counter(spec.condition for spec in design.plan(chosen, (0,)))
    example = {spec.condition: spec for spec in reversed(list(design.plan([tasks.load(task)], (0,))))}
    table = Table("condition", "episodes a seed", "perturbations", f"what {task} is told")
    for condition, count in counts.items():
        spec = example.get(condition)
        if spec is None:
            table.add_row(condition, str(count), "", "")
            continue
        try:
            told = spec.realised().instruction.text
        except AssayError as error:
            told = f"refused: {error}"
        kinds = ", ".join(each.kind for each in spec.perturbations)
        table.add_row(condition, str(count), kinds, escape(told))
    output.print(table)
