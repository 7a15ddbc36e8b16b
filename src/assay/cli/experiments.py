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

from assay.cli.options import Assets, Conditions, ExperimentAddress, check_picture, describe_fields
from assay.support.console import output, progress_bar, say, table_of

if TYPE_CHECKING:
    from assay.episodes import EpisodeSpec

EXAMPLE = "libero_goal/1"
MOST_ON_SHEET = 10
app = typer.Typer(help="The experiment designs.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the experiments, and the fields an address may set: para?per_cell=2."""
    from assay.experiments import EXPERIMENTS, Experiment, load_experiment

    table = table_of(
        Column("experiment", no_wrap=True), "description and fields", "tasks", "seeds", box=SIMPLE
    )
    for name in EXPERIMENTS:
        experiment, maker = load_experiment(name), EXPERIMENTS[name]
        about = experiment.about
        shown = about if isinstance(maker, Experiment) else describe_fields(about, maker)
        table.add_row(name, shown, experiment.tasks, str(len(experiment.seeds)))
    output.print(table)
    say("An address sets fields after a question mark: para?per_cell=2&seed=1")


@app.command()
def show(
    experiment: ExperimentAddress,
    selection: Annotated[
        str | None, typer.Option("--tasks", help="Tasks (default: those of the experiment).")
    ] = None,
    conditions: Conditions = None,
    seed: Annotated[int, typer.Option(help="The seed of random changes.")] = 0,
    sheet: Annotated[
        Path | None, typer.Option(help="A PNG file: draw every condition beside its control.")
    ] = None,
    assets: Assets = None,
) -> None:
    """Show an experiment's conditions: episodes per seed, and the instruction and perturbations of one task.

    That task is the first of --tasks, or the one with most conditions. A sheet shows all of --tasks, or that task.
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
    example = chosen[0] if selection is not None else _most_conditions(chosen, plan)
    of_task = {spec.condition: spec for spec in reversed(plan) if spec.task == example.id}
    name = tasks.short_name(example.id) if tasks.names_file(example.id) else example.id
    table = table_of(
        Column("condition", no_wrap=True),
        Column("episodes\na seed", justify="right"),
        f"instruction of {name}, and perturbations",
        box=SIMPLE,
    )
    for condition, count in counts.items():
        spec = of_task.get(condition)
        if spec is None:
            table.add_row(condition, str(count), f"({name} has no such condition)")
            continue
        try:
            instruction = task_of(spec).instruction.words
        except AssayError as error:
            instruction = f"refused: {error}"
        kinds = ", ".join(
            str(perturbation) if isinstance(perturbation, At) else perturbation.kind
            for perturbation in spec.perturbations
        )
        table.add_row(condition, str(count), f"{instruction}\n{kinds}" if kinds else instruction)
    output.print(table)
    if sheet is not None:
        draw = provided("sheet").get(design.world)
        if draw is None:
            raise ExperimentError(f"the world '{design.world}' draws no sheets")
        drawn = {task.id for task in ((example,) if selection is None else chosen)}
        specs = [spec for spec in plan if spec.task in drawn]
        with progress_bar() as progress:
            bar = progress.add_task("drawing", total=len({(spec.task, spec.condition) for spec in specs}))
            refused = imported(draw)(sheet, specs, lambda name: progress.advance(bar))
        for line in refused:
            say(line, aside=True)
        say(f"{progress.tasks[0].completed - len(refused):.0f} conditions drawn in {sheet}")


@app.command()
def perturbations(
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a table for documents.")] = False,
) -> None:
    """List every perturbation, its fields and their ranges."""
    from assay.perturb.catalogue import catalogue, markdown

    if as_markdown:
        say(markdown(catalogue()))
        return
    table = table_of(Column("perturbation", no_wrap=True), "description", box=SIMPLE)
    for perturbation in catalogue():
        fields = (Text("\n" + line.replace("`", ""), "dim") for line in perturbation.fields)
        table.add_row(perturbation.kind, Text.assemble(perturbation.about, *fields))
    output.print(table)


def _most_conditions(chosen: Sequence[Any], plan: Sequence[EpisodeSpec]) -> Any:
    """The task with most conditions; of several, the default example or else the first."""
    conditions: dict[str, set[str]] = {task.id: set() for task in chosen}
    for spec in plan:
        conditions[spec.task].add(spec.condition)
    return max(chosen, key=lambda task: (len(conditions[task.id]), task.id == EXAMPLE))
