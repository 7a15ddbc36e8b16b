"""`assay libero`: a script that was written for LIBERO, unmodified, on Assay's engine; or as a run of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.execution import Conditions, HoldStart, Seeds, Selection, States, Steps
from assay.console import number_of, output, say
from assay.errors import RunError
from assay.runs.seeds import parse_seeds

if TYPE_CHECKING:
    from assay.dropin.planned import Planned

ON_PRIMITIVES = "scores on them are not LIBERO's"
ON_LIBERO = "LIBERO's own"


def libero(
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND ...", help="The script: python main.py and its options."),
    ],
    assets: Annotated[
        str, typer.Option(help="Asset pack: primitives, libero (LIBERO's own), a plugin's.")
    ] = "primitives",
    states: States = None,
    experiment: Annotated[
        str | None,
        typer.Option(
            help="Let the script play this experiment's controls and perturbed tasks, and record them."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run's file, NAME.assay; with --experiment.")] = None,
    selection: Selection = None,
    seeds: Seeds = None,
    conditions: Conditions = None,
    hold_start: HoldStart = None,
    steps: Steps = None,
    certified: Annotated[
        bool | None,
        typer.Option(
            "--certified/--uncertified",
            help="Only scenes that the oracle has solved, or all. [default: as the experiment has it]",
        ),
    ] = None,
    each_a_task: Annotated[
        bool, typer.Option("--each-a-task", help="Every episode is a task with one initial state.")
    ] = False,
    retry_errors: Annotated[bool, typer.Option(help="Offer episodes that ended in an error again.")] = False,
    label: Annotated[str | None, typer.Option(help="What reports call the policy.")] = None,
) -> None:
    """Run a script that was written for LIBERO on Assay's engine: its `import libero` is Assay's stand-in.

    With --experiment, the suite that the script asks for consists of the experiment's controls and perturbed tasks,
    with its seeds as initial states, and every episode is recorded. The same command again leaves out what is recorded.
    """
    from assay.dropin.executor import run_free

    made_with = ON_LIBERO if assets == "libero" else ON_PRIMITIVES
    say(f"assay libero: Assay's engine in place of LIBERO; assets: {assets} ({made_with})", aside=True)
    if experiment is None:
        for name, given in {
            "--out": out,
            "--tasks": selection,
            "--seeds": seeds,
            "--conditions": conditions,
        }.items():
            if given is not None:
                raise RunError(f"{name} is for --experiment NAME")
        raise typer.Exit(run_free(command, assets, states))
    from assay.dropin.executor import Script
    from assay.runs.display import condition_table
    from assay.runs.execute import Options, default_path, execute
    from assay.runs.store import Store

    script = Script(tuple(command), assets, each_a_task, _announce)
    path = out or default_path(experiment, script.address)
    options = Options(
        tasks=selection,
        seeds=None if seeds is None else parse_seeds(seeds),
        conditions=conditions,
        assets=assets,
        states=states,
        hold_start=hold_start,
        steps=steps,
        certified=certified,
        retry_errors=retry_errors,
    )
    ending = execute(experiment, script, path, options, label=label)
    with Store.reading(path) as store:
        output.print(condition_table(store.counts(), set(store.stopped), {}))
    rest = f", {ending.left} left: the same command goes on" if ending.left else ""
    if ending.left and not ending.done:
        rest = f": the script played none of the {ending.left} that are left; does it ask for all task numbers from 0?"
    say(f"{number_of(ending.done, 'episode')} recorded in {path}{rest}")
    if script.status:
        raise typer.Exit(script.status if script.status > 0 else 128 - script.status)
    if ending.left:
        raise typer.Exit(1)


def _announce(planned: Sequence[Planned]) -> None:
    """Say what the script will find, and with how many trials it does all of it."""
    most = len(planned[0].specs)
    suites = ", ".join(dict.fromkeys(each.suite or "every suite" for each in planned))
    say(
        f"assay libero: the script finds {number_of(len(planned), 'task')} in {suites}, numbered from 0, with "
        f"{number_of(most, 'initial state')} each: let it do {number_of(most, 'trial')} of each task",
        aside=True,
    )
