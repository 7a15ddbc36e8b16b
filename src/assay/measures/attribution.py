"""Attribution: the cost of each factor, alone and combined with others, from a factorial experiment.

Every label ``factor:NAME`` denotes a factor that is off (False, 0, none, null) or on; episodes without factors,
except controls, are left out. Effects are estimated on the log-odds, with an intercept for each task because odds
ratios are not collapsible over tasks. A main effect is the effect of switching a factor on, averaged over the
other factors; an interaction is the change in this effect when another factor is switched on. Both are also given
in percentage points of success. The Shapley share of a factor is its part of the drop from all factors off to all
factors on, averaged over the orders in which they could be switched on; the shares add up to the drop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import factorial
from typing import Annotated

import numpy as np
import polars as pl
import scipy

from assay.episodes.spec import CONTROL
from assay.measures.findings import Evidence, FlawTest, one_sided_p
from assay.measures.frames import START, valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.result import MeasureError, Result
from assay.measures.sample_size import least_one_sided
from assay.measures.views.forest import Mark, forest, height
from assay.measures.views.style import BLUE, ORANGE, WIDTH, Drawing, Figure, points_axis
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import (
    NOT,
    between,
    listed,
    methods,
    negate,
    p_value,
    plural,
    points,
    signed,
)
from assay.support.stats import regression
from assay.support.stats.intervals import (
    LEVEL,
    Interval,
    jackknife_over_tasks,
    mean_over_tasks,
    stratified_difference,
    widen_to_p,
)
from assay.support.stats.resampling import ENOUGH, FEWEST, percentiles, resample
from assay.support.stats.significance import SURE, least_p, sign_flip, t_below, t_quantile, within

PREFIX = "factor:"
MOST_FACTORS = 8
"""Maximum number of factors; a design has ``2 ** factors`` combinations."""
_OFF = ("", "none", "false", "0", "0.0", "off")


@dataclass(frozen=True, slots=True)
class FactorEffect(Result):
    """Effect of one factor, or interaction of two factors, on the log-odds of success."""

    factors: tuple[str, ...]
    log_odds: Annotated[float, Column("effect", "number")]
    """Effect on the log-odds of success, within tasks."""
    interval: Annotated[Interval, Column("95 % interval", "number")]
    p: Annotated[float, Column("p", "p")]
    """Two-sided p value of ``log_odds`` in a t test over starts, at least 2 ** (1 - starts)."""
    p_holm: Annotated[float | None, Column("Holm p", "p")] = None
    """``p`` adjusted for all tests of the report (Holm), and at least the p value of the change's exact test."""
    points: float | None = None
    """Difference in success rate, -1 to 1, averaged over the other factors; None if combinations are missing."""
    points_interval: Interval | None = None
    """Student interval of ``points`` over starts."""
    points_over_tasks: Interval | None = None
    """Jackknife interval of ``points`` for tasks in general. ``log_odds`` has none: it is an effect within tasks."""
    points_p: float | None = None
    """p value of ``points`` in a t test over starts."""


@dataclass(frozen=True, slots=True)
class FactorShare(Result):
    """Part of the drop that is due to one factor (Shapley value)."""

    factor: str
    loss: float
    """Loss of success due to the factor, 0 to 1."""
    interval: Interval | None
    """Interval of ``loss`` over starts: Student's, or bootstrapped if combinations are missing.

    None if there are too few starts.
    """
    share: float | None
    """``loss`` divided by the drop; None unless the drop is significant."""
    over_tasks: Interval | None
    """Jackknife interval of ``loss`` for tasks in general; None for fewer than three tasks."""


@dataclass(frozen=True, slots=True)
class FactorContrast(Result):
    """Comparison of episodes with and without a factor that have the same start and the same other factors."""

    factor: str
    change: str | None
    """Change made when only this factor is switched on; None if the run has no such episodes."""
    successes: int
    """Number of successes with the factor."""
    count: int
    """Number of episodes with the factor."""
    others: int
    """Number of successes without the factor."""
    others_count: int
    """Number of episodes without the factor."""
    starts: int
    difference: float
    """Success rate with the factor minus success rate without it."""
    interval: Interval
    """Newcombe interval of the difference over starts, extended to include 0 if the test is not significant."""
    p: float
    """p value of ``difference``: the larger of the p values of two exact tests, over starts and within starts."""
    over_tasks: Interval | None
    """Student interval of ``difference`` for tasks in general; None for fewer than three tasks."""

    def flaw_test(self, flaw: str, run: int, telling: int) -> FlawTest:
        """Return the test of whether the factor reduces success, pooled over all combinations.

        ``telling`` is the number of informative starts in which only this factor was switched on.
        """
        p, reference = one_sided_p(self.difference, self.p), self.others / self.others_count
        part = (ATTRIBUTION.name, str(self.change), self.difference, self.interval, p)
        counts = (self.successes, self.count, self.others, self.others_count)
        evidence = Evidence(run, *part, *counts, reference=reference, cost=True, over_tasks=self.over_tasks)
        # At most as many starts are informative as succeed without the factor.
        least = least_one_sided(max(telling, min(self.starts, self.others)))
        return FlawTest(flaw, (evidence,), p, negate(self.interval), least_p=least)


@dataclass(frozen=True, slots=True)
class Attribution(Result):
    """Attribution of a drop in success to the factors of an experiment."""

    factors: tuple[str, ...]
    episodes: int
    starts: int
    tasks: int
    effects: tuple[FactorEffect, ...]
    aliased: tuple[tuple[str, ...], ...]
    """Interactions that this design cannot separate from other effects."""
    drop: float
    """Success rate with all factors off minus success rate with all factors on."""
    drop_interval: Interval | None
    drop_over_tasks: Interval | None
    """Jackknife interval of ``drop`` for tasks in general; None for fewer than three tasks."""
    shares: tuple[FactorShare, ...]
    contrasts: tuple[FactorContrast, ...]
    """For each factor, the comparison of episodes with and without it, if the design includes both."""
    modelled: int
    """Number of missing combinations, whose success is predicted from the estimated effects."""


def attribution(frame: pl.DataFrame) -> Attribution:
    """Attribute the drop in success to the factors of a factorial experiment."""
    named = [name for name in frame.columns if name.startswith(PREFIX)]
    mine = pl.any_horizontal(pl.col("condition") == CONTROL, *(pl.col(name).is_not_null() for name in named))
    rows = valid_rows(frame.filter(mine))
    names = [name for name in named if _on(rows[name]).n_unique() > 1]
    if not 1 <= len(names) <= MOST_FACTORS:
        raise MeasureError(f"expected 1 to {MOST_FACTORS} factors, but the run varies {len(names)}")
    factors = tuple(name.removeprefix(PREFIX) for name in names)
    cell = sum(
        (_on(rows[name]).cast(pl.Int64) * 2**place for place, name in enumerate(names)),
        pl.zeros(len(rows), pl.Int64, eager=True),
    )
    rows = rows.with_columns(_cell=cell)
    table = rows.group_by(*START, "_cell").agg(pl.col("success").sum(), pl.len().alias("count"))
    start = table.select(pl.struct(START).rank("dense") - 1).to_series().to_numpy()
    hits, counts = np.zeros((2, int(start.max()) + 1, 2 ** len(names)))  # (starts, cells) each
    where = start, table["_cell"].to_numpy()
    hits[where], counts[where] = table["success"].to_numpy(), table["count"].to_numpy()
    if len(hits) < FEWEST:
        raise MeasureError(f"expected at least {FEWEST} starts, got {len(hits)}")
    on = (np.arange(2 ** len(names))[:, None] >> np.arange(len(names)) & 1).astype(float)
    design, terms_of, aliased = _design(on, counts.sum(axis=0) > 0, factors)
    task_ranks = rows.select(START).unique().sort(START)["task"].rank("dense").cast(pl.Int64) - 1
    tasks = task_ranks.to_numpy()
    terms, errors = _within_tasks(design, hits, counts, tasks)
    losses, drop = _shapley_weights(on), np.eye(len(on))[0] - np.eye(len(on))[-1]

    def values(totals: np.ndarray) -> np.ndarray:
        """Return the success rate of each combination, (draws, cells), from hits and counts (draws, 2 * cells)."""
        hit, count = np.split(totals, 2, axis=1)
        rates = hit / np.maximum(count, 1)
        if (count > 0).all():
            return np.asarray(rates)
        modelled = scipy.special.expit(regression.fit(design, hit, count) @ design.T)
        return np.asarray(np.where(count > 0, rates, modelled))

    totals = np.hstack([hits, counts])
    whole = values(totals.sum(axis=0)[None])[0]
    seen = (counts.sum(axis=0) > 0).all()
    draws = values(resample(totals)) if not seen and len(totals) >= ENOUGH else np.empty((0, len(on)))

    def interval(weights: np.ndarray) -> Interval | None:
        """Return the interval of the sum of the success rates (cells,), weighted by ``weights`` (cells,)."""
        if seen:
            return _weighted_sum(weights, hits, counts)[2]
        return percentiles(draws @ weights, len(totals)) if len(draws) else None

    by_task = np.stack([np.bincount(tasks, column) for column in totals.T], axis=1)  # (tasks, 2 * cells)

    def over_tasks(weights: np.ndarray, given: Interval | None) -> Interval | None:
        return jackknife_over_tasks(lambda sums: values(sums) @ weights, by_task, given, (-1.0, 1.0))

    def effect(members: tuple[str, ...], term: float, error: float) -> FactorEffect:
        free = len(hits) - 1
        half = t_quantile((1 + LEVEL) / 2, free) * float(error)
        of_term = Interval(float(term) - half, float(term) + half, "student, over starts")
        p = max(2 * t_below(-abs(term) / error, free), least_p(len(hits)))
        result = FactorEffect(members, float(term), of_term, p)
        if not seen:
            return result
        signs = np.prod([2 * on[:, factors.index(member)] - 1 for member in members], axis=0)
        weights = signs * 2 ** len(members) / len(on)
        middle, spread, of_points = _weighted_sum(weights, hits, counts)
        p = max(2 * t_below(-abs(middle) / spread, free), least_p(len(hits)))
        general = over_tasks(weights, of_points)
        return replace(
            result, points=middle, points_interval=of_points, points_p=p, points_over_tasks=general
        )

    drop_interval = interval(drop)
    certain = drop_interval is not None and drop_interval.low > 0
    return Attribution(
        factors=factors,
        episodes=len(rows),
        starts=len(totals),
        tasks=len(by_task),
        effects=tuple(effect(*term) for term in zip(terms_of, terms, errors, strict=True)),
        aliased=aliased,
        drop=float(whole @ drop),
        drop_interval=drop_interval,
        drop_over_tasks=over_tasks(drop, drop_interval),
        shares=tuple(
            FactorShare(
                factor,
                float(whole @ loss),
                within_tasks := interval(loss),
                float(whole @ loss / (whole @ drop)) if certain else None,
                over_tasks(loss, within_tasks),
            )
            for factor, loss in zip(factors, losses, strict=True)
        ),
        contrasts=tuple(
            contrast
            for place, factor in enumerate(factors)
            if (contrast := _contrast(factor, 2**place, rows, hits, counts, tasks))
        ),
        modelled=int((counts.sum(axis=0) == 0).sum()),
    )


def _contrast(
    factor: str, bit: int, rows: pl.DataFrame, hits: np.ndarray, counts: np.ndarray, tasks: np.ndarray
) -> FactorContrast | None:
    """Compare episodes with and without a factor, from hits and counts (starts, cells) and tasks (starts,).

    Returns None if no start has both.
    """
    off = np.array([cell for cell in range(hits.shape[1]) if not cell & bit])
    both = (counts[:, off] > 0) & (counts[:, off + bit] > 0)  # (starts, combinations of the others)
    if not both.any():
        return None
    before, among, now, among_now = (
        np.where(both, values, 0.0)
        for values in (hits[:, off], counts[:, off], hits[:, off + bit], counts[:, off + bit])
    )
    apart = np.divide(now * among - before * among_now, among + among_now, where=both, out=np.zeros_like(now))
    p = max(sign_flip(apart.sum(axis=1)), within(before[both], among[both], now[both], among_now[both]))
    telling = both.any(axis=1)
    estimate = stratified_difference(
        *(values.sum(axis=1)[telling] for values in (before, among, now, among_now))
    )
    weights = np.divide(among * among_now, among + among_now, where=both, out=np.zeros_like(now))
    interval = widen_to_p(estimate.interval, p)
    own = np.unique(tasks[telling], return_inverse=True)[1]
    sums, sizes = (np.bincount(own, values.sum(axis=1)[telling]) for values in (apart, weights))
    general, _ = mean_over_tasks(sums, sizes, interval) or (None, None)
    alone = rows.filter(pl.col("_cell") == bit)
    changes = alone["change"].drop_nulls().unique().to_list() if "change" in rows.columns else []
    return FactorContrast(
        factor=factor,
        change=changes[0] if len(changes) == 1 else None,
        successes=int(now.sum()),
        count=int(among_now.sum()),
        others=int(before.sum()),
        others_count=int(among.sum()),
        starts=int(telling.sum()),
        difference=estimate.difference,
        interval=interval,
        p=p,
        over_tasks=general,
    )


def _on(values: pl.Series) -> pl.Series:
    return ~values.cast(pl.String).fill_null("").str.to_lowercase().is_in(_OFF)


def _design(
    on: np.ndarray, seen: np.ndarray, factors: tuple[str, ...]
) -> tuple[np.ndarray, list[tuple[str, ...]], tuple[tuple[str, ...], ...]]:
    """Return the design's identifiable columns, (cells, terms), the factors of each, and aliased interactions."""
    columns, kept, aliased = [np.ones(len(on))], [], []
    for members in (*combinations(range(len(factors)), 1), *combinations(range(len(factors)), 2)):
        column = np.prod(on[:, members] - 0.5, axis=1)
        wider = np.stack([*columns, column], axis=1)
        name = tuple(factors[member] for member in members)
        if np.linalg.matrix_rank(wider[seen]) == wider.shape[1]:
            columns.append(column)
            kept.append(name)
        else:
            aliased.append(name)
    return np.stack(columns, axis=1), kept, tuple(aliased)


def _shapley_weights(on: np.ndarray) -> np.ndarray:
    """Return the Shapley weights, (factors, cells); ``weights @ success`` is the loss due to each factor."""
    cells, factors = on.shape
    weights = np.zeros((factors, cells))
    for factor in range(factors):
        for cell in np.flatnonzero(on[:, factor] == 0):
            others = int(on[cell].sum())
            chance = factorial(others) * factorial(factors - others - 1) / factorial(factors)
            weights[factor, cell] += chance
            weights[factor, cell + 2**factor] -= chance
    return weights


def _within_tasks(
    design: np.ndarray, hits: np.ndarray, counts: np.ndarray, tasks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate effects on the log-odds and their standard errors, omitting the intercepts of the tasks.

    Takes hits and counts (starts, cells) and the task of each start (starts,). Tasks that always or never succeed
    provide no information about the odds and are left out, unless there are no other tasks.
    """
    cells = hits.shape[1]
    won, tried = (
        np.stack([np.bincount(tasks, cell) for cell in table.T], axis=1) for table in (hits, counts)
    )
    mixed = (won.sum(axis=1) > 0) & (won.sum(axis=1) < tried.sum(axis=1))
    informative = np.flatnonzero(mixed)
    if not mixed.any():
        tasks, informative = np.zeros_like(tasks), np.zeros(1, int)
    mine = np.isin(tasks, informative)
    place = np.searchsorted(informative, tasks[mine])
    where = place[:, None] * cells + np.arange(cells)  # (starts, cells) of tasks x cells
    wide_hits, wide_counts = np.zeros((2, int(mine.sum()), len(informative) * cells))
    np.put_along_axis(wide_hits, where, hits[mine], axis=1)
    np.put_along_axis(wide_counts, where, counts[mine], axis=1)
    own = np.kron(np.eye(len(informative)), np.ones((cells, 1)))
    wide = np.hstack([own, np.tile(design[:, 1:], (len(informative), 1))])
    terms = regression.fit(wide, wide_hits.sum(axis=0)[None], wide_counts.sum(axis=0)[None])[0]
    errors = regression.errors(wide, terms, wide_hits, wide_counts)
    return terms[len(informative) :], errors[len(informative) :]


def _weighted_sum(weights: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> tuple[float, float, Interval]:
    """Return the sum of the success rates (cells,), weighted by ``weights``, its standard error and its interval.

    The error is estimated from the variance between starts. It is at least the error for independent episodes, with one
    success and one failure added to each combination so that it is positive.
    """
    total, starts = counts.sum(axis=0), len(hits)
    rates = hits.sum(axis=0) / total
    off = (hits - rates * counts) / total @ weights
    milder = (hits.sum(axis=0) + 1) / (total + 2)
    alone = float(np.square(weights) @ (milder * (1 - milder) / total))
    middle, error = float(weights @ rates), max(float(off @ off) * starts / (starts - 1), alone) ** 0.5
    half = t_quantile((1 + LEVEL) / 2, starts - 1) * error
    return middle, error, Interval(max(-1.0, middle - half), min(1.0, middle + half), "student, over starts")


def effects_table(result: Attribution, report: ReportedRun) -> Table:
    """Make the table of the factors' effects on the log-odds."""
    return Table.of(
        "effects",
        "Effects on the log-odds of success",
        result.effects,
        Column("factors", value=lambda effect: " x ".join(effect.factors)),
        *("log_odds", "interval", "p", "p_holm"),
        note=f"95 % intervals: {methods(effect.interval for effect in result.effects)}. p: two-sided t test over "
        "starts. Holm p: this p adjusted for all tests of the report; an effect is at most as significant as the "
        "exact test of its change.",
    )


def shares_table(result: Attribution, report: ReportedRun) -> Table:
    """Make the table of the Shapley shares of the drop."""
    return Table.of(
        "shares",
        "Shapley shares of the drop",
        result.shares,
        Column("factor", value=lambda share: share.factor),
        Column("difference", "change", value=lambda share: -share.loss),
        Column("95 % interval", "change", value=lambda share: share.interval and negate(share.interval)),
        Column("share", "share", value=lambda share: share.share),
        note=f"95 % intervals: {methods(share.interval for share in result.shares)}.",
    )


def attribution_figure(result: Attribution, report: ReportedRun) -> Drawing:
    """Draw the factors' effects on the log-odds and their shares of the drop."""
    effects, shares = [], []
    for effect in result.effects:
        colour, shape = (ORANGE, "s") if len(effect.factors) > 1 else (BLUE, "o")
        p = effect.p if effect.p_holm is None else effect.p_holm
        numbers, name, sure = (signed(effect.log_odds, 2), p_value(p)), " x ".join(effect.factors), p < SURE
        effects.append(Mark(name, effect.log_odds, effect.interval, numbers, sure, colour, shape))
    for share in result.shares:
        numbers = points(-share.loss), NOT if share.share is None else f"{100 * share.share:.0f} %"
        shares.append(Mark(share.factor, -share.loss, share.interval and negate(share.interval), numbers))

    def paint(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        heads = ("effect", "Holm p")
        forest(left, {"": effects}, along="effect on the log-odds of success", heads=heads, zero=0.0)
        left.set_title("Main effects and interactions")
        heads = ("points", "share")
        forest(right, {"": shares}, along="change in success, points", heads=heads, zero=0.0, least=0.1)
        right.set_title("Shapley shares of the drop")
        points_axis(right.xaxis)

    drop = f"{points(-result.drop)} points"
    if result.drop_interval:
        drop += f" (95 % interval {between(negate(result.drop_interval), 100)})"
    caption = (
        f"{plural(result.episodes, 'episode')} from {plural(result.starts, 'start')}. Left: 95 % intervals "
        f"({methods(effect.interval for effect in result.effects)}); squares: interactions "
        f"of two factors; filled: Holm p < {SURE:g}. Right: share of each factor in the change from all factors off to "
        f"all on, {drop}; lines: 95 % intervals ({methods(share.interval for share in result.shares)})."
    )
    if result.modelled:
        caption += f" {plural(result.modelled, 'missing combination')} had to be predicted by the model."
    if result.aliased:
        names = listed(" x ".join(factors) for factors in result.aliased)
        caption += f" The design cannot separate {names} from other effects."
    size = (WIDTH + 0.6, max(height({"": effects}), height({"": shares})) + 0.2)
    return Drawing("attribution", "Cost of each factor", caption, size, paint, in_a_column=False)


ATTRIBUTION = Measure(
    "attribution",
    "Cost of each factor in a factorial experiment, alone and together.",
    lambda run: attribution(run.changed),
    needs=(PREFIX,),
    panels=(Panel("Attribution", (effects_table, shares_table), (attribution_figure,)),),
)
