from __future__ import annotations

from itertools import product

import pytest

from assay.measures.measure import profile
from assay.measures.result import MeasureError
from assay.measures.world.curves import CORRUPTION, curve


def test_curve_of_levels_starts_at_the_control_with_losses_per_step(run, made):
    won = {0: 20, 1: 18, 2: 18, 3: 8, 5: 0}
    rows = []
    for (level, count), seed in product(won.items(), range(20)):
        options = {"condition": f"x/level{level}", "labels": {"level": level}} if level else {}
        rows.append(made(seed < count, seed=seed, **options))
    start, *steps = curve(run(rows).frame(), "level").steps
    assert [start.at, *(step.at for step in steps)] == [0, 1, 2, 3, 5] and start.change is None
    assert [start.rate.successes, *(step.rate.successes for step in steps)] == list(won.values())
    assert [step.change for step in steps] == pytest.approx([-0.1, 0.0, -0.5, -0.4])
    assert all(step.starts == 20 and step.interval.low < step.change < step.interval.high for step in steps)
    assert steps[2].p == pytest.approx(2 * 0.5**10) and steps[1].p == 1.0


def test_control_with_a_level_is_a_point_of_the_curve(run, made):
    store = run(
        made(seed < count, seed=seed, condition=condition, labels={"level": level})
        for level, condition, count in ((1, "control", 5), (2, "libero-x/level2", 3))
        for seed in range(5)
    )
    first, second = curve(store.frame(), "level").steps
    assert (first.at, first.condition, first.rate.successes) == (1.0, "control", 5)
    assert second.at == 2.0 and second.change == pytest.approx(-0.4)


def test_points_without_shared_starts_have_no_loss(run, made):
    store = run(
        [made(True, seed=0)]
        + [made(None, seed=0, condition="l1", labels={"level": 1})]
        + [made(True, seed=5, condition="l2", labels={"level": 2})]
    )
    _, broken, apart = curve(store.frame(), "level").steps
    assert broken.rate.rate is None and broken.change is None
    assert apart.change is None and apart.starts == 0
    for labels, reason in (({}, "no episode has level"), ({"level": "high"}, "not numeric")):
        with pytest.raises(MeasureError, match=reason):
            curve(run([made(True, condition="c", labels=labels)]).frame(), "level")


def test_corruption_curve_names_its_rungs_and_marks_unexpected_success(run, made):
    rows = [made(True, seed=seed) for seed in range(4)]
    for rung, name in enumerate(("paraphrase", "xxx"), start=1):
        labels = {"rung": rung, "plausible": name != "xxx"}
        rows += [made(True, seed=seed, condition=f"pro/words={name}", labels=labels) for seed in range(4)]
    found = profile(run(rows)).get(CORRUPTION)
    assert [(step.condition, step.plausible) for step in found.steps] == [
        ("control", True),
        ("pro/words=paraphrase", True),
        ("pro/words=xxx", False),
    ]
    caption = CORRUPTION.draw_runs({"": found}).caption
    assert "Hollow markers: success is not expected." in caption


def test_curve_uses_controls_of_its_own_tasks(run, made):
    """Of two tasks one cannot be moved, and fails anyway."""
    rows = [made(task == 1, task=f"libero_goal/{task}", seed=seed) for task in (1, 2) for seed in range(5)]
    rows += [made(True, seed=seed, condition="d", labels={"distance": 0.1}) for seed in range(5)]
    first, _ = curve(run(rows).frame(), "distance").steps
    assert (first.rate.successes, first.rate.count) == (5, 5)
