"""A run from its beginning to its end: plan, certify, execute, record. The same again goes on where it stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from assay.episodes import Episode, EpisodeSpec, Policy
from assay.errors import PolicyError, RunError
from assay.experiments import Experiment
from assay.experiments.reference_times import limited
from assay.policies.identity import identity, identity_of
from assay.policies.registry import check_address, missing_methods
from assay.runs.batching import BatchingProcesses
from assay.runs.certificates import (
    Cache,
    Service,
    cache_file,
    certify,
    counted,
    missing,
    remember,
)
from assay.runs.driver import Ending, drive
from assay.runs.executor import Executor, Player
from assay.runs.in_process import InProcess
from assay.runs.latency import META as LATENCY
from assay.runs.latency import settled
from assay.runs.provenance import check, describe, provenance
from assay.runs.shards import META as SHARD
from assay.runs.shards import Shard, check_shard
from assay.runs.store import Store, Waiting
from assay.runs.work import Options, Videos, Work, prepare, refuse_latency
from assay.runs.worker import WorkerConfig
from assay.support.plugins import SCRIPT

__all__ = ["Observer", "Options", "Videos", "default_path", "execute", "make_certificates", "workers_of"]

OBJECT = "object:"
"""How the address of a policy begins that is an object of the calling process."""


class Observer:
    """Told how a run goes, and asked whether it should begin and stop. This one keeps silent and never stops it."""

    def approve(self, work: Work, path: Path, policy: str) -> bool:
        """Whether so much work should be begun; nothing has been, and the run's file is as it was."""
        return True

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


def default_path(experiment: str, policy: str, shard: str | None = None) -> Path:
    """Where a run goes if nobody says."""
    which = "" if shard is None else "-shard-{0.number}-of-{0.of}".format(Shard.parse(shard))
    return Path("runs") / f"{_plain(experiment)}-{_plain(policy)}{which}.assay"


def execute(
    experiment: str | Experiment,
    policy: str | Policy | Player,
    path: Path,
    options: Options | None = None,
    observer: Observer | None = None,
    label: str | None = None,
) -> Ending:
    """Run an experiment with a policy into a file. Whatever is wrong with the request is said before it is made.

    ``policy`` is an address, an object that acts in this process, or a player that executes episodes by itself;
    ``label`` what reports call it. Raises AssayError.
    """
    options, observer = options or Options(), observer or Observer()
    if not isinstance(policy, str | Player) and ((options.workers or 0) > 1 or options.ray is not None):
        raise RunError(
            "a policy that is an object acts in this process: workers must be 0 or 1, or give its address"
        )
    options, thinks = settled(experiment, policy, path, options)
    work = prepare(experiment, options)
    asked = request(work, policy, path, label)
    if thinks is not None:
        asked = replace(asked, known={**asked.known, LATENCY: thinks})
    if not observer.approve(work, path, asked.address):
        return Ending(0, len(work.specs))
    with opened(asked) as store:
        return _carry_out(store, work, asked.config, observer, None if isinstance(policy, str) else policy)


@dataclass(frozen=True, slots=True)
class Request:
    """A policy that is to do some work, into a file that fits."""

    work: Work
    path: Path
    address: str
    config: WorkerConfig
    known: dict[str, object]
    """Where the run comes from."""
    label: str | None


def request(work: Work, policy: str | Policy | Player, path: Path, label: str | None) -> Request:
    """Check the policy, and that the file, if it is there, is of the same run. Raises AssayError."""
    if isinstance(policy, Player):
        refuse_latency(work.specs)
    address, said, what = _checked(policy, work.design.world)
    config = replace(
        worker_config(work, address),
        videos=None if work.options.video is None else path.with_suffix(".videos").absolute(),
        video_successes=work.options.video == "all",
    )
    known = provenance(
        work.design.name,
        address,
        work.pack,
        world=work.design.world,
        policy_metadata=said,
        identity=what,
        settings=work.settings,
        plugins=work.plugins,
    )
    check(path, known, empty_is_new=True)
    check_shard(path, work.part)
    return Request(work, path, address, config, known, label)


@contextmanager
def opened(asked: Request) -> Iterator[Store]:
    """The run's file, with where it comes from; a new one is taken away where its policy cannot be made."""
    work, is_new = asked.work, not asked.path.exists()
    try:
        with Store.writing(asked.path) as store:
            describe(store, asked.known, conditions=work.design.conditions)
            if asked.label is not None:
                store.describe(label=asked.label)
            if work.options.states is not None:
                store.describe(states_folder=str(work.options.states.absolute()))
            if work.part is not None:
                store.describe(**{SHARD: work.part.as_json()})
            yield store
    except PolicyError:
        if is_new:
            _forget(asked.path)
        raise


def worker_config(work: Work, policy: str) -> WorkerConfig:
    """What every worker is told of some work; without videos."""
    options = work.options
    return WorkerConfig(
        policy,
        work.design.world,
        options.retries,
        states=None if options.states is None else options.states.absolute(),
        plugins=tuple(plugin.module for plugin in work.plugins if plugin.module != SCRIPT),
    )


def _carry_out(
    store: Store, work: Work, config: WorkerConfig, observer: Observer, policy: Policy | Player | None
) -> Ending:
    """Certify, plan and execute."""
    options = work.options
    ending = plan(store, work, config, observer)
    if ending.left:
        return ending
    wanted = {(spec.task, spec.seed, spec.condition) for spec in work.specs}

    def asked(entry: Waiting) -> bool:
        """Not what an earlier command planned besides: other tasks, seeds or conditions."""
        return (entry.task, entry.seed, entry.condition) in wanted

    observer.began(store, sum(map(asked, store.todo(retry=options.retry))))
    return drive(
        store,
        executor_for(store, config, options, policy),
        retry=options.retry,
        until=work.until,
        asked=asked,
        stopping=observer.stopping,
        watch=observer.episode,
    )


def plan(store: Store, work: Work, config: WorkerConfig, observer: Observer) -> Ending:
    """Plan the episodes of a run, those that need it after they were certified; ``left`` where that was interrupted."""
    demonstrator = work.design.played_in.traits.demonstrator
    if not work.served:
        store.plan(_limited(work.design, work.specs), _place(work))
        return Ending(0, 0)
    assert demonstrator is not None
    return _serve(store, work, replace(config, policy=demonstrator, retries=0, videos=None), observer)


def _forget(path: Path) -> None:
    """Take away a run in which nothing was recorded: its policy cannot be made, and its file would lie about."""
    with Store.reading(path) as store:
        held = store.held
    if not held:
        path.unlink()


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


def _serve(store: Store, work: Work, config: WorkerConfig, observer: Observer) -> Ending:
    """Plan what the demonstrator has solved; write down what it has not."""
    with Cache(cache_file(), work.states) as cache:
        ending = make_certificates(work.specs, cache, config, work.options, observer)
        if ending.left:
            return ending
        service = Service(cache, work.design.limit, work.design.reference)
        store.plan(service.serve(work.specs), _place(work))
    remember(store, service.refused, work.specs)
    if not store.planned and work.part is None:  # of a shard all may be refused, and others go on
        often, *_ = counted(service.refused)
        raise RunError(f"all {len(service.refused)} episodes were refused, most often: {often}")
    return ending


def _place(work: Work) -> Callable[[EpisodeSpec], int] | None:
    """Where episodes stand in the plan, if only a part of it is planned."""
    return None if work.part is None else work.part.place


def _limited(design: Experiment, specs: list[EpisodeSpec]) -> Iterable[EpisodeSpec]:
    """Episodes with the time limit that needs no certificates: a multiple of people's times."""
    times = design.reference
    return specs if times is None else (limited(spec, design.limit, times.of(spec.task)) for spec in specs)


def _checked(policy: str | Policy | Player, world: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """A policy's address, what it says of itself, and its identity. Raises PolicyError where it cannot be one."""
    if isinstance(policy, str):
        return policy, check_address(policy, world), identity(policy, world)
    if isinstance(policy, Player):
        return policy.address, {}, policy.identity()
    if isinstance(policy, type):
        raise PolicyError(
            f"{policy.__name__} is a class, not a policy: give {policy.__name__}(...), or its address"
        )
    if without := missing_methods(policy):
        raise PolicyError(f"{type(policy).__name__} is no policy: it has no {without}")
    kind = type(policy)
    return f"{OBJECT}{kind.__module__}.{kind.__qualname__}", {}, identity_of(policy)


def executor_for(
    store: Store, config: WorkerConfig, options: Options, policy: Policy | Player | None
) -> Executor:
    """Who executes the episodes of a run; ``policy``: an object of this process, if it is one."""
    if isinstance(policy, Player):
        return policy.executor(config, store.all_specs())
    return _executor(config, options, policy)


def _executor(config: WorkerConfig, options: Options, policy: Policy | None = None) -> Executor:
    """Local processes, actors on Ray, or this process."""
    if policy is not None or (options.workers == 0 and options.ray is None):
        return InProcess(config, policy)
    if options.ray is not None:
        from assay.runs.on_ray import RayActors

        if "://" in config.policy and "batch=" in config.policy:
            raise RunError(f"{config.policy}: batch= is for workers of one machine, not for --ray")
        return RayActors(config, options.ray, options.workers, timeout=options.timeout)
    return BatchingProcesses(config, workers_of(options), timeout=options.timeout)


def workers_of(options: Options) -> int:
    """How many processes of this machine execute episodes, where it does."""
    return options.workers or (1 if options.workers == 0 else os.cpu_count() or 1)


def _plain(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text).strip("-")
