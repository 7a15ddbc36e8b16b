"""`assay try`: let a policy try tasks, and count."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column

from assay.cli.options import JsonFile, PolicyAddress, note_primitives, run_options, write_json
from assay.errors import RunError, TaskError
from assay.runs.options import RunOptions
from assay.support.console import output, progress_bar, say, table_of

if TYPE_CHECKING:
    from assay.episodes import World

SEEDS = tuple(range(5))


@run_options(
    *(
        "tasks",
        "seeds",
        "workers",
        "assets",
        "states",
        "steps",
        "replan",
        "latency",
        "while_waiting",
        "video",
    ),
    tasks="Tasks: all (default), suites, ids, task files and folders, separated by commas.",
    seeds="Number of seeds (default: 5), or seeds: 7,8,9 or 7-11.",
    workers="Worker processes (default: 0, this process).",
)
def try_policy(
    policy: PolicyAddress,
    options: RunOptions,
    out: Annotated[Path, typer.Option(help="The folder for videos.")] = Path("out/videos"),
    json_file: JsonFile = None,
) -> None:
    """Let a policy try tasks from several initial states, and count its successes."""
    from assay.episodes import Outcome, horizon, world_name, world_of
    from assay.episodes.latency import check_latency
    from assay.policies.registry import check_address
    from assay.runs.display import print_clipping, print_reasons, print_tracebacks
    from assay.runs.options import MEASURED
    from assay.runs.rows import Clipping
    from assay.runs.trials import Attempt, by_task, try_tasks
    from assay.support.files import check_writable

    selection = "all" if options.tasks is None else options.tasks
    first = selection.partition(",")[0].strip()
    world = world_of(first)
    tasks, seeds = _choose(world, selection), options.seeds or SEEDS
    check_address(policy, world_name(first))
    note_primitives(policy, options.assets)
    pack = options.assets or world.packs[0]
    world.pack_source(pack)
    world.digest(pack)  # raises if assets are missing
    if options.states is not None and not options.states.is_dir():
        raise RunError(f"--states {options.states}: there is no such folder")
    if options.latency == MEASURED:
        raise RunError(
            "--latency measured: only assay run measures it; valid here: a number of control steps"
        )
    check_latency(world, options.latency)
    if options.while_waiting is not None and not options.latency:
        raise RunError("--while-waiting needs --latency above 0")
    if options.video is not None:
        check_writable(out, folder=True)
    attempts: list[Attempt] = []
    interrupted = False
    with (
        progress_bar() as bar,
        redirect_stdout(sys.stderr),  # what a policy prints is not a result
        suppress(KeyboardInterrupt),  # executed episodes count nevertheless
    ):
        interrupted = True
        progress = bar.add_task("episodes played", total=len(tasks) * len(seeds))
        for attempt in try_tasks(policy, world_name(first), tasks, seeds, pack, options, out):
            attempts.append(attempt)
            hits = sum(attempt.episode.outcome is Outcome.SUCCESS for attempt in attempts)
            bar.update(progress, advance=1, description=f"{hits} succeeded; episodes played")
        interrupted = False
    if interrupted:
        say(f"interrupted after {len(attempts)} of {len(tasks) * len(seeds)} episodes", aside=True)
    if not attempts:
        raise typer.Exit(130)
    trials = by_task(attempts)
    status = 130 if interrupted else int(all(trial.errors == trial.episodes for trial in trials))
    if json_file is not None and write_json({"tasks": [trial.as_json() for trial in trials]}, json_file):
        raise typer.Exit(status)
    widest = min(max(len(trial.task) for trial in trials), 30)  # the path of a file may fold, an id not
    table = table_of(Column("task", min_width=widest), "success", "errors", "steps", "why not")
    for trial in trials:
        mean = f"{sum(trial.steps) / len(trial.steps):.0f}" if trial.steps else "-"
        late = f"goal not reached in {horizon(trial.attempts[0].spec)} steps" if trial.failed_seeds else ""
        reason = next(iter((*trial.reasons, *trial.notes)), late)
        table.add_row(trial.task, f"{trial.successes}/{trial.count}", str(trial.errors), mean, reason)
    successes, counted = sum(trial.successes for trial in trials), sum(trial.count for trial in trials)
    table.add_section()
    table.add_row("all", f"{successes}/{counted}", str(sum(trial.errors for trial in trials)), "", "")
    output.print(table)
    print_reasons(Counter(reason for trial in trials for reason in trial.reasons))
    episodes = [attempt.episode for attempt in attempts]
    print_tracebacks(episode.traceback for episode in episodes)
    print_clipping(Clipping.of(episodes))
    raise typer.Exit(status)


def _choose(world: World, selection: str) -> tuple[str, ...]:
    """The ids of the selected tasks, and files of a folder that are not tasks: their episodes report why.

    Raises TaskError for anything else that is not a task.
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
                with suppress(TaskError):
                    file, *_ = ids(file)
                chosen[file] = None
    return tuple(chosen) or ids(selection)
