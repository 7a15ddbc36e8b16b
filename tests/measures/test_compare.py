from __future__ import annotations

import pytest
from scipy import stats

from assay.measures import MeasureError, compare


def test_runs_are_paired_by_spec(run, made):
    good = run(
        [made(seed < 18, seed=seed) for seed in range(20)]
        + [made(True, seed=seed, condition="c") for seed in range(20)]
    )
    bad = run(
        [made(seed < 9, seed=seed) for seed in range(20)]
        + [made(None if seed == 19 else True, seed=seed, condition="c") for seed in range(25)]
    )
    found = compare({"good": good.frame(), "bad": bad.frame()})
    assert found.runs == {"good": 40, "bad": 44} and found.shared == 39
    (overall,) = found.overall
    assert (overall.both, overall.only_first, overall.only_second, overall.neither) == (28, 9, 0, 2)
    assert (
        overall.change == pytest.approx(-9 / 39)
        and overall.interval.low < overall.change < overall.interval.high < 0
    )
    control, changed = found.conditions
    assert (control.condition, control.count, changed.count) == ("control", 20, 19)
    assert control.p == pytest.approx(stats.binomtest(0, 9).pvalue)
    assert control.p_holm == pytest.approx(2 * control.p) and changed.p == 1.0


def test_three_runs_make_three_pairs(run, made):
    frames = {
        name: run(made(seed < wins, seed=seed) for seed in range(30)).frame()
        for name, wins in (("a", 5), ("b", 15), ("c", 25))
    }
    found = compare(frames)
    assert [(each.first, each.second) for each in found.overall] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [each.change for each in found.overall] == pytest.approx([1 / 3, 2 / 3, 1 / 3])


def test_runs_that_share_no_spec_are_refused_with_counts(run, made):
    one, other = run([made(True)]).frame(), run([made(True, seed=1), made(True, seed=2)]).frame()
    with pytest.raises(MeasureError, match=r"share no episode \(a has 1, b has 2\)"):
        compare({"a": one, "b": other})
    with pytest.raises(MeasureError, match="needs two"):
        compare({"a": one})
    with pytest.raises(MeasureError, match="b: all 1 episodes ended in an error"):
        compare({"a": one, "b": run([made(None)]).frame()})


def test_success_at_nonsense_is_no_merit(run, made):
    """One run knows its tasks, the other succeeds whatever is said."""
    nonsense = {"plausible": False}
    deaf, listens = (
        run(
            [made(seed < wins, seed=seed) for seed in range(20)]
            + [made(obeys, seed=seed, condition="xxx", labels=nonsense) for seed in range(20)]
        ).frame()
        for wins, obeys in ((10, True), (20, False))
    )
    found = compare({"deaf": deaf, "listens": listens})
    (overall,), (usual,), (mute,) = found.overall, found.conditions, found.implausible
    assert (overall.count, overall.change) == (20, 0.5) and overall.interval.low > 0
    assert (usual.condition, usual.count) == ("control", 20)
    assert (mute.condition, mute.change) == ("xxx", -1.0)


def test_conditions_are_given_and_do_not_widen_the_interval(run, made):
    one, other = (
        run(
            made(seed % 10 < wins[condition], seed=seed, condition=condition)
            for condition in ("c", "d")
            for seed in range(40)
        ).frame()
        for wins in ({"c": 9, "d": 9}, {"c": 9, "d": 2})
    )
    (found,) = compare({"one": one, "other": other}).overall
    assert found.change == pytest.approx(-0.35) and found.interval.high < -0.2
