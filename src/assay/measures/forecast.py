"""Forecast of a run from its plan: duration, the tests in its report, and the smallest losses they can detect.

Tests are counted as in the diagnosis and the search, including those that cannot reach significance with the planned
starts: they count as soon as seeds are added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.episodes import CONTROL, EpisodeSpec, world_of
from assay.episodes.perturbation import Change
from assay.errors import AssayError
from assay.measures.flaws import shown_by
from assay.measures.frames import label_changes, plausible
from assay.measures.memory.memorisation import FAR
from assay.measures.search import search_phrasings
from assay.measures.success.task_labels import MIN_TASKS
from assay.measures.words.phrasing import STRATUM, SURFACE_LABEL
from assay.runs.estimates import (
    DEFAULT_SUCCESS,
    Certificates,
    EarlierRuns,
    EpisodePace,
    certificates,
    earlier_runs,
    time_episodes,
)
from assay.runs.plan import RunPlan
from assay.runs.store import Store
from assay.support.stats.power import NAMED, SEARCHED, detectable, starts_for
from assay.tasks.labels import COLUMN


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected size, duration and power of a run."""

    episodes: int
    """Number of planned episodes; some whose scenes are not yet certified may be refused."""
    done: int
    """Number of planned episodes that are already recorded."""
    seeds: int
    """Number of seeds per task."""
    certificates: Certificates
    workers: int
    pace: EpisodePace | None
    """Duration of an episode; None if unknown."""
    broke: str
    """Error raised by the timed episodes; empty if there was none."""
    certificate_pace: EpisodePace | None
    """Duration of an episode of the demonstrator that certifies scenes; None if unknown."""
    success: float
    """Success rate of the controls, 0 to 1: measured, or assumed."""
    success_source: str
    """Origin of ``success``, for example ``assumed``."""
    tested: tuple[PlannedTest, ...]
    """Changes whose cost is tested."""
    unexpected: tuple[str, ...] = ()
    """Conditions in which success is not expected, so that losses are not tested."""
    controls: int = 0
    """Number of planned controls, including repetitions."""
    repeated: tuple[int, int] = (0, 0)
    """See `EarlierRuns.repeated`."""

    @property
    def seconds(self) -> float | None:
        """Wall-clock duration in seconds; None if the pace is unknown."""
        if self.pace is None or (self.certificates.missing and self.certificate_pace is None):
            return None
        certifying = self.certificates.missing * (
            self.certificate_pace.seconds if self.certificate_pace else 0.0
        )
        return ((self.episodes - self.done) * self.pace.seconds + certifying) / self.workers

    @property
    def hopeless(self) -> bool:
        """Whether the demonstrator solved no unperturbed episode, so that almost no scene can be certified."""
        return self.certificate_pace is not None and self.certificate_pace.succeeded == 0

    @property
    def worst(self) -> float | None:
        """Smallest loss detectable under every change; None if no loss is detectable under some change."""
        losses = [test.detectable(self.success) for test in self.tested]
        return max((loss for loss in losses if loss is not None), default=None) if all(losses) else None

    def with_seeds(self, seeds: int) -> Forecast:
        """Return the forecast for a run with ``seeds`` seeds, assuming the same fraction of certified episodes."""
        share = seeds / self.seeds
        need = Certificates(round(share * self.certificates.known), round(share * self.certificates.missing))
        scaled = tuple(replace(test, starts=int(test.starts * share)) for test in self.tested)
        episodes = round(share * self.episodes)
        return replace(self, episodes=episodes, done=0, seeds=seeds, certificates=need, tested=scaled)

    def seeds_within(self, seconds: float) -> int | None:
        """Return the largest number of seeds that fits within a duration; None if the pace is unknown."""
        one = self.with_seeds(1).seconds if self.seeds else None
        return None if not one else math.floor(seconds / one)

    def seeds_for(self, loss: float) -> int | None:
        """Return the number of seeds needed to detect a loss under every change; None if it is unreasonably large."""
        seeds = []
        for test in self.tested:
            starts = starts_for(loss, self.success, test.family, NAMED if test.named else SEARCHED)
            if starts is None:
                return None
            seeds.append(math.ceil(starts / (test.starts / self.seeds)))
        return max(seeds, default=None)

    def as_json(self) -> dict[str, Any]:
        """Return the forecast as a JSON object."""
        data = asdict(self)
        for test, entry in zip(self.tested, data["tested"], strict=True):
            entry["detectable"] = test.detectable(self.success)
        return {**data, "seconds": self.seconds}


def forecast(
    plan: RunPlan,
    policy: str | None,
    *,
    path: Path | None = None,
    folders: Iterable[Path] = (),
    success: float | None = None,
    sample: int = 0,
) -> Forecast:
    """Forecast a run of a policy from its earlier runs in ``folders``, or from ``sample`` timed controls."""
    demonstrator = plan.experiment.played_in.traits.demonstrator
    steps = plan.options.steps
    needed = certificates(plan)
    earlier = (
        EarlierRuns(None, None, 0) if policy is None else earlier_runs(policy, plan.pack, folders, steps)
    )
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
    done = 0
    if path is not None and path.is_file():
        with suppress(AssayError), Store.reading(path) as store:
            # A time limit that depends on certificates is set after planning, so limits are not compared.
            recorded = {replace(spec, steps=None).key for spec in store.recorded()}
            done = sum(replace(spec, steps=None).key in recorded for spec in plan.specs)
    expected = expect_tests(plan.specs)
    return Forecast(
        episodes=len(plan.specs),
        done=done,
        seeds=len({spec.paired_seed for spec in plan.specs}),
        certificates=needed,
        workers=plan.options.worker_count,
        pace=pace,
        broke=broke,
        certificate_pace=certifying,
        success=DEFAULT_SUCCESS if success is None else success,
        success_source=source,
        tested=expected.changes,
        unexpected=expected.unexpected,
        controls=sum(spec.condition == CONTROL for spec in plan.specs),
        repeated=earlier.repeated,
    )


_WORDS = ("action", "object")
"""Labels that describe a wording: its phrasing of the action and its names for objects."""


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """Planned test of the cost of one change."""

    change: str
    """Name of the change (names, position, ...); the components of joint changes are joined with ``+``."""
    conditions: tuple[str, ...]
    starts: int
    """Number of starts (task and initial state) with at least one of the change's conditions."""
    family: int
    """Number of tests over which the p value is adjusted (Holm)."""
    named: bool
    """Whether the test is for a named flaw; if not, the change is a joint one, which the search covers."""

    def detectable(self, success: float) -> float | None:
        """Return the smallest loss detectable with 80 % power, given the success rate of the controls."""
        return detectable(self.starts, success, self.family, NAMED if self.named else SEARCHED)


@dataclass(frozen=True, slots=True)
class ExpectedTests:
    """Tests that the report on a planned run will contain."""

    changes: tuple[PlannedTest, ...]
    named: int
    """Number of tests for named flaws."""
    searched: int
    """Number of patterns that are searched for a loss."""
    unexpected: tuple[str, ...]
    """Conditions in which success is not expected, which test for memorisation and ignored instructions.
    Conditions whose instruction lets a policy guess the task are left out.
    """


def expect_tests(specs: Iterable[EpisodeSpec]) -> ExpectedTests:
    """Return the tests in the report on a planned run, assuming that some controls succeed and some fail."""
    every = _plan_frame(specs)
    rows = every.filter(pl.col("condition") != CONTROL)
    sensible = plausible(rows)
    changed = sensible.drop_nulls("change")
    lost = changed.filter(pl.col("change") != Change.TASK)
    named = _count_named(every, rows, lost)
    phrasings = (
        lost.filter(pl.col("change") == Change.WORDING).drop_nulls(_WORDS).with_columns(success=pl.lit(1))
    )
    searched = (  # the patterns of `search`
        sensible.filter(~pl.col("other_task"))["axis"].drop_nulls().n_unique()
        + sum(len(shown_by(change)) > 1 for change in lost["change"].unique())
        + sensible.filter(~pl.col("new_goal"))["condition"].n_unique()
        + (lost.select("task", "change").n_unique() if sensible["task"].n_unique() > 1 else 0)
        + (len(list(search_phrasings(0, phrasings))) if len(phrasings) else 0)
    )
    changes = []
    for (change,), group in changed.group_by("change", maintain_order=True):
        alone = len(shown_by(str(change))) == 1
        starts = group.select("task", "start").n_unique()
        conditions = tuple(group["condition"].unique(maintain_order=True))
        changes.append(PlannedTest(str(change), conditions, starts, named if alone else searched, alone))
    unexpected = rows.filter(~pl.col("plausible") & ~pl.col("guessable"))["condition"]
    return ExpectedTests(tuple(changes), named, searched, tuple(unexpected.unique(maintain_order=True)))


def _plan_frame(specs: Iterable[EpisodeSpec]) -> pl.DataFrame:
    """Convert a plan to the frame of a run with labelled changes and the columns that tests depend on."""
    instructions: dict[tuple[object, ...], str] = {}
    rows = []
    text_labels = ("change", "axis", SURFACE_LABEL, *_WORDS)
    for index, spec in enumerate(specs):
        labels, text = spec.labels, None
        sensible = bool(labels.get("plausible", True))
        if sensible and labels.get("change") == Change.WORDING:  # whether it changes names is in the text
            key = (spec.task, spec.perturbations)
            if key not in instructions:
                instructions[key] = world_of(spec.task).task(spec).instruction.text
            text = instructions[key]
        rows.append(
            {
                "id": index,
                "task": spec.task,
                "seed": spec.seed,
                "start": spec.world_seed,
                "condition": spec.condition,
                "instruction": text,
                "plausible": sensible,
                "guessable": bool(labels.get("guessable")),
                "milder": bool(labels.get("milder")),
                "other_task": labels.get("change") == Change.TASK,
                "asked": labels.get("asked_goal") is not None or labels.get("change") == Change.TASK,
                "new_goal": labels.get("asked_goal") is not None and labels.get("asked_from") is None,
                "far": float(labels.get("distance") or 0.0),
                "kind": any(name.startswith(COLUMN) for name in labels),
                **{name: str(labels[name]) if labels.get(name) is not None else None for name in text_labels},
            }
        )
    return label_changes(pl.DataFrame(rows, infer_schema_length=None))


def _count_named(every: pl.DataFrame, rows: pl.DataFrame, lost: pl.DataFrame) -> int:
    """Count the tests for named flaws; a flaw that two changes reveal counts twice."""
    world = world_of(str(every["task"][0])).traits if len(every) else None
    paths = world is not None and world.continuous
    worded = lost.filter(pl.col("change").is_in([Change.WORDING, Change.NAMES]))
    same_names = worded.filter(pl.col("change") == Change.WORDING)
    manner = pl.coalesce("action", pl.col("seed").cast(pl.String))
    by_manner = worded.group_by("task", manner).agg(pl.col("change").n_unique())
    names = bool((by_manner["change"] == 2).any())  # the same phrasing with and without changed names
    phrasings = same_names.group_by(STRATUM).agg(pl.col("action").n_unique())["action"]
    singles = {change for change in lost["change"].unique() if len(shown_by(change)) == 1}
    singles -= {Change.NAMES} if names else set()
    singles -= {Change.SURFACE} if rows[SURFACE_LABEL].is_not_null().any() else set()
    words = rows.filter((pl.col("axis") == "words") & (~pl.col("plausible") | pl.col("asked")))
    moved = rows.filter((pl.col("far") >= FAR) | pl.col("change").str.contains(Change.POSITION, literal=True))
    return sum(
        (
            bool(len(lost)),  # the fall over all changes
            len(singles),
            names,
            bool(len(same_names.drop_nulls(_WORDS)) and (phrasings > 1).any()),
            bool(rows[SURFACE_LABEL].is_not_null().any()),
            bool((plausible(rows)["other_task"]).any()),
            bool((every["condition"] == CONTROL).any()),  # fails unperturbed
            paths and bool((every["condition"] == CONTROL).any()),  # execution errors
            paths and bool(len(moved)),  # memorises
            bool(len(words)),  # ignores words
            bool(rows["kind"].any()) and rows["task"].n_unique() >= MIN_TASKS,
        )
    )
