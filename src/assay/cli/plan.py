"""`assay plan`: what a run costs and what it can find, before it is begun."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column

from assay.cli import completing
from assay.cli.execution import (
    Assets,
    Certified,
    Conditions,
    ExperimentAddress,
    JsonFile,
    Seeds,
    Selection,
    States,
    Steps,
    Workers,
    write_json,
)
from assay.errors import RunError
from assay.runs.seeds import parse_seeds
from assay.support.console import number_of, output, say, table_of, working

if TYPE_CHECKING:
    from assay.measures.forecast import Forecast, PlannedTest
    from assay.runs.work import Work

LADDER = (5, 10, 20, 50)
"""Numbers of seeds that are shown beside the plan's own."""


def plan(
    experiment: ExperimentAddress,
    policy: Annotated[
        str | None,
        typer.Option(
            help="Whose run it will be: for the time, and the success of its controls.",
            autocompletion=completing.policies,
        ),
    ] = None,
    selection: Selection = None,
    seeds: Seeds = None,
    conditions: Conditions = None,
    workers: Workers = None,
    assets: Assets = None,
    states: States = None,
    steps: Steps = None,
    certified: Certified = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="How many seeds fit: 2h, 90min, 1h30m.")
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option(min=1, max=100, metavar="POINTS", help="How many seeds find a loss of so many points."),
    ] = None,
    success: Annotated[
        float | None,
        typer.Option(
            min=1, max=100, metavar="PERCENT", help="Success of the controls; measured, or 90, by default."
        ),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(min=0, help="Episodes to time where no earlier run of the policy tells; 0 for none."),
    ] = 3,
    runs: Annotated[Path, typer.Option(help="The folder of earlier runs.")] = Path("runs"),
    target: JsonFile = None,
) -> None:
    """Say what a run costs (episodes, certificates, time), and which losses it can find with a power of 80 %.

    Nothing is recorded. --budget and --detect say how many seeds to choose, with the command to copy.
    """
    from assay.measures.forecast import changes_alone, forecast
    from assay.policies.registry import check_address
    from assay.runs.planning import duration, parse_duration
    from assay.runs.work import Options, prepare

    limit = None if budget is None else parse_duration(budget)
    options = Options(
        tasks=selection,
        seeds=None if seeds is None else parse_seeds(seeds),
        conditions=conditions,
        workers=workers,
        assets=assets,
        states=states,
        steps=steps,
        certified=certified,
    )
    work = prepare(experiment, options)
    if policy is not None:
        check_address(policy, work.design.world)
    elif budget is not None:
        raise RunError("--budget needs --policy: how long an episode takes hangs on who acts")
    share = None if success is None else success / 100
    with working("looking, and timing a few episodes"):
        found = forecast(work, policy, folders=[runs], success=share, sample=sample if policy else 0)
    if target is not None and write_json(
        {"experiment": experiment, "policy": policy, **found.as_json()}, target
    ):
        return
    if found.broke:
        raise RunError(f"all episodes that were tried broke: {found.broke}")
    print_forecast(work, found, policy)
    if not found.tested or found.hopeless:
        return
    _ladder(found)

    parts = [("all conditions", found, options.conditions)]
    if (limit is not None or detect is not None) and (part := changes_alone(work)) is not None:
        fewer, names = part
        only = replace(
            forecast(fewer, None, success=found.success),
            pace=found.pace,
            certificate_pace=found.certificate_pace,
        )
        parts.append(
            ("one change at a time", only, ",".join(name.partition("/")[2] or name for name in names))
        )
    for which, chosen, selected in parts:
        goals: list[tuple[str, int | None]] = []
        if limit is not None:
            goals.append((f"in {duration(limit)}", chosen.seeds_within(limit)))
        if detect is not None:
            goals.append((f"for a loss of {detect:g} points", chosen.seeds_for(detect / 100)))
        for goal, number in goals:
            say(f"{goal}, {which}: {_told(chosen, number)}")
            if number:
                say(f"  {_command(experiment, policy, work, number, selected)}")


def _told(found: Forecast, seeds: int | None) -> str:
    """What comes of so many seeds."""
    from assay.runs.planning import duration

    if not seeds:
        return "no number of seeds does" if seeds is None else "not even one seed"
    then = found.with_seeds(seeds)
    time = "" if then.seconds is None else f", about {duration(then.seconds)}"
    worst = then.worst
    finds = (
        "too few starts to find a loss under every change"
        if worst is None
        else f"a loss of {100 * worst:.0f} points or more is found under every change"
    )
    return f"{number_of(seeds, 'seed')}, {number_of(then.episodes, 'episode')}{time}; {finds}"


def print_forecast(work: Work, found: Forecast, policy: str | None) -> None:
    """What is to be done, how long it takes, and which losses each change can show."""
    from assay.runs.planning import duration

    tasks = len({spec.task for spec in work.specs})
    conditions = len({spec.condition for spec in work.specs})
    say(
        f"{work.design.name}: {number_of(conditions, 'condition')}, {number_of(tasks, 'task')}, "
        f"{number_of(found.seeds, 'seed')}: {found.episodes:,} episodes"
        + (f", {found.done:,} of them recorded" if found.done else "")
    )
    need = found.certificates
    if need.known or need.missing:
        say(
            f"certificates: {need.missing:,} to make, {need.known:,} are cached; scenes that the oracle cannot "
            "solve are left out"
        )
    if found.hopeless:
        assert found.certificate_pace is not None
        within = "" if work.options.steps is None else f" within --steps {work.options.steps}"
        say(
            f"the oracle solved none of {number_of(found.certificate_pace.timed, 'episode')} with nothing changed"
            f"{within}: most scenes, or all, would be left out, so what the run can find is not known"
        )
        return
    if found.seconds is None:
        why = "name --policy" if policy is None else "nothing tells how long an episode takes"
        say(f"time: not known: {why}")
    else:
        assert found.pace is not None
        how = f"{found.pace.seconds:.1f} s an episode ({found.pace.source})"
        if need.missing and found.certificate_pace is not None:
            made = found.certificate_pace
            how += f", {made.seconds:.1f} s a certificate ({made.source})"
        say(
            f"time: {found.pace.word} {duration(found.seconds)} with {number_of(found.workers, 'worker')}: {how}"
        )
        if found.pace.succeeded is not None and not found.pace.at_least:
            say(
                f"{found.pace.succeeded} of the {found.pace.timed} that were timed succeeded, with nothing changed"
            )
    if not found.tested:
        say("nothing is changed: there is no loss to find")
        return
    numbers = [Column(name, justify="right") for name in ("conditions", "starts", "least loss found, points")]
    table = table_of(Column("change", no_wrap=True), *numbers)
    groups: list[tuple[str, tuple[PlannedTest, ...]]] = [
        (each.change, (each,)) for each in found.tested if each.named
    ]
    if together := tuple(each for each in found.tested if not each.named):
        groups.append((f"made together ({len(together)} sets)", together))
    for name, each in groups:
        losses = [one.detectable(found.success) for one in each]
        known = [f"{100 * loss:.0f}" for loss in losses if loss is not None]
        lacking = "too few starts" if found.success else "no control succeeds"
        told = max(known, key=float) if len(known) == len(losses) else f"none: {lacking}"
        starts = str(min(one.starts for one in each))
        table.add_row(name, str(sum(len(one.conditions) for one in each)), starts, told)
    output.print(table)
    if found.unexpected:
        names = [name.partition("/")[2] or name for name in found.unexpected]
        say(
            f"Besides, {number_of(len(names), 'condition')} in which success is not expected, which tell whether the "
            f"policy repeats what it has learnt: {', '.join(names)}."
        )
    say(
        "With a power of 80 %, after Holm over all that a report tests; success of the controls "
        f"{100 * found.success:.0f} % ({found.success_source})."
    )


def _ladder(found: Forecast) -> None:
    """The same for other numbers of seeds."""
    from assay.runs.planning import duration

    names = ("seeds", "episodes", "time", "least loss found under each change, points")
    table = table_of(*(Column(name, justify="right") for name in names))
    for seeds in sorted({*LADDER, found.seeds}):
        then = found.with_seeds(seeds)
        losses = [each.detectable(found.success) for each in then.tested]
        known = [100 * loss for loss in losses if loss is not None]
        told = f"{min(known):.0f} to {max(known):.0f}" if known else "-"
        few = f"; {losses.count(None)} of {len(losses)} changes: none" if known and None in losses else ""
        time = "-" if then.seconds is None else duration(then.seconds)
        table.add_row(str(seeds), f"{then.episodes:,}", time, told + few)
    output.print(table)


def _command(experiment: str, policy: str | None, work: Work, seeds: int, conditions: str | None) -> str:
    from assay.runs.commands import run_command

    options = work.options
    return run_command(
        experiment,
        policy or "POLICY",
        work.settings,
        tasks=options.tasks,
        seeds=seeds,
        conditions=conditions,
        assets=options.assets,
        states=options.states,
        workers=options.workers,
    )
