"""`assay try`: let a policy try tasks, and count."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column

from assay.cli import completing
from assay.cli.execution import (
    Assets,
    JsonFile,
    Latency,
    Replan,
    States,
    Steps,
    Tasks,
    Video,
    Videos,
    WaitingWay,
    latency_in_steps,
    say_on_primitives,
    write_json,
)
from assay.errors import RunError, TaskError
from assay.runs.seeds import parse_seeds
from assay.support.console import output, progress_bar, say, table_of

if TYPE_CHECKING:
    from assay.episodes import World
    from assay.runs.trials import Trial


def try_(
    policy: Annotated[
        str,
        typer.Argument(
            help="oracle, replay, ...; python:pkg.module:Class; openpi://host:port.",
            autocompletion=completing.policies,
        ),
    ],
    selection: Tasks = "all",
    seeds: Annotated[str, typer.Option(help="How many (4 means 0 to 3), or which: 7,8,9 or 7-11.")] = "5",
    assets: Assets = None,
    states: States = None,
    steps: Steps = None,
    replan: Replan = None,
    latency: Latency = "0",
    while_waiting: WaitingWay = None,
    video: Video = None,
    out: Annotated[Path, typer.Option(help="The folder for videos.")] = Path("out/videos"),
    json_file: JsonFile = None,
) -> None:
    """Let a policy try tasks from several initial states, and count its successes."""
    from assay.episodes import EpisodeSpec, Outcome, horizon, world_name, world_of
    from assay.episodes.latency import WAYS, check_latency
    from assay.policies.registry import check_address
    from assay.runs.clipping import Clipping
    from assay.runs.display import print_clipping, print_reasons, print_tracebacks
    from assay.runs.trials import Attempt, attempts, by_task
    from assay.support.files import check_writable

    first = selection.partition(",")[0].strip()
    world = world_of(first)
    chosen, numbers = _chosen(world, selection), parse_seeds(seeds)
    check_address(policy, world_name(first))
    say_on_primitives(policy, assets)
    pack = assets or world.packs[0]
    world.pack_source(pack)
    world.digest(pack)  # assets that are not there are missed now
    if states is not None and not states.is_dir():
        raise RunError(f"--states {states}: there is no such folder")
    thinks = latency_in_steps(latency)
    check_latency(world, thinks)
    if while_waiting is not None and not thinks:
        raise RunError("--while-waiting: nothing is waited for; valid: with --latency above 0")
    if video is not None:
        check_writable(out, folder=True)
    tried: list[Attempt] = []
    interrupted = False
    with (
        progress_bar() as bar,
        redirect_stdout(sys.stderr),  # what a policy prints is not our result
        suppress(KeyboardInterrupt),  # what was done counts all the same
    ):
        interrupted = True
        progress = bar.add_task("episodes played", total=len(chosen) * len(numbers))
        for attempt in attempts(
            policy,
            chosen,
            numbers,
            world=world_name(first),
            pack=pack,
            initial="sampled" if states is None else "stored",
            states=states,
            steps=steps,
            replan=replan,
            latency=thinks,
            while_waiting=WAYS[0] if while_waiting is None else while_waiting.value,
            videos=None if video is None else out,
            video_successes=video is Videos.ALL,
        ):
            tried.append(attempt)
            hits = sum(each.episode.outcome is Outcome.SUCCESS for each in tried)
            bar.update(progress, advance=1, description=f"{hits} succeeded; episodes played")
        interrupted = False
    if interrupted:
        say(f"interrupted after {len(tried)} of {len(chosen) * len(numbers)} episodes", aside=True)
    if not tried:
        raise typer.Exit(130)
    done = by_task(tried)
    if json_file is not None and write_json({"tasks": [trial.as_json() for trial in done]}, json_file):
        _end(done, interrupted)
        return
    widest = min(max(len(trial.task) for trial in done), 30)  # a file's path may fold, an id not
    table = table_of(Column("task", min_width=widest), "success", "errors", "steps", "why not")
    for trial in done:
        mean = f"{sum(trial.steps) / len(trial.steps):.0f}" if trial.steps else "-"
        late = (
            ""
            if not trial.failed
            else f"goal not reached in {steps or horizon(EpisodeSpec(trial.task, 0))} steps"
        )
        reason = next(iter((*trial.reasons, *trial.notes)), late)
        table.add_row(trial.task, f"{trial.successes}/{trial.counted}", str(trial.errors), mean, reason)
    successes, counted = sum(trial.successes for trial in done), sum(trial.counted for trial in done)
    table.add_section()
    table.add_row("all", f"{successes}/{counted}", str(sum(trial.errors for trial in done)), "", "")
    output.print(table)
    print_reasons(Counter(reason for trial in done for reason in trial.reasons))
    episodes = [each.episode for each in tried]
    print_tracebacks(episode.traceback for episode in episodes)
    print_clipping(Clipping.of(episodes))
    _end(done, interrupted)


def _chosen(world: World, selection: str) -> tuple[str, ...]:
    """The ids of the tasks that a selection names, and the files of a folder that are no tasks: they cannot begin.

    Raises TaskError for anything else that is no task.
    """
    from assay.tasks.files import task_files

    def ids(part: str) -> tuple[str, ...]:
        return tuple(task.id for task in world.select(part))

    chosen: dict[str, None] = {}
    for part in filter(None, (part.strip() for part in selection.split(","))):
        try:
            chosen |= dict.fromkeys(ids(part))
        except TaskError:
            if not Path(part).is_dir():
                raise
            for file in task_files(part):
                with suppress(TaskError):  # its episode says why
                    file, *_ = ids(file)
                chosen[file] = None
    return tuple(chosen) or ids(selection)


def _end(done: list[Trial], interrupted: bool) -> None:
    """Exit status 130 after Ctrl-C, and 1 where nothing but errors came of it."""
    if interrupted:
        raise typer.Exit(130)
    if all(trial.errors == trial.episodes for trial in done):
        raise typer.Exit(1)
