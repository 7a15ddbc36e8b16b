"""`assay experiments`: the experiment designs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Column
from rich.text import Text

from assay.cli import completing
from assay.cli.execution import Assets, Conditions
from assay.cli.listing import described
from assay.cli.pictures import check_picture
from assay.support.console import output, progress_bar, say, table_of

if TYPE_CHECKING:
    from assay.episodes import EpisodeSpec

EXAMPLE = "libero_goal/1"
MOST_ON_SHEET = 10
app = typer.Typer(help="The experiment designs.", no_args_is_help=True)


def renamed() -> None:
    """The experiment designs, under the name they had in 0.1."""
    say(
        "note: 'assay suites' is 'assay experiments' now, and will be gone in 0.3; a suite is LIBERO's word",
        aside=True,
    )


@app.command("list")
def list_() -> None:
    """List the experiments, and the fields an address may set: para?per_cell=2."""
    from assay.experiments import EXPERIMENTS, Experiment, load_experiment

    table = table_of(
        Column("experiment", no_wrap=True), "what it is, and its fields", "tasks", "seeds", box=SIMPLE
    )
    for name in EXPERIMENTS:
        experiment, made = load_experiment(name), EXPERIMENTS[name]
        told = experiment.about if isinstance(made, Experiment) else described(experiment.about, made)
        table.add_row(name, told, experiment.tasks, str(len(experiment.seeds)))
    output.print(table)
    say("An address sets fields after a question mark: para?per_cell=2&seed=1")


@app.command()
def show(
    experiment: Annotated[
        str,
        typer.Argument(
            help="The experiment, e.g. corruption, or para?per_cell=2.", autocompletion=completing.experiments
        ),
    ],
    selection: Annotated[str | None, typer.Option("--tasks", help="The experiment's own by default.")] = None,
    conditions: Conditions = None,
    seed: Annotated[int, typer.Option(help="What is drawn is drawn by this seed.")] = 0,
    sheet: Annotated[
        Path | None, typer.Option(help="Draw every condition beside its control into this PNG.")
    ] = None,
    assets: Assets = None,
) -> None:
    """Show an experiment's conditions: how many episodes each has for one seed, and what one task becomes.

    That task is the first one of --tasks, or the one with most conditions. A sheet shows each of --tasks, or
    that task.
    """
    from assay import tasks
    from assay.episodes import At, task_of
    from assay.errors import AssayError, ExperimentError
    from assay.experiments import load_experiment
    from assay.support.plugins import imported, provided

    design = load_experiment(experiment).only(conditions)
    chosen = design.choose(selection)
    if sheet is not None:
        check_picture(sheet, "--sheet")
        if selection is not None and len(chosen) > MOST_ON_SHEET:
            raise ExperimentError(
                f"a sheet of {len(chosen)} tasks is too large; valid: up to {MOST_ON_SHEET}"
            )
    plan = list(design.plan(chosen, (seed,), pack=assets))
    counts = Counter(spec.condition for spec in plan)
    example = chosen[0] if selection is not None else _telling(chosen, plan)
    of_task = {spec.condition: spec for spec in reversed(plan) if spec.task == example.id}
    called = tasks.short_name(example.id) if tasks.names_file(example.id) else example.id
    table = table_of(
        Column("condition", no_wrap=True),
        Column("episodes\na seed", justify="right"),
        f"what {called} is told, and the perturbations",
        box=SIMPLE,
    )
    for condition, count in counts.items():
        spec = of_task.get(condition)
        if spec is None:
            table.add_row(condition, str(count), f"({called} has no such condition)")
            continue
        try:
            told = task_of(spec).instruction.words
        except AssayError as error:
            told = f"refused: {error}"
        kinds = ", ".join(
            str(perturbation) if isinstance(perturbation, At) else perturbation.kind
            for perturbation in spec.perturbations
        )
        table.add_row(condition, str(count), f"{told}\n{kinds}" if kinds else told)
    output.print(table)
    if sheet is not None:
        draw = provided("sheet").get(design.world)
        if draw is None:
            raise ExperimentError(f"the world '{design.world}' draws no sheets")
        shown = {task.id for task in ((example,) if selection is None else chosen)}
        specs = [spec for spec in plan if spec.task in shown]
        with progress_bar() as progress:
            bar = progress.add_task("drawing", total=len({(each.task, each.condition) for each in specs}))
            refused = imported(draw)(sheet, specs, lambda name: progress.advance(bar))
        for line in refused:
            say(line, aside=True)
        say(f"{progress.tasks[0].completed - len(refused):.0f} conditions drawn in {sheet}")


@app.command()
def perturbations(
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a table for documents.")] = False,
) -> None:
    """List every perturbation: what it changes, its fields and their ranges."""
    from assay.perturb.catalogue import catalogue, markdown

    if as_markdown:
        say(markdown(catalogue()))
        return
    table = table_of(Column("perturbation", no_wrap=True), "what", box=SIMPLE)
    for each in catalogue():
        fields = (Text("\n" + line.replace("`", ""), "dim") for line in each.fields)
        table.add_row(each.kind, Text.assemble(each.about, *fields))
    output.print(table)


def _telling(chosen: Sequence[Any], plan: Sequence[EpisodeSpec]) -> Any:
    """The task with most conditions: of several, the usual example or else the first."""
    conditions: dict[str, set[str]] = {task.id: set() for task in chosen}
    for spec in plan:
        conditions[spec.task].add(spec.condition)
    return max(chosen, key=lambda task: (len(conditions[task.id]), task.id == EXAMPLE))
