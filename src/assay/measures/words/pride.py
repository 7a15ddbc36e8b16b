"""PRIDE: success weighted by the distance of the instruction from the original (LIBERO-Para).

PD(a) = 1 - (a S_K + (1 - a) S_T)        PRIDE(a) = 100 sum(success PD) / sum(PD)

The weight ``a`` balances keywords against structure. PD is linear in ``a``, so PRIDE follows from sums of success
and similarities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from assay.measures.clustering import shares, variances
from assay.measures.frames import require, valid_rows
from assay.measures.measure import Measure, Panel, Profile, ReportedRun
from assay.measures.result import MeasureError, Result
from assay.measures.views import wording
from assay.measures.views.style import HALF, Drawing, Figure, legend_below, series
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import KeyNumber
from assay.measures.words.names import WORDS
from assay.measures.words.paraphrase import all_paraphrases, wording_columns
from assay.support.stats.intervals import Interval, Z, jackknife_over_tasks

ALPHA = 0.5
MIN_WORDINGS = 5
"""Minimum number of wordings for the interval of a slope."""
ALPHAS = tuple(round(0.1 * step, 1) for step in range(11))


@dataclass(frozen=True, slots=True)
class Pride(Result):
    """PRIDE at one weight alpha."""

    alpha: Annotated[float, Column("alpha", "number")]
    """Weight of keywords against structure."""
    pride: Annotated[float, Column("PRIDE", "number")]
    """PRIDE, 0 to 100."""
    interval: Annotated[Interval, Column("95 % interval", "number")]
    """Wilson interval over starts and wordings."""
    episodes: Annotated[int, Column("episodes", "count")]
    wordings: Annotated[int, Column("wordings", "count")]
    unscored: Annotated[int, Column("unscored", "count")]
    """Number of paraphrases that are excluded because their similarities are unknown."""
    tasks: int
    over_tasks: Annotated[Interval | None, Column("tasks in general, 95 % interval", "number")]
    """Jackknife interval for tasks in general, treating these tasks as a sample; None for fewer than three tasks."""


@dataclass(frozen=True, slots=True)
class Sweep(Result):
    """PRIDE as a function of the weight alpha."""

    points: tuple[Pride, ...]
    slope: float
    """Slope of the fitted line, per unit of alpha: negative if keywords cost more than structure."""
    interval: Interval | None
    """Linearised interval of the slope over starts and wordings; None if wordings are too few, or all succeed."""
    over_tasks: Interval | None
    """Jackknife interval of the slope for tasks in general; None for fewer than three tasks."""


@dataclass(frozen=True, slots=True)
class Overestimation(Result):
    """Excess of the success rate over PRIDE: (SR - PRIDE) / SR."""

    overestimation: float
    interval: Interval | None
    """Linearised interval over starts and wordings; None if wordings are too few, or all succeed."""
    success_rate: float
    """Success rate on the scored paraphrases."""
    pride: float
    """PRIDE, 0 to 100."""
    episodes: int
    tasks: int
    over_tasks: Interval | None
    """Jackknife interval for tasks in general, treating these tasks as a sample; None for fewer than three tasks."""


def pride(frame: pl.DataFrame, alpha: float = ALPHA) -> Pride:
    """Compute PRIDE of a run's paraphrases."""
    return _Sums(frame).pride(alpha)


def sweep(frame: pl.DataFrame) -> Sweep:
    """Compute PRIDE for alpha = 0, 0.1, ..., 1, and its slope."""
    words = _Sums(frame)
    points = tuple(words.pride(alpha) for alpha in ALPHAS)

    def slopes(totals: np.ndarray) -> np.ndarray:
        curves = np.stack([words.value(totals, alpha) for alpha in ALPHAS])  # (alphas, draws)
        centred = np.array(ALPHAS) - np.mean(ALPHAS)
        return np.asarray(centred @ curves / (centred @ centred))

    slope = float(slopes(words.totals)[0])
    interval = words.interval(slopes)
    return Sweep(points, slope, interval, words.over_tasks(slopes, interval))


def overestimation(frame: pl.DataFrame, alpha: float = ALPHA) -> Overestimation:
    """Compute the excess of the success rate over PRIDE."""
    words = _Sums(frame)
    rate = float(words.totals[0, words.SUCCESS] / words.totals[0, words.COUNT])
    if rate == 0:
        raise MeasureError("no episode with a paraphrase succeeds")

    def excess(totals: np.ndarray) -> np.ndarray:
        shares = totals[:, words.SUCCESS] / totals[:, words.COUNT]
        return np.asarray(1 - words.value(totals, alpha) / 100 / shares)

    result, value = words.pride(alpha), float(excess(words.totals)[0])
    interval = words.interval(excess)
    over_tasks = words.over_tasks(excess, interval)
    return Overestimation(value, interval, rate, result.pride, result.episodes, result.tasks, over_tasks)


class _Sums:
    """Sums over episodes from which PRIDE follows."""

    COUNT, SUCCESS, KEYWORDS, STRUCTURE, KEYWORDS_HIT, STRUCTURE_HIT = range(6)

    def __init__(self, frame: pl.DataFrame) -> None:
        rows = valid_rows(all_paraphrases(frame))
        require(rows, "s_k", "s_t")
        scored = rows.drop_nulls(["s_k", "s_t"])
        self.unscored = len(rows) - len(scored)
        self._rows = scored
        self._wordings = scored.select(wording_columns(scored)).n_unique()
        keywords, structure = 1 - pl.col("s_k"), 1 - pl.col("s_t")
        self._parts = (
            scored.select(
                count=pl.lit(1.0),
                hits=pl.col("success"),
                keywords=keywords,
                structure=structure,
                keywords_hit=keywords * pl.col("success"),
                structure_hit=structure * pl.col("success"),
            )
            .to_numpy()
            .astype(float)
        )  # (episodes, 6)
        self.totals = self._parts.sum(axis=0, keepdims=True)
        tasks = scored["task"].rank("dense").to_numpy().astype(int) - 1
        self._by_task = np.stack([np.bincount(tasks, part) for part in self._parts.T], axis=1)  # (tasks, 6)

    def value(self, totals: np.ndarray, alpha: float) -> np.ndarray:
        """Return PRIDE, (draws,), from the totals of the sums, (draws, 6)."""
        hits = alpha * totals[:, self.KEYWORDS_HIT] + (1 - alpha) * totals[:, self.STRUCTURE_HIT]
        weights = alpha * totals[:, self.KEYWORDS] + (1 - alpha) * totals[:, self.STRUCTURE]
        return np.asarray(100 * hits / weights)

    def pride(self, alpha: float) -> Pride:
        """Return PRIDE at one weight."""
        weighed = self._rows.with_columns(_pd=1 - (alpha * pl.col("s_k") + (1 - alpha) * pl.col("s_t")))
        if not weighed["_pd"].sum() > 0:
            raise MeasureError(f"at alpha {alpha:g}, no paraphrase differs from the original")
        _, share = shares(weighed, "success", weight="_pd")[()]
        interval = Interval(100 * share.low, 100 * share.high, share.method)
        value = float(self.value(self.totals, alpha)[0])
        over_tasks = self.over_tasks(lambda totals: self.value(totals, alpha), interval, (0.0, 100.0))
        sizes = len(self._rows), self._wordings, self.unscored, len(self._by_task)
        return Pride(alpha, value, interval, *sizes, over_tasks)

    def over_tasks(
        self,
        statistic: Callable[[np.ndarray], np.ndarray],
        given: Interval | None,
        limits: tuple[float, float] = (-math.inf, math.inf),
    ) -> Interval | None:
        """Return the interval of a statistic of the totals for tasks in general."""
        return jackknife_over_tasks(statistic, self._by_task, given, limits)

    def interval(self, statistic: Callable[[np.ndarray], np.ndarray]) -> Interval | None:
        """Return a linearised interval; None if there are too few wordings or all outcomes are equal."""
        if self._wordings < MIN_WORDINGS or self.totals[0, self.SUCCESS] in (0, self.totals[0, self.COUNT]):
            return None  # without variation the variance is unknown, not 0
        steps = np.diag(1e-4 * np.maximum(self.totals[0], 1e-9))
        slopes = (statistic(self.totals + steps) - statistic(self.totals - steps)) / (2 * np.diag(steps))
        if not np.isfinite(slopes).all():
            return None
        rows = self._rows.with_columns(pl.Series("_off", self._parts @ slopes))
        half = Z * variances(rows, pl.col("_off"))[0] ** 0.5
        value = float(statistic(self.totals)[0])
        return Interval(value - half, value + half, "linearised, over starts and wordings")


def pride_table(sweep: Sweep, report: ReportedRun) -> Table:
    """Return a table of PRIDE by weight."""
    note = "95 % Wilson intervals over wordings."
    return Table.of("pride", "PRIDE by weight", sweep.points, note=note)


def sweep_figure(runs: Mapping[str, Sweep]) -> Drawing:
    """Plot PRIDE by weight, with one line for each run."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (name, sweep) in enumerate(runs.items()):
            alphas = [point.alpha for point in sweep.points]
            look = series(place)
            axes.plot(alphas, [point.pride for point in sweep.points], label=name, markersize=4, **look)
            low, high = ([getattr(point.interval, end) for point in sweep.points] for end in ("low", "high"))
            axes.fill_between(alphas, low, high, color=look["color"], alpha=0.15, linewidth=0)
        axes.set_ylim(-3, 103)
        axes.set_xlabel("weight of keywords relative to structure, alpha")
        axes.set_ylabel("PRIDE")
        legend_below(figure, len(runs))

    slopes = {}
    for name, sweep in runs.items():
        interval, first = sweep.interval, sweep.points[0]
        method = (
            f" (95 % interval {wording.between(interval)}, {wording.methods([interval])})" if interval else ""
        )
        size = f"{wording.plural(first.episodes, 'episode')} of {wording.plural(first.wordings, 'wording')}"
        slopes[name] = f"slope {wording.signed(sweep.slope)} per unit of alpha{method}, {size}"
    caption = (
        "PRIDE with more weight on structure (left) or keywords (right); band: 95 % Wilson intervals over wordings. "
        f"Fitted line: {wording.describe_runs(slopes)}."
    )
    return Drawing("alpha-sweep", "PRIDE by weight", caption, (HALF, 3.2), paint)


def pride_sentences(pride: Pride, profile: Profile) -> Iterator[str]:
    """Yield sentences about PRIDE, and whether the success rate overestimates it."""
    over = profile.get(OVERESTIMATION)
    text = (
        "The policy's success, weighted by the instructions' distance from the originals (PRIDE), is "
        f"{wording.number(pride.pride)} of 100 (95 % interval {wording.between(pride.interval)}"
        + (f"; tasks in general {wording.between(pride.over_tasks)})" if pride.over_tasks else ")")
    )
    if over is not None and over.interval is not None and not over.interval.low <= 0 <= over.interval.high:
        direction = "overestimates" if over.overestimation > 0 else "underestimates"
        text += (
            f"; the plain success rate {direction} it (by {wording.signed(100 * over.overestimation)} %, "
            f"95 % interval {wording.between(over.interval, 100)})"
        )
    yield text + "."


_NEEDS = ("s_k", "s_t")
PRIDE = Measure(
    "pride",
    "PRIDE at alpha 0.5: success weighted by the distance of the instruction from the original.",
    lambda run: pride(run.frame),
    needs=_NEEDS,
    sentences=pride_sentences,
    numbers=lambda pride, profile: [
        KeyNumber(
            "PRIDE",
            wording.number(pride.pride),
            f"{wording.between(pride.interval)}; n = {pride.episodes:,}"
            + (f"; tasks in general {wording.between(pride.over_tasks)}" if pride.over_tasks else ""),
            "Success on paraphrases, each weighted by its distance from the original; 0 to 100.",
        )
    ],
)
SWEEP = Measure(
    "sweep",
    "PRIDE as a function of its weight alpha.",
    lambda run: sweep(run.frame),
    needs=_NEEDS,
    panels=(Panel(WORDS, (pride_table,), runs=sweep_figure),),
)
OVERESTIMATION = Measure(
    "overestimation",
    "Excess of the success rate over PRIDE: (success rate - PRIDE) / success rate.",
    lambda run: overestimation(run.frame),
    needs=_NEEDS,
    numbers=lambda over, profile: [
        KeyNumber.of(
            "overestimation",
            wording.percent(over.overestimation),
            over.interval,
            over.episodes,
            "Excess of the success rate on paraphrases over PRIDE, as a fraction of that rate.",
            over_tasks=over.over_tasks,
        )
    ],
)
