"""Spread of success without a change: between tasks, between starts, and between repetitions of the same start.

Repetitions of a start vary only the policy's randomness. The three variances are estimated without bias by the method
of moments (a nested analysis of variance), so that an estimate may be below 0; it is then reported as 0.
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
    """See `component_limits`."""


@dataclass(frozen=True, slots=True)
class Resolution(Result):
    """Differences between two runs with one episode from each start."""

    starts: Annotated[int, Column("starts", "count")]
    same: Annotated[float, Column("chance, same starts, +-", "share")]
    """Limit of 95 % of the differences between two runs of the same policy from the same starts, 0 to 1."""
    new: Annotated[float, Column("chance, new starts of these tasks, +-", "share")]
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
    """Number of starts with repetitions."""
    disagreement: float
    """Probability that two repetitions of a start have different outcomes."""
    components: tuple[Component, ...]
    resolution: tuple[Resolution, ...]


def _task_moments(hits: np.ndarray, counts: np.ndarray, tasks: np.ndarray) -> np.ndarray:
    """Return moments over the starts of each task, shape (6, tasks).

    These are the number of starts, the mean and variance of their success rates, the mean of the variance of these
    rates due to repetitions, and the mean and variance of the variance between repetitions.
    """
    rates = hits / counts
    own = rates * (1 - rates) * counts / (counts - 1)
    moments = []
    for task in np.unique(tasks):
        mine = tasks == task
        spreads = [values[mine].var(ddof=1) if mine.sum() > 1 else np.nan for values in (rates, own)]
        noise = (own / counts)[mine].mean()
        moments.append([mine.sum(), rates[mine].mean(), spreads[0], noise, own[mine].mean(), spreads[1]])
    return np.array(moments).T


def variance_components(hits: np.ndarray, counts: np.ndarray, tasks: np.ndarray) -> np.ndarray:
    """Return the variances between tasks, starts and repetitions; nan for a single task, or a single start of a task.

    ``hits`` and ``counts`` are the successes and episodes of each start, at least two episodes; ``tasks`` are the
    starts' tasks, as integers. All have the shape (starts,).
    """
    starts, means, spread, noise, own, _ = _task_moments(hits, counts, tasks)
    of_tasks = means.var(ddof=1) - (spread / starts).mean() if len(means) > 1 else np.nan
    return np.array([of_tasks, (spread - noise).mean(), own.mean()])


def component_limits(hits: np.ndarray, counts: np.ndarray, tasks: np.ndarray) -> np.ndarray:
    """Return the 95 % limits of `variance_components`, shape (3, 2).

    Chi-squared for tasks and starts, with at most as many degrees of freedom as tasks or starts have the rarer outcome.
    Student's for repetitions, or Wilson's if all of them agree. nan where all values are equal. The first limits refer
    to further tasks, the others to further starts of these tasks.
    """
    starts, means, spread, _, _, of_own = _task_moments(hits, counts, tasks)
    values, limits, tails = (
        variance_components(hits, counts, tasks),
        np.full((3, 2), np.nan),
        np.array([0.5, -0.5]),
    )
    seen = np.array([means.var(ddof=1) if len(means) > 1 else np.nan, spread.mean()])
    for place, (free, rates) in enumerate(((len(means) - 1, means), ((starts - 1).sum(), hits / counts))):
        if seen[place] > 1e-12:
            free = min(free, (rates > 0).sum(), (rates < 1).sum())
            limits[place] = free * seen[place] / scipy.special.chdtri(free, 0.5 - LEVEL * tails)
            limits[place, : 1 if place == 0 else 2] -= seen[place] - values[place]
    if values[2] > 0:
        error = float(np.sqrt((of_own / starts).sum())) / len(means)
        limits[2] = values[2] - t_quantile((1 + LEVEL) / 2, max((starts - 1).sum(), 1)) * error * 2 * tails
    else:
        limits[2] = 0.0, wilson_interval(0.0, len(hits)).high / 2
    return np.asarray(np.maximum(limits, 0.0))


def spread(frame: pl.DataFrame) -> Spread:
    """Measure the spread of success in a run's controls. Raises MeasureError if no control is repeated."""
    rows = controls(valid_rows(frame), repeats=True)
    table = rows.group_by(START, maintain_order=True).agg(pl.col("success").sum(), count=pl.len())
    table = table.filter(pl.col("count") > 1)
    if not len(table):
        raise MeasureError("no control was repeated from the same start")
    hits, counts = table.select("success", "count").to_numpy().astype(float).T
    starts = hits, counts, table["task"].rank("dense").to_numpy().astype(int) - 1
    values, limits = np.maximum(np.nan_to_num(variance_components(*starts)), 0.0), component_limits(*starts)
    _, interval = shares(rows, "success")[()]
    rate = float(rows["success"].mean())  # type: ignore[arg-type]
    noise = float(min(1.0, values[2] / (rate * (1 - rate)))) if 0 < rate < 1 else 1.0
    return Spread(
        rate=rate,
        interval=interval,
        episodes=len(rows),
        starts=len(table),
        disagreement=float(2 * values[2]),
        components=tuple(
            Component(source, float(value**0.5), None if np.isnan(low) else Interval(low, high, "moments"))
            for source, value, (low, high) in zip(SOURCES, values, np.sqrt(limits).tolist(), strict=True)
        ),
        resolution=tuple(
            Resolution(
                many,
                Z * float(np.sqrt(2 * values[2] / many)),
                Z * float(np.sqrt(2 * values[1:].sum() / many)),
                detectable(many, rate, noise=noise),
            )
            for many in sorted({*STARTS, len(table)})
        ),
    )


def spread_tables(result: Spread) -> tuple[Table, Table]:
    """Return the tables of the sources of variation, and of the differences that occur by chance."""
    return (
        Table.of(
            "spread",
            "Variation of success without a change",
            result.components,
            note=f"{plural(result.episodes, 'control')}, {percent(result.rate)} successful; "
            f"{plural(result.starts, 'start')} with repetitions, whose outcomes differ in "
            f"{percent(result.disagreement)} of all pairs. Standard deviation of success (0 or 1), by the method of "
            "moments; intervals: chi-squared for tasks and starts, Student's for repetitions.",
        ),
        Table.of(
            "chance",
            "Differences that occur by chance",
            result.resolution,
            note="One episode from each start in each of two runs. Chance: 95 % of the differences between two runs of "
            "this policy are smaller. Detectable: losses that a report finds with 80 % power if it tests a single "
            "change on the same starts; assay plan takes all tests of a report into account.",
        ),
    )


SPREAD = Measure(
    "spread",
    "Variation of success between tasks, starts and repetitions of the same start.",
    lambda run: spread(run.frame),
    needs=(REPEAT,),
    panels=(
        Panel(
            SUCCESS,
            (
                lambda result, report: spread_tables(result)[0],
                lambda result, report: spread_tables(result)[1],
            ),
        ),
    ),
)
