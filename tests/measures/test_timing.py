from __future__ import annotations

import pytest

from assay.measures.result import MeasureError
from assay.measures.time.timing import (
    efficiency,
    limits_by,
    no_mistakes,
    time_limits,
    time_to_success,
    within_limit,
)

GOAL = "On akita_black_bowl_1 flat_stove_1_cook_region"


def test_success_within_a_limit_follows_from_the_steps(run, made):
    steps = [80, 95, 100, 105, 120, 160, 300]
    store = run(
        [
            made(each < 300, seed=seed, steps=each, labels={"reference_steps": 100})
            for seed, each in enumerate(steps)
        ]
        + [made(True, seed=20, task="libero_goal/2", condition="c", steps=10)]
        + [made(None, seed=21, steps=5)]
    )
    found = time_limits(store.frame(), (0.9, 1.0, 1.1, None))
    assert [(each.successes, each.count) for each in found.limits] == [(1, 7), (3, 7), (4, 7), (6, 7)]
    assert found.unknown == 1 and all(
        each.interval.low < each.rate < each.interval.high for each in found.limits
    )


def test_time_to_success_is_a_median_of_successes(run, made):
    store = run(
        [made(True, seed=seed, steps=100 + seed) for seed in range(11)]
        + [made(False, seed=50, steps=300), made(True, seed=1, condition="c", steps=7)]
    )
    control, changed = time_to_success(store.frame())
    assert control.median == 105 and 100 <= control.interval.low < 105 < control.interval.high <= 110
    assert (changed.median, changed.interval, changed.successes) == (7, None, 1)


def test_half_succeed_by_counts_failures_as_never(run, made):
    """Those that still succeed are quick: their median falls, and the time by which half succeed rises."""
    store = run(
        [made(True, seed=seed, steps=100 + seed) for seed in range(10)]
        + [made(seed < 5, seed=seed, condition="c", steps=100 + seed) for seed in range(10)]
        + [made(seed < 4, seed=seed, condition="d", steps=100 + seed) for seed in range(10)]
    )
    control, half, fewer = time_to_success(store.frame())
    assert (control.median, control.half_succeed_by) == (104.5, 104) and (half.successes, half.count) == (
        5,
        10,
    )
    assert half.median == 102 and half.half_succeed_by == 104 and fewer.half_succeed_by is None


def test_mistake_is_a_wrong_first_object_or_an_undone_atom(run, made):
    truth = {
        "at once": {GOAL: ((90, 100),)},
        "it held at first": {GOAL: ((0, 5), (90, 100))},
        "dropped": {GOAL: ((50, 60), (90, 100))},
    }
    store = run(
        [made(True, seed=seed, truth=each) for seed, each in enumerate(truth.values())]
        + [made(True, seed=3, moved="plate_1"), made(True, seed=4, moved=None), made(False, seed=5)]
    )
    (found,) = no_mistakes(store.frame())
    assert (found.flawless, found.successes, found.count) == (2, 5, 6)
    assert found.rate == pytest.approx(1 / 3) and found.interval.low < 1 / 3 < found.interval.high


def test_safe_stop_without_motion_is_not_a_mistake(run, made):
    taken_back = {"stages": {}, "progress": 1.0}
    moved = [None, "akita_black_bowl_1", "plate_1"]
    store = run(
        [
            made(True, seed=seed, condition="c", moved=each, truth={GOAL: ()}, more=taken_back)
            for seed, each in enumerate(moved)
        ]
        + [made(False, seed=3, condition="c", moved=None, truth={GOAL: ()}, more=taken_back)]
    )
    (found,) = no_mistakes(store.frame())
    assert (found.flawless, found.successes, found.count) == (2, 3, 4), "going for another thing first is one"


def test_runs_without_successes_or_goals_raise(run, made):
    frame = run([made(False, truth={})]).frame()
    for measure, reason in (
        (time_limits, "no task has a reference time"),
        (time_to_success, "no episode succeeds"),
        (no_mistakes, "no episode records when its goal was true"),
    ):
        with pytest.raises(MeasureError, match=reason):
            measure(frame)


def test_each_episode_has_the_best_available_reference(run, made):
    """The first task has a label; the second has only controls."""
    store = run(
        [made(True, task="libero_goal/2", steps=50, labels={"reference_steps": 40, "reference": "mine"})]
        + [made(True, task="libero_goal/3", seed=seed, steps=60) for seed in range(3)]
    )
    found = time_limits(store.frame(), (1.0,))
    assert found.reference == {"libero_goal/2": 40.0, "libero_goal/3": 60.0}
    assert (found.limits[0].successes, found.limits[0].count, found.unknown) == (3, 4, 0)


def test_groups_have_the_limits_that_the_run_determines(run, made):
    """Free episodes tell every limit and none at all; one that was stopped, only those up to its own."""
    free = [
        made(True, seed=seed, steps=steps, labels={"reference_steps": 100, "level": level})
        for seed, (level, steps) in enumerate([(1, 95), (1, 140), (2, 105)])
    ]
    found = limits_by(run(free).frame(), ("level",), (1.0, 1.1, 1.5, None))
    assert {group: [limit.successes for limit in limits] for group, limits in found.items()} == {
        (1,): [1, 1, 2, 2],
        (2,): [0, 1, 1, 1],
    }
    stopped = made(False, seed=3, steps=110, labels={"reference_steps": 100, "limit_factor": 1.1, "level": 1})
    found = limits_by(run([*free, stopped]).frame(), ("level",), (1.0, 1.1, 1.5, None))
    assert [(limit.factor, limit.count) for limit in found[(1,)]] == [(1.0, 3), (1.1, 3)]


def test_failures_count_within_a_limit_without_a_reference(run, made):
    """One task has a successful control, one never succeeds, and one succeeds only where something is changed."""
    episodes = [made(True, task="libero_goal/1", steps=100), made(False, task="libero_goal/2")]
    episodes += [made(False, task="libero_goal/3"), made(True, task="libero_goal/3", condition="c", steps=90)]
    within, free = limits_by(run(episodes).frame(), (), (1.1, None))[()]
    assert (within.successes, within.count) == (1, 2), "the third task is left out"
    assert (free.successes, free.count) == (2, 4)
    late = [made(True, seed=1, steps=111), made(True, seed=2, steps=100), made(None, seed=9)]
    rows = within_limit(run([*episodes, *late]).frame(), 1.1)
    outcomes = rows.sort("task", "seed")["outcome"].to_list()
    assert outcomes == ["success", "failure", "success", "error", "failure"], "and a late success fails"


def test_episodes_saved_by_stopping_are_counted(run, made, tmp_path):
    store = run([made(True, seed=seed, decisions=seed) for seed in range(20)] + [made(True, condition="c")])
    rule = {"rule": "decided=0.5", "episodes": 8}
    found = efficiency(store.frame(), store.counts(), {"control": rule})
    assert (found.planned, found.used, found.saved) == (21, 9, 12) and found.share == pytest.approx(12 / 21)
    control, changed = found.conditions
    assert (control.used, control.saved, control.rule) == (8, 12, "decided=0.5")
    assert (changed.used, changed.saved, changed.rule) == (1, 0, None)
    assert found.decisions == pytest.approx((sum(range(20)) + 10) / 21)
    assert found.decisions_interval.low < found.decisions < found.decisions_interval.high
