"""Attribution: which factor costs how much, alone and together, from a factorial experiment.

Every label ``factor:NAME`` is a factor; episodes without such labels stay out, but for the controls. It is
off (False, 0, none, null) or on. Effects are log-odds within tasks: each task has odds of its own, because odds do
not add up over tasks that differ. A main effect is that of switching the factor on, averaged over the others; an
interaction is how much one factor changes another's effect. The same is told in points of success, where effects that
add up in log-odds need not do so. The Shapley share of
a factor is its part of the drop from all off to all on, averaged over the orders in which the factors could
have been switched on; the shares of all factors make up the whole drop.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy

from assay.episodes.spec import CONTROL
from assay.measures.frames import START, judged
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.support.stats import regression
from assay.support.stats.intervals import LEVEL, Interval, stratified, tested
from assay.support.stats.resampling import ENOUGH, FEWEST, percentiles, resample
from assay.support.stats.significance import sign_flip, t_below, t_quantile, within

PREFIX = "factor:"
MOST = 8
"""Factors; 2 ** MOST cells."""
_OFF = ("", "none", "false", "0", "0.0", "off")


@dataclass(frozen=True, slots=True)
class Effect(Result):
    """What a factor, or two together, do to the log-odds of success."""

    factors: tuple[str, ...]
    log_odds: float
    """Within tasks."""
    interval: Interval
    p: float
    points: float | None
    """The same as a difference of success, -1 to 1, averaged over the other factors; None where combinations lack."""
    points_interval: Interval | None
    """Student's, over starts."""
    points_p: float | None


@dataclass(frozen=True, slots=True)
class Share(Result):
    """A factor's part of the drop."""

    factor: str
    loss: float
    """Success lost, 0 to 1."""
    interval: Interval | None
    """Student's, over starts; where combinations are modelled from resampled starts, None if too few."""
    share: float | None
    """loss / drop; None unless there is a drop beyond doubt."""


@dataclass(frozen=True, slots=True)
class FactorContrast(Result):
    """Episodes with a factor against those without it that have all other factors, and the start, in common."""

    factor: str
    change: str | None
    """What it changes, where it is the only factor that is on."""
    successes: int
    count: int
    """With the factor."""
    others: int
    others_count: int
    """Without it."""
    starts: int
    difference: float
    """Success with it less success without."""
    interval: Interval
    """Newcombe's, over starts; reaches to 0 where the test cannot exclude that."""
    p: float
    """Exact: the larger of one over starts, and one within combinations of the others and starts."""


@dataclass(frozen=True, slots=True)
class Attribution(Result):
    """Where a drop comes from."""

    factors: tuple[str, ...]
    episodes: int
    starts: int
    effects: tuple[Effect, ...]
    aliased: tuple[tuple[str, ...], ...]
    """Interactions that the design cannot tell from others."""
    drop: float
    """Success with all factors off less success with all on."""
    drop_interval: Interval | None
    shares: tuple[Share, ...]
    contrasts: tuple[FactorContrast, ...]
    """Of each factor that is compared with its absence somewhere."""
    modelled: int
    """Combinations that the experiment lacks; the model of the effects stands in for them."""


def attribution(frame: pl.DataFrame) -> Attribution:
    """Take a drop apart."""
    named = [name for name in frame.columns if name.startswith(PREFIX)]
    mine = pl.any_horizontal(pl.col("condition") == CONTROL, *(pl.col(name).is_not_null() for name in named))
    rows = judged(frame.filter(mine))
    names = [name for name in named if _on(rows[name]).n_unique() > 1]
    if not 1 <= len(names) <= MOST:
        raise MeasureError(f"the run varies {len(names)} factors; valid: 1 to {MOST}")
    factors = tuple(name.removeprefix(PREFIX) for name in names)
    cell = sum(
        (_on(rows[name]).cast(pl.Int64) * 2**place for place, name in enumerate(names)),
        pl.zeros(len(rows), pl.Int64, eager=True),
    )
    rows = rows.with_columns(_cell=cell)
    hits, counts = _table(rows, 2 ** len(names))
    if len(hits) < FEWEST:
        raise MeasureError(f"{len(hits)} starts; needs {FEWEST} at least")
    on = (np.arange(2 ** len(names))[:, None] >> np.arange(len(names)) & 1).astype(float)
    design, kept, aliased = _design(on, counts.sum(axis=0) > 0, factors)
    terms, errors = _within_tasks(design, hits, counts, _tasks(rows))
    losses, drop = _losses(on), np.eye(len(on))[0] - np.eye(len(on))[-1]

    def values(totals: np.ndarray) -> np.ndarray:
        """Success in every combination, (draws, cells), from hits and counts (draws, 2 cells)."""
        hit, count = np.split(totals, 2, axis=1)
        modelled = (
            scipy.special.expit(regression.fit(design, hit, count) @ design.T) if (count == 0).any() else 0.0
        )
        return np.asarray(np.where(count > 0, hit / np.maximum(count, 1), modelled))

    table = np.hstack([hits, counts])
    whole = values(table.sum(axis=0)[None])[0]
    seen = (counts.sum(axis=0) > 0).all()
    draws = values(resample(table)) if not seen and len(table) >= ENOUGH else np.empty((0, len(on)))

    def interval(weights: np.ndarray) -> Interval | None:
        """Of ``weights @ success`` (cells,)."""
        if seen:
            return _linear(weights, hits, counts)
        return percentiles(draws @ weights, len(table)) if len(draws) else None

    def points(members: tuple[str, ...]) -> _Points:
        """An effect as a difference of success."""
        if not seen:
            return _Points(None, None, None)
        signs = np.prod([2 * on[:, factors.index(member)] - 1 for member in members], axis=0)
        return _in_points(signs * 2 ** len(members) / len(on), hits, counts)

    found = interval(drop)
    certain = found is not None and found.low > 0
    return Attribution(
        factors=factors,
        episodes=len(rows),
        starts=len(table),
        effects=tuple(
            _effect(each, term, error, len(hits) - 1, points(each))
            for each, term, error in zip(kept, terms, errors, strict=True)
        ),
        aliased=aliased,
        drop=float(whole @ drop),
        drop_interval=found,
        shares=tuple(
            Share(
                factor,
                float(whole @ loss),
                interval(loss),
                float(whole @ loss / (whole @ drop)) if certain else None,
            )
            for factor, loss in zip(factors, losses, strict=True)
        ),
        contrasts=tuple(
            contrast
            for place, factor in enumerate(factors)
            if (contrast := _contrast(factor, 2**place, rows, hits, counts))
        ),
        modelled=int((counts.sum(axis=0) == 0).sum()),
    )


def _contrast(
    factor: str, bit: int, rows: pl.DataFrame, hits: np.ndarray, counts: np.ndarray
) -> FactorContrast | None:
    """A factor against its absence, from hits and counts (starts, cells); None where no start has both."""
    off = np.array([cell for cell in range(hits.shape[1]) if not cell & bit])
    both = (counts[:, off] > 0) & (counts[:, off + bit] > 0)  # (starts, combinations of the others)
    if not both.any():
        return None
    before, among, now, among_now = (
        np.where(both, each, 0.0)
        for each in (hits[:, off], counts[:, off], hits[:, off + bit], counts[:, off + bit])
    )
    apart = np.divide(now * among - before * among_now, among + among_now, where=both, out=np.zeros_like(now))
    p = max(sign_flip(apart.sum(axis=1)), within(before[both], among[both], now[both], among_now[both]))
    telling = both.any(axis=1)
    sums = [each.sum(axis=1)[telling] for each in (before, among, now, among_now)]
    found = stratified(*sums)
    alone = rows.filter(pl.col("_cell") == bit)
    told = alone["change"].drop_nulls().unique().to_list() if "change" in rows.columns else []
    return FactorContrast(
        factor=factor,
        change=told[0] if len(told) == 1 else None,
        successes=int(now.sum()),
        count=int(among_now.sum()),
        others=int(before.sum()),
        others_count=int(among.sum()),
        starts=int(telling.sum()),
        difference=found.difference,
        interval=tested(found.interval, p),
        p=p,
    )


def _on(values: pl.Series) -> pl.Series:
    return ~values.cast(pl.String).fill_null("").str.to_lowercase().is_in(_OFF)


def _table(rows: pl.DataFrame, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Successes and episodes of every start in every combination: (starts, cells) each."""
    found = rows.group_by(*START, "_cell").agg(pl.col("success").sum(), pl.len().alias("count"))
    start = found.select(pl.struct(START).rank("dense") - 1).to_series().to_numpy()
    hits, counts = np.zeros((2, int(start.max()) + 1, cells))
    where = start, found["_cell"].to_numpy()
    hits[where], counts[where] = found["success"].to_numpy(), found["count"].to_numpy()
    return hits, counts


def _design(
    on: np.ndarray, seen: np.ndarray, factors: tuple[str, ...]
) -> tuple[np.ndarray, list[tuple[str, ...]], tuple[tuple[str, ...], ...]]:
    """The columns (cells, terms) that the combinations seen can tell apart, and what they stand for."""
    columns, kept, aliased = [np.ones(len(on))], [], []
    sets = [*combinations(range(len(factors)), 1), *combinations(range(len(factors)), 2)]
    for members in sets:
        column = np.prod(on[:, members] - 0.5, axis=1)
        wider = np.stack([*columns, column], axis=1)
        name = tuple(factors[member] for member in members)
        if np.linalg.matrix_rank(wider[seen]) == wider.shape[1]:
            columns.append(column)
            kept.append(name)
        else:
            aliased.append(name)
    return np.stack(columns, axis=1), kept, tuple(aliased)


def _losses(on: np.ndarray) -> np.ndarray:
    """Shapley's weights: losses (factors,) = weights (factors, cells) @ success (cells,)."""
    cells, factors = on.shape
    weights = np.zeros((factors, cells))
    for factor in range(factors):
        for cell in np.flatnonzero(on[:, factor] == 0):
            others = int(on[cell].sum())
            chance = factorial(others) * factorial(factors - others - 1) / factorial(factors)
            weights[factor, cell] += chance
            weights[factor, cell + 2**factor] -= chance
    return weights


def _tasks(rows: pl.DataFrame) -> np.ndarray:
    """The number of the task of each start, in the order of `_table`: (starts,)."""
    starts = rows.select(START).unique().sort(START)
    return starts.select(pl.col(START[0]).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()


def _within_tasks(
    design: np.ndarray, hits: np.ndarray, counts: np.ndarray, tasks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Effects on the log-odds and their errors, without the constant, if each task has odds of its own.

    From hits and counts (starts, cells) and the starts' tasks (starts,). Tasks that always fail, or never, say
    nothing of effects on the odds and are left out, unless there is no other.
    """
    cells = hits.shape[1]
    won, tried = (
        np.stack([np.bincount(tasks, each) for each in table.T], axis=1) for table in (hits, counts)
    )
    mixed = (won.sum(axis=1) > 0) & (won.sum(axis=1) < tried.sum(axis=1))
    known = np.flatnonzero(mixed) if mixed.any() else np.unique(tasks)
    if not mixed.any():
        tasks, known = np.zeros_like(tasks), np.zeros(1, int)
    mine = np.isin(tasks, known)
    place = np.searchsorted(known, tasks[mine])
    where = place[:, None] * cells + np.arange(cells)  # (starts, cells) of tasks x cells
    wide_hits, wide_counts = np.zeros((2, int(mine.sum()), len(known) * cells))
    np.put_along_axis(wide_hits, where, hits[mine], axis=1)
    np.put_along_axis(wide_counts, where, counts[mine], axis=1)
    own = np.kron(np.eye(len(known)), np.ones((cells, 1)))
    wide = np.hstack([own, np.tile(design[:, 1:], (len(known), 1))])
    terms = regression.fit(wide, wide_hits.sum(axis=0)[None], wide_counts.sum(axis=0)[None])[0]
    errors = regression.errors(wide, terms, wide_hits, wide_counts)
    return terms[len(known) :], errors[len(known) :]


class _Points(NamedTuple):
    """A difference of success, if it is known."""

    value: float | None
    interval: Interval | None
    p: float | None


def _linear(weights: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> Interval:
    """Student's interval of ``weights @ success`` (cells,), from hits and counts (starts, cells)."""
    middle, error = _weighed(weights, hits, counts)
    half = t_quantile((1 + LEVEL) / 2, len(hits) - 1) * error
    return Interval(max(-1.0, middle - half), min(1.0, middle + half), "student, over starts")


def _in_points(weights: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> _Points:
    """The same with its value and its p."""
    middle, error = _weighed(weights, hits, counts)
    p = 2 * t_below(-abs(middle) / error, len(hits) - 1)
    return _Points(middle, _linear(weights, hits, counts), p)


def _weighed(weights: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """``weights @ success`` (cells,) and its error.

    From the variance between starts; at least that of independent episodes, with a success and a failure
    added to each combination, for where one never fails.
    """
    total, starts = counts.sum(axis=0), len(hits)
    rates = hits.sum(axis=0) / total
    off = (hits - rates * counts) / total @ weights
    milder = (hits.sum(axis=0) + 1) / (total + 2)
    alone = float(np.square(weights) @ (milder * (1 - milder) / total))
    variance = max(float(off @ off) * starts / (starts - 1), alone)
    return float(weights @ rates), variance**0.5


def _effect(factors: tuple[str, ...], term: float, error: float, freedom: int, points: _Points) -> Effect:
    half = t_quantile((1 + LEVEL) / 2, freedom) * float(error)
    interval = Interval(float(term) - half, float(term) + half, "student, over starts")
    return Effect(factors, float(term), interval, 2 * t_below(-abs(term) / error, freedom), *points)


ATTRIBUTION = Measure(
    "attribution",
    "Which factor of a factorial experiment costs how much, alone and together.",
    lambda run: attribution(run.changed),
    needs=(PREFIX,),
    panels=(
        Panel(
            "Attribution",
            tables=("assay.report.tables:effects_table", "assay.report.tables:shares_table"),
            figures=("assay.report.figures.memory:attribution_figure",),
        ),
    ),
)
