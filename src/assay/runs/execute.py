"""A run from its beginning to its end: plan, certify, execute, record. The same again goes on where it stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from assay.episodes import Episode, EpisodeSpec, Initial, Policy
from assay.errors import PolicyError, RunError
from assay.experiments import Experiment, load_experiment
from assay.experiments.reference_times import limited
from assay.plugins import PYTHON, SCRIPT, Plugin, imported, plugins_of
from assay.policies.registry import check_address, lacking
from assay.runs.certificates import (
    Cache,
    Service,
    cache_file,
    certify,
    counted,
    engine_digest,
    missing,
    remember,
)
from assay.runs.driver import Ending, drive
from assay.runs.executor import Executor
from assay.runs.in_process import InProcess
from assay.runs.local import LocalProcesses
from assay.runs.provenance import check, describe, provenance, states_digest
from assay.runs.sequential import parse_until
from assay.runs.store import Retry, Store
from assay.runs.worker import WorkerConfig

Videos = Literal["failures", "all"]
"""Which episodes become videos."""
OBJECT = "object:"
"""How the address of a policy begins that is an object of the calling process."""


class Observer:
    """Told how a run goes, and asked whether it should stop. This one keeps silent and never stops it."""

    def certifying(self, wanted: int) -> None:
        """So many scenes are to be shown to be solvable first."""

    def certified(self) -> None:
        """One of them is decided."""

    def began(self, store: Store, waiting: int) -> None:
        """The plan stands, and so many of its episodes are to be done."""

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """An episode was recorded; or nothing happened for a moment."""

    def stopping(self) -> bool:
        """Whether to stop: running episodes are finished, and no more are begun."""
        return False


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is executed; the names are those of ``assay run``."""

    tasks: str | None = None
    """A selection of tasks: ``libero_goal``, ``libero_goal/3,libero_10/0``; the experiment's own by default."""
    seeds: tuple[int, ...] | None = None
    """The experiment's own by default."""
    conditions: str | None = None
    """Only these conditions, and the control: ``position,displace=*``; all by default."""
    assets: str | None = None
    """The asset pack; the world's usual one by default."""
    states: Path | None = None
    """LIBERO's folder of stored initial states, instead of sampled ones."""
    hold_start: int | None = None
    """Every episode starts from this initial state; seeds vary the policy's own randomness only."""
    steps: int | None = None
    """The most control steps of every episode."""
    replan: int | None = None
    """Actions executed of each chunk; all by default."""
    retries: int = 1
    """How often an episode that broke is tried again."""
    until: str | None = None
    """Stop a condition early: ``half-width=0.05``, or ``decided=0.8``."""
    video: Videos | None = None
    """Write videos of failures, or of all episodes, beside the run."""
    workers: int | None = None
    """Processes; one for each core by default, 0 for this very process."""
    ray: str | None = None
    """Execute on Ray: ``local``, or a cluster's address."""
    certified: bool | None = None
    """Run only scenes that the oracle has solved, or all; None for what the experiment has."""
    retry_errors: bool = False
    """Try episodes that ended in an error again."""
    timeout: float = 1800.0
    """Seconds after which a silent worker is ended."""

    def __post_init__(self) -> None:
        """Raise RunError for a number that makes no sense."""
        lower = {"hold_start": 0, "steps": 1, "replan": 1, "retries": 0, "workers": 0, "timeout": 1}
        for name, least in lower.items():
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or value < least
            ):
                raise RunError(f"{name}={value!r:.60}: valid: {least} or more")
        if self.video not in (None, *get_args(Videos)):
            raise RunError(f"video={self.video!r:.60}: valid: {' or '.join(get_args(Videos))}")

    @property
    def initial(self) -> Initial:
        """Where episodes start."""
        return "sampled" if self.states is None else "stored"

    @property
    def retry(self) -> Retry:
        """Which episodes that ended in an error are tried again."""
        return "errors" if self.retry_errors else "transient"


def default_path(experiment: str, policy: str) -> Path:
    """Where a run goes if nobody says."""
    return Path("runs") / f"{_plain(experiment)}-{_plain(policy)}.assay"


def execute(
    experiment: str | Experiment,
    policy: str | Policy,
    path: Path,
    options: Options | None = None,
    observer: Observer | None = None,
) -> Ending:
    """Run an experiment with a policy into a file. Whatever is wrong with the request is said before it is made.

    ``policy`` is an address, or an object that acts in this process. Raises AssayError.
    """
    options, observer = options or Options(), observer or Observer()
    if not isinstance(policy, str) and ((options.workers or 0) > 1 or options.ray is not None):
        raise RunError(
            "a policy that is an object acts in this process: workers must be 0 or 1, or give its address"
        )
    design = load_experiment(experiment) if isinstance(experiment, str) else experiment
    design = design.only(options.conditions)
    world = design.played_in
    chosen = design.choose(options.tasks)
    seeds = design.seeds if options.seeds is None else options.seeds
    rule = None if options.until is None else parse_until(options.until)
    pack = design.checked_pack(options.assets, options.initial)
    if options.certified and world.traits.demonstrator is None:
        raise RunError(f"--certified: nothing is certified in the world '{design.world}'")
    wanted = design.certified if options.certified is None else options.certified
    served = wanted and world.traits.demonstrator is not None
    if (served or design.reference is not None) and design.limit and options.steps is not None:
        raise RunError(
            f"--steps and {design.name}'s own time limit contradict each other: valid: one of them"
        )
    address, said = _checked(policy, design.world)
    settings: dict[str, object] = {
        "steps": options.steps,
        "replan": options.replan,
        "initial": options.initial,
    }
    if options.hold_start is not None:
        settings["start"] = options.hold_start
    if options.states is not None:
        if not options.states.is_dir():
            raise RunError(f"--states {options.states}: there is no such folder")
        settings["states"] = states_digest(options.states)
    if design.certified or served:
        settings["certificates"] = engine_digest(design.world, pack) if served else None
    if design.limit is not None and (served or design.reference is not None):
        times = design.reference
        settings["reference_times"] = (
            "demonstrator" if times is None else f"people: {times.file} {times.digest}"
        )
    plan = partial(
        design.plan,
        chosen,
        seeds,
        pack=pack,
        initial=options.initial,
        start=options.hold_start,
        steps=options.steps,
        replan=options.replan,
    )
    specs = list(plan())  # a design that refuses should leave no file behind
    if options.states is not None and world.stored_states is not None:
        imported(world.stored_states)(specs, options.states)
    plugins = plugins_used(experiment, design, pack, specs)
    config = WorkerConfig(
        address,
        design.world,
        options.retries,
        None if options.video is None else path.with_suffix(".videos").absolute(),
        video_successes=options.video == "all",
        states=None if options.states is None else options.states.absolute(),
        plugins=tuple(each.module for each in plugins if each.module != SCRIPT),
    )
    known = provenance(
        design.name,
        address,
        pack,
        world=design.world,
        policy_metadata=said,
        settings=settings,
        plugins=plugins,
    )
    check(path, known)
    with Store.writing(path) as store:
        describe(store, known, conditions=design.conditions)
        if options.states is not None:
            store.describe(states_folder=str(options.states.absolute()))
        if served:
            assert world.traits.demonstrator is not None
            demonstrators = replace(config, policy=world.traits.demonstrator, retries=0, videos=None)
            ending = _serve(store, design, specs, demonstrators, options, observer)
            if ending.left:
                return ending
        else:
            store.plan(_limited(design, specs))
        observer.began(store, len(store.todo(retry=options.retry)))
        executor = _executor(config, options, None if isinstance(policy, str) else policy)
        return drive(
            store,
            executor,
            retry=options.retry,
            until=rule,
            stopping=observer.stopping,
            watch=observer.episode,
        )


def make_certificates(
    specs: Iterable[EpisodeSpec],
    cache: Cache,
    config: WorkerConfig,
    options: Options,
    observer: Observer,
    tries: int = 1,
) -> Ending:
    """Let the demonstrator of ``config`` try what episodes and their controls lack a certificate for."""
    wanted = missing(specs, cache, tries)
    if not wanted:
        return Ending(0, 0)
    observer.certifying(len(wanted))

    def watch(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None:
            observer.certified()

    return certify(wanted, cache, _executor(config, options), stopping=observer.stopping, watch=watch)


def _serve(
    store: Store,
    design: Experiment,
    specs: list[EpisodeSpec],
    config: WorkerConfig,
    options: Options,
    observer: Observer,
) -> Ending:
    """Plan what the demonstrator has solved; write down what it has not."""
    states = "" if options.states is None else states_digest(options.states)
    with Cache(cache_file(), states) as cache:
        ending = make_certificates(specs, cache, config, options, observer)
        if ending.left:
            return ending
        service = Service(cache, design.limit, design.reference)
        store.plan(service.serve(specs))
    remember(store, service.refused, specs)
    if not store.planned:
        often, *_ = counted(service.refused)
        raise RunError(f"all {len(service.refused)} episodes were refused, most often: {often}")
    return ending


def _limited(design: Experiment, specs: list[EpisodeSpec]) -> Iterable[EpisodeSpec]:
    """Episodes with the time limit that needs no certificates: a multiple of people's times."""
    times = design.reference
    return specs if times is None else (limited(spec, design.limit, times.of(spec.task)) for spec in specs)


def _checked(policy: str | Policy, world: str) -> tuple[str, dict[str, str]]:
    """A policy's address, and what it says of itself. Raises PolicyError where it cannot be one."""
    if isinstance(policy, str):
        return policy, check_address(policy, world)
    if isinstance(policy, type):
        raise PolicyError(
            f"{policy.__name__} is a class, not a policy: give {policy.__name__}(...), or its address"
        )
    if without := lacking(policy):
        raise PolicyError(f"{type(policy).__name__} is no policy: it has no {without}")
    kind = type(policy)
    return f"{OBJECT}{kind.__module__}.{kind.__qualname__}", {}


def plugins_used(
    experiment: str | Experiment, design: Experiment, pack: str, specs: Iterable[EpisodeSpec]
) -> tuple[Plugin, ...]:
    """Everybody's modules but Assay's that the run needs."""
    kinds = {type(each) for spec in specs for each in spec.perturbations}
    things: list[object] = [design.played_in, design.variants, design.complete, *kinds]
    found = [*plugins_of(things), *plugins_of([design.played_in.pack_source(pack)])]
    if isinstance(experiment, str) and experiment.startswith(PYTHON):
        found.append(Plugin.named(experiment.split(":")[1]))
    unique = {each.module: each for each in found}
    return tuple(unique[name] for name in sorted(unique))


def _executor(config: WorkerConfig, options: Options, policy: Policy | None = None) -> Executor:
    """Local processes, actors on Ray, or this process."""
    if policy is not None or (options.workers == 0 and options.ray is None):
        return InProcess(config, policy)
    if options.ray is not None:
        from assay.runs.on_ray import RayActors

        return RayActors(config, options.ray, options.workers, timeout=options.timeout)
    return LocalProcesses(config, options.workers or os.cpu_count() or 1, timeout=options.timeout)


def _plain(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text).strip("-")
