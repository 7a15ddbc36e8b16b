"""`assay experiments`, `assay certify` and `assay audit`: list experiments, certify their scenes, find blind spots."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Column
from rich.text import Text

from assay.cli import options as cli
from assay.errors import ExperimentError
from assay.runs.options import RunOptions
from assay.support.console import number_of, output, print_rows, progress_bar, say, table_of

EXAMPLE = "libero_goal/1"
MOST_ON_SHEET = 10
app = typer.Typer(help="List and show experiments and perturbations.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the experiments and the parameters that can be set in an address: para?per_cell=2."""
    from assay.experiments import EXPERIMENTS, Experiment, load_experiment

    rows = []
    for name in EXPERIMENTS:
        experiment, maker = load_experiment(name), EXPERIMENTS[name]
        about = experiment.about
        summary = about if isinstance(maker, Experiment) else cli.describe_fields(about, maker)
        rows.append((name, summary, experiment.tasks, str(len(experiment.seeds))))
    columns = (Column("experiment", no_wrap=True), "description and parameters", "tasks", "seeds")
    print_rows(columns, rows, box=SIMPLE)
    say("Set parameters after a question mark in the address: para?per_cell=2&seed=1")


@app.command()
def show(
    experiment: cli.ExperimentAddress,
    selection: Annotated[
        str | None, typer.Option("--tasks", help="Tasks to show (default: the experiment's).")
    ] = None,
    conditions: Annotated[
        str | None,
        typer.Option(help="Conditions to show in addition to the control: names or patterns (default: all)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the perturbations.")] = 0,
    sheet: Annotated[
        Path | None,
        typer.Option(help="Save a picture of every condition beside its control to this PNG file."),
    ] = None,
    assets: cli.Assets = None,
) -> None:
    """Show the conditions of an experiment: episodes per seed, and the instruction and perturbations for one task.

    This is the first task given with --tasks or, by default, the one with the most conditions. The image written by
    --sheet shows all tasks given with --tasks or, by default, only this one.
    """
    from assay import tasks
    from assay.episodes import At, task_of
    from assay.errors import AssayError, ExperimentError
    from assay.experiments import load_experiment
    from assay.support.plugins import import_object, registered_addresses

    design = load_experiment(experiment).only(conditions)
    chosen = design.choose(selection)
    if sheet is not None:
        cli.check_picture(sheet, "--sheet")
        if selection is not None and len(chosen) > MOST_ON_SHEET:
            raise ExperimentError(
                f"--sheet: {len(chosen)} tasks do not fit on one sheet; select at most {MOST_ON_SHEET} with --tasks"
            )
    plan = list(design.plan(chosen, (seed,), pack=assets))
    counts = Counter(spec.condition for spec in plan)
    example = chosen[0]
    if selection is None:
        per_task = Counter(task for task, _ in {(spec.task, spec.condition) for spec in plan})
        example = max(chosen, key=lambda task: (per_task[task.id], task.id == EXAMPLE))
    of_task = {spec.condition: spec for spec in reversed(plan) if spec.task == example.id}
    name = tasks.short_name(example.id) if tasks.names_file(example.id) else example.id
    rows = []
    for condition, count in counts.items():
        spec = of_task.get(condition)
        if spec is None:
            rows.append((condition, str(count), f"(not for {name})"))
            continue
        try:
            instruction = task_of(spec).instruction.words
        except AssayError as error:
            instruction = f"not possible: {error}"
        kinds = ", ".join(
            str(perturbation) if isinstance(perturbation, At) else perturbation.kind
            for perturbation in spec.perturbations
        )
        rows.append((condition, str(count), f"{instruction}\n{kinds}" if kinds else instruction))
    numbers = Column("episodes\nper seed", justify="right")
    columns = (Column("condition", no_wrap=True), numbers, f"instruction and perturbations for {name}")
    print_rows(columns, rows, box=SIMPLE)
    if sheet is not None:
        draw = registered_addresses("sheet").get(design.world)
        if draw is None:
            raise ExperimentError(f"--sheet: the world '{design.world}' cannot draw its conditions")
        drawn = {task.id for task in ((example,) if selection is None else chosen)}
        specs = [spec for spec in plan if spec.task in drawn]
        with progress_bar() as progress:
            bar = progress.add_task("drawing", total=len({(spec.task, spec.condition) for spec in specs}))
            refused = import_object(draw)(sheet, specs, lambda name: progress.advance(bar))
        for line in refused:
            say(line, aside=True)
        say(f"{number_of(int(progress.tasks[0].completed) - len(refused), 'condition')} drawn in {sheet}")


@app.command()
def perturbations(
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
) -> None:
    """List the perturbations, their parameters and the range of each parameter."""
    from assay.perturb.catalogue import catalogue, markdown

    if as_markdown:
        say(markdown(catalogue()))
        return
    rows = []
    for perturbation in catalogue():
        fields = (Text("\n" + line.replace("`", ""), "dim") for line in perturbation.fields)
        rows.append((perturbation.kind, Text.assemble(perturbation.about, *fields)))
    print_rows((Column("perturbation", no_wrap=True), "description"), rows, box=SIMPLE)


@cli.run_options(
    "tasks", "seeds", "conditions", "assets", "states", "hold_start", "workers", "ray", "timeout"
)
def certify(
    experiment: cli.ExperimentAddress,
    options: RunOptions,
    tries: Annotated[
        int,
        typer.Option(
            min=1, max=10, help="Number of attempts per scene; all but the first have actuation noise."
        ),
    ] = 1,
    target: cli.JsonFile = None,
) -> None:
    """Run the oracle on every scene of an experiment, and count the solved scenes.

    The oracle is a scripted expert with access to the simulator's state. Each scene that it solves gets a certificate,
    which later runs reuse. Certificates are stored in the user's cache folder, or in the folder named by the
    environment variable ASSAY_CACHE. The same command resumes an interrupted certification.
    """
    from assay.experiments import load_experiment
    from assay.runs.certificates import CertificateCache, summarise
    from assay.runs.display import RunDisplay, print_counts
    from assay.runs.execute import make_certificates
    from assay.runs.plan import RunPlan
    from assay.support.files import check_writable
    from assay.support.plugins import registered_addresses

    world = load_experiment(experiment).played_in
    if world.traits.demonstrator is None:
        raise ExperimentError(
            f"{experiment} needs no certificates: the world '{world.traits.name}' has no demonstrator"
        )
    if tries > 1 and world.traits.name not in registered_addresses("disturbance"):
        raise ExperimentError(
            f"--tries {tries}: the world '{world.traits.name}' has no actuation noise; use --tries 1"
        )
    plan = RunPlan.make(experiment, options)
    world.digest(plan.pack)  # raises if assets are missing
    if target not in (None, "-"):
        check_writable(Path(target))
    with CertificateCache(states=plan.states_digest) as cache:
        with RunDisplay() as display:
            ending = make_certificates(plan.specs, cache, plan.demonstrator, options, display, tries)
        if ending.left:
            certificates = number_of(ending.done, "certificate")
            say(f"{certificates} made, {ending.left} left: run the same command to resume")
            raise typer.Exit(130)
        summaries = summarise(plan.specs, cache, tries)
    if target is not None:
        conditions = [summary.as_json() for summary in summaries]
        if cli.write_json({"experiment": experiment, "tries": tries, "conditions": conditions}, target):
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
            f"stable layout: {number_of(whole.nothing, 'more scene')}, unsolvable by design "
            "(the target was removed)"
        )
    print_counts(dict(whole.refused.most_common()), most=20)
    say(f"{ending.done} certificates made; the others were already cached: {cache.file}")


@cli.run_options(
    "tasks", "seeds", "conditions", "workers", "assets", "states", "steps", "certified", "timeout"
)
def audit(
    experiment: cli.ExperimentAddress,
    options: RunOptions,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of an additional policy, e.g. a network trained without words (can be repeated).",
            autocompletion=cli.complete_policy,
        ),
    ] = None,
    least: Annotated[
        float,
        typer.Option(
            metavar="RATE",
            help="A condition counts as solved if the whole 95 % interval of its success rate is above this value.",
        ),
    ] = 0.5,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the run files, one per policy (default: runs/audit-EXPERIMENT)."),
    ] = None,
    target: cli.JsonFile = None,
    markdown: cli.Markdown = None,
    yes: cli.Yes = False,
) -> None:
    """Measure how much of an experiment can be solved without words, without images, or from memory alone.

    The experiment is run with policies that lack one of these inputs. A condition that they solve is a blind spot:
    success there does not show that a policy uses the missing input. The oracle is shown for comparison. The same
    command resumes an interrupted audit.
    """
    from assay.api import running
    from assay.cli.confirm import ConfirmingDisplay
    from assay.measures.shortcuts import describe_shortcuts, shortcuts_table

    with ConfirmingDisplay(yes=yes) as display:
        result = running.audit(
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
        cli.write_text(markdown, text)
    if target is None or not cli.write_json({"experiment": experiment, **shortcuts.as_json()}, target):
        cli.print_table(table)
        for line in sentences:
            say(line)
    if result.left:
        say(f"{number_of(result.left, 'episode')} left: run the same command to resume", aside=True)
        raise typer.Exit(130)
