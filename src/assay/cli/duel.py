"""`assay duel`: two policies on the same episodes, until it is known which is better."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.execution import (
    Assets,
    Certified,
    Conditions,
    JsonFile,
    Latency,
    Replan,
    RetryErrors,
    Seeds,
    Selection,
    Silence,
    States,
    Steps,
    WaitingWay,
    Yes,
    latency_in_steps,
    say_on_primitives,
)
from assay.cli.verdicts import Each, JUnit, Margin, Markdown, tell
from assay.errors import RunError
from assay.runs.seeds import parse_seeds
from assay.support.console import number_of, say


def duel(
    first: Annotated[str, typer.Argument(metavar="A", help="A policy's address: what there is.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another: what may replace it.")],
    experiment: Annotated[str, typer.Option(help="The experiment: assay experiments list.")],
    selection: Selection = None,
    seeds: Seeds = None,
    conditions: Conditions = None,
    margin: Margin = 0.05,
    each: Each = False,
    per_start: Annotated[
        str, typer.Option(metavar="N|all", help="Episodes that are dealt of each task and seed, at random.")
    ] = "1",
    measure: Annotated[
        str,
        typer.Option(
            metavar="success|progress",
            help="What is compared: success, or how far episodes come, which may take fewer of them.",
        ),
    ] = "success",
    out: Annotated[Path | None, typer.Option(help="A folder for A.assay and B.assay.")] = None,
    label_a: Annotated[str | None, typer.Option(help="What A is called.")] = None,
    label_b: Annotated[str | None, typer.Option(help="What B is called.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=0, help="Processes of each policy; by default one for every two cores; 0: no other than this."
        ),
    ] = None,
    assets: Assets = None,
    states: States = None,
    steps: Steps = None,
    replan: Replan = None,
    latency: Latency = "0",
    while_waiting: WaitingWay = None,
    certified: Certified = None,
    retry_errors: RetryErrors = False,
    timeout: Silence = 1800.0,
    target: JsonFile = None,
    junit: JUnit = None,
    markdown: Markdown = None,
    yes: Yes = False,
) -> None:
    """Play two policies on the same episodes, and stop as soon as it is known which is better.

    Looking after every start is paid for: the verdict on B against A (better, equivalent within the margin, worse) is
    wrong with a probability of at most 5 %. Exit status: 0 better, equivalent or not worse by more than the margin; 1
    worse; 3 undecided. The same command again goes on where it was interrupted, and with more --seeds where it was
    undecided.
    """
    from assay import api
    from assay.cli.asking import DuelDisplay
    from assay.runs.display import print_errors
    from assay.runs.store import Store

    for policy in (first, second):
        say_on_primitives(policy, assets)
    if first == second:
        say(f"note: A and B are the same policy, {first}", aside=True)
    with DuelDisplay(yes=yes) as display:
        found = api.duel(
            first,
            second,
            experiment,
            tasks=selection,
            seeds=None if seeds is None else parse_seeds(seeds),
            conditions=conditions,
            margin=margin,
            each=each,
            per_start=_per_start(per_start),
            measure=measure,
            out=out,
            labels=(label_a, label_b),
            workers=workers,
            assets=assets,
            states=states,
            steps=steps,
            replan=replan,
            latency=latency_in_steps(latency),
            while_waiting=None if while_waiting is None else while_waiting.value,
            certified=certified,
            retry_errors=retry_errors,
            timeout=timeout,
            observer=display,
        )
    if found is None:  # nobody wanted to begin
        raise typer.Exit(3)
    tell(found.judgement, "assay duel", target, junit, markdown)
    say(f"the runs are {found.runs[0]} and {found.runs[1]}", aside=True)
    broken = []
    for path in found.runs:
        with Store.reading(path) as store:
            if print_errors(store):
                broken.append(path)
    if broken:
        which = " and ".join(map(str, broken))
        raise RunError(f"every episode of {which} ended in an error; --retry-errors tries them again")
    if found.reason:
        raise RunError(f"stopped: {found.reason}; the same command goes on when the policy is back")
    if found.left:
        say(f"{number_of(found.left, 'episode')} left at most: the same command goes on", aside=True)
        raise typer.Exit(130)
    if not found.judgement.verdict.final:
        say("the plan is used up; the same command with more --seeds goes on from here", aside=True)
    raise typer.Exit(found.judgement.status)


def _per_start(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise RunError(f"--per-start '{text}': valid: 1 or more, or all")
    return int(text)
