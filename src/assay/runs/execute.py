"""Execution of a run from start to end: plan, certify, execute, record. Executing it again resumes the run."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from assay.episodes import Episode, EpisodeSpec, Policy, Privileged, load_world
from assay.episodes.latency import LookaheadPolicy, check_latency
from assay.episodes.rollout import reported_times
from assay.episodes.stepwise import NOT_HERE
from assay.errors import AssayError, DeclinedError, PolicyError, RunError, one_line
from assay.experiments import Experiment
from assay.experiments.reference_times import apply_time_limit
from assay.policies.registry import close_policy, load_policy
from assay.runs.certificates import CertificateCache, admit, certify, claims, count_reasons, remember
from assay.runs.driver import Ending, drive
from assay.runs.estimates import LATENCY
from assay.runs.executor import Executor, InProcess, Player, WorkerConfig
from assay.runs.local import LocalProcesses
from assay.runs.options import MEASURED, RunOptions
from assay.runs.plan import OBJECT, RunPlan
from assay.runs.provenance import check_same_run, describe
from assay.runs.shards import META as SHARD
from assay.runs.shards import parse_shard
from assay.runs.store import Store
from assay.support.files import remove_leftovers

TOLERANCE_STEPS = 0.1
"""Fraction of a control step by which a latency may exceed a whole number of steps before it is rounded up."""
TIMED_REQUESTS = 5
"""Number of timed requests. They follow an untimed request, because the first request may compile a model."""


class Observer:
    """Callbacks that observe a run and may decline or stop it; this base class forwards all calls to ``inner``."""

    inner: Observer | None = None
    """Another observer to notify; if None, runs are always approved and never stopped."""

    def approve(self, plan: RunPlan) -> bool:
        """Return whether to start the run; called before anything is executed or written to the run's file."""
        return self.inner is None or self.inner.approve(plan)

    def note(self, text: str) -> None:
        """Called with a remark about the run before it starts."""
        if self.inner is not None:
            self.inner.note(text)

    def certifying(self, wanted: int) -> None:
        """Called when the certification of ``wanted`` scenes starts."""
        if self.inner is not None:
            self.inner.certifying(wanted)

    def scene_certified(self) -> None:
        """Called when the certification of a scene has finished."""
        if self.inner is not None:
            self.inner.scene_certified()

    def began(self, store: Store, waiting: int) -> None:
        """Called when the plan has been stored; ``waiting`` is the number of its episodes to execute."""
        if self.inner is not None:
            self.inner.began(store, waiting)

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """Called when an episode has been recorded, and periodically with None for both arguments."""
        if self.inner is not None:
            self.inner.episode(spec, episode)

    def stopping(self) -> bool:
        """Return whether to stop; running episodes are finished, and no more are started."""
        return self.inner is not None and self.inner.stopping()


def plain_name(text: str) -> str:
    """Return a text in which characters that are unsafe in a file name are replaced."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text).strip("-")


def default_path(experiment: str, policy: str, shard: str | None = None) -> Path:
    """Return the default path of a run's file."""
    suffix = "" if shard is None else "-shard-{}-of-{}".format(*parse_shard(shard))
    return Path("runs") / f"{plain_name(experiment)}-{plain_name(policy)}{suffix}.assay"


def choose_workers(
    options: RunOptions, policies: Iterable[str | Policy | Player], workers: int | None = None
) -> RunOptions:
    """Return options with a default number of workers: ``workers``, or 0 for policy objects.

    Raises RunError if the options require processes, but a policy is an object in this process.
    """
    has_objects = not all(isinstance(policy, str | Player) for policy in policies)
    if has_objects and ((options.workers or 0) > 1 or options.ray is not None):
        raise RunError(
            "a policy object can only run in this process: set workers to 0, or pass the policy's address"
        )
    if options.workers is None and workers is not None:
        return replace(options, workers=0 if has_objects else workers)
    return options


def execute(
    experiment: str | Experiment,
    policy: str | Policy | Player,
    path: Path,
    options: RunOptions | None = None,
    observer: Observer | None = None,
    label: str | None = None,
) -> Ending:
    """Run an experiment with a policy and record it in a file. Nothing is written for an invalid request.

    ``policy`` is an address, an object that acts in this process, or a player that executes complete episodes;
    ``label`` is its name in reports. Raises AssayError, and DeclinedError if the observer does not approve.
    """
    options, observer = choose_workers(options or RunOptions(), [policy]), observer or Observer()
    measured: dict[str, dict[str, object]] = {}
    if options.latency == MEASURED:
        # Measured once and stored: if the clock affected every episode, equal specs would give different episodes.
        measured = {LATENCY: _find_latency(experiment, policy, path, options)}
        steps = int(str(measured[LATENCY]["steps"]))
        options = replace(options, latency=steps, while_waiting=options.while_waiting if steps else None)
    plan = RunPlan.make(experiment, options).for_policy(policy, path, label)
    plan.provenance.update(measured)
    with open_run(plan, observer) as store:
        ending = store_plan(store, plan, observer)
        if ending.left:
            return ending
        # Earlier commands may have planned further episodes, which this command leaves alone.
        requested = {(spec.task, spec.seed, spec.condition) for spec in plan.specs}
        entries = [
            entry
            for entry in store.todo(retry=options.retry)
            if (entry.task, entry.seed, entry.condition) in requested
        ]
        observer.began(store, len(entries))
        return drive(
            store,
            make_executor(plan.worker, options, plan.actor, store),
            entries=entries,
            retry=options.retry,
            until=options.until,
            allocate=options.allocate,
            stopping=observer.stopping,
            watch=observer.episode,
        )


def _find_latency(
    experiment: str | Experiment, policy: str | Policy | Player, path: Path, options: RunOptions
) -> dict[str, object]:
    """Return the latency that is stored in the run's file, or measure it. Raises AssayError if the policy fails."""
    if isinstance(policy, Player):
        raise RunError(f"--latency: {NOT_HERE}")
    if options.shard is not None:
        raise RunError("--latency measured: all shards need the same latency; pass a number of control steps")
    if path.is_file():
        with Store.reading(path) as store:
            if store.done and LATENCY in store.meta:
                return dict(store.meta[LATENCY])
    return _measure_latency(experiment, policy, options)


def _measure_latency(
    experiment: str | Experiment, policy: str | Policy, options: RunOptions
) -> dict[str, object]:
    """Time a policy on the first observation of a plan, using the server's own times if it reports any."""
    first_seed = None if options.seeds is None else options.seeds[:1]
    plan = RunPlan.make(experiment, replace(options, latency=0, while_waiting=None, seeds=first_seed))
    world, spec = plan.experiment.played_in, plan.specs[0]
    check_latency(world, 1)
    assert world.step_seconds is not None
    env = load_world(plan.experiment.world).open(options.states)
    actor = load_policy(policy, plan.experiment.world) if isinstance(policy, str) else policy
    try:
        observation = env.reset(spec)
        if isinstance(actor, Privileged):
            actor.attach(env)
        actor.reset(env.task.instruction, spec)
        ask = actor.foresee if isinstance(actor, LookaheadPolicy) else actor.act
        times, source = [], "clock"
        for _ in range(1 + TIMED_REQUESTS):
            start = perf_counter()
            ask(observation)
            times.append(1e3 * (perf_counter() - start))
        reported = reported_times(actor)
        if reported is not None and len(reported) > TIMED_REQUESTS:
            times, source = list(reported), "server"
        times = times[-TIMED_REQUESTS:]
    except AssayError as error:
        raise PolicyError(f"--latency measured: {error}") from None
    except Exception as error:  # policies may raise anything
        raise PolicyError(f"--latency measured: {type(actor).__name__}: {one_line(error, 200)}") from error
    finally:
        env.close()
        if isinstance(policy, str):
            close_policy(actor)
    middle = statistics.median(times)
    steps = max(0, math.ceil(middle / (1e3 * world.step_seconds) - TOLERANCE_STEPS))
    check_latency(world, steps)
    return {
        "steps": steps,
        "median_ms": round(middle, 3),
        "ms": [round(time, 3) for time in times],
        "by": source,
    }


@contextmanager
def open_run(plan: RunPlan, observer: Observer) -> Iterator[Store]:
    """Open the run's file for writing and store its provenance; a new file is removed if no episode is recorded.

    Raises RunError if the file holds another run, and DeclinedError if the observer does not approve.
    """
    is_new = is_useful = False
    remove_leftovers()  # of a killed run, which may have been complete: then this one starts no workers
    try:
        with Store.writing(plan.path) as store:
            is_new = not store.planned and not store.meta  # known for certain only while the file is locked
            check_same_run(store, plan.provenance, empty_is_new=True)
            shard = None if plan.part is None else plan.part.description
            if store.planned and (stored := store.meta.get(SHARD)) != shard:
                held = "a complete run" if stored is None else f"shard {stored['number']}/{stored['of']}"
                raise RunError(
                    f"{plan.path}: contains {held}, which this command cannot resume; choose another --out"
                )
            if not observer.approve(plan):
                raise DeclinedError(f"{plan.path}: the run was not started")
            describe(store, plan.provenance, conditions=plan.experiment.conditions)
            states = plan.options.states
            values = {"label": plan.label, "states_folder": states and str(states.absolute()), SHARD: shard}
            store.describe(**{name: value for name, value in values.items() if value is not None})
            try:
                yield store
                is_useful = True
            except (PolicyError, DeclinedError):  # the policy cannot be loaded, unless it has acted already
                is_useful = store.done > 0
                raise
            except BaseException:
                is_useful = True
                raise
    finally:
        if is_new and not is_useful and plan.path.exists():
            plan.path.unlink()
        if not isinstance(plan.actor, Player) and not plan.policy.startswith(OBJECT):
            close_policy(plan.actor)  # created by the plan, from an address


def store_plan(store: Store, plan: RunPlan, observer: Observer) -> Ending:
    """Store a plan's episodes, certified if required; ``left`` is above 0 if the certification was interrupted."""
    place = None if plan.part is None else plan.part.place
    if not plan.requires_certificates:
        times, limit = plan.experiment.reference, plan.experiment.limit
        specs: Iterable[EpisodeSpec] = plan.specs
        if times is not None:
            specs = (apply_time_limit(spec, limit, times.of(spec.task)) for spec in plan.specs)
        store.plan(specs, place)
        return Ending(0, 0)
    with CertificateCache(states=plan.states_digest) as cache:
        ending = make_certificates(plan.specs, cache, plan.demonstrator, plan.options, observer)
        if ending.left:
            return ending
        admitted, refused = admit(plan.specs, cache, plan.experiment.limit, plan.experiment.reference)
    store.plan(admitted, place)
    remember(store, refused, plan.specs)
    if not store.planned and plan.part is None:  # all episodes of one shard may be refused
        often, *_ = count_reasons(refused)
        raise RunError(f"all {len(refused)} episodes were refused; most frequent reason: {often}")
    return ending


def make_certificates(
    specs: Iterable[EpisodeSpec],
    cache: CertificateCache,
    demonstrator: WorkerConfig,
    options: RunOptions,
    observer: Observer,
    tries: int = 1,
) -> Ending:
    """Run the demonstrator to certify those episodes and controls that have no certificate yet."""
    wanted = [claim for claim in claims(specs, tries) if cache.get(claim) is None]
    if not wanted:
        return Ending(0, 0)
    observer.certifying(len(wanted))

    def watch(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None:
            observer.scene_certified()

    executor = make_executor(demonstrator, options)
    return certify(wanted, cache, executor, stopping=observer.stopping, watch=watch)


def make_executor(
    worker: WorkerConfig,
    options: RunOptions,
    actor: Policy | Player | None = None,
    store: Store | None = None,
) -> Executor:
    """Return an executor: local processes, Ray actors, this process, or a player; ``actor`` acts in this process."""
    if isinstance(actor, Player):
        assert store is not None
        return actor.executor(worker, store.specs())
    if actor is not None or (options.workers == 0 and options.ray is None):
        return InProcess(worker, actor)
    if options.ray is not None:
        from assay.runs.on_ray import RayActors

        if "://" in worker.policy and "batch=" in worker.policy:
            raise RunError(
                f"{worker.policy}: batch= requires workers on one machine and cannot be combined with --ray"
            )
        return RayActors(worker, options.ray, options.workers, timeout=options.timeout)
    return LocalProcesses(worker, options.worker_count, timeout=options.timeout)
