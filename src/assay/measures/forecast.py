"""A plan in numbers: what is to be done, how long that takes, what it can find; and what fits a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from assay.episodes import EpisodeSpec
from assay.errors import AssayError
from assay.measures.expected import Tested, expected
from assay.runs.estimates import (
    DEFAULT_SUCCESS,
    Certificates,
    EarlierRuns,
    EpisodePace,
    alone,
    certificates,
    earlier_runs,
    time_episodes,
)
from assay.runs.plan import RunPlan
from assay.runs.store import Store


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known of a run before it is begun."""

    episodes: int
    """Of the plan; without certificates some may be refused."""
    done: int
    """Of them, recorded already."""
    seeds: int
    certificates: Certificates
    workers: int
    pace: EpisodePace | None
    """Of an episode; None where nobody knows."""
    broke: str
    """Why all episodes broke that were to be timed; empty where none did."""
    certificate_pace: EpisodePace | None
    success: float
    """Of the controls, measured or reckoned with."""
    success_source: str
    tested: tuple[Tested, ...]
    """The changes whose cost is tested."""
    unexpected: tuple[str, ...] = ()
    """Conditions in which success is not expected: no loss is looked for in them."""

    @property
    def seconds(self) -> float | None:
        """How long it takes, of the clock; None where nobody knows how long an episode does."""
        if self.pace is None or (self.certificates.missing and self.certificate_pace is None):
            return None
        certifying = self.certificates.missing * (
            self.certificate_pace.seconds if self.certificate_pace else 0.0
        )
        return ((self.episodes - self.done) * self.pace.seconds + certifying) / self.workers

    @property
    def hopeless(self) -> bool:
        """Whether the demonstrator solved nothing that it tried, with nothing changed: hardly anything is certified."""
        return self.certificate_pace is not None and self.certificate_pace.succeeded == 0

    @property
    def worst(self) -> float | None:
        """The largest of the losses that can be found under each change; None where under one of them none can."""
        found = [each.detectable(self.success) for each in self.tested]
        return max((each for each in found if each is not None), default=None) if all(found) else None

    def with_seeds(self, seeds: int) -> Forecast:
        """The same with another number of seeds, nothing done yet and as large a share certified."""
        share = seeds / self.seeds
        need = Certificates(round(share * self.certificates.known), round(share * self.certificates.missing))
        scaled = (replace(each, starts=int(each.starts * share)) for each in self.tested)
        return replace(
            self,
            episodes=round(share * self.episodes),
            done=0,
            seeds=seeds,
            certificates=need,
            tested=tuple(scaled),
        )

    def seeds_within(self, seconds: float) -> int | None:
        """The most seeds that a time allows; None where that is not known, 0 where not even one."""
        one = self.with_seeds(1).seconds if self.seeds else None
        return None if not one else math.floor(seconds / one)

    def seeds_for(self, loss: float) -> int | None:
        """The fewest seeds with which a loss is found under every change; None where no sensible number does."""
        found = [each.starts_for(loss, self.success) for each in self.tested]
        if not found or None in found:
            return None
        per_seed = [each.starts / self.seeds for each in self.tested]
        return max(math.ceil(starts / per) for starts, per in zip(found, per_seed, strict=True) if starts)

    def as_json(self) -> dict[str, Any]:
        """A JSON object."""
        told = asdict(self)
        for each, kept in zip(self.tested, told["tested"], strict=True):
            kept["detectable"] = each.detectable(self.success)
        return {**told, "seconds": self.seconds}


def forecast(
    plan: RunPlan,
    policy: str | None,
    *,
    path: Path | None = None,
    folders: Iterable[Path] = (),
    success: float | None = None,
    sample: int = 0,
) -> Forecast:
    """Forecast a run of a policy, from its earlier runs in ``folders``, or else from ``sample`` timed controls."""
    demonstrator = plan.experiment.played_in.traits.demonstrator
    steps = plan.options.steps
    needed = certificates(plan)
    earlier = EarlierRuns(None, None, 0)
    if policy is not None:
        earlier = earlier_runs(policy, plan.pack, folders, steps)
    pace, certifying, broke = earlier.pace, None, ""
    if demonstrator is not None and needed.missing:
        certifying = earlier_runs(demonstrator, plan.pack, folders, steps).pace
        if certifying is None and sample:
            timed = time_episodes(plan, demonstrator)
            certifying = None if isinstance(timed, str) else timed
    if pace is None and sample and policy is not None:
        timed = certifying if certifying and policy == demonstrator else time_episodes(plan, policy, sample)
        pace, broke = (None, timed) if isinstance(timed, str) else (timed, "")
    source = "given" if success is not None else "assumed"
    if success is None and earlier.success is not None:
        success, source = earlier.success, f"measured in {earlier.controls} controls of earlier runs"
    to_test = expected(plan.specs)
    return Forecast(
        episodes=len(plan.specs),
        done=0 if path is None else _done(path, plan.specs),
        seeds=len({spec.seed for spec in plan.specs}),
        certificates=needed,
        workers=plan.options.worker_count,
        pace=pace,
        broke=broke,
        certificate_pace=certifying,
        success=DEFAULT_SUCCESS if success is None else success,
        success_source=source,
        tested=to_test.changes,
        unexpected=to_test.unexpected,
    )


def changes_alone(plan: RunPlan) -> tuple[RunPlan, tuple[str, ...]] | None:
    """The part of a plan with one change at a time, and its conditions; None if that is all of it."""
    chosen = alone(plan.specs)
    if not chosen:
        return None
    conditions = {*chosen, "control"}
    return replace(plan, specs=[spec for spec in plan.specs if spec.condition in conditions]), chosen


def _done(path: Path, specs: Iterable[EpisodeSpec]) -> int:
    """How many episodes of a plan a run's file holds; those that other commands recorded in it are not counted.

    A time limit that hangs on certificates is set after planning, so limits are not compared.
    """
    if not path.is_file():
        return 0
    try:
        with Store.reading(path) as store:
            known = {replace(spec, steps=None).key for spec in store.recorded()}
    except AssayError:
        return 0
    return sum(replace(spec, steps=None).key in known for spec in specs)
