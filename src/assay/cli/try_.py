"""`assay try`: let a policy try tasks, and count."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Column

from assay.cli.console import output, progress_bar, table_of

if TYPE_CHECKING:
    from assay.policies.trials import Trial


def try_(
    policy: Annotated[
        str, typer.Argument(help="oracle, replay, ...; python:pkg.module:Class; openpi://host:port.")
    ],
    selection: Annotated[
        str, typer.Option("--tasks", help="all, or suites, ids, task files and folders with commas.")
    ] = "all",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 5,
    first_seed: Annotated[int, typer.Option(help="The first of them.")] = 0,
    assets: Annotated[str, typer.Option(help="Asset pack: primitives or libero.")] = "primitives",
    states: Annotated[
        Path | None, typer.Option(help="LIBERO's folder of stored initial states, instead of sampled ones.")
    ] = None,
    replan: Annotated[int | None, typer.Option(min=1, help="Actions executed of each chunk.")] = None,
    video: Annotated[Path | None, typer.Option(help="A folder for a video of each episode.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Let a policy try tasks from several initial states, and count its successes."""
    from assay import tasks
    from assay.experiments import EpisodeSpec, horizon
    from assay.policies.registry import check_address
    from assay.policies.trials import Attempt, Watch, attempts, by_task
    from assay.runs.film import Film
    from assay.sim.packs.locate import STATES_VARIABLE, locate_states
    from assay.tasks import Task

    chosen = tasks.resolve(selection)
    check_address(policy)
    if states is not None:
        os.environ[STATES_VARIABLE] = str(states)
        locate_states()
    tried: list[Attempt] = []
    films: list[Film] = []

    def film(task: Task, spec: EpisodeSpec) -> Watch:
        films[:] = [Film(task, spec)] if video is not None else []
        return films[0] if films else lambda observation: None

    with progress_bar() as bar, redirect_stdout(sys.stderr):  # what a policy prints is not our result
        progress = bar.add_task("episodes", total=len(chosen) * seeds)
        for attempt in attempts(
            policy,
            chosen,
            range(first_seed, first_seed + seeds),
            pack=assets,
            initial="sampled" if states is None else "stored",
            replan=replan,
            watch=film,
        ):
            tried.append(attempt)
            if video is not None:
                films.pop().develop(video, attempt.rollout)
            bar.update(progress, advance=1, description=attempt.spec.task)
    done = by_task(tried)
    if as_json:
        typer.echo(json.dumps({"tasks": [trial.as_json() for trial in done]}, indent=2))
        _end(done)
        return
    widest = min(max(len(trial.task) for trial in done), 30)  # a file's path may fold, an id not
    table = table_of(Column("task", min_width=widest), "success", "errors", "steps", "why not")
    for trial in done:
        mean = f"{sum(trial.steps) / len(trial.steps):.0f}" if trial.steps else "-"
        late = "" if not trial.failed else f"goal not reached in {horizon(trial.task)} steps"
        reason = next(iter((*trial.reasons, *trial.notes)), late)
        table.add_row(
            trial.task, f"{trial.successes}/{trial.episodes}", str(trial.errors), mean, escape(reason)
        )
    successes, episodes = sum(trial.successes for trial in done), sum(trial.episodes for trial in done)
    table.add_section()
    table.add_row("all", f"{successes}/{episodes}", str(sum(trial.errors for trial in done)), "", "")
    output.print(table)
    _end(done)


def _end(done: list[Trial]) -> None:
    """Exit status 1 where nothing but errors came of it."""
    if all(trial.errors == trial.episodes for trial in done):
        raise typer.Exit(1)
