"""The power of the exact paired test over starts."""

from __future__ import annotations

import numpy as np
import pytest

from assay.support.stats.power import NAMED, POWER, SEARCHED, detectable, power, starts_for
from assay.support.stats.significance import sign_flip
from assay.support.streams import stream


@pytest.mark.parametrize(
    ("starts", "loss", "control", "family"), [(20, 0.4, 0.9, 1), (20, 0.4, 0.9, 10), (50, 0.2, 0.6, 3)]
)
def test_it_is_how_often_the_test_of_the_report_finds_the_loss(
    starts: int, loss: float, control: float, family: int
):
    random, found = stream("power", starts, family), 0
    for _ in range(400):
        before = random.random(starts) < control
        after = random.random(starts) < control - loss
        found += after.sum() < before.sum() and family * sign_flip(after.astype(float) - before) / 2 < NAMED
    assert power(starts, loss, control, family) == pytest.approx(found / 400, abs=0.08)


def test_few_starts_find_nothing_in_a_large_family():
    assert detectable(4, 1.0) is None, "0.5 ** 4 is above 4 %"
    assert detectable(5, 1.0) is not None and detectable(5, 1.0, family=10) is None
    assert power(5, 0.9, 0.9, 10) == 0.0
    assert detectable(6, 1.0, level=SEARCHED) is None, "less is left for what is only looked for"


def test_more_starts_find_smaller_losses_and_larger_families_only_larger_ones():
    by_starts = [detectable(each, 0.9) for each in (10, 20, 50, 200)]
    assert by_starts == sorted(by_starts, reverse=True) and None not in by_starts
    by_family = [detectable(50, 0.9, each) for each in (1, 5, 40)]
    assert by_family == sorted(by_family)


@pytest.mark.parametrize(("loss", "control", "family"), [(0.2, 0.9, 10), (0.4, 0.5, 1), (0.1, 0.3, 5)])
def test_as_many_starts_as_it_asks_for_are_enough_and_a_tenth_fewer_are_not(
    loss: float, control: float, family: int
):
    needed = starts_for(loss, control, family)
    assert needed is not None
    assert power(needed, loss, control, family) >= POWER > power(int(0.9 * needed), loss, control, family)
    told = detectable(needed, control, family)
    assert told is not None and np.isclose(told, loss, atol=0.01)


def test_a_loss_that_cannot_be_needs_no_starts():
    assert starts_for(0.5, 0.4) is None and starts_for(0.0, 0.4) is None
