from __future__ import annotations

import pytest

from assay.measures.result import MeasureError
from assay.measures.success.rates import rates, success_rate
from assay.runs.schedulers.until import interval, parse_until


def test_counts_rates_and_errors_are_reported_by_group(run, made):
    store = run(
        [made(seed < 7, seed=seed) for seed in range(10)]
        + [made(None, seed=10)]
        + [made(seed < 2, seed=seed, condition="c", labels={"axis": "words"}) for seed in range(10)]
    )
    control, changed = rates(store.frame())
    assert control.group == {"condition": "control"}
    assert (control.successes, control.count, control.errors) == (7, 10, 1)
    assert control.rate == 0.7 and control.effective == 10
    assert control.errors_as_failures == 7 / 11, "a lower bound"
    assert (control.interval.low, control.interval.high) == pytest.approx((0.3968, 0.8922), abs=1e-4)
    assert changed.rate == 0.2 and changed.errors == 0
    (words,) = rates(store.frame(), ("axis",))
    assert words.group == {"axis": "words"} and words.count == 10, "rows without the label belong to no group"
    assert success_rate(store.frame()).count == 20


def test_groups_without_valid_episodes_have_no_rate(run, made):
    frame = run([made(True), made(None, seed=1, condition="c")]).frame()
    _, broken = rates(frame)
    assert (broken.count, broken.errors, broken.rate, broken.interval) == (0, 1, None, None)
    assert broken.as_json()["rate"] is None
    with pytest.raises(MeasureError, match="no column colour"):
        rates(frame, ("colour",))


def test_tasks_as_a_sample_have_an_interval_of_their_own(run, made):
    """Five tasks of forty starts each, some easy and some hopeless: sure of these, unsure of others."""
    wins = (40, 38, 30, 8, 0)
    starts = ((task, won, seed) for task, won in enumerate(wins) for seed in range(40))
    found = success_rate(
        run(made(seed < won, task=f"a/{task}", seed=seed) for task, won, seed in starts).frame()
    )
    assert found.tasks == 5 and found.interval.high - found.interval.low < 0.1
    assert found.over_tasks.low < 0.25 and found.over_tasks.high > 0.85
    few = success_rate(run(made(True, task=f"a/{task}") for task in range(2)).frame())
    assert few.over_tasks is None


def test_condition_that_was_stopped_has_the_interval_that_stopped_it(run, made):
    store = run(made(seed < 9, seed=seed, condition=name) for name in ("c", "d") for seed in range(10))
    rule = parse_until("decided=0.5").as_json(9, 10)
    stopped, other = rates(store.frame(), stopped={"c": rule})
    assert (stopped.interval.low, stopped.interval.high) == interval(9, 10)
    assert stopped.interval.method == "confidence sequence" and other.interval.method == "wilson"
    assert stopped.interval.low < other.interval.low, "who may stop when he likes is less sure"
    assert stopped.stopped and not other.stopped
