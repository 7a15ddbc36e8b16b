from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.measures.multiple_testing import NAMED_SHARE, SEARCHED_SHARE, adjust, adjust_instead
from assay.measures.sample_size import detectable, least_one_sided, loss_p, more_seeds, telling
from assay.support.stats.intervals import newcombe
from assay.support.stats.significance import SURE, binomial_at_least


def table(lost: int, starts: int, failing: int = 0) -> pl.DataFrame:
    """One pair for each start of a task: so many are lost, and so many fail from the first."""
    control = [0] * failing + [1] * (starts - failing)
    now = [0] * (failing + lost) + [1] * (starts - failing - lost)
    return pl.DataFrame(
        {
            "task": ["t"] * starts,
            "start": range(starts),
            "control": control,
            "perturbed": now,
            "count": [1] * starts,
        }
    )


def test_only_starts_with_successful_controls_are_informative():
    assert telling(table(2, 6, failing=2)) == 4
    assert loss_p(table(4, 6, failing=2)) == least_one_sided(4) == 1 / 16
    assert loss_p(table(0, 6)) == 1.0


@pytest.mark.parametrize("times", [1.0, 5.0, 20.0])
def test_total_loss_needs_as_many_seeds_as_the_exact_test_does(times: float):
    needed = next(k for k in range(1, 50) if times * 2.0**-k < SURE)
    found = more_seeds(table(3, 3), times)
    assert found is not None and found.now == 3 and found.needed == max(needed, 4)


def test_smaller_loss_needs_more_seeds_and_no_loss_needs_none():
    whole, half = more_seeds(table(8, 8), 10.0), more_seeds(table(4, 8), 10.0)
    assert whole is not None and half is not None and half.needed > whole.needed
    assert more_seeds(table(0, 8), 10.0) is None


def test_advised_seeds_have_the_stated_power():
    """Half of the starts are lost: with so many seeds four of five repeated experiments are certain."""
    times, found = 12.0, more_seeds(table(5, 10), 12.0)
    assert found is not None
    random = np.random.default_rng(3)
    lost = random.binomial(found.needed, 0.5, 400)
    sure = [times * binomial_at_least(int(each), int(each), 0.5) < SURE for each in lost]
    assert 0.72 <= np.mean(sure) <= 0.95


def test_detectable_loss_is_found_in_four_of_five_experiments():
    starts, times = 40, 10.0
    interval = newcombe((1.0, 1.0), (starts, starts), 0.0).interval
    size = detectable(1.0, interval, starts, times)
    assert size is not None and 0.1 < size < 0.5
    random = np.random.default_rng(5)
    sure = [times * 2.0 ** -int(each) < SURE for each in random.binomial(starts, size, 400)]
    assert np.mean(sure) >= 0.78
    assert detectable(1.0, interval, 4, times) is None, "four starts cannot be certain whatever happens"


def test_hopeless_tests_do_not_count_in_the_family():
    able, few = 0.001, 0.5
    assert adjust([0.002, 0.9], [able, able]) == pytest.approx([2 * 0.002 / NAMED_SHARE, 1.0])
    assert adjust([0.002, 0.9], [able, few])[0] == pytest.approx(0.002 / NAMED_SHARE)
    assert adjust([0.002], [able], SEARCHED_SHARE) == pytest.approx([0.002 / SEARCHED_SHARE])


def test_adjust_instead_p_depends_on_the_family():
    values, least = [0.5, 0.5, 0.5], [1 / 64, 1 / 64, 1 / 64]
    assert adjust_instead(0, least[0], values, least) == pytest.approx(3 / 64 / NAMED_SHARE)
    assert adjust_instead(0, least[0], values, least) >= SURE, "six starts, three questions: too few"


def test_family_wise_error_stays_within_its_share():
    """Exact tests of nothing, of eight starts each: how often the surest of ten is certain."""
    random = np.random.default_rng(11)
    tail = np.array([binomial_at_least(k, 8, 0.5) for k in range(9)])
    wrong = [min(adjust(list(tail[random.binomial(8, 0.5, 10)]), [2.0**-8] * 10)) < SURE for _ in range(2000)]
    assert np.mean(wrong) <= SURE
