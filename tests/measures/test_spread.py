from __future__ import annotations

import numpy as np
import pytest

from assay.measures.measure import profile
from assay.measures.result import MeasureError
from assay.measures.success.spread import component_limits, spread, variance_components


def repeated(run, made, wins, *, repeats: int = 2, tasks: int = 4, seeds: int = 10):
    """A run whose controls are repeated; ``wins`` says whether an episode of a task, seed and repetition succeeds."""
    return run(
        made(wins(task, seed, number), task=f"libero_goal/{task}", seed=seed, repeat=number)
        for task in range(tasks)
        for seed in range(seeds)
        for number in range(repeats)
    )


def test_components_of_variance_are_unbiased():
    rng = np.random.default_rng(0)
    found, tasks = [], np.repeat(np.arange(8), 10)
    for _ in range(300):
        chances = np.clip(0.5 + 0.2 * rng.normal(size=8)[tasks] / 2 + rng.choice((-0.2, 0.2), 80), 0, 1)
        found.append(variance_components(rng.binomial(3, chances).astype(float), np.full(80, 3.0), tasks))
    between_tasks, between_starts, policy = np.mean(found, axis=0)
    assert between_tasks == pytest.approx(0.01, abs=0.002) and between_starts == pytest.approx(
        0.04, abs=0.003
    )
    assert policy == pytest.approx(0.25 - 0.05, abs=0.005)


def test_a_deterministic_policy_has_no_spread_between_repetitions(run, made):
    found = spread(repeated(run, made, lambda task, seed, number: seed % 2 == 0).frame())
    assert (found.episodes, found.starts, found.rate, found.disagreement) == (80, 40, 0.5, 0.0)
    _, starts, policy = found.components
    assert starts.deviation > 0.5 and policy.deviation == 0.0 < policy.interval.high < 0.25
    assert found.resolution[-1].same == 0.0 < found.resolution[-1].new
    assert 0.1 < found.interval.high - 0.5 < 0.2, "forty starts, not eighty episodes"


def test_random_failures_are_spread_between_repetitions(run, made):
    found = spread(repeated(run, made, lambda task, seed, number: (seed + number) % 2 == 0).frame())
    tasks, starts, _ = found.components
    assert found.disagreement == 1.0 and tasks.deviation == starts.deviation == 0.0
    fifty = next(line for line in found.resolution if line.starts == 50)
    assert fifty.same == pytest.approx(1.96 * (2 * 0.5 / 50) ** 0.5, rel=1e-3)
    assert 0.1 < fifty.detectable < 0.4


def test_limits_are_missing_where_nothing_varies():
    tasks, counts = np.repeat([0, 1], 5), np.full(10, 2.0)
    limits = component_limits(counts, counts, tasks)
    assert np.isnan(limits[:2]).all() and limits[2, 0] == 0.0 < limits[2, 1]


def test_runs_without_repetitions_have_no_spread(run, made):
    store = run([made(True, seed=seed) for seed in range(4)])
    with pytest.raises(MeasureError, match="no control was repeated from the same start"):
        spread(store.frame())
    assert "spread" not in profile(store)
    assert "spread" in profile(repeated(run, made, lambda task, seed, number: True))


def test_repeated_controls_enter_retention_and_are_no_further_starts(run, made):
    """The control fails in half of its repetitions; the changed episode always succeeds."""
    episodes = [made(True, seed=seed, condition="c", labels={"change": "position"}) for seed in range(20)]
    episodes += [made(number == 0, seed=seed, repeat=number) for seed in range(20) for number in range(2)]
    measured = profile(run(episodes))
    assert measured["starts"].count == 20 and measured["control"].count == 40
    (drop,) = measured["drops"]
    assert (drop.pairs, drop.control, drop.retention) == (20, 1.0, pytest.approx(2.0))
    (cost,) = measured["task_changes"].costs
    assert (cost.control, cost.perturbed, cost.retention) == (0.5, 1.0, pytest.approx(2.0))
    assert cost.interval.low > 1.0
