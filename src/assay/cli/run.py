"""`assay run` and `assay plan`: run an experiment with a policy, or estimate a run's cost and statistical power."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column

from assay.cli import options as cli
from assay.errors import RunError
from assay.runs.options import RunOptions, run_command
from assay.support.console import number_of, print_rows, right, say, working

if TYPE_CHECKING:
    from assay.measures.forecast import Forecast, PlannedTest
    from assay.runs.execute import Observer
    from assay.runs.plan import RunPlan


@cli.run_options(*(option.name for option in fields(RunOptions)))
def run(
    experiment: cli.ExperimentAddress,
    policy: cli.PolicyAddress,
    options: RunOptions,
    out: cli.RunFile = None,
    track: Annotated[
        str | None,
        typer.Option(metavar="TOOL", help="Log episodes to a tracker: wandb or trackio."),
    ] = None,
    project: Annotated[
        str, typer.Option(help="Name of the project in the tracker (with --track).")
    ] = "assay",
    label: cli.PolicyLabel = None,
    yes: cli.Yes = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and its estimated duration, then exit.")
    ] = False,
) -> None:
    """Run an experiment with a policy, and record every episode. The same command resumes an interrupted run.

    Runs that will probably take more than 30 minutes ask for confirmation; without a terminal, pass --yes. Exit
    status: 0 if all episodes were recorded, 1 if some ended in an error, 130 if interrupted.
    """
    from assay.api import running
    from assay.cli.confirm import ConfirmingDisplay
    from assay.runs.execute import default_path

    path = out or default_path(experiment, policy, options.shard)
    cli.note_primitives(policy, options.assets)
    if dry_run:
        from assay.measures.forecast import forecast
        from assay.runs.plan import RunPlan

        plan = RunPlan.make(experiment, options).for_policy(policy, path, label)
        folders = {path.parent, path.parent.parent / "runs"}
        return print_forecast(plan, forecast(plan, policy, path=path, folders=folders, sample=1), policy)
    with ExitStack() as stack:
        observer: Observer
        observer = display = stack.enter_context(ConfirmingDisplay(yes=yes))
        if track is not None:
            from assay.api.tracking import Tracked, load_tracker

            observer = stack.enter_context(closing(Tracked(display, load_tracker(track), project)))
        recorded = running.run(experiment, policy, out=path, label=label, observer=observer, options=options)
    ending = recorded.ending
    assert ending is not None
    if display.certifying_only and ending.left:
        say(
            f"{number_of(ending.done, 'certificate')} made, {ending.left} left: run the same command to resume"
        )
        raise typer.Exit(130)
    status = recorded.show()
    before, others = status.done - ending.done, status.waiting - ending.left
    resume = f", {ending.left} left: run the same command to resume"
    rest = resume if ending.left and not ending.reason else ""
    earlier = f" ({before} recorded before)" if before else ""
    say(f"{number_of(ending.done, 'episode')} recorded in {path}{earlier}{rest}")
    if others > 0:
        why = "left out by the allocation" if options.allocate else "with other tasks, seeds or conditions"
        say(f"not executed: {number_of(others, 'planned episode')} {why}")
    if ending.reason:
        raise RunError(cli.STOPPED.format(ending.reason))
    if ending.left:
        raise typer.Exit(130)
    if status.errors:
        old = status.errors - ending.errors
        count = "every episode" if status.has_only_errors else f"{status.errors} of {status.done} episodes"
        earlier = f" ({old} of them in an earlier command)" if old else ""
        say(
            f"{count} ended in an error{earlier}: fix the cause, then run the same command with --retry-errors",
            aside=True,
        )
        raise typer.Exit(1)


REPEATS = 3
"""Default number of episodes from each start of `assay spread`."""


@cli.run_options(
    *(
        "tasks",
        "seeds",
        "repeats",
        "workers",
        "assets",
        "states",
        "steps",
        "replan",
        "retry_errors",
        "timeout",
    ),
    repeats=f"Number of episodes from each start, at least 2 (default: {REPEATS}).",
)
def spread(
    policy: cli.PolicyAddress,
    options: RunOptions,
    out: cli.RunFile = None,
    target: cli.JsonFile = None,
    yes: cli.Yes = False,
) -> None:
    """Measure how much a policy's success varies without any change: by task, by start, and by chance.

    Each unperturbed start is run several times with different randomness of the policy. The result shows which
    differences between two runs are chance, and which losses a number of starts can detect. The same command resumes an
    interrupted run.
    """
    from assay.api import running
    from assay.cli.confirm import ConfirmingDisplay
    from assay.measures.success.spread import spread as measure_spread
    from assay.measures.success.spread import spread_tables
    from assay.runs.display import print_errors
    from assay.runs.execute import default_path
    from assay.runs.store import Store

    if options.repeats == 1:
        raise RunError("--repeats 1: expected at least 2 episodes from each start")
    options, path = (
        replace(options, repeats=options.repeats or REPEATS),
        out or default_path("spread", policy),
    )
    cli.note_primitives(policy, options.assets)
    with ConfirmingDisplay(yes=yes) as display:
        recorded = running.run("libero", policy, out=path, observer=display, options=options)
    with Store.reading(path) as store:
        if print_errors(store):
            raise RunError("every episode ended in an error: fix the cause, then resume with --retry-errors")
    ending = recorded.ending
    assert ending is not None
    if ending.reason:
        raise RunError(cli.STOPPED.format(ending.reason))
    if ending.left:
        say(f"{ending.left} episodes left: run the same command to resume")
        raise typer.Exit(130)
    result = measure_spread(recorded.frame())
    if target is None or not cli.write_json(result.as_json(), target):
        for table in spread_tables(result):
            say(table.title, "bold")
            cli.print_table(table)


SEED_COUNTS = (5, 10, 20, 50)
"""Numbers of seeds for which cost and power are shown in addition to the planned number."""


@cli.run_options(
    "tasks", "seeds", "conditions", "repeats", "workers", "assets", "states", "steps", "certified"
)
def plan(
    experiment: cli.ExperimentAddress,
    options: RunOptions,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of the policy whose episode duration and control success rate are estimated.",
            autocompletion=cli.complete_policy,
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Suggest how many seeds fit into this time: 2h, 90min.")
    ] = None,
    detect: cli.Detect = cli.DETECT_POINTS,
    success: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=100,
            metavar="PERCENT",
            help="Assumed success rate of the controls (default: that of earlier runs, or 90).",
        ),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(min=0, help="Number of episodes to time if the policy has no earlier runs; 0 for none."),
    ] = 3,
    runs: Annotated[Path, typer.Option(help="Folder of earlier runs.")] = Path("runs"),
    target: cli.JsonFile = None,
) -> None:
    """Estimate the cost of a run (episodes, certificates, time) and the losses that it can detect.

    Nothing is recorded. A loss counts as detectable if it is found with a probability of 80 % (the statistical power).
    --budget and --detect suggest a number of seeds and print the command.
    """
    from assay.measures.forecast import forecast
    from assay.policies.registry import check_address
    from assay.runs.estimates import duration, parse_duration
    from assay.runs.plan import RunPlan

    limit = None if budget is None else parse_duration(budget)
    planned = RunPlan.make(experiment, options)
    if policy is not None:
        check_address(policy, planned.experiment.world)
    elif budget is not None:
        raise RunError("--budget needs --policy: the duration of an episode depends on it")
    share = None if success is None else success / 100
    with working("estimating"):
        estimate = forecast(planned, policy, folders=[runs], success=share, sample=sample if policy else 0)
    if target is not None and cli.write_json(
        {"experiment": experiment, "policy": policy, **estimate.as_json()}, target
    ):
        return
    if estimate.broke:
        raise RunError(f"all timed episodes ended in an error: {estimate.broke}")
    print_forecast(planned, estimate, policy)
    if not estimate.tested or estimate.hopeless:
        return
    _print_seed_counts(estimate)
    goals: list[tuple[str, int | None]] = []
    if limit is not None:
        goals.append((f"in {duration(limit)}", estimate.seeds_within(limit)))
    goals.append((f"for a loss of {detect:g} points", estimate.seeds_for(detect / 100)))
    for goal, count in goals:
        if not count:
            say(f"{goal}: {'no number of seeds suffices' if count is None else 'not even one seed fits'}")
            continue
        scaled = estimate.with_seeds(count)
        time = "" if scaled.seconds is None else f", about {duration(scaled.seconds)}"
        power = (
            "there are too few starts to detect a loss under some of the changes"
            if scaled.worst is None
            else f"a loss of {100 * scaled.worst:.0f} points or more is detected under every change"
        )
        size = f"{number_of(count, 'seed')}, {number_of(scaled.episodes, 'episode')}{time}"
        say(f"{goal}: {size}; {power}")
        shown = ("conditions", "repeats", "assets", "states", "workers")
        chosen = {name: getattr(options, name) for name in shown}
        command = run_command(
            experiment, policy or "POLICY", planned.settings, tasks=options.tasks, seeds=count, **chosen
        )
        say(f"  {command}")


def print_forecast(plan: RunPlan, estimate: Forecast, policy: str | None) -> None:
    """Print the size of a plan, its duration, and the smallest detectable loss under each change."""
    from assay.runs.estimates import duration

    tasks = len({spec.task for spec in plan.specs})
    conditions = len({spec.condition for spec in plan.specs})
    say(
        f"{plan.experiment.name}: {number_of(conditions, 'condition')}, {number_of(tasks, 'task')}, "
        f"{number_of(estimate.seeds, 'seed')}: {estimate.episodes:,} episodes"
        + (f", {estimate.done:,} of them recorded" if estimate.done else "")
    )
    certificates = estimate.certificates
    if certificates.known or certificates.missing:
        say(
            f"certificates: {certificates.missing:,} to make, {certificates.known:,} cached; scenes that the oracle "
            "cannot solve are excluded"
        )
    if estimate.hopeless:
        assert estimate.certificate_pace is not None
        within = "" if plan.options.steps is None else f" within --steps {plan.options.steps}"
        say(
            f"the oracle solved none of {number_of(estimate.certificate_pace.timed, 'unperturbed episode')}{within}: "
            "most or all scenes would be excluded, so the run's power is unknown"
        )
        return
    if estimate.seconds is None:
        why = "pass --policy to estimate it" if policy is None else "the policy has no earlier runs"
        say(f"time: unknown ({why})")
    else:
        assert estimate.pace is not None
        details = f"{estimate.pace.seconds:.1f} s per episode ({estimate.pace.source})"
        if certificates.missing and estimate.certificate_pace is not None:
            pace = estimate.certificate_pace
            details += f", {pace.seconds:.1f} s per certificate ({pace.source})"
        say(
            f"time: about {duration(estimate.seconds)} with {number_of(estimate.workers, 'worker')}: {details}"
        )
        if estimate.pace.succeeded is not None:
            say(
                f"{estimate.pace.succeeded} of the {estimate.pace.timed} timed, unperturbed episodes succeeded"
            )
    if not estimate.tested:
        say("no episode is perturbed, so there is no loss to detect")
        return
    if plan.options.repeats is None and plan.options.hold_start is None and plan.options.until is None:
        print_repeats_advice(estimate)
    groups: list[tuple[str, tuple[PlannedTest, ...]]] = [
        (test.change, (test,)) for test in estimate.tested if test.named
    ]
    if together := tuple(test for test in estimate.tested if not test.named):
        groups.append((f"combined changes ({len(together)} sets)", together))
    rows = []
    for name, tests in groups:
        losses = [test.detectable(estimate.success) for test in tests]
        points = [f"{100 * loss:.0f}" for loss in losses if loss is not None]
        reason = "too few starts" if estimate.success else "no control succeeds"
        loss = max(points, key=float) if len(points) == len(losses) else f"none: {reason}"
        starts = str(min(test.starts for test in tests))
        rows.append((name, str(sum(len(test.conditions) for test in tests)), starts, loss))
    columns = right("conditions", "starts", "smallest detectable loss, points")
    print_rows((Column("change", no_wrap=True), *columns), rows)
    if estimate.unexpected:
        names = [name.partition("/")[2] or name for name in estimate.unexpected]
        say(
            "Conditions in which success is not expected, which show whether the policy repeats memorised behaviour: "
            f"{', '.join(names)}."
        )
    say(
        "Statistical power 80 %, with Holm's correction over all tests of a report; success rate of the controls "
        f"{100 * estimate.success:.0f} % ({estimate.success_source})."
    )


def print_repeats_advice(estimate: Forecast) -> None:
    """Print the cost of repeated controls, and whether they are recommended."""
    share = 100 * estimate.controls / estimate.episodes
    cost = f"--repeats 2 adds {number_of(estimate.controls, 'control')} ({share:.0f} %)"
    starts, differ = estimate.repeated
    if differ:
        reason = f"repeated controls differ in {differ} of {number_of(starts, 'start')} of earlier runs"
        say(f"{cost}; recommended, because the policy is stochastic: {reason}")
    elif not starts:
        say(f"{cost}; recommended if the policy is stochastic, which assay spread measures")


def _print_seed_counts(estimate: Forecast) -> None:
    """Print the cost and the power for other numbers of seeds."""
    from assay.runs.estimates import duration

    rows = []
    for seeds in sorted({*SEED_COUNTS, estimate.seeds}):
        scaled = estimate.with_seeds(seeds)
        losses = [test.detectable(estimate.success) for test in scaled.tested]
        points = [100 * loss for loss in losses if loss is not None]
        ends = dict.fromkeys(f"{point:.0f}" for point in (min(points), max(points))) if points else ("-",)
        few = f"; none for {losses.count(None)} of {len(losses)} changes" if points and None in losses else ""
        time = "-" if scaled.seconds is None else duration(scaled.seconds)
        rows.append((str(seeds), f"{scaled.episodes:,}", time, " to ".join(ends) + few))
    print_rows(right("seeds", "episodes", "time", "smallest detectable loss under each change, points"), rows)
