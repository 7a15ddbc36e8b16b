"""Success rates by task and by level (unweighted mean over tasks), and their differences from the control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import START, controls, pairs, require, sums, valid_rows
from assay.measures.result import MeasureError, Missing, Result, attempt
from assay.measures.success.drops import Drop, drops
from assay.measures.success.rates import Rate, rates
from assay.measures.views.table import Column
from assay.support.stats import intervals
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import binomial_at_least, paired_p, within

NEEDED = ("kind", "level", "best")


def flawless(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows as if mistakes were not allowed: only successes with the minimum number of actions count."""
    late = (pl.col("outcome") == "success") & (pl.col("steps") > pl.col("best"))
    return frame.with_columns(outcome=pl.when(late).then(pl.lit("failure")).otherwise("outcome"))


BINS = 12 * 50 + 2 * 100
"""Number of equally likely actions according to the paper: the total number of bins over all axes."""


@dataclass(frozen=True, slots=True)
class TaskScore(Result):
    """Scores of one task at one level under one condition."""

    condition: Annotated[str, Column("condition")]
    kind: Annotated[str, Column("task")]
    """Task kind, ``T1`` to ``T17``."""
    level: Annotated[str, Column("level")]
    """Level of novelty, ``L1`` to ``L4``."""
    allowed: Rate
    """Success rate with mistakes allowed."""
    flawless: Rate
    """Fraction of episodes solved with the fewest possible actions."""
    chance: Annotated[float | None, Column("chance", "chance")]
    """Mean chance level of the valid episodes, by the paper's convention: (1/800) ** minimum number of actions."""


@dataclass(frozen=True, slots=True)
class MeanScore(Result):
    """Unweighted mean of the success rates of tasks."""

    score: Annotated[float, Column("success", "share")]
    effective: float
    """Effective sample size."""
    interval: Annotated[Interval, Column("95 % interval", "share")]
    """Wilson interval, stratified by task."""


@dataclass(frozen=True, slots=True)
class LevelScore(Result):
    """Scores of one level under one condition."""

    condition: Annotated[str, Column("condition")]
    level: Annotated[str, Column("level")]
    tasks: Annotated[int, Column("tasks", "count")]
    """Number of tasks with a valid episode."""
    control: Annotated[float | None, Column("control, same tasks", "share")]
    """Score on the same tasks without perturbation, with mistakes allowed."""
    count: Annotated[int, Column("n", "count")]
    errors: Annotated[int, Column("errors", "count")]
    allowed: MeanScore
    flawless: MeanScore
    chance: Annotated[float, Column("chance", "chance")]
    """Mean of the tasks' chance levels."""


@dataclass(frozen=True, slots=True)
class Against(Result):
    """Paired difference from the control at a level, over pairs with the same task and seed.

    If the condition changes the difficulty, the scenes differ; otherwise they are the same.
    """

    condition: Annotated[str, Column("condition")]
    level: str | None
    """Level of novelty; None for all levels combined."""
    allowed: Drop
    flawless: Drop


def task_scores(rows: pl.DataFrame, ignoring: Sequence[str]) -> tuple[TaskScore, ...]:
    """Score every task at every level under every condition. ``ignoring`` lists the columns to leave out."""
    by = ("condition", "level", "kind")
    counted = rows.with_columns(
        _chance=pl.when(pl.col("outcome") != "error").then((1 / BINS) ** pl.col("best").cast(pl.Float64))
    )
    chances = counted.group_by(by, maintain_order=True).agg(pl.col("_chance").mean())["_chance"]
    allowed, strict = (rates(side.drop(*ignoring, strict=False), by) for side in (rows, flawless(rows)))
    return tuple(
        TaskScore(
            condition=str(rate.group["condition"]),
            kind=str(rate.group["kind"]),
            level=str(rate.group["level"]),
            allowed=rate,
            flawless=flawless_rate,
            chance=chance,
        )
        for rate, flawless_rate, chance in zip(allowed, strict, chances, strict=True)
    )


def mean_of(rates: Sequence[Rate]) -> MeanScore:
    """Return the unweighted mean of the success rates of tasks, each of which must have a valid episode.

    Only the outcomes within a task are random. The variance of the mean assumes independent tasks and adds half a
    success and half a failure to each, so that a task that always or never succeeds still has uncertainty.
    """
    hits, counts = np.array([(rate.successes, rate.count) for rate in rates], float).T
    smoothed = (hits + 0.5) / (counts + 1)
    variance = float((smoothed * (1 - smoothed) / counts).sum()) / len(rates) ** 2
    score, smoothed_score = float((hits / counts).mean()), float(smoothed.mean())
    effective = smoothed_score * (1 - smoothed_score) / variance
    return MeanScore(score, effective, intervals.wilson_interval(score, effective))


def level_scores(tasks: Sequence[TaskScore]) -> tuple[LevelScore, ...]:
    """Score every level under every condition; levels without valid episodes are omitted."""
    groups: dict[tuple[str, str], list[TaskScore]] = {}
    for task in tasks:
        groups.setdefault((task.condition, task.level), []).append(task)
    scores = []
    for (condition, level), group in groups.items():
        counted = [score for score in group if score.allowed.count]
        if not counted:
            continue
        unperturbed = {score.kind: score.allowed.rate for score in groups.get((CONTROL, level), ())}
        controls = [rate for score in counted if (rate := unperturbed.get(score.kind)) is not None]
        scores.append(
            LevelScore(
                condition=condition,
                level=level,
                tasks=len(counted),
                control=sum(controls) / len(controls) if len(controls) == len(counted) else None,
                count=sum(score.allowed.count for score in counted),
                errors=sum(score.allowed.errors for score in group),
                allowed=mean_of([score.allowed for score in counted]),
                flawless=mean_of([score.flawless for score in counted]),
                chance=sum(score.chance or 0.0 for score in counted) / len(counted),
            )
        )
    return tuple(scores)


def compare_with_controls(rows: pl.DataFrame, ignoring: Sequence[str]) -> tuple[Against, ...]:
    """Compare each condition with its controls, by level and overall; the result is empty if nothing was perturbed.

    ``ignoring`` names the columns to ignore because the start determines them.
    """
    contrasts: list[Against] = []
    for by in (("condition", "level"), ("condition",)):
        allowed, strict = (
            attempt(drops, scored_rows.drop(*ignoring, strict=False), by, resampling=False)
            for scored_rows in (rows, flawless(rows))
        )
        if isinstance(allowed, Missing) or isinstance(strict, Missing):
            return ()
        for drop, flawless_drop in zip(allowed, strict, strict=True):
            level = str(drop.group["level"]) if "level" in by else None
            contrasts.append(Against(str(drop.group["condition"]), level, drop, flawless_drop))
    return tuple(contrasts)


class PromptFlaw(StrEnum):
    """Flaws of policies on the tabletop, in addition to the built-in flaws."""

    PROMPT_UNUSED = "untold"
    WORDS_UNUSED = "wordless"
    IMAGES_UNUSED = "pictureless"
    DESCRIPTIONS = "described things"
    ORDER = "order of objects"
    RETRIES = "tries again"
    DIFFICULTY = "difficulty"
    NOVELTY = "novelty"


TOLERATED = 0.05
"""Fraction of successes that may be due to chance."""
SWEEPS = ("T12", "T13")
"""Tasks whose minimum number of actions is a lower bound, because blocks may obstruct each other."""
FIRST = "L1"
"""The level at which only positions are new."""
NO_WORDS, NO_IMAGES = "mask=language", "mask=visual"
"""Conditions that mask the words of a prompt and its images, respectively."""
STILL_SPECIFIED_TASKS = MappingProxyType(
    {
        # The images show the goal state of the table.
        **dict.fromkeys((NO_WORDS, "gobbledygook=words", "gobbledygook=tokens"), ("T4", "T10", "T11")),
        # The words name textures, or the only container.
        NO_IMAGES: ("T2", "T14", "T15"),
    }
)
"""Condition -> tasks that the rest of the prompt still specifies, so that success in them is uninformative."""


@dataclass(frozen=True, slots=True)
class KeptSuccess(Result):
    """Among the starts that succeed unperturbed, the fraction that also succeed under a condition.

    Excludes tasks that the rest of the prompt still specifies.
    """

    condition: str
    plausible: bool
    """Whether the perturbed prompt still specifies the task."""
    kept: int
    """Number of pairs in which both episodes succeed."""
    count: int
    """Number of pairs whose control succeeds."""
    starts: int
    """Number of starts (task and seed) with a pair whose control succeeds."""
    share: float
    """Fraction of successes kept: kept / count."""
    interval: Interval
    """Wilson interval of `share`, clustered by start."""
    p: float
    """Exact one-sided p-value for a fraction above the 5 % that may be due to chance."""


@dataclass(frozen=True, slots=True)
class Retried(Result):
    """Successful controls that needed more than the minimum number of actions, excluding sweeping tasks."""

    again: int
    """Number of successes with more than the minimum number of actions."""
    successes: int
    """Number of successful controls, excluding sweeping tasks."""
    count: int
    """Number of controls, excluding sweeping tasks."""
    share: float
    """Fraction of successes that needed retries: again / successes."""
    interval: Interval
    """Wilson interval of `share`."""
    p: float
    """Exact one-sided p-value for a fraction above 5 %."""


@dataclass(frozen=True, slots=True)
class Modalities(Result):
    """Success without the words and without the images of a prompt, over the same starts with successful controls."""

    starts: int
    """Number of compared starts."""
    wordless: int
    """Number of successes without the words."""
    blind: int
    """Number of successes without the images."""
    change: float
    """Success rate without images minus success rate without words."""
    interval: Interval
    """Newcombe interval of `change`, over starts."""
    p: float
    """Exact two-sided p-value of the paired difference, over starts."""


@dataclass(frozen=True, slots=True)
class Novelty(Result):
    """Comparison of a level with the first level, in controls; restricted to shared tasks if there are any."""

    level: str
    """The compared level of novelty."""
    same_tasks: bool
    """Whether the same tasks are compared; different tasks may differ in difficulty."""
    tasks: int
    """Number of compared tasks."""
    hits: int
    """Number of successes at the first level."""
    usual: MeanScore
    """Score at the first level."""
    score: MeanScore
    """Score at the compared level."""
    change: float
    """Score at the compared level minus score at the first level."""
    interval: Interval
    """Newcombe interval of `change`, from both means."""
    p: float
    """Exact p-value, stratified by task if the same tasks are compared; otherwise for all episodes together."""


def measure_kept(rows: pl.DataFrame) -> tuple[KeptSuccess, ...]:
    """Measure the fraction of successes kept under each condition; omit conditions without a successful control."""
    both = pairs(valid_rows(rows)).filter(pl.col("control_success") == 1)
    results = []
    for (condition,), rows_of_condition in both.group_by("condition", maintain_order=True):
        parts = str(condition).rpartition("/")[2].split(",")
        still_specified = [kind for part in parts for kind in STILL_SPECIFIED_TASKS.get(part, ())]
        group = rows_of_condition.filter(~pl.col("kind").is_in(still_specified))
        if not len(group):
            continue
        hits, counts = sums(group, START, kept=pl.col("success"), count=pl.col("success").is_not_null()).T
        plausible = bool(group["plausible"].fill_null(True).all()) if "plausible" in group.columns else True
        all_kept = int((hits == counts).sum())  # starts that succeed in all variants of the condition
        results.append(
            KeptSuccess(
                condition=str(condition),
                plausible=plausible,
                kept=int(hits.sum()),
                count=len(group),
                starts=len(hits),
                share=float(hits.sum() / len(group)),
                interval=intervals.share_interval(hits, counts, len(group)),
                p=binomial_at_least(all_kept, len(hits), TOLERATED),
            )
        )
    return tuple(results)


def measure_retries(rows: pl.DataFrame) -> Retried:
    """Count the successes that needed retries. Raise MeasureError if no retries were allowed."""
    unperturbed = controls(valid_rows(rows)).filter(~pl.col("kind").is_in(SWEEPS))
    successes, failures = (unperturbed.filter(pl.col("success") == value) for value in (1, 0))
    if len(failures) and (failures["steps"] <= failures["best"]).all():
        raise MeasureError("the episodes allowed only the minimum number of actions")
    if not len(successes):
        raise MeasureError("no control succeeds (sweeping tasks excluded)")
    count, again = len(successes), int((successes["steps"] > successes["best"]).sum())
    p = binomial_at_least(again, count, TOLERATED)
    return Retried(
        again, count, len(unperturbed), again / count, intervals.wilson_interval(again / count, count), p
    )


def compare_modalities(rows: pl.DataFrame) -> Modalities:
    """Compare success without words and without images. Raise MeasureError if no start has both conditions."""
    both = pairs(valid_rows(rows)).filter(pl.col("control_success") == 1)
    one, other = (
        both.filter(pl.col("condition") == name)
        .group_by(START, maintain_order=True)
        .agg(pl.col("success").first())
        for name in (NO_WORDS, NO_IMAGES)
    )
    shared = one.join(other, on=START, suffix="_blind", maintain_order="left")
    if not len(shared):
        raise MeasureError("no start with a successful control was run under both masked conditions")
    no_words, no_images = (shared[name].to_numpy().astype(float) for name in ("success", "success_blind"))
    count, ones = len(shared), np.ones(len(shared))
    change = intervals.paired_difference((no_words, no_images), (ones, ones), (count, count))
    p = paired_p(no_words, ones, no_images, ones)
    successes = int(no_words.sum()), int(no_images.sum())
    return Modalities(count, *successes, change.difference, change.interval, p)


def compare_levels(tasks: Sequence[TaskScore]) -> tuple[Novelty, ...]:
    """Compare each level with the first level."""
    levels: dict[str, dict[str, Rate]] = {}
    for task in tasks:
        if task.condition == CONTROL and task.allowed.count:
            levels.setdefault(task.level, {})[task.kind] = task.allowed
    first = levels.pop(FIRST, {})
    comparisons = []
    for level, now in sorted(levels.items()) if first else ():
        shared = [kind for kind in now if kind in first]
        sides = [[side[kind] for kind in shared or side] for side in (first, now)]
        counts = [np.array([(rate.successes, rate.count) for rate in side], float) for side in sides]
        if not shared:
            counts = [side.sum(axis=0, keepdims=True) for side in counts]
        strata = np.hstack(counts)  # (strata, 4)
        usual, score = map(mean_of, sides)
        change = intervals.newcombe((usual.score, score.score), (usual.effective, score.effective), 0.0)
        comparisons.append(
            Novelty(
                level=level,
                same_tasks=bool(shared),
                tasks=len(sides[1]),
                hits=int(strata[:, 0].sum()),
                usual=usual,
                score=score,
                change=change.difference,
                interval=change.interval,
                p=within(*strata.T),
            )
        )
    return tuple(comparisons)


MIN_SUCCESSES = 10
"""Minimum number of successful controls for conclusions about a condition."""


@dataclass(frozen=True, slots=True)
class NothingMore(Result):
    """Details of the finding that too few episodes succeed for further tests."""

    unable: bool
    """Whether the policy fails the tasks significantly often; if not, there are merely too few successes."""

    @property
    def caveat(self) -> str:
        """Caveat added to the finding."""
        why = "the policy does not perform the tasks" if self.unable else "too few episodes succeed"
        return f"{why}, so nothing else can be tested"


NAME = "tabletop"
"""Name of the measure."""


@dataclass(frozen=True, slots=True)
class Tabletop(Result):
    """Measures of a tabletop run."""

    tasks: tuple[TaskScore, ...]
    """Scores by condition, level and task."""
    levels: tuple[LevelScore, ...]
    """Scores by condition and level."""
    against: tuple[Against, ...]
    """Differences from the control by condition and level, then by condition over all levels."""
    kept: tuple[KeptSuccess, ...]
    """Fraction of successes kept, by condition."""
    again: Retried | Missing
    """Successes that needed retries."""
    modalities: Modalities | Missing
    """Success without words compared with success without images."""
    novelty: tuple[Novelty, ...]
    """Comparison of every other level with the first level."""


def measure_tabletop(frame: pl.DataFrame, ignoring: Sequence[str]) -> Tabletop:
    """Measure a tabletop run. ``ignoring`` names the columns to ignore because the start determines them.

    Raises MeasureError if no episode is valid.
    """
    require(frame, *NEEDED)
    number = pl.col("kind").str.strip_prefix("T").cast(pl.Int64, strict=False)
    order = frame.select("condition").unique(maintain_order=True).with_row_index("_met")
    rows = frame.join(order, on="condition", maintain_order="left").with_columns(_number=number)
    rows = rows.sort("_met", "level", "_number", "seed", maintain_order=True).drop("_met", "_number")
    valid_rows(rows)
    tasks = task_scores(rows, ignoring)
    return Tabletop(
        tasks=tasks,
        levels=level_scores(tasks),
        against=compare_with_controls(rows, ignoring),
        kept=measure_kept(rows),
        again=attempt(measure_retries, rows),
        modalities=attempt(compare_modalities, rows),
        novelty=compare_levels(tasks),
    )
