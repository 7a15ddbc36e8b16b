"""Every kind of interval holds the truth in 95 % of simulated runs.

Outcomes are counts, so no interval can do that at every single rate: coverage swings about its mean as the
rate moves. The claim is therefore about the mean over the rates, for every size; where it holds at each rate
by itself, that is asserted too.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, ndtri

from assay.measures.attribution import _shapley_weights, _weighted_sum
from assay.measures.success.rates import rates
from assay.support.stats import regression
from assay.support.stats.intervals import (
    Interval,
    paired_difference,
    share_interval,
    wilson,
)
from assay.support.stats.resampling import bootstrap

WITHIN = 0.015
SIMULATED = 0.3
"""The standard deviation of one simulated run, at a coverage of 90 %."""
RATES = np.linspace(0.02, 0.98, 193)
PAIRS = [
    (0.95, 0.95),
    (0.95, 0.8),
    (0.9, 0.5),
    (0.6, 0.5),
    (0.98, 0.9),
    (0.8, 0.75),
    (0.5, 0.3),
    (0.98, 0.02),
]
"""Success with and without a change."""


def holds(interval: Interval | None, truth: float) -> bool:
    assert interval is not None
    return interval.low - 1e-12 <= truth <= interval.high + 1e-12


def exact_coverage(low: np.ndarray, high: np.ndarray, count: int, at: np.ndarray) -> np.ndarray:
    """The probability that an interval for each number of successes, (count + 1,), holds the rates."""
    chance = stats.binom.pmf(np.arange(count + 1)[:, None], count, at)
    return np.asarray((chance * ((low[:, None] <= at) & (at <= high[:, None]))).sum(axis=0))


def starts(
    rng: np.random.Generator, runs: int, count: int, each: int, rate: float, alike: float
) -> np.ndarray:
    """Success in ``each`` episodes of every start; ``alike`` of the variance is the start's own."""
    own = rng.normal(size=(runs, count, 1)) * np.sqrt(alike)
    return np.asarray(own + np.sqrt(1 - alike) * rng.normal(size=(runs, count, each)) < ndtri(rate))


def test_wilson_covers_on_average_and_at_every_rate_with_many_episodes():
    middle = RATES[(RATES >= 0.1) & (RATES <= 0.9)]
    for count in (5, 10, 20, 50, 100, 200, 500, 2000):
        low, high = wilson(np.arange(count + 1) / count, count)
        assert abs(exact_coverage(low, high, count, RATES).mean() - 0.95) <= WITHIN
        if count >= 200:
            assert np.abs(exact_coverage(low, high, count, middle) - 0.95).max() <= WITHIN


@pytest.mark.parametrize(("seeds", "wordings"), [(5, 20), (10, 10), (40, 4)])
def test_rate_covers_if_starts_and_wordings_repeat(seeds: int, wordings: int):
    """Four given tasks of different difficulty; every wording with every seed, either of which matters."""
    rng, runs, tasks = np.random.default_rng(7), 1200, 4
    easy = np.array([1.5, 0.5, 0.0, 2.0])[:, None, None]
    start = rng.normal(size=(runs, tasks, seeds, 1)) * 0.7
    wording = rng.normal(size=(runs, tasks, 1, wordings)) * 0.7
    success = rng.random((runs, tasks, seeds, wordings)) < expit(easy + start + wording)
    truth = expit(easy.ravel() + rng.normal(size=(100_000, 1)) * np.hypot(0.7, 0.7)).mean()
    run, task, seed, word = (index.ravel() for index in np.indices(success.shape))
    frame = pl.DataFrame({"run": run, "task": task, "seed": seed, "start": seed, "instruction": word})
    frame = frame.with_columns(
        condition=pl.lit("c"), outcome=pl.Series(np.where(success.ravel(), "success", "failure"))
    )
    found = rates(frame, ("run",))
    assert np.mean([each.effective or 0 for each in found]) < 0.6 * tasks * seeds * wordings
    assert abs(np.mean([holds(each.interval, truth) for each in found]) - 0.95) <= WITHIN


@pytest.mark.parametrize("each", [10, 43])
@pytest.mark.parametrize("alike", [0.5, 1.0])
def test_share_covers_if_few_starts_fail(each: int, alike: float):
    """Fifty starts, some hopeless whatever is said. On average over the rates: fifty flips swing by 5 points."""
    rng, runs, count = np.random.default_rng(7), 300, 50
    weights, held = np.full(count, float(each)), []
    for rate in (0.9, 0.93, 0.95, 0.97, 0.98, 0.99):
        hopeless = (1 - rate) * (1 - alike) / alike
        chance = (
            rng.beta(rate * (1 - alike) / alike, hopeless, (runs, count))
            if alike < 1
            else (rng.random((runs, count)) < rate).astype(float)
        )
        hits = rng.binomial(each, chance).astype(float)
        held += [holds(share_interval(hit, weights, count * each), rate) for hit in hits]
    assert abs(np.mean(held) - 0.95) <= 0.025  # two points, and what chance adds in 1,800 runs


@pytest.mark.parametrize("count", [5, 10, 20, 50])
@pytest.mark.parametrize("each", [1, 5])
def test_drop_covers_on_average_and_nowhere_badly(count: int, each: int):
    rng, runs = np.random.default_rng(7), 200
    weights, most = np.full(count, float(each)), (float(count), float(count * each))
    cover = []
    for control, changed in PAIRS:
        for alike in (0.0, 0.5):
            own = rng.normal(size=(runs, count, 1)) * np.sqrt(alike)
            before, after = (
                own + np.sqrt(1 - alike) * rng.normal(size=(runs, count, size)) < ndtri(rate)
                for size, rate in ((1, control), (each, changed))
            )
            held = [
                holds(paired_difference((one, other), (weights, weights), most).interval, changed - control)
                for one, other in zip(
                    before[..., 0] * float(each), after.sum(axis=-1).astype(float), strict=True
                )
            ]
            cover.append(np.mean(held))
    assert min(cover) >= 0.9 - 3 * SIMULATED / np.sqrt(runs), "each pair of rates by itself"
    assert 0.95 - WITHIN <= np.mean(cover) <= 0.95 + (WITHIN if count > 20 else 0.04)


@pytest.mark.parametrize("count", [10, 20, 50, 200])
def test_weighted_share_over_clusters_covers_on_average_over_the_rates(count: int):
    """PRIDE: weights that differ between wordings. The memorisation index: all weights are one."""
    rng, runs, each = np.random.default_rng(7), 250, 5
    held = []
    for weighted in (True, False):
        for rate in (0.1, 0.3, 0.5, 0.7, 0.9):
            weights = rng.uniform(0.05, 0.5, size=(runs, count)) if weighted else np.ones((runs, count))
            hits = weights * starts(rng, runs, count, each, rate, 0.4).sum(axis=-1)
            most = each * weights.sum(axis=1) ** 2 / np.square(weights).sum(axis=1)
            held += [
                holds(share_interval(hit, each * weight, enough), rate)
                for hit, weight, enough in zip(hits, weights, most, strict=True)
            ]
    assert abs(np.mean(held) - 0.95) <= WITHIN


@pytest.mark.parametrize("count", [20, 50])
def test_bootstrap_covers_ratios_of_sums(count: int):
    """As in overestimation: one less a weighted success rate over a plain one."""
    rng, runs = np.random.default_rng(11), 500
    held = []
    for slope in (0.0, -2.0):
        far = rng.uniform(0.05, 0.5, size=(1_000_000,))
        chance = expit(1.0 + slope * far)
        truth = 1 - (chance * far).sum() / far.sum() / chance.mean()
        for _ in range(runs):
            far = rng.uniform(0.05, 0.5, size=count)
            hits = rng.binomial(5, expit(1.0 + slope * far))
            table = np.stack([np.full(count, 5.0), hits, 5 * far, hits * far], axis=1)
            held.append(holds(bootstrap(table, lambda t: 1 - t[:, 3] / t[:, 2] / (t[:, 1] / t[:, 0])), truth))
    assert abs(np.mean(held) - 0.95) <= WITHIN


@pytest.mark.parametrize("count", [50, 100])
@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_effects_on_the_log_odds_cover_with_enough_of_either_outcome(count: int, alike: float):
    cover = _effects_coverage(count, alike, np.array([0.8, -0.8, -0.4, 0.5]))
    assert np.abs(cover - 0.95).max() <= 0.025  # of 800 runs, each effect by itself
    assert abs(cover.mean() - 0.95) <= WITHIN


def test_effects_cover_if_a_cell_rarely_fails():
    assert _effects_coverage(30, 0.0, np.array([3.0, -2.0, 0.0, 0.0])).min() >= 0.95 - WITHIN


def _effects_coverage(count: int, alike: float, terms: np.ndarray) -> np.ndarray:
    """How often main effects and interaction of two factors are held, over runs in which starts differ."""
    rng, runs = np.random.default_rng(7), 800
    on = np.array([[0, 0], [1, 0], [0, 1], [1, 1]]) - 0.5
    design = np.column_stack([np.ones(4), on, on.prod(axis=1)])
    odds = design @ terms + alike * rng.normal(size=(runs, count, 1))
    hits = (rng.random((runs, count, 4)) < expit(odds)).astype(float)
    typical = expit(design @ terms + alike * rng.normal(size=(400_000, 1))).mean(axis=0)
    truth = np.linalg.solve(design, np.log(typical / (1 - typical)))
    ones = np.ones((count, 4))
    found = regression.fit(design, hits.sum(axis=1), np.full((runs, 4), float(count)))
    errors = np.stack(
        [regression.errors(design, each, hit, ones) for each, hit in zip(found, hits, strict=True)]
    )
    student = stats.t.ppf(0.975, count - 1)
    return np.asarray((np.abs(found - truth) <= student * errors).mean(axis=0)[1:])


@pytest.mark.parametrize(("count", "each"), [(5, 20), (10, 5), (20, 1)])
def test_parts_of_a_drop_cover_with_few_starts_that_differ(count: int, each: int):
    rng, runs = np.random.default_rng(7), 400
    on = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], float)
    odds = 2.0 - on @ [1.0, 0.6]
    own = rng.normal(size=(runs, count, 1)) * 0.7
    hits = rng.binomial(each, expit(odds + own)).astype(float)
    truth = expit(odds + 0.7 * rng.normal(size=(400_000, 1))).mean(axis=0)
    counts = np.full((count, 4), float(each))
    for weights in _shapley_weights(on):
        held = [holds(_weighted_sum(weights, hit, counts)[2], float(weights @ truth)) for hit in hits]
        assert np.mean(held) >= 0.95 - 2 * WITHIN
