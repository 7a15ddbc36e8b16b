"""`assay libero`: a script that was written for LIBERO, unmodified, on Assay's engine; or as a run of an experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.execution import (
    Certified,
    Conditions,
    HoldStart,
    PolicyLabel,
    RetryErrors,
    Seeds,
    Selection,
    States,
    Steps,
)
from assay.errors import RunError
from assay.runs.seeds import parse_seeds
from assay.support.console import number_of, output, say

if TYPE_CHECKING:
    from assay.extensions.dropin.planned import Planned

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
    certified: Certified = None,
    each_a_task: Annotated[
        bool, typer.Option("--each-a-task", help="Every episode is a task with one initial state.")
    ] = False,
    retry_errors: RetryErrors = False,
    label: PolicyLabel = None,
) -> None:
    """Run a script that was written for LIBERO on Assay's engine: its `import libero` is Assay's stand-in.

    With --experiment, the suite that the script asks for consists of the experiment's controls and perturbed tasks,
    with its seeds as initial states, and every episode is recorded. The same command again leaves out what is recorded.
    """
    from assay.extensions.dropin.executor import run_free

    made_with = ON_LIBERO if assets == "libero" else ON_PRIMITIVES
    say(f"assay libero: Assay's engine in place of LIBERO; assets: {assets} ({made_with})", aside=True)
    if experiment is None:
        for name, given in {
            "--out": out,
            "--tasks": selection,
            "--seeds": seeds,
            "--conditions": conditions,
            "--hold-start": hold_start,
            "--steps": steps,
            "--certified or --uncertified": certified,
            "--each-a-task": each_a_task or None,
            "--retry-errors": retry_errors or None,
            "--label": label,
        }.items():
            if given is not None:
                raise RunError(f"{name} is for --experiment NAME")
        raise typer.Exit(run_free(command, assets, states))
    from assay.extensions.dropin.executor import Script
    from assay.extensions.dropin.recorder import ENDED_EARLY
    from assay.runs.certificates import counted, recall
    from assay.runs.display import (
        Certifying,
        condition_table,
        print_clipping,
        print_reasons,
        print_refused,
        print_tracebacks,
    )
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
    with Certifying() as certifying:
        ending = execute(experiment, script, path, options, certifying, label=label)
    with Store.reading(path) as store:
        refused = recall(store)
        of_condition = Counter(each.condition for each in refused)
        output.print(condition_table(store.counts(), set(store.stopped), of_condition))
        print_reasons(store.reasons())
        print_tracebacks(store.tracebacks().values())
        if store.broken() and not retry_errors:
            say("--retry-errors offers episodes that ended in an error to the script again")
        print_clipping(store.clipping())
        print_refused(counted(refused))
        counts = store.counts()
        early = [
            row for row in store.frame().iter_rows(named=True) if (row["error"] or "").startswith(ENDED_EARLY)
        ]
    if early:
        say(
            f"{number_of(len(early), 'failure')} had less time than usual: {early[0]['error']}. "
            "Are the steps that the script allows what you mean?"
        )
    nothing_ran = counts["done"].sum() and not (counts["success"] + counts["failure"]).sum()
    skipped = script.unplayed and not script.status
    mended = " once the script is mended" if script.status else ""
    goes_on = "" if skipped else f": the same command goes on{mended}"
    rest = f", {number_of(ending.left, 'planned episode')} left{goes_on}" if ending.left else ""
    say(f"{number_of(ending.done, 'episode')} recorded in {path}{rest}")
    if not ending.done and not ending.left:
        say("all of them were there already, so the script was not started")
    if skipped:
        say(
            f"The script ended without playing {_numbers(script.unplayed)}. With --experiment these are not LIBERO's "
            "numbers: each condition of each task is a task of the suite, and they are numbered from 0. Let the script "
            "play every task of the suite; the same command then goes on. --tasks and --conditions choose what is there"
        )
    if script.status:
        say(f"the script ended with exit status {script.status}", aside=True)
        raise typer.Exit(script.status if script.status > 0 else 128 - script.status)
    if ending.left or nothing_ran:
        raise typer.Exit(1)


def _numbers(unplayed: Mapping[str, Sequence[int]]) -> str:
    """``tasks 0 to 6 and 8 of libero_goal``."""
    told = []
    for suite, numbers in unplayed.items():
        runs: list[list[int]] = []
        for number in numbers:
            if runs and number == runs[-1][-1] + 1:
                runs[-1].append(number)
            else:
                runs.append([number])
        each = [f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(map(str, run)) for run in runs]
        listed = " and ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)
        told.append(f"{'tasks' if len(numbers) > 1 else 'task'} {listed} of {suite or 'every suite'}")
    return "; ".join(told)


def _announce(planned: Sequence[Planned]) -> None:
    """Say what the script will find, and with how many trials it does all of it."""
    most = len(planned[0].specs)
    suites = ", ".join(dict.fromkeys(each.suite or "every suite" for each in planned))
    say(
        f"assay libero: the script finds {number_of(len(planned), 'task')} in {suites}, numbered from 0, with "
        f"{number_of(most, 'initial state')} each: let it do {number_of(most, 'trial')} of each task",
        aside=True,
    )
