from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.measures.multiple_testing import adjust, adjust_instead
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


def wanted(loss: float, starts: int, *, control: float = 1.0, change: float = 0.0, tasks: int = 5):
    """Return the recommendation for a test of one pair per start, with Holm's factor 10."""
    interval = newcombe((control, control + change), (starts, starts), 0.0).interval
    return more_seeds(loss, control, interval, starts, 10.0, 1.0, starts // tasks)


def test_smaller_loss_needs_more_seeds():
    large, small = wanted(0.5, 5, change=-0.4), wanted(0.25, 5, change=-0.4)
    assert large is not None and small is not None and 1 < large.needed < small.needed
    assert (small.now, small.more, small.loss) == (1, small.needed - 1, 0.25)


@pytest.mark.parametrize(("starts", "change"), [(1000, 0.0), (200, 0.0), (50, 0.4)])
def test_no_seeds_are_recommended_for_a_loss_that_is_excluded_or_would_be_found(starts: int, change: float):
    assert wanted(0.2, starts, control=0.5, change=change) is None


def test_no_seeds_are_recommended_for_a_loss_that_is_impossible_or_takes_too_many():
    assert wanted(0.2, 20, control=0.1) is None
    assert wanted(0.001, 20) is None


def test_recommended_seeds_have_the_stated_power():
    """The recommendation is for a given loss, whatever loss was observed."""
    found, times = wanted(0.4, 10, change=-0.1), 10.0
    assert found is not None
    random = np.random.default_rng(3)
    lost = random.binomial(found.needed * 5, 0.4, 400)
    sure = [times * 2.0 ** -int(each) < SURE for each in lost]
    assert np.mean(sure) >= 0.78


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
    assert adjust([0.002, 0.9], [able, able]) == pytest.approx([2 * 0.002, 0.9])
    assert adjust([0.002, 0.9], [able, few])[0] == pytest.approx(0.002)


def test_adjust_instead_p_depends_on_the_family():
    values, least = [0.5] * 4, [1 / 64] * 4
    assert adjust_instead(0, least[0], values, least) == pytest.approx(4 / 64)
    assert adjust_instead(0, least[0], values, least) >= SURE, "six starts, four questions: too few"


def test_family_wise_error_stays_within_its_share():
    """Exact tests of nothing, of eight starts each: how often the surest of ten is certain."""
    random = np.random.default_rng(11)
    tail = np.array([binomial_at_least(k, 8, 0.5) for k in range(9)])
    wrong = [min(adjust(list(tail[random.binomial(8, 0.5, 10)]), [2.0**-8] * 10)) < SURE for _ in range(2000)]
    assert np.mean(wrong) <= SURE
