"""Intervals and tests for runs in which starts and wordings repeat."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from assay.measures.clustering import UNVARIED, mean, medians, shares
from assay.measures.compare import compare
from assay.measures.words.pride import overestimation, pride, sweep
from assay.support.stats.intervals import wilson_interval

TASKS, SEEDS, WORDINGS = 5, 6, 12
SIZE = (TASKS, SEEDS, WORDINGS)
ALIKE = 1.0
"""How much starts, and wordings, differ: standard deviation of their log-odds."""
RUNS = 60
MARGIN = 2.5 * (0.95 * 0.05 / RUNS) ** 0.5
"""What chance takes from a coverage of 95 % in so many runs."""


def grid() -> pl.DataFrame:
    """Every wording with every start of a task."""
    task, seed, word = (index.ravel() for index in np.indices(SIZE))
    frame = pl.DataFrame({"task": task, "seed": seed, "start": seed, "condition": "c", "instruction": word})
    frame = frame.with_columns(pl.format("task {}", "task").alias("task"))
    return frame.with_columns(
        pl.format("{} in {}", "instruction", "task").alias("instruction"),
        id=pl.Series(np.arange(len(frame))),
        key=pl.Series([str(each) for each in range(len(frame))]),
    )


def outcomes(rng: np.random.Generator, odds: float | np.ndarray = 1.0) -> np.ndarray:
    """Success (tasks, seeds, wordings), where starts and wordings differ."""
    start, word = rng.normal(size=(TASKS, SEEDS, 1)), rng.normal(size=(TASKS, 1, WORDINGS))
    return np.asarray(rng.random(SIZE) < expit(odds + ALIKE * (start + word)))


@cache
def typical(odds: float) -> float:
    noise = np.random.default_rng(1).normal(size=400_000) * ALIKE * np.sqrt(2)
    return float(expit(odds + noise).mean())


def said(success: np.ndarray) -> pl.Series:
    return pl.Series("outcome", np.where(success.ravel(), "success", "failure"))


def test_without_failures_each_start_counts_once():
    count, interval = shares(grid().with_columns(_hit_it=True), "_hit_it")[()]
    assert count == TASKS * SEEDS and interval.low == pytest.approx(wilson_interval(1.0, count).low)
    few = grid().filter(pl.col("instruction").str.contains(r"^[01] in"))  # two wordings of every task
    assert shares(few.with_columns(_hit_it=True), "_hit_it")[()][0] == 2 * TASKS, "nor more than variants"


@pytest.mark.parametrize("lost", [1, 2, 4, 5])
def test_few_failing_starts_leave_the_correlation_open(lost: int):
    """One failure in each of so many starts; from five on their number tells that they come alone."""
    alone = (pl.col("seed") == 0) & (pl.col("instruction") == pl.format("0 in {}", "task"))
    failing = pl.col("task").is_in([f"task {task}" for task in range(lost)]) & alone
    count, _ = shares(grid().with_columns(_hit_it=~failing), "_hit_it")[()]
    assert (count > 0.5 * TASKS * SEEDS * WORDINGS) == (lost == 5)


@pytest.mark.parametrize("tasks", [1, TASKS])
def test_interval_does_not_widen_with_more_successes(tasks: int):
    """Failures that are spread evenly, from where they show that they are to half of them."""
    frame = grid().head(tasks * SEEDS * WORDINGS)
    task, seed, word = (index.ravel() for index in np.indices((tasks, SEEDS, WORDINGS)))
    order = (((word + 2 * seed) % WORDINGS) * SEEDS + seed) * tasks + task
    ends = [
        shares(frame.with_columns(_hit_it=pl.Series(order >= lost)), "_hit_it")[()][1].low
        for lost in range(8, len(frame) // 2, 4)
    ]
    assert ends == sorted(ends, reverse=True)


def test_interval_of_single_starts_names_its_limitation():
    one = grid().filter(pl.col("seed") == 0)
    count, interval = shares(one.with_columns(_hit_it=True), "_hit_it")[()]
    assert count == len(one) and interval.low == pytest.approx(wilson_interval(1.0, count).low)
    assert interval.method.endswith(UNVARIED)
    assert shares(grid().with_columns(_hit_it=True), "_hit_it")[()][1].method == "wilson"


def test_means_and_medians_cover():
    rng, frame = np.random.default_rng(7), grid()
    held = []
    for _ in range(RUNS):
        noise = rng.normal(size=SIZE) + 3 * rng.normal(size=(TASKS, SEEDS, 1))
        timed = frame.with_columns(_steps=pl.Series((100 + noise).ravel()))
        held.append(
            [each.low <= 100 <= each.high for each in (mean(timed, "_steps"), medians(timed, "_steps")[()])]
        )
    assert (np.mean(held, axis=0) >= 0.95 - MARGIN).all()


def test_intervals_of_pride_slope_and_overestimation_cover():
    """Success falls with the distance of keywords; that of structure is as far on average, and harmless."""
    rng, frame = np.random.default_rng(7), grid()
    labels = frame.with_columns(object=pl.lit("none"), action=pl.lit("hint"))

    def far(many: int) -> np.ndarray:
        return rng.uniform(0.1, 0.7, size=(2, TASKS, 1, many))

    def made(keywords: np.ndarray, structure: np.ndarray, success: np.ndarray) -> np.ndarray:
        return np.array([
            100 * (success * (keywords + structure)).sum() / (keywords + structure).sum(),
            1 - (success * (keywords + structure)).sum() / (keywords + structure).sum() / success.mean(),
        ])  # fmt: skip

    keywords, structure = far(200_000)
    noise = rng.normal(size=keywords.shape) * ALIKE * np.sqrt(2)
    chance = expit(2 - 3 * keywords + noise)
    truth = [*made(keywords, structure, chance)]
    ends = [(chance * each).sum() / each.sum() for each in (keywords, structure)]
    held = []
    for _ in range(RUNS):
        keywords, structure = far(WORDINGS)
        success = outcomes(rng, 2 - 3 * keywords)
        run = labels.with_columns(
            said(success),
            s_k=pl.Series(np.broadcast_to(1 - keywords, SIZE).ravel()),
            s_t=pl.Series(np.broadcast_to(1 - structure, SIZE).ravel()),
        )
        found = (pride(run).interval, overestimation(run).interval, sweep(run).interval)
        slope = 100 * (ends[0] - ends[1])
        held.append([each.low <= at <= each.high for each, at in zip(found, [*truth, slope], strict=True)])
    assert (np.mean(held, axis=0) >= 0.95 - MARGIN).all(), np.mean(held, axis=0)


def test_equal_runs_rarely_differ_significantly():
    """Each is good at other starts and other wordings; neither is better."""
    rng, frame = np.random.default_rng(7), grid()
    found = [
        compare({name: frame.with_columns(said(outcomes(rng))) for name in ("a", "b")}).overall[0]
        for _ in range(RUNS)
    ]
    assert np.mean([each.interval.low <= 0 <= each.interval.high for each in found]) >= 0.95 - MARGIN
    assert np.mean([each.p < 0.05 for each in found]) <= 0.05 + MARGIN


def test_better_run_differs_significantly():
    rng, frame = np.random.default_rng(7), grid()
    good, bad = (frame.with_columns(said(outcomes(rng, odds))) for odds in (3.0, 0.0))
    (found,) = compare({"good": good, "bad": bad}).overall
    assert found.p < 0.001 and found.interval.high < -0.2
    assert found.change == pytest.approx(typical(0.0) - typical(3.0), abs=0.15)
