from __future__ import annotations

import re

import numpy as np
import pytest

from assay.errors import RunError
from assay.runs.schedulers.until import Pairs, in_canonical_order, interval, parse_until
from assay.runs.store import PlannedEpisode


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.5, 0.8, 0.97])
def test_interval_holds_the_true_rate_at_all_times(rate: float):
    """Simulated: of 2,000 sequences of 400 episodes 5 % may ever leave it, plus three standard errors."""
    sequences, length = 2000, 400
    flips = np.random.default_rng(7).random((sequences, length)) < rate
    totals = flips.cumsum(axis=1)
    fewest, most = np.empty(length, int), np.empty(length, int)  # successes whose interval has the rate
    few, many = 0, 0
    for count in range(1, length + 1):
        while interval(few, count)[1] < rate:
            few += 1
        while many < count and interval(many + 1, count)[0] <= rate:
            many += 1
        fewest[count - 1], most[count - 1] = few, many
    left = ((totals < fewest) | (totals > most)).any(axis=1).sum()
    assert left / sequences <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sequences)
    assert left > 0, "an interval that never misses is far too wide"


def test_rule_is_met_when_the_interval_decides_it():
    decided, narrow = parse_until("decided=0.8"), parse_until("half-width=0.05")
    assert not decided.is_met(3, 3) and decided.is_met(0, 20) and decided.is_met(100, 100)
    assert not narrow.is_met(50, 100) and narrow.is_met(1000, 2000)
    assert decided.as_json(0, 20)["episodes"] == 20


def test_invalid_rules_are_refused():
    for text, reason in {
        "half-with=0.1": "did you mean 'half-width'?",
        "decided=often": "'often' is not a number",
        "decided=1.5": "between 0 and 1",
        "half-width": "'' is not a number",
    }.items():
        with pytest.raises(RunError, match=re.escape(reason)):
            parse_until(text)


def test_conditions_that_stop_early_share_their_starts():
    """Ten tasks, fifty seeds: the control stops after 60 episodes, the condition after 120."""
    entries = [
        PlannedEpisode(0, f"{condition} {task} {seed}"[::-1], "", condition, f"libero_goal/{task}", seed)
        for condition in ("control", "changed")
        for task in range(10)
        for seed in range(50)
    ]
    order = in_canonical_order(entries)
    starts = {
        name: [(episode.task, episode.seed) for episode in order if episode.condition == name]
        for name in ("control", "changed")
    }
    assert starts["control"] == starts["changed"] and len({task for task, _ in starts["control"][:60]}) == 10
    assert set(starts["control"][:60]) <= set(starts["changed"][:120])
    assert [episode.condition for episode in order[:4]] == ["control", "changed"] * 2, (
        "pairs are played together"
    )


def test_every_start_has_its_first_wording_before_any_has_its_second():
    entries = [
        PlannedEpisode(0, f"{word}{seed}", "", "c", "libero_goal/0", seed)
        for seed in range(5)
        for word in "abc"
    ]
    order = in_canonical_order(reversed(entries))
    assert [episode.key[0] for episode in order] == list("aaaaabbbbbccccc")


def test_anytime_p_is_rarely_small_by_chance_and_soon_small_under_a_loss():
    rng, runs = np.random.default_rng(7), 400
    before = rng.random((runs, 200)) < 0.9
    found = {
        rate: np.array([Pairs.of(each).p for each in (rng.random((runs, 200)) < rate) * 1.0 - before])
        for rate in (0.9, 0.7)
    }
    assert (found[0.9] <= 0.05).mean() <= 0.05 and (found[0.7] <= 0.05).mean() > 0.95


def test_p_for_a_planned_number_of_starts_finds_a_loss_sooner_and_is_rarely_small_by_chance():
    rng, runs, planned = np.random.default_rng(7), 400, 60
    before = rng.random((runs, planned)) < 0.9
    found = {
        (rate, plan): np.mean([Pairs.of(each, plan).p <= 0.05 for each in differences])
        for rate in (0.9, 0.7)
        for differences in [(rng.random((runs, planned)) < rate) * 1.0 - before]
        for plan in (planned, None, 0)
    }
    assert found[0.9, planned] <= 0.07
    assert found[0.7, planned] > found[0.7, None] + 0.1 > found[0.7, 0] + 0.2, (
        "more for a plan, less beyond one"
    )


def test_pair_counts_for_the_better_side():
    pairs = Pairs()
    for difference in (0, -1, -1, 1, -0.5):
        pairs.see(difference)
    assert (pairs.only_control, pairs.only_changed) == (3, 1) and pairs.p <= 1.0
    assert parse_until("differs=0.05").is_met(3, 20, 0.04) and not parse_until("differs=0.05").is_met(
        3, 20, 0.06
    )
