"""Hierarchical means and their intervals; Table 1 of the ActionEQA paper."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from assay.extensions.eqa.question import QuestionKind
from assay.extensions.eqa.scoring.accuracy import PARTS, EpisodeCounts, Hierarchy
from assay.extensions.eqa.scoring.score import _compare_models
from assay.support.stats.intervals import Z, wilson_interval


@pytest.mark.parametrize("small", [3, 5, 40])
def test_intervals_cover_with_a_small_beside_a_large_data_set(small: int):
    """Two data sets that count the same: 100 episodes, and few; five questions each."""
    rng, runs, rates = np.random.default_rng(7), 400, np.array([0.7, 0.5])
    dataset, cells = np.repeat([0, 1], [100, small]), np.eye(2)[np.repeat([0, 1], [100, small])]
    held = []
    for _ in range(runs):
        chance = np.clip(rates[dataset] + 0.15 * rng.normal(size=len(dataset)), 0, 1)
        known = EpisodeCounts(rng.binomial(5, chance)[:, None] * cells, 5 * cells, dataset)
        share = float((known.hit.sum(axis=0) / known.tried.sum(axis=0)).mean())
        error = known.error(np.full(2, 0.5))
        assert error is not None
        found = wilson_interval(share, share * (1 - share) * (Z / error) ** 2)
        held.append(found.low <= 0.6 <= found.high)
    assert 0.91 <= np.mean(held) <= 0.985


def test_models_are_compared_by_the_mean_that_ranks_them():
    """The first is better in the kind that is asked often, the second in the other, and there much."""
    kind = np.repeat([0, 1], [400, 60])
    one = np.where(kind == 0, np.arange(460) % 10 < 6, np.arange(460) % 10 < 3).astype(np.int8)
    other = np.where(kind == 0, np.arange(460) % 10 < 5, np.arange(460) % 10 < 8).astype(np.int8)
    sheet = SimpleNamespace(
        cells=[("set", QuestionKind.M_AI), ("set", QuestionKind.H_SP)],
        cell=kind,
        cluster=np.arange(460) // 2,
        models={"one": SimpleNamespace(right=one), "other": SimpleNamespace(right=other)},
    )
    (found,) = _compare_models(cast(Any, sheet))
    assert (found.first_share, found.second_share) == pytest.approx((0.45, 0.65))
    assert one.mean() > other.mean() and found.difference > 0 and found.interval.low > 0 and found.p < 0.05


ROWS: dict[str, tuple[list[float], list[float], list[float], float]] = {
    # DROID, BridgeData V2, RT-1, overall
    "Gemini-2.5-Pro": (
        *([52.7, 44.6, 48.9, 70.3, 42.5, 73.9], [75.6, 42.2, 51.8, 77.1, 44.4, 71.3], [68.8, 77.8]),
        58.4,
    ),
    "GLM-4.5V": (
        *([35.4, 39.3, 37.5, 53.0, 30.3, 43.1], [74.1, 40.9, 50.2, 54.5, 29.2, 48.8], [70.8, 65.2]),
        46.2,
    ),
    "human": (
        *([95.7, 91.2, 96.7, 92.9, 95.3, 92.6], [99.6, 97.7, 97.3, 99.4, 95.7, 93.7], [96.4, 96.0]),
        95.6,
    ),
}


def shares(name: str) -> dict[tuple[str, QuestionKind], float]:
    droid, bridge, rt1, _ = ROWS[name]
    high = [QuestionKind.H_SP, QuestionKind.H_AI]
    return {
        **{("droid", kind): value for kind, value in zip(QuestionKind, droid, strict=True)},
        **{("bridge", kind): value for kind, value in zip(QuestionKind, bridge, strict=True)},
        **{("rt-1", kind): value for kind, value in zip(high, rt1, strict=True)},
    }


def mean(name: str, part: str) -> float:
    cells = shares(name)
    return round(float(Hierarchy.of(list(cells), PARTS[part]).mean(np.array(list(cells.values())))), 1)


def test_hierarchical_means_reproduce_table_1_of_the_paper():
    assert {name: mean(name, "overall") for name in ROWS} == {name: row[3] for name, row in ROWS.items()}
    assert [mean("Gemini-2.5-Pro", level) for level in ("high", "mid", "low")] == [70.4, 43.4, 61.5]
