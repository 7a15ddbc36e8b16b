"""`assay experiments`, `assay certify`, `assay audit`: list designs, certify their scenes, find their blind spots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Column
from rich.text import Text

from assay.cli.options import (
    Assets,
    Conditions,
    ExperimentAddress,
    JsonFile,
    Markdown,
    Yes,
    check_picture,
    complete_policy,
    describe_fields,
    print_table,
    run_options,
    write_json,
)
from assay.errors import ExperimentError
from assay.runs.options import RunOptions
from assay.support.console import number_of, output, progress_bar, say, table_of

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
        summary = about if isinstance(maker, Experiment) else describe_fields(about, maker)
        table.add_row(name, summary, experiment.tasks, str(len(experiment.seeds)))
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
    from assay.support.plugins import import_object, registered_addresses

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
        draw = registered_addresses("sheet").get(design.world)
        if draw is None:
            raise ExperimentError(f"the world '{design.world}' does not support sheets")
        drawn = {task.id for task in ((example,) if selection is None else chosen)}
        specs = [spec for spec in plan if spec.task in drawn]
        with progress_bar() as progress:
            bar = progress.add_task("drawing", total=len({(spec.task, spec.condition) for spec in specs}))
            refused = import_object(draw)(sheet, specs, lambda name: progress.advance(bar))
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


@run_options("tasks", "seeds", "conditions", "assets", "states", "hold_start", "workers", "ray", "timeout")
def certify(
    experiment: ExperimentAddress,
    options: RunOptions,
    tries: Annotated[
        int,
        typer.Option(min=1, max=10, help="Oracle attempts per scene; after the first, with actuation noise."),
    ] = 1,
    target: JsonFile = None,
) -> None:
    """Let the oracle solve every scene of an experiment, and count. The same command resumes.

    Certificates are cached for all runs, in the user's cache or the folder named by ASSAY_CACHE.
    """
    from assay.experiments import load_experiment
    from assay.runs.certificates import CertificateCache, cache_file, summarise
    from assay.runs.display import RunDisplay, print_counts
    from assay.runs.execute import make_certificates
    from assay.runs.plan import RunPlan
    from assay.support.files import check_writable
    from assay.support.plugins import registered_addresses

    world = load_experiment(experiment).played_in
    if world.traits.demonstrator is None:
        raise ExperimentError(
            f"{experiment} needs no certificates: nothing is certified in the world '{world.traits.name}'"
        )
    if tries > 1 and world.traits.name not in registered_addresses("disturbance"):
        raise ExperimentError(f"--tries {tries}: the world '{world.traits.name}' has no disturbance to add")
    plan = RunPlan.make(experiment, options)
    world.digest(plan.pack)  # raises if assets are missing
    if target not in (None, "-"):
        check_writable(Path(target))
    with CertificateCache(cache_file(), plan.states_digest) as cache:
        with RunDisplay() as display:
            ending = make_certificates(plan.specs, cache, plan.demonstrator, options, display, tries)
        if ending.left:
            certificates = number_of(ending.done, "certificate")
            say(f"{certificates} made, {ending.left} left: run the same command to resume")
            raise typer.Exit(130)
        summaries = summarise(plan.specs, cache, tries)
    if target is not None:
        conditions = [summary.as_json() for summary in summaries]
        if write_json({"experiment": experiment, "tries": tries, "conditions": conditions}, target):
            return
    names = ["certified", "rate", "steps", *(["disturbed"] if tries > 1 else [])]
    table = table_of("condition", *(Column(name, justify="right", no_wrap=True) for name in names))
    *_, whole = summaries
    for summary in summaries:
        if summary is whole:
            table.add_section()
        rate = f"{100 * summary.certified / summary.to_solve:.1f} %" if summary.to_solve else "-"
        median = "-" if summary.median is None else f"{summary.median:.0f}"
        row = [summary.condition, f"{summary.certified}/{summary.to_solve}", rate, median]
        table.add_row(*row, *([f"{summary.solved_again}/{summary.disturbed}"] if tries > 1 else []))
    output.print(table)
    if whole.nothing:
        say(
            f"{number_of(whole.nothing, 'more scene')} unsolvable by design (the target was removed); "
            "their layouts are stable"
        )
    print_counts(dict(whole.refused.most_common()), most=20)
    say(f"{ending.done} certificates made, the others were cached: {cache_file()}")


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
    yes: Yes = False,
) -> None:
    """Measure how much of an experiment a policy solves without words, without sight, or by memory alone.

    Conditions that such a policy solves are blind spots: success there is no evidence of what it lacks. The oracle's
    success is shown beside it. The same command resumes an interrupted audit.
    """
    from assay import api
    from assay.cli.confirm import ConfirmingDisplay
    from assay.measures.shortcuts import describe_shortcuts, shortcuts_table

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
        text = "\n".join(
            [f"## {table.title}", "", *(f"- {line}" for line in sentences), "", table.as_markdown()]
        )
        markdown.write_text(text, encoding="utf-8")
        say(f"written to {markdown}", aside=True)
    if target is None or not write_json({"experiment": experiment, **shortcuts.as_json()}, target):
        print_table(table)
        for line in sentences:
            say(line)
    if result.left:
        say(f"{number_of(result.left, 'episode')} left: run the same command to resume", aside=True)
        raise typer.Exit(130)
