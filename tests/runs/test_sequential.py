from __future__ import annotations

import numpy as np
import pytest

from assay.errors import RunError
from assay.runs.sequential import interval, parse_until


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.5, 0.8, 0.97])
def test_the_interval_holds_the_true_rate_at_all_times(rate: float):
    """Simulated: of 2,000 sequences of 400 episodes 5 % may ever leave it, plus three standard errors."""
    sequences, length = 2000, 400
    flips = np.random.default_rng(7).random((sequences, length)) < rate
    totals = flips.cumsum(axis=1)
    bounds = {}
    left = 0
    for row in totals:
        for count, successes in enumerate(row, start=1):
            key = (int(successes), count)
            if key not in bounds:
                bounds[key] = interval(*key)
            low, high = bounds[key]
            if not low <= rate <= high:
                left += 1
                break
    assert left / sequences <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sequences)
    assert left > 0, "an interval that never misses is far too wide"


def test_the_interval_is_everything_at_first_and_shrinks():
    assert interval(0, 0) == (0.0, 1.0)
    widths = [np.subtract(*interval(n // 2, n)[::-1]) for n in (4, 40, 400, 4000)]
    assert widths == sorted(widths, reverse=True) and widths[-1] < 0.08
    low, high = interval(50, 50)
    assert high == 1.0 and 0.85 < low < 1.0


def test_a_rule_is_met_when_the_interval_says_so():
    decided, narrow = parse_until("decided=0.8"), parse_until("half-width=0.05")
    assert not decided.met(3, 3) and decided.met(0, 20) and decided.met(100, 100)
    assert not narrow.met(50, 100) and narrow.met(1000, 2000)
    assert decided.as_json(0, 20)["episodes"] == 20


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("half-with=0.1", "did you mean 'half-width'?"),
        ("decided=often", "'often' is not a number"),
        ("decided=1.5", "between 0 and 1"),
        ("half-width", "'' is not a number"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(text: str, words: str):
    with pytest.raises(RunError) as caught:
        parse_until(text)
    assert words in str(caught.value)
