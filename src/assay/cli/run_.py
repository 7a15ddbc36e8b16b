"""`assay run`: an experiment with a policy, in parallel, into one file; the same command again resumes."""

from __future__ import annotations

import os
import re
from collections import Counter
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.certifying import make_certificates, print_refused
from assay.cli.console import errors, number_of, output, say
from assay.cli.execution import (
    ExperimentAddress,
    Interrupts,
    RayAddress,
    Seeds,
    Selection,
    Silence,
    States,
    Workers,
    executor,
    parse_seeds,
)
from assay.errors import RunError

if TYPE_CHECKING:
    from assay.experiments import Experiment

PRIMITIVES = "primitives"
UNCERTIFIED = "uncertified: nobody has shown that these can be solved; time limits are the field's"


class Filmed(StrEnum):
    """Which episodes become videos."""

    FAILURES = "failures"
    ALL = "all"


def run(
    experiment: ExperimentAddress,
    policy: Annotated[str, typer.Option(help="oracle, python:pkg.module:Class, openpi://host:port, ...")],
    selection: Selection = None,
    seeds: Seeds = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(help="The run's file, NAME.assay.")] = None,
    assets: Annotated[str, typer.Option(help="Asset pack: primitives or libero.")] = PRIMITIVES,
    states: States = None,
    steps: Annotated[int | None, typer.Option(min=1, help="The most steps, for every task.")] = None,
    replan: Annotated[int | None, typer.Option(min=1, help="Actions executed of each chunk.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often an episode that broke is tried again.")] = 1,
    until: Annotated[
        str | None, typer.Option(help="Stop a condition at half-width=0.05, or when decided=0.8.")
    ] = None,
    video: Annotated[Filmed | None, typer.Option(help="Films of failures, or of all.")] = None,
    ray: RayAddress = None,
    uncertified: Annotated[
        bool, typer.Option("--uncertified", help="Serve what nobody has shown to be solvable, too.")
    ] = False,
    retry_errors: Annotated[bool, typer.Option(help="Try episodes that ended in an error again.")] = False,
    timeout: Silence = 1800.0,
) -> None:
    """Run an experiment with a policy. The same command again goes on where it was interrupted."""
    from assay.cli.run_display import Display, condition_table, print_reasons
    from assay.experiments import load_experiment
    from assay.experiments.spec import Initial
    from assay.policies.registry import check_address
    from assay.policies.table import check_table_address
    from assay.runs.certificates import (
        Cache,
        Service,
        cache_file,
        counted,
        engine_digest,
        recall,
        remember,
    )
    from assay.runs.certificates.certify import DEMONSTRATOR
    from assay.runs.driver import drive
    from assay.runs.provenance import describe, provenance
    from assay.runs.sequential import parse_until
    from assay.runs.stage import Orders
    from assay.runs.store import Store
    from assay.sim.packs.locate import STATES_VARIABLE

    design = load_experiment(experiment)
    chosen = design.choose(selection)
    pack = _pack(design, assets, states, video)
    numbers = parse_seeds(seeds) if seeds is not None else design.seeds
    rule = parse_until(until) if until is not None else None
    if states is not None:
        os.environ[STATES_VARIABLE] = str(states.absolute())
    server = check_table_address(policy) if design.on_table else check_address(policy)
    path = out or Path("runs") / f"{_plain(experiment)}-{_plain(policy)}.assay"
    orders = Orders(
        policy,
        retries,
        None if video is None else path.with_suffix(".videos").absolute(),
        film_successes=video is Filmed.ALL,
        on_table=design.on_table,
    )
    initial: Initial = "sampled" if states is None else "stored"
    settings: dict[str, object] = {"steps": steps, "replan": replan, "initial": initial}
    served = design.certified and not uncertified
    if served and design.limit and steps is not None:
        raise RunError(f"--steps and {experiment}'s own time limit contradict each other: valid: one of them")
    if design.certified:
        settings["certificates"] = engine_digest(pack) if served else None
    plan = partial(design.plan, chosen, numbers, pack=pack, initial=initial, steps=steps, replan=replan)
    next(plan())  # an experiment that refuses should leave no file behind
    with Store.writing(path) as store:
        describe(store, provenance(experiment, policy, pack, policy_metadata=server, settings=settings))
        if served:
            with Cache(cache_file()) as cache:
                demonstrators = partial(executor, Orders(DEMONSTRATOR), ray, workers, timeout)
                make_certificates(plan(), cache, demonstrators)
                service = Service(cache, design.limit)
                store.plan(service.serve(plan()))
            remember(store, service.refused, {task.id for task in chosen}, set(numbers))
            if not store.planned:
                often, *_ = counted(service.refused)
                raise RunError(f"all {len(service.refused)} episodes were refused, most often: {often}")
        else:
            store.plan(plan())
        waiting = len(store.todo(again="errors" if retry_errors else "passing"))
        interrupted = Interrupts()
        with Display(store, waiting, console=errors) as display, interrupted:
            ending = drive(
                store,
                executor(orders, ray, workers, timeout),
                again="errors" if retry_errors else "passing",
                until=rule,
                stopping=interrupted,
                watch=display.update,
            )
        counts, refused = store.counts(), recall(store)
        of_condition = Counter(each.condition for each in refused)
        output.print(condition_table(counts, set(store.stopped), of_condition))
        print_reasons(store.reasons())
        print_refused(counted(refused))
        if design.certified and not served:
            say(UNCERTIFIED)
        _say_how_it_ended(path, ending.done, ending.left, ending.reason)
    if ending.reason:
        raise RunError(f"stopped: {ending.reason}; the same command goes on when the policy is back")
    if ending.left:
        raise typer.Exit(130)
    if counts["done"].sum() and not (counts["success"] + counts["failure"]).sum():
        say("nothing ran: every episode ended in an error", aside=True)
        raise typer.Exit(1)


def _pack(design: Experiment, assets: str, states: Path | None, video: Filmed | None) -> str:
    """The asset pack. Raises RunError where something is asked for that an experiment has not."""
    if not design.on_table:
        return assets
    given = {"--assets": assets != PRIMITIVES, "--states": states is not None, "--video": video is not None}
    for name, wanted in given.items():
        if wanted:
            raise RunError(f"{name} is for robots: {design.name} is played on a table, which has none")
    from assay.experiments.tabletop import PACK

    return PACK


def _plain(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text).strip("-")


def _say_how_it_ended(path: Path, done: int, left: int, reason: str) -> None:
    rest = f", {left} left: the same command goes on" if left and not reason else ""
    say(f"{number_of(done, 'episode')} recorded in {path}{rest}")
