"""Measurements before a run: certificates and time, from earlier runs or a few timed episodes; inference latency.

Wall-clock time varies from request to request; if it entered episodes, the same spec would no longer give the same
episode. So a latency is measured once, converted to control steps, and stored with the run, which is resumed with it.
"""

from __future__ import annotations

import math
import re
import sqlite3
import statistics
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from assay.episodes import CONTROL, EpisodeSpec, Outcome, Policy, Privileged, load_world
from assay.episodes.latency import LookaheadPolicy, check_latency
from assay.episodes.stepwise import NOT_HERE
from assay.errors import AssayError, PolicyError, RunError, one_line
from assay.experiments import Experiment
from assay.policies.registry import load_policy
from assay.runs.certificates import CertificateCache, cache_file, claims
from assay.runs.executor import Player
from assay.runs.options import MEASURED, RunOptions
from assay.runs.plan import RunPlan
from assay.runs.store import SUFFIX, Store
from assay.runs.worker import EpisodeRunner
from assay.support.console import number_of

DEFAULT_SUCCESS = 0.9
"""Assumed success of the controls of an unknown policy."""
SAMPLE = 3
"""Episodes that are timed if there is no earlier run."""
MAX_RUNS = 200
"""Earlier runs that are read, the newest first."""
LATENCY = "latency"
"""Name of a measured latency in a run's meta table."""
TOLERANCE_STEPS = 0.1
"""Fraction of a control step by which a latency may exceed whole steps without being rounded up."""
TIMED_REQUESTS = 5
"""Requests that are timed, after a first one that is not: it may compile a model."""
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class EpisodePace:
    """The duration of an episode, and its source."""

    seconds: float
    """Wall-clock time of one worker."""
    source: str
    """A description: "mean of 264 episodes of earlier runs"."""
    succeeded: int | None = None
    """Successes among the ``timed`` episodes; None if nothing was timed."""
    timed: int = 0


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """What is known from earlier runs of a policy."""

    pace: EpisodePace | None
    success: float | None
    """Success rate of their controls."""
    controls: int


@dataclass(frozen=True, slots=True)
class Certificates:
    """Certificates of a plan: cached ones and missing ones."""

    known: int
    missing: int


def alone(specs: Sequence[EpisodeSpec]) -> tuple[str, ...]:
    """The conditions with a single change, which isolate a flaw; empty if all are."""
    single: dict[str, bool] = {}
    for spec in specs:
        if spec.condition != CONTROL:
            single[spec.condition] = single.get(spec.condition, True) and len(spec.perturbations) == 1
    chosen = tuple(name for name, is_single in single.items() if is_single)
    return chosen if len(chosen) < len(single) else ()


def certificates(plan: RunPlan) -> Certificates:
    """The certificates that a plan needs."""
    if not plan.requires_certificates:
        return Certificates(0, 0)
    with CertificateCache(cache_file(), plan.states_digest) as cache:
        missing = [cache.get(claim) is None for claim in claims(plan.specs)]
    return Certificates(len(missing) - sum(missing), sum(missing))


def earlier_runs(policy: str, pack: str, folders: Iterable[Path], steps: int | None = None) -> EarlierRuns:
    """Duration of an episode and success of the controls in earlier runs of a policy with the same ``steps``."""
    files = {file for folder in folders if folder.is_dir() for file in folder.glob(f"*{SUFFIX}")}
    count, seconds, runs, wins, controls = 0, 0.0, 0, 0, 0
    for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)[:MAX_RUNS]:
        try:
            with closing(Store.reading(file)) as store:
                meta = store.meta
                limit = (meta.get("settings") or {}).get("steps")
                if (meta.get("policy"), meta.get("pack"), limit) != (policy, pack, steps):
                    continue
                done, took = store.seconds()
                rates = {row["condition"]: row for row in store.counts().iter_rows(named=True)}
        except (AssayError, sqlite3.Error, ValueError):  # not a run
            continue
        count, seconds, runs = count + done, seconds + took, runs + 1
        if CONTROL in rates:
            wins += rates[CONTROL]["success"]
            controls += rates[CONTROL]["success"] + rates[CONTROL]["failure"]
    source = f"mean of {count:,} episodes of {number_of(runs, 'earlier run')} of this policy"
    pace = EpisodePace(seconds / count, source) if count else None
    return EarlierRuns(pace, wins / controls if controls else None, controls)


def time_episodes(plan: RunPlan, policy: str | Policy, count: int = SAMPLE) -> EpisodePace | str:
    """Time a few controls of a plan in this process; returns the error if all of them fail. Raises PolicyError."""
    controls = [spec for spec in plan.specs if spec.condition == CONTROL] or plan.specs
    sample = controls[:: max(1, len(controls) // count)][:count]
    actor = None if isinstance(policy, str) else policy
    name = policy if isinstance(policy, str) else type(policy).__name__
    runner = EpisodeRunner(replace(plan.worker, policy=name, retries=0, videos=None), actor)
    try:
        episodes = [runner.run(spec) for spec in sample]
    finally:
        runner.close(policy=actor is None)
    seconds = [episode.seconds for episode in episodes if episode.outcome is not Outcome.ERROR]
    if not seconds:
        return episodes[0].error
    return EpisodePace(
        statistics.fmean(seconds),
        f"measured on {number_of(len(seconds), 'episode')} of {name}",
        succeeded=sum(episode.outcome is Outcome.SUCCESS for episode in episodes),
        timed=len(seconds),
    )


def parse_duration(text: str | float) -> float:
    """Seconds of ``2h``, ``90min``, ``1h30m``; a number is seconds. Raises RunError."""
    if isinstance(text, int | float):
        text = f"{text}s"
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(min|[smhd])", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*(min|[smhd])", "", text).strip():
        raise RunError(f"budget '{text}': valid: a time such as 90s, 20min, 2h or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def duration(seconds: float) -> str:
    """A time in words: 40 s, 12 min, 3 h 10 min, 2 days 4 h."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    return f"{hours // 24} days {hours % 24} h"


def settle_latency(
    experiment: str | Experiment, policy: str | Policy | Player, path: Path, options: RunOptions
) -> tuple[RunOptions, dict[str, object] | None]:
    """The options with the latency in control steps, and its measurement: new, or stored when the run began.

    Raises AssayError if it cannot be measured.
    """
    if options.latency != MEASURED:
        return options, None
    if isinstance(policy, Player):
        raise RunError(f"--latency: {NOT_HERE}")
    if options.shard is not None:
        raise RunError(
            "--latency measured: shards of one plan need one number; valid: a number of control steps"
        )
    if path.is_file():
        with Store.reading(path) as store:
            stored = store.meta.get(LATENCY) if store.done else None
        if stored is not None:
            return _with(options, int(stored["steps"])), stored
    first_seed = None if options.seeds is None else options.seeds[:1]
    plan = RunPlan.make(experiment, replace(options, latency=0, while_waiting=None, seeds=first_seed))
    world = plan.experiment.played_in
    check_latency(world, 1)
    assert world.step_seconds is not None
    spec = plan.specs[0]
    env = load_world(plan.experiment.world).open(options.states)
    actor = load_policy(policy, plan.experiment.world) if isinstance(policy, str) else policy
    try:
        times, source = _time_requests(actor, env, env.reset(spec), spec)
    except AssayError as error:
        raise PolicyError(f"--latency measured: {error}") from None
    except Exception as error:  # policies may raise anything
        raise PolicyError(f"--latency measured: {type(actor).__name__}: {one_line(error, 200)}") from error
    finally:
        env.close()
        close = getattr(actor, "close", None)
        if isinstance(policy, str) and callable(close):
            close()
    middle = statistics.median(times)
    steps = max(0, math.ceil(middle / (1e3 * world.step_seconds) - TOLERANCE_STEPS))
    check_latency(world, steps)
    measured: dict[str, object] = {
        "steps": steps,
        "median_ms": round(middle, 3),
        "ms": [round(time, 3) for time in times],
        "by": source,
    }
    return _with(options, steps), measured


def _with(options: RunOptions, steps: int) -> RunOptions:
    return replace(options, latency=steps, while_waiting=options.while_waiting if steps else None)


def _time_requests(policy: Policy, env: Any, observation: Any, spec: Any) -> tuple[list[float], str]:
    """Milliseconds of some decisions on one observation, and their source: server or clock."""
    if isinstance(policy, Privileged):
        policy.attach(env)
    policy.reset(env.task.instruction, spec)
    ask = policy.foresee if isinstance(policy, LookaheadPolicy) else policy.act
    ask(observation)
    clock = []
    for _ in range(TIMED_REQUESTS):
        start = perf_counter()
        ask(observation)
        clock.append(1e3 * (perf_counter() - start))
    times = getattr(policy, "inference_ms", None)
    if (
        isinstance(times, list)
        and len(times) > TIMED_REQUESTS
        and all(isinstance(time, float) for time in times)
    ):
        return times[-TIMED_REQUESTS:], "server"
    return clock, "clock"
