"""`assay run`: an experiment with a policy, in parallel, into one file; the same command again resumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import completing
from assay.cli.execution import (
    Assets,
    Certified,
    Conditions,
    ExperimentAddress,
    HoldStart,
    Latency,
    PolicyLabel,
    RayAddress,
    Replan,
    RetryErrors,
    Seeds,
    Selection,
    Silence,
    States,
    Steps,
    Video,
    WaitingWay,
    Workers,
    Yes,
    parse_latency,
    say_on_primitives,
)
from assay.errors import RunError
from assay.runs.seeds import parse_seeds
from assay.support.console import number_of, output, say

if TYPE_CHECKING:
    from assay.runs.execute import Observer

UNCERTIFIED = "uncertified: the oracle has not solved these scenes; no time limit comes from it"


def run(
    experiment: ExperimentAddress,
    policy: Annotated[
        str,
        typer.Option(
            help="oracle, python:pkg.module:Class, openpi://host:port, ...",
            autocompletion=completing.policies,
        ),
    ],
    selection: Selection = None,
    seeds: Seeds = None,
    conditions: Conditions = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(help="The run's file, NAME.assay.")] = None,
    assets: Assets = None,
    states: States = None,
    hold_start: HoldStart = None,
    steps: Steps = None,
    replan: Replan = None,
    latency: Latency = "0",
    while_waiting: WaitingWay = None,
    retries: Annotated[int, typer.Option(min=0, help="How often an episode that broke is tried again.")] = 1,
    until: Annotated[
        str | None,
        typer.Option(
            help="Stop a condition at half-width=0.05, when decided=0.8, or differs=0.05 from its control."
        ),
    ] = None,
    video: Video = None,
    ray: RayAddress = None,
    certified: Certified = None,
    retry_errors: RetryErrors = False,
    timeout: Silence = 1800.0,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N", help="Only part I of N of the plan; assay runs merge puts the parts together."
        ),
    ] = None,
    track: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL", help="Tell a dashboard of every episode: wandb, trackio or tensorboard."
        ),
    ] = None,
    project: Annotated[
        str, typer.Option(help="With --track: what the dashboard calls the project.")
    ] = "assay",
    label: PolicyLabel = None,
    yes: Yes = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and how long it takes; do nothing.")
    ] = False,
) -> None:
    """Run an experiment with a policy. The same command again goes on where it was interrupted.

    More than half an hour of work is asked for first; without a terminal it needs --yes.
    """
    from assay import api
    from assay.cli.asking import AskingDisplay
    from assay.runs.certificates import counted, recall
    from assay.runs.display import (
        condition_table,
        print_clipping,
        print_reasons,
        print_refused,
        print_tracebacks,
    )
    from assay.runs.execute import default_path
    from assay.runs.store import Store

    path = out or default_path(experiment, policy, shard)
    say_on_primitives(policy, assets)
    earlier = _broken(path)
    with AskingDisplay(yes=yes, dry=dry_run) as display, _tracked(display, track, project) as observer:
        ending = api.run(
            experiment,
            policy,
            tasks=selection,
            seeds=None if seeds is None else parse_seeds(seeds),
            conditions=conditions,
            out=path,
            assets=assets,
            states=states,
            hold_start=hold_start,
            steps=steps,
            replan=replan,
            latency=parse_latency(latency),
            while_waiting=None if while_waiting is None else while_waiting.value,
            retries=retries,
            until=until,
            video=None if video is None else video.value,
            workers=workers,
            ray=ray,
            certified=certified,
            retry_errors=retry_errors,
            timeout=timeout,
            shard=shard,
            label=label,
            observer=observer,
        ).ending
    assert ending is not None
    if display.declined:
        raise typer.Exit(0 if dry_run else 1)
    if display.certifying_only and ending.left:
        made = number_of(ending.done, "certificate")
        say(f"{made} made, {ending.left} left: the same command goes on")
        raise typer.Exit(130)
    with Store.reading(path) as store:
        counts, refused = store.counts(), recall(store)
        of_condition = Counter(each.condition for each in refused)
        output.print(condition_table(counts, set(store.stopped), of_condition))
        print_reasons(store.reasons())
        broken = store.broken()
        if not retry_errors and (old := broken & earlier):
            which = "these errors are" if old == broken else f"{len(old)} of these errors are"
            say(f"{which} of an earlier command, not of this one; --retry-errors tries their episodes again")
        print_tracebacks(store.tracebacks().values())
        print_clipping(store.clipping())
        print_refused(counted(refused))
        if store.meta.get("settings", {}).get("certificates", "") is None:
            say(UNCERTIFIED)
        if thinks := store.meta.get("latency"):
            say(
                f"latency: {number_of(thinks['steps'], 'control step')}, from a median of {thinks['median_ms']:g} ms "
                f"of {len(thinks['ms'])} decisions by the {thinks['by']}"
            )
        others = len(store.todo(retry="nothing")) - ending.left
    rest = f", {ending.left} left: the same command goes on" if ending.left and not ending.reason else ""
    before = counts["done"].sum() - ending.done
    known = f" ({before} were there)" if before else ""
    say(f"{number_of(ending.done, 'episode')} recorded in {path}{known}{rest}")
    if others > 0:
        say(f"{number_of(others, 'planned episode')} of other tasks, seeds or conditions left as they are")
    if ending.reason:
        raise RunError(f"stopped: {ending.reason}; the same command goes on when the policy is back")
    if ending.left:
        raise typer.Exit(130)
    if counts["done"].sum() and not (counts["success"] + counts["failure"]).sum():
        say(
            "nothing ran: every episode ended in an error; --retry-errors tries them again when that is mended",
            aside=True,
        )
        raise typer.Exit(1)


@contextmanager
def _tracked(display: Observer, track: str | None, project: str) -> Iterator[Observer]:
    """An observer that also tells a dashboard, if one is wanted, and in the end how the run stands."""
    if track is None:
        yield display
        return
    from assay.api.tracking import Tracked, load_tracker

    observer = Tracked(display, load_tracker(track), project)
    try:
        yield observer
    finally:
        observer.close()


def _broken(path: Path) -> set[int]:
    """The episodes of a file that ended in an error before; none where there is no such run yet."""
    from assay.runs.display import print_damage
    from assay.runs.store import Store

    if not path.is_file():
        return set()
    try:
        with Store.reading(path) as store:
            print_damage(store)
            return store.broken()
    except RunError:  # whoever opens it to write tells
        return set()
