"""`assay libero`: run an unmodified LIBERO script on Assay's engine, optionally on the tasks of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import Annotated

import typer

from assay.cli.options import PRIMITIVES, PolicyLabel, RunFile, run_options
from assay.errors import RunError
from assay.runs.options import RunOptions
from assay.support.console import number_of, say


@run_options(
    *("assets", "states", "tasks", "seeds", "conditions", "hold_start", "steps", "certified", "retry_errors")
)
def libero(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND ...", help="Command to run, with its options, e.g. python main.py --trials 5."
        ),
    ],
    options: RunOptions,
    experiment: Annotated[
        str | None,
        typer.Option(
            help="Run the script on this experiment's controls and perturbed tasks, and record its episodes."
        ),
    ] = None,
    out: RunFile = None,
    each_a_task: Annotated[
        bool,
        typer.Option(
            "--each-a-task", help="Present every episode as a separate task with one initial state."
        ),
    ] = False,
    label: PolicyLabel = None,
) -> None:
    """Run a LIBERO script on Assay's engine, with Assay's replacement for the package `libero`.

    With --experiment, the suite that the script requests consists of the experiment's controls and perturbed tasks,
    with its seeds as initial states, and every episode is recorded. The same command resumes an interrupted run.
    """
    from assay.extensions.dropin.executor import run_free

    assets = options.assets or PRIMITIVES
    note = "LIBERO's own" if assets == "libero" else "scores are not comparable with LIBERO's"
    say(f"assay libero: using Assay's engine in place of LIBERO; assets: {assets} ({note})", aside=True)
    if experiment is None:
        plain = RunOptions(assets=options.assets, states=options.states)
        changed = [
            field.name
            for field in fields(plain)
            if getattr(options, field.name) != getattr(plain, field.name)
        ]
        own = {"out": out, "label": label, "each_a_task": each_a_task or None}
        changed += [name for name, value in own.items() if value is not None]
        if changed:
            raise RunError(f"--{changed[0].replace('_', '-')} requires --experiment NAME")
        raise typer.Exit(run_free(command, assets, options.states))
    from assay.api.recorded import Run
    from assay.extensions.dropin.executor import Script
    from assay.extensions.dropin.recorder import ENDED_EARLY
    from assay.runs.display import CertifyingDisplay
    from assay.runs.execute import default_path, execute

    script = Script(tuple(command), assets, each_a_task)
    path = out or default_path(experiment, script.address)
    with CertifyingDisplay() as certifying:
        ending = execute(experiment, script, path, replace(options, assets=assets), certifying, label=label)
    run = Run(path, ending)
    status = run.show()
    frame = run.frame()
    if "error" in frame["outcome"] and not options.retry_errors:
        say("use --retry-errors to repeat episodes that ended in an error")
    early = [row for row in frame.iter_rows(named=True) if (row["error"] or "").startswith(ENDED_EARLY)]
    if early:
        say(
            f"{number_of(len(early), 'failed episode')} ended before the default horizon: {early[0]['error']}. "
            "Check the script's step limit."
        )
    skipped = script.unplayed and not script.status
    fixed = " once the script is fixed" if script.status else ""
    resume = "" if skipped else f": run the same command to resume{fixed}"
    rest = f", {number_of(ending.left, 'planned episode')} left{resume}" if ending.left else ""
    say(f"{number_of(ending.done, 'episode')} recorded in {path}{rest}")
    if not ending.done and not ending.left:
        say("all episodes have already been recorded, so the script was not started")
    if skipped:
        say(
            f"The script did not run {_format_numbers(script.unplayed)}. With --experiment, each condition of each "
            "task is a task of the suite, numbered from 0. Run the same command with a script that runs all of them, "
            "or select fewer with --tasks and --conditions."
        )
    if script.status:
        say(f"the script exited with status {script.status}", aside=True)
        raise typer.Exit(script.status if script.status > 0 else 128 - script.status)
    if ending.left or status.has_only_errors:
        raise typer.Exit(1)


def _format_numbers(unplayed: Mapping[str, Sequence[int]]) -> str:
    """Format task numbers by suite, for example ``tasks 0 to 6 and 8 of libero_goal``."""
    parts = []
    for suite, numbers in unplayed.items():
        ranges = []
        for _, consecutive in groupby(enumerate(numbers), key=lambda numbered: numbered[1] - numbered[0]):
            run = [number for _, number in consecutive]
            ranges.append(f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(map(str, run)))
        listed = " and ".join([", ".join(ranges[:-1]), ranges[-1]] if len(ranges) > 1 else ranges)
        parts.append(f"{'tasks' if len(numbers) > 1 else 'task'} {listed} of {suite or 'every suite'}")
    return "; ".join(parts)
