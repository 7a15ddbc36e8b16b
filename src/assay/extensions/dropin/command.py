"""`assay libero`: run an unmodified LIBERO script on Assay's engine, optionally on the tasks of an experiment."""

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
    from assay.extensions.dropin.planned import SuiteTask

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
            help="Give the script this experiment's controls and perturbed tasks, and record its episodes."
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
        bool, typer.Option("--each-a-task", help="Make every episode a task with one initial state.")
    ] = False,
    retry_errors: RetryErrors = False,
    label: PolicyLabel = None,
) -> None:
    """Run a LIBERO script on Assay's engine: its `import libero` imports Assay's stand-in.

    With --experiment, the suite that the script asks for consists of the experiment's controls and perturbed tasks,
    with its seeds as initial states, and every episode is recorded. Run the same command to resume.
    """
    from assay.extensions.dropin.executor import run_free

    made_with = ON_LIBERO if assets == "libero" else ON_PRIMITIVES
    say(f"assay libero: Assay's engine in place of LIBERO; assets: {assets} ({made_with})", aside=True)
    if experiment is None:
        for name, value in {
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
            if value is not None:
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
        of_condition = Counter(refusal.condition for refusal in refused)
        output.print(condition_table(store.counts(), set(store.stopped), of_condition))
        print_reasons(store.reasons())
        print_tracebacks(store.tracebacks().values())
        if store.broken() and not retry_errors:
            say("--retry-errors plays episodes that ended in an error again")
        print_clipping(store.clipping())
        print_refused(counted(refused))
        counts = store.counts()
        early = [
            row for row in store.frame().iter_rows(named=True) if (row["error"] or "").startswith(ENDED_EARLY)
        ]
    if early:
        say(
            f"{number_of(len(early), 'failure')} had less time than usual: {early[0]['error']}. "
            "Check the step limit of the script."
        )
    nothing_ran = counts["done"].sum() and not (counts["success"] + counts["failure"]).sum()
    skipped = script.unplayed and not script.status
    fixed = " once the script is fixed" if script.status else ""
    advice = "" if skipped else f": run the same command to resume{fixed}"
    rest = f", {number_of(ending.left, 'planned episode')} left{advice}" if ending.left else ""
    say(f"{number_of(ending.done, 'episode')} recorded in {path}{rest}")
    if not ending.done and not ending.left:
        say("all episodes were recorded before, so the script was not started")
    if skipped:
        say(
            f"The script ended without playing {_format_numbers(script.unplayed)}. With --experiment these are not "
            "LIBERO's numbers: each condition of each task is a task of the suite, numbered from 0. Let the script "
            "play every task of the suite, and run the same command to resume. --tasks and --conditions choose tasks"
        )
    if script.status:
        say(f"the script ended with exit status {script.status}", aside=True)
        raise typer.Exit(script.status if script.status > 0 else 128 - script.status)
    if ending.left or nothing_ran:
        raise typer.Exit(1)


def _format_numbers(unplayed: Mapping[str, Sequence[int]]) -> str:
    """``tasks 0 to 6 and 8 of libero_goal``."""
    parts = []
    for suite, numbers in unplayed.items():
        runs: list[list[int]] = []
        for number in numbers:
            if runs and number == runs[-1][-1] + 1:
                runs[-1].append(number)
            else:
                runs.append([number])
        ranges = [f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(map(str, run)) for run in runs]
        listed = " and ".join([", ".join(ranges[:-1]), ranges[-1]] if len(ranges) > 1 else ranges)
        parts.append(f"{'tasks' if len(numbers) > 1 else 'task'} {listed} of {suite or 'every suite'}")
    return "; ".join(parts)


def _announce(suite_tasks: Sequence[SuiteTask]) -> None:
    """Print the tasks that the script will see, and the number of trials that covers them."""
    most = len(suite_tasks[0].specs)
    suites = ", ".join(dict.fromkeys(task.suite or "every suite" for task in suite_tasks))
    say(
        f"assay libero: the script finds {number_of(len(suite_tasks), 'task')} in {suites}, numbered from 0, with "
        f"{number_of(most, 'initial state')} each: let it do {number_of(most, 'trial')} of each task",
        aside=True,
    )
