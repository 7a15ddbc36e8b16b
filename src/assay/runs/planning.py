"""What a run will cost, before it is begun: certificates, time; and what earlier runs tell of the policy."""

from __future__ import annotations

import re
import sqlite3
import statistics
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from assay.episodes import CONTROL, EpisodeSpec, Outcome, Policy
from assay.errors import AssayError, RunError
from assay.runs.certificates import Cache, cache_file
from assay.runs.certificates.certify import claims
from assay.runs.connections import SUFFIX
from assay.runs.store import Store
from assay.runs.work import Work
from assay.runs.worker import EpisodeRunner, WorkerConfig

USUAL_SUCCESS = 0.9
"""Success of the controls that is reckoned with where nothing is known of the policy."""
SAMPLE = 3
"""Episodes that are timed where no earlier run tells how long they take."""
MOST_RUNS = 200
"""Earlier runs that are looked at, the newest first."""
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an episode takes, and how that is known."""

    seconds: float
    """Of the clock, of one worker."""
    source: str
    """For people: "mean of 264 episodes of earlier runs"."""
    at_least: bool = False
    """Whether it is another's, who is quicker than the policy can be."""
    succeeded: int | None = None
    """How many of the ``timed`` episodes succeeded; None where it was not measured now."""
    timed: int = 0

    @property
    def word(self) -> str:
        """What comes before a time that is reckoned with it."""
        return "at least" if self.at_least else "about"


@dataclass(frozen=True, slots=True)
class Known:
    """What earlier runs of a policy tell."""

    pace: Pace | None
    success: float | None
    """Of their controls."""
    controls: int


@dataclass(frozen=True, slots=True)
class Certificates:
    """Of a plan: those that are there, and those that are to be made."""

    known: int
    missing: int


def alone(specs: Sequence[EpisodeSpec]) -> tuple[str, ...]:
    """The conditions that make one change, and no other: each shows its flaw by itself. Empty where all do."""
    single: dict[str, bool] = {}
    for spec in specs:
        if spec.condition != CONTROL:
            single[spec.condition] = single.get(spec.condition, True) and len(spec.perturbations) == 1
    chosen = tuple(name for name, is_single in single.items() if is_single)
    return chosen if len(chosen) < len(single) else ()


def certificates(work: Work) -> Certificates:
    """How many certificates a plan needs."""
    if not work.served:
        return Certificates(0, 0)
    with Cache(cache_file(), work.states) as cache:
        found = [cache.get(claim) is None for claim in claims(work.specs)]
    return Certificates(len(found) - sum(found), sum(found))


def earlier(policy: str, pack: str, folders: Iterable[Path], steps: int | None = None) -> Known:
    """What the runs of a policy in some folders tell: how long an episode takes, and how often controls succeed.

    Of those only whose episodes had as many ``steps``: others are longer, or ended before they could succeed.
    """
    files = {each for folder in folders if folder.is_dir() for each in folder.glob(f"*{SUFFIX}")}
    count, seconds, runs, wins, controls = 0, 0.0, 0, 0, 0
    for file in sorted(files, key=lambda each: each.stat().st_mtime, reverse=True)[:MOST_RUNS]:
        try:
            with closing(Store.reading(file)) as store:
                meta = store.meta
                limit = (meta.get("settings") or {}).get("steps")
                if (meta.get("policy"), meta.get("pack"), limit) != (policy, pack, steps):
                    continue
                done, took = store.seconds()
                rates = {row["condition"]: row for row in store.counts().iter_rows(named=True)}
        except (AssayError, sqlite3.Error, ValueError):  # not a run: whoever reads it tells
            continue
        count, seconds, runs = count + done, seconds + took, runs + 1
        if CONTROL in rates:
            wins += rates[CONTROL]["success"]
            controls += rates[CONTROL]["success"] + rates[CONTROL]["failure"]
    told = f"mean of {count:,} episodes of {runs} earlier run{'s' if runs > 1 else ''} of this policy"
    return Known(
        Pace(seconds / count, told) if count else None, wins / controls if controls else None, controls
    )


def timed(work: Work, policy: str | Policy, count: int = SAMPLE) -> Pace | str:
    """How long a few controls of a plan take in this process; why, where all of them break. Raises PolicyError.

    ``policy`` is an address, or an object of this process.
    """
    controls = [spec for spec in work.specs if spec.condition == CONTROL] or work.specs
    chosen = controls[:: max(1, len(controls) // count)][:count]
    states = work.options.states
    plugins = tuple(plugin.module for plugin in work.plugins)
    given = None if isinstance(policy, str) else policy
    name = policy if isinstance(policy, str) else type(policy).__name__
    config = WorkerConfig(name, work.design.world, states=states and states.absolute(), plugins=plugins)
    runner = EpisodeRunner(config, given)
    try:
        done = [runner.run(spec) for spec in chosen]
    finally:
        runner.close(policy=given is None)
    seconds = [each.seconds for each in done if each.outcome is not Outcome.ERROR]
    if not seconds:
        return done[0].error
    number = f"{len(seconds)} episode{'s' if len(seconds) > 1 else ''}"
    succeeded = sum(each.outcome is Outcome.SUCCESS for each in done)
    return Pace(
        statistics.fmean(seconds),
        f"measured on {number} of {name}",
        succeeded=succeeded,
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
    """A time as people say it: 40 s, 12 min, 3 h 10 min, 2 days 4 h."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    return f"{hours // 24} days {hours % 24} h"
