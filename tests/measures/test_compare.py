from __future__ import annotations

import pytest
from scipy import stats

from assay.measures.compare import Aspect, Decision, compare, judge_robustness
from assay.measures.result import MeasureError


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
    assert found.unmatched == {"good": 1, "bad": 5} and found.errors == {"good": 0, "bad": 1}
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


def test_runs_that_share_no_spec_are_refused_with_counts(run, made):
    one, other = run([made(True)]).frame(), run([made(True, seed=1), made(True, seed=2)]).frame()
    with pytest.raises(MeasureError, match=r"share no episode \(a has 1, b has 2\)"):
        compare({"a": one, "b": other})
    with pytest.raises(MeasureError, match="expected at least two runs"):
        compare({"a": one})
    with pytest.raises(MeasureError, match="b: all 1 episodes ended in an error"):
        compare({"a": one, "b": run([made(None)]).frame()})


def test_success_under_nonsense_does_not_count(run, made):
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


def robust(run, made, wins: tuple[int, int], *, starts: int = 20):
    """A run of four tasks whose controls, and whose changed episodes, succeed in so many of the starts."""
    return run(
        made(seed < won, task=f"libero_goal/{task}", seed=seed, condition=condition)
        for task in range(4)
        for seed in range(starts)
        for condition, won in zip(("control", "c"), wins, strict=True)
    ).frame()


def test_equal_losses_are_equal_robustness(run, made):
    """Controls 100 and 50 %, changed 70 and 20 %: equal drops, and the first retains more of its success."""
    found = compare({"good": robust(run, made, (20, 14)), "bad": robust(run, made, (10, 4))})
    (overall,) = found.overall
    assert overall.decision is Decision.WORSE and overall.change == pytest.approx(-0.5)
    drop, retention = found.robustness
    assert drop.aspect is Aspect.DROP and retention.aspect is Aspect.RETENTION
    assert (drop.first_value, drop.second_value) == pytest.approx((-0.3, -0.3))
    assert drop.change == pytest.approx(0) and drop.p == 1
    assert (retention.first_value, retention.second_value) == pytest.approx((0.7, 0.4))
    assert (
        retention.decision is Decision.WORSE and retention.interval.high < 0 and retention.over_tasks.high < 0
    )
    assert retention.first_interval.low < 0.7 < retention.first_interval.high < 0.9
    assert (retention.pairs, retention.starts, retention.tasks) == (80, 80, 4)
    assert (retention.first_control, retention.second_control) == (1.0, 0.5)
    assert judge_robustness(found.robustness) is Decision.UNDECIDED
    assert found.verdicts()[-1].startswith(
        "Neither is called more robust, because only the difference in the fraction"
    )


def random_failures(run, made, success: int):
    """A run in which nothing is lost, and in which the failures of controls and changed episodes are unrelated."""
    return run(
        made(
            (seed * shift + 3 * task) % 10 < success,
            task=f"libero_goal/{task}",
            seed=seed,
            condition=condition,
        )
        for task in range(10)
        for seed in range(10)
        for condition, shift in (("control", 1), ("c", 3), ("d", 7))
    ).frame()


def test_policies_with_random_failures_are_equally_robust_at_any_success(run, made):
    found = compare({"good": random_failures(run, made, 9), "bad": random_failures(run, made, 6)})
    assert found.overall[0].decision is Decision.WORSE
    for result in found.robustness:
        assert result.decision not in (Decision.WORSE, Decision.BETTER) and result.p > 0.5
    drop, retention = found.robustness
    assert drop.first_value == drop.second_value == 0.0
    assert (retention.first_value, retention.second_value) == pytest.approx((1.0, 1.0))


def test_a_policy_is_more_robust_if_both_scales_show_it(run, made):
    found = compare({"frail": robust(run, made, (20, 4)), "firm": robust(run, made, (20, 19))})
    assert judge_robustness(found.robustness) is Decision.BETTER
    assert found.verdicts()[-1].startswith("firm is more robust than frail, in points")


def test_retention_needs_a_successful_control(run, made):
    found = compare({"some": robust(run, made, (20, 14)), "none": robust(run, made, (0, 0))})
    assert [result.aspect for result in found.robustness] == [Aspect.DROP]
    assert any("Retention and robustness cannot be compared" in line for line in found.verdicts())
    gone = compare({"some": robust(run, made, (20, 14)), "gone": robust(run, made, (10, 0))}).robustness[1]
    assert gone.second_value == 0.0 and gone.second_interval.low == 0.0 < gone.second_interval.high < 0.3


def test_equivalence_needs_enough_starts(run, made):
    for starts, decision in ((5, Decision.UNDECIDED), (60, Decision.EQUIVALENT)):
        wins = (starts, starts)
        found = compare({name: robust(run, made, wins, starts=starts) for name in ("a", "b")})
        assert found.overall[0].decision is decision
        assert {each.decision for each in found.robustness} == {decision}
    wide = compare({name: robust(run, made, (5, 5)) for name in ("a", "b")}, margin=0.9)
    assert wide.overall[0].decision is Decision.EQUIVALENT


def test_undecided_contrast_reports_the_starts_needed(run, made):
    one, other = (robust(run, made, wins, starts=4) for wins in ((4, 4), (4, 3)))
    drop = compare({"one": one, "other": other}).robustness[0]
    assert drop.decision is Decision.UNDECIDED and drop.change == pytest.approx(-0.25)
    assert drop.starts < drop.starts_needed < 200
