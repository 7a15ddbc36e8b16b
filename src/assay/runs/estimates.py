"""Estimates before a run: number of certificates and duration, from earlier runs or a few timed episodes."""

from __future__ import annotations

import re
import sqlite3
import statistics
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.episodes import CONTROL, Outcome, Policy
from assay.errors import AssayError, RunError
from assay.runs.certificates import CertificateCache, claims
from assay.runs.executor import EpisodeRunner
from assay.runs.plan import RunPlan
from assay.runs.store import SUFFIX, Store
from assay.support.console import number_of

DEFAULT_SUCCESS = 0.9
"""Assumed success rate of an unknown policy on the controls."""
SAMPLE = 3
"""Number of episodes that are timed if there is no earlier run."""
MAX_RUNS = 200
"""Maximum number of earlier runs that are read, newest first."""
LATENCY = "latency"
"""Key of a measured latency in a run's meta table."""
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class EpisodePace:
    """Duration of an episode and the source of the estimate."""

    seconds: float
    """Wall-clock time that one worker takes per episode, in seconds."""
    source: str
    """Source of the estimate, e.g. "mean of 264 episodes of earlier runs"."""
    succeeded: int | None = None
    """Number of successes among the ``timed`` episodes; None if no episodes were timed."""
    timed: int = 0


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """Pace, success rate and randomness in earlier runs of a policy."""

    pace: EpisodePace | None
    success: float | None
    """Success rate on the controls in these runs."""
    controls: int
    repeated: tuple[int, int] = (0, 0)
    """Number of starts with repeated controls, and of those whose repetitions differ in outcome."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Numbers of cached and missing certificates among those that a plan needs."""

    known: int
    missing: int


def certificates(plan: RunPlan) -> Certificates:
    """Count the certificates that a plan needs."""
    if not plan.requires_certificates:
        return Certificates(0, 0)
    with CertificateCache(states=plan.states_digest) as cache:
        missing = [cache.get(claim) is None for claim in claims(plan.specs)]
    return Certificates(len(missing) - sum(missing), sum(missing))


def earlier_runs(policy: str, pack: str, folders: Iterable[Path], steps: int | None = None) -> EarlierRuns:
    """Return the mean episode duration and the success rate on controls in earlier runs with these settings."""
    files = {file for folder in folders if folder.is_dir() for file in folder.glob(f"*{SUFFIX}")}
    count, seconds, runs, wins, controls = 0, 0.0, 0, 0, 0
    repeated = np.zeros(2, int)
    for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)[:MAX_RUNS]:
        try:
            with Store.reading(file) as store:
                meta = store.meta
                limit = (meta.get("settings") or {}).get("steps")
                if (meta.get("policy"), meta.get("pack"), limit) != (policy, pack, steps):
                    continue
                done, took = store.seconds()
                rates = {row["condition"]: row for row in store.counts().iter_rows(named=True)}
                noise = store.repeated_controls()
        except (AssayError, sqlite3.Error, ValueError):  # not a run
            continue
        count, seconds, runs = count + done, seconds + took, runs + 1
        repeated += noise
        if CONTROL in rates:
            wins += rates[CONTROL]["success"]
            controls += rates[CONTROL]["success"] + rates[CONTROL]["failure"]
    source = f"mean of {count:,} episodes of {number_of(runs, 'earlier run')} of this policy"
    pace = EpisodePace(seconds / count, source) if count else None
    return EarlierRuns(pace, wins / controls if controls else None, controls, tuple(repeated.tolist()))


def time_episodes(plan: RunPlan, policy: str | Policy, count: int = SAMPLE) -> EpisodePace | str:
    """Time a few controls of a plan in this process; return the error if all of them fail. Raises PolicyError."""
    controls = [spec for spec in plan.specs if spec.condition == CONTROL] or plan.specs
    sample = controls[:: max(1, len(controls) // count)][:count]
    actor = None if isinstance(policy, str) else policy
    name = policy if isinstance(policy, str) else type(policy).__name__
    with closing(EpisodeRunner(replace(plan.worker, policy=name, retries=0, videos=None), actor)) as runner:
        episodes = [runner.run(spec) for spec in sample]
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
    """Parse ``2h``, ``90min`` or ``1h30m`` as seconds; a plain number is in seconds. Raises RunError."""
    if isinstance(text, int | float):
        text = f"{text}s"
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(min|[smhd])", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*(min|[smhd])", "", text).strip():
        raise RunError(f"budget '{text}': expected a time such as 90s, 20min, 2h or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def duration(seconds: float) -> str:
    """Format a duration as 40 s, 12 min, 3 h 10 min or 2 days 4 h."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    return f"{hours // 24} days {hours % 24} h"
