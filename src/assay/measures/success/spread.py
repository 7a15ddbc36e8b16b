"""Spread of success: variance between tasks, between starts, and between repetitions of the same start.

A start (task i, initial state j) has a success probability p_ij = p + t_i + s_ij. Repetitions of the start vary only
the policy's randomness, with variance p_ij (1 - p_ij). The three components are estimated without bias by the method of
moments (a nested analysis of variance), so that an estimate may be below 0; it is then reported as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
import scipy

from assay.episodes.spec import REPEAT
from assay.measures.clustering import shares
from assay.measures.frames import START, controls, valid_rows
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.measures.success.rates import SUCCESS
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import percent, plural
from assay.support.stats.intervals import LEVEL, Interval, Z, wilson_interval
from assay.support.stats.power import detectable
from assay.support.stats.significance import t_quantile

SOURCES = ("tasks", "starts of a task", "repetitions of a start")
STARTS = (10, 25, 50, 100, 200, 500)
"""Numbers of starts for which differences are given."""


@dataclass(frozen=True, slots=True)
class Component(Result):
    """Variation of success from one source."""

    source: Annotated[str, Column("between")]
    deviation: Annotated[float, Column("standard deviation", "share")]
    """Square root of the variance of success, which is 0 or 1."""
    interval: Annotated[Interval | None, Column("95 % interval", "share")]
    """See `component_intervals`."""


@dataclass(frozen=True, slots=True)
class Resolution(Result):
    """Differences between two runs with one episode from each start."""

    starts: Annotated[int, Column("starts", "count")]
    same: Annotated[float, Column("by chance, same starts, +-", "share")]
    """Largest difference, 0 to 1, between 95 % of pairs of runs of the same policy from the same starts."""
    new: Annotated[float, Column("by chance, new starts of these tasks, +-", "share")]
    detectable: Annotated[float | None, Column("smallest detectable loss", "share")]
    """Smallest loss on the same starts that a report on one change finds with 80 % power; None if there is none."""


@dataclass(frozen=True, slots=True)
class Spread(Result):
    """Spread of a policy's success in repeated controls."""

    rate: float
    interval: Interval
    """Interval of ``rate`` over starts."""
    episodes: int
    starts: int
    """Number of starts with at least two repetitions."""
    disagreement: float
    """Probability that two repetitions of a start have different outcomes."""
    components: tuple[Component, ...]
    resolution: tuple[Resolution, ...]


def variance_components(hits: np.ndarray, counts: np.ndarray, tasks: np.ndarray) -> np.ndarray:
    """Return the variances between tasks, starts and repetitions; nan if there is a single task or start per task.

    ``hits`` and ``counts`` are successes and episodes by start, with counts of at least 2; ``tasks`` are the starts'
    tasks, as integers. All have the shape (starts,).
    """
    rates = hits / counts
    own = rates * (1 - rates) * counts / (counts - 1)
    within, between_starts, means, errors = [], [], [], []
    for task in np.unique(tasks):
        mine = tasks == task
        spread = rates[mine].var(ddof=1) if mine.sum() > 1 else np.nan
        within.append(own[mine].mean())
        between_starts.append(spread - (own[mine] / counts[mine]).mean())
        means.append(rates[mine].mean())
        errors.append(spread / mine.sum())
    between_tasks = np.var(means, ddof=1) - np.mean(errors) if len(means) > 1 else np.nan
    return np.array([between_tasks, np.mean(between_starts), np.mean(within)])


def component_intervals(
    hits: np.ndarray, counts: np.ndarray, tasks: np.ndarray
) -> list[tuple[float, float] | None]:
    """Return the 95 % limits of `variance_components`: chi-squared for tasks, jackknife over starts otherwise.

    If all repetitions agree, the limits of the last component are Wilson's. None where nothing can be estimated.
    """
    values, starts = variance_components(hits, counts, tasks), len(hits)
    limits: list[tuple[float, float] | None] = [None, None, None]
    free = len(np.unique(tasks)) - 1
    means = np.bincount(tasks, hits / counts) / np.bincount(tasks)
    if np.isfinite(values[:2]).all() and (seen := float(means.var(ddof=1))) > 0:
        high, low = scipy.special.chdtri(free, [(1 + LEVEL) / 2, (1 - LEVEL) / 2])
        noise = seen - values[0]  # of the tasks' means
        limits[0] = max(0.0, free * seen / low - noise), free * seen / high - noise
    if starts > 2:
        kept = ~np.eye(starts, dtype=bool)
        left_out = np.array([variance_components(hits[mine], counts[mine], tasks[mine]) for mine in kept])
        for place in (1, 2):
            error = ((starts - 1) * left_out[:, place].var()) ** 0.5
            half = t_quantile((1 + LEVEL) / 2, starts - 1) * error
            if error > 0:
                limits[place] = max(0.0, values[place] - half), max(0.0, values[place] + half)
    if not values[2]:
        limits[2] = 0.0, wilson_interval(0.0, starts).high / 2
    return limits


def spread(frame: pl.DataFrame) -> Spread:
    """Measure the spread of success in a run's controls. Raises MeasureError if no control is repeated."""
    rows = controls(valid_rows(frame), repeats=True)
    table = rows.group_by(START, maintain_order=True).agg(pl.col("success").sum(), pl.len().alias("count"))
    table = table.filter(pl.col("count") > 1)
    if not len(table):
        raise MeasureError("no control was repeated from the same start")
    hits, counts = table.select("success", "count").to_numpy().astype(float).T
    tasks = table["task"].rank("dense").to_numpy().astype(int) - 1
    values = np.maximum(np.nan_to_num(variance_components(hits, counts, tasks)), 0.0)
    rate = float(rows["success"].mean())  # type: ignore[arg-type]
    noise = min(1.0, values[2] / (rate * (1 - rate))) if 0 < rate < 1 else 1.0
    return Spread(
        rate=rate,
        interval=shares(rows, "success")[()][1],
        episodes=len(rows),
        starts=len(table),
        disagreement=float(2 * values[2]),
        components=tuple(
            Component(
                source, float(value**0.5), limits and Interval(*np.sqrt(limits).tolist(), "method of moments")
            )
            for source, value, limits in zip(
                SOURCES, values, component_intervals(hits, counts, tasks), strict=True
            )
        ),
        resolution=tuple(
            Resolution(
                starts,
                Z * float(np.sqrt(2 * values[2] / starts)),
                Z * float(np.sqrt(2 * (values[1] + values[2]) / starts)),
                detectable(starts, rate, noise=float(noise)),
            )
            for starts in sorted({*STARTS, len(table)})
        ),
    )


def components_table(result: Spread, report: object = None) -> Table:
    """Return a table of the components of variance."""
    return Table.of(
        "spread",
        "Variation of success without a change",
        result.components,
        note=f"{plural(result.episodes, 'control')}; {plural(result.starts, 'start')} with repetitions, whose outcomes "
        f"differ in {percent(result.disagreement)} of all pairs. Standard deviation of success (0 or 1) between tasks, "
        "between starts of a task and between repetitions of a start, which vary only the policy's randomness. Method "
        "of moments; intervals: chi-squared for tasks, otherwise jackknife over starts.",
    )


def resolution_table(result: Spread, report: object = None) -> Table:
    """Return a table of the differences that occur by chance, and of the losses that can be detected."""
    return Table.of(
        "resolution",
        "Differences that occur by chance",
        result.resolution,
        note="One episode from each start in each of two runs. By chance: 95 % of the differences between two runs of "
        "this policy are smaller. Detectable: losses that a report finds with 80 % power if it tests a single change "
        "on the same starts; assay plan takes all tests of a report into account.",
    )


SPREAD = Measure(
    "spread",
    "Variation of success between tasks, starts and repetitions of the same start.",
    lambda run: spread(run.frame),
    needs=(REPEAT,),
    panels=(Panel(SUCCESS, (components_table, resolution_table)),),
)
