"""`assay run`: an experiment with a policy, in parallel, into one file; the same command resumes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import (
    ExperimentAddress,
    PolicyAddress,
    PolicyLabel,
    RunFile,
    Yes,
    note_primitives,
    run_options,
)
from assay.errors import RunError
from assay.runs.options import RunOptions
from assay.support.console import number_of, say

if TYPE_CHECKING:
    from assay.runs.execute import Observer


@run_options(*(option.name for option in fields(RunOptions)))
def run(
    experiment: ExperimentAddress,
    policy: PolicyAddress,
    options: RunOptions,
    out: RunFile = None,
    track: Annotated[
        str | None,
        typer.Option(metavar="TOOL", help="Report episodes to a tracker: wandb, trackio or tensorboard."),
    ] = None,
    project: Annotated[str, typer.Option(help="With --track: the tracker's project.")] = "assay",
    label: PolicyLabel = None,
    yes: Yes = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and its estimated duration, and stop.")
    ] = False,
) -> None:
    """Run an experiment with a policy. The same command resumes an interrupted run.

    Runs estimated above 30 minutes ask for confirmation; pass --yes when non-interactive.
    """
    from assay import api
    from assay.cli.confirm import ConfirmingDisplay
    from assay.runs.execute import default_path
    from assay.runs.store import Store

    path = out or default_path(experiment, policy, options.shard)
    note_primitives(policy, options.assets)
    if dry_run:
        from assay.cli.plan import print_forecast
        from assay.measures.forecast import forecast
        from assay.runs.plan import RunPlan

        plan = RunPlan.make(experiment, options).for_policy(policy, path, label)
        folders = {path.parent, path.parent.parent / "runs"}
        return print_forecast(plan, forecast(plan, policy, path=path, folders=folders, sample=1), policy)
    with ConfirmingDisplay(yes=yes) as display, _tracked(display, track, project) as observer:
        recorded = api.run(experiment, policy, out=path, label=label, observer=observer, options=options)
    ending = recorded.ending
    assert ending is not None
    if display.certifying_only and ending.left:
        say(
            f"{number_of(ending.done, 'certificate')} made, {ending.left} left: run the same command to resume"
        )
        raise typer.Exit(130)
    recorded.show()
    with Store.reading(path) as store:
        before, others = store.done - ending.done, len(store.todo(retry="nothing")) - ending.left
        errors = sum(store.reasons().values())
    if errors > ending.errors and not options.retry_errors:
        which = f"{errors - ending.errors} of these errors are" if ending.errors else "these errors are"
        say(f"{which} of an earlier command; --retry-errors repeats the episodes")
    resume = f", {ending.left} left: run the same command to resume"
    rest = resume if ending.left and not ending.reason else ""
    known = f" ({before} recorded before)" if before else ""
    say(f"{number_of(ending.done, 'episode')} recorded in {path}{known}{rest}")
    if others > 0:
        say(f"{number_of(others, 'planned episode')} of other tasks, seeds or conditions not executed")
    if ending.reason:
        raise RunError(
            f"stopped: {ending.reason}; run the same command to resume once the policy server is reachable"
        )
    if ending.left:
        raise typer.Exit(130)
    if recorded.has_only_errors:
        say("every episode ended in an error: fix the cause, then resume with --retry-errors", aside=True)
        raise typer.Exit(1)


@contextmanager
def _tracked(display: Observer, track: str | None, project: str) -> Iterator[Observer]:
    """The display, or an observer that also reports to a tracker."""
    if track is None:
        yield display
        return
    from assay.api.tracking import Tracked, load_tracker

    observer = Tracked(display, load_tracker(track), project)
    try:
        yield observer
    finally:
        observer.close()
