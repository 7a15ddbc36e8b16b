"""Means over data sets of different sizes, and contrasts of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from assay.extensions.eqa.question import Kind
from assay.extensions.eqa.scoring.accuracy import _Known
from assay.extensions.eqa.scoring.contrasts import models
from assay.support.stats.intervals import Z, wilson_interval


@pytest.mark.parametrize("small", [3, 5, 40])
def test_a_small_data_set_beside_a_large_one_is_not_taken_for_sure(small: int):
    """Two data sets that count the same: 100 episodes, and few; five questions each."""
    rng, runs, rates = np.random.default_rng(7), 400, np.array([0.7, 0.5])
    dataset, cells = np.repeat([0, 1], [100, small]), np.eye(2)[np.repeat([0, 1], [100, small])]
    held = []
    for _ in range(runs):
        chance = np.clip(rates[dataset] + 0.15 * rng.normal(size=len(dataset)), 0, 1)
        known = _Known(rng.binomial(5, chance)[:, None] * cells, 5 * cells, dataset)
        share = float((known.hit.sum(axis=0) / known.tried.sum(axis=0)).mean())
        error = known.error(np.full(2, 0.5))
        assert error is not None
        found = wilson_interval(share, share * (1 - share) * (Z / error) ** 2)
        held.append(found.low <= 0.6 <= found.high)
    assert 0.91 <= np.mean(held) <= 0.985


def test_models_are_contrasted_by_the_number_that_ranks_them():
    """The first is better in the kind that is asked often, the second in the other, and there much."""
    kind = np.repeat([0, 1], [400, 60])
    one = np.where(kind == 0, np.arange(460) % 10 < 6, np.arange(460) % 10 < 3).astype(np.int8)
    other = np.where(kind == 0, np.arange(460) % 10 < 5, np.arange(460) % 10 < 8).astype(np.int8)
    sheet = SimpleNamespace(
        cells=[("set", Kind.M_AI), ("set", Kind.H_SP)],
        cell=kind,
        cluster=np.arange(460) // 2,
        models={"one": SimpleNamespace(right=one), "other": SimpleNamespace(right=other)},
    )
    (found,) = models(cast(Any, sheet))
    assert (found.first_share, found.second_share) == pytest.approx((0.45, 0.65))
    assert one.mean() > other.mean() and found.difference > 0 and found.interval.low > 0 and found.p < 0.05
