from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from assay.measures.result import MeasureError
from assay.measures.success.drops import drops, pool_drops
from assay.runs.schedulers.until import Pairs
from assay.support.stats.significance import least_p


def test_drop_counts_pairs_and_their_outcomes(run, made):
    store = run(
        [made(seed < 36 or 48 <= seed < 50, seed=seed) for seed in range(50)]
        + [made(seed < 36 or 36 <= seed < 38, seed=seed, condition="c") for seed in range(51)]
        + [made(None, seed=60), made(True, seed=60, condition="c")]
    )
    (found,) = drops(store.frame())
    assert (found.both, found.only_control, found.only_perturbed, found.neither) == (36, 2, 2, 10)
    assert (found.pairs, found.starts, found.unpaired) == (50, 50, 2)
    assert found.change == 0 and found.control == found.perturbed == 0.76
    assert found.p == 1.0 and found.family == "made"


def test_mcnemars_p_and_intervals_of_a_planted_drop(run, made):
    store = run(
        [made(seed < 45, seed=seed) for seed in range(50)]
        + [made(seed < 20, seed=seed, condition="c", labels={"axis": "words"}) for seed in range(50)]
    )
    (found,) = drops(store.frame())
    assert found.change == pytest.approx(-0.5) and found.family == "words"
    assert found.p_two_sided == pytest.approx(stats.binomtest(0, 25).pvalue) == 2 * found.p
    for interval in (found.interval, found.bootstrap):
        assert -0.68 < interval.low < -0.5 < interval.high < -0.3
    assert found.log_odds.log_odds == pytest.approx(np.log(0.5 / 25.5)) and found.agrees


def test_variants_of_one_start_are_not_independent(run, made):
    """Ten starts, ten variants each, all variants of a start alike: no more evidence than ten pairs."""
    controls = [made(True, seed=seed) for seed in range(10)]
    changed = [
        made(seed >= 4, seed=seed, condition="c", labels={"variant": variant})
        for seed in range(10)
        for variant in range(10)
    ]
    single = [made(seed >= 4, seed=seed, condition="c") for seed in range(10)]
    (many,), (few,) = drops(run(controls + changed).frame()), drops(run(controls + single).frame())
    assert (many.pairs, many.starts, few.pairs) == (100, 10, 10)
    assert many.p_two_sided == pytest.approx(few.p_two_sided) == pytest.approx(0.125)
    width = {each.pairs: each.interval.high - each.interval.low for each in (many, few)}
    assert width[100] > 0.9 * width[10]


def test_holm_is_applied_within_a_family(run, made):
    controls = [made(True, seed=seed) for seed in range(30)]
    lost = {"w1": ("words", 10), "w2": ("words", 6), "s1": ("world", 6)}
    changed = [
        made(seed >= count, seed=seed, condition=name, labels={"axis": axis})
        for name, (axis, count) in lost.items()
        for seed in range(30)
    ]
    found = {each.group["condition"]: each for each in drops(run(controls + changed).frame())}
    assert found["w1"].p_holm == pytest.approx(2 * found["w1"].p)
    assert found["w2"].p_holm == pytest.approx(found["w2"].p)
    assert found["s1"].p_holm == pytest.approx(found["s1"].p), "alone in its family"
    axes = {each.group["axis"]: each for each in drops(run(controls + changed).frame(), ("axis",))}
    assert axes["words"].pairs == 60 and axes["words"].change == pytest.approx(-16 / 60)
    assert axes["words"].family == axes["world"].family
    least, most = sorted(axes.values(), key=lambda each: each.p)
    assert least.p_holm == pytest.approx(2 * least.p) and most.p_holm >= most.p, "the axes are one family"


def test_implausible_changes_are_a_family_of_their_own(run, made):
    rows = [made(True, seed=seed) for seed in range(20)]
    for seed, plausible in product(range(20), (True, False)):
        labels = {"axis": "words", "plausible": plausible}
        rows.append(made(plausible, seed=seed, condition="c" if plausible else "xxx", labels=labels))
    fine, nonsense = drops(run(rows).frame())
    assert (fine.family, fine.plausible) == ("words", True)
    assert (nonsense.family, nonsense.plausible) == ("words, success not expected", False)
    assert nonsense.change == -1.0
    assert (fine.p, fine.p_two_sided) == (1.0, 1.0), "where success is expected, p is that of a loss"
    assert nonsense.p == nonsense.p_two_sided == pytest.approx(2.0**-19)


@pytest.mark.parametrize(
    ("conditions", "words"),
    [(["control"], "no perturbed episode"), (["c"], "none of the 1 perturbed episodes has a control")],
)
def test_drop_without_pairs_raises(run, made, conditions: list[str], words: str):
    with pytest.raises(MeasureError, match=words):
        drops(run(made(True, condition=each) for each in conditions).frame())


def pairs_of(made, outcomes: dict[tuple[int, int], tuple[bool, bool]], words: int = 1):
    for (task, seed), (control, changed) in outcomes.items():
        yield made(control, task=f"libero_goal/{task}", seed=seed)
        for word in range(words):
            yield made(changed, task=f"libero_goal/{task}", seed=seed, condition="c", words=f"words {word}")


def test_starts_without_success_do_not_count(run, made):
    """Ten starts of which three succeed with nothing changed, and none with the change."""
    (found,) = drops(run(pairs_of(made, {(0, seed): (seed < 3, False) for seed in range(10)})).frame())
    assert (found.starts, found.telling, found.least_p, found.p_two_sided) == (10, 3, 0.25, 0.25)
    assert found.retention == 0.0 and found.retention_interval.high > 0.5
    assert least_p(found.telling, family=4) == 1.0


def test_interval_over_tasks_is_wider_for_mixed_effects(run, made):
    """Seven tasks fall and three rise, always: a fall in these tasks, nothing about others."""
    outcomes = {(task, seed): (task < 7, task >= 7) for task in range(10) for seed in range(10)}
    (found,) = drops(run(pairs_of(made, outcomes)).frame())
    assert found.p < 0.001 and found.interval.high < 0
    assert found.over_tasks.high > 0 and found.p_over_tasks == pytest.approx(0.34375)
    assert found.tasks == 10


def test_varying_wordings_widen_the_interval_of_a_drop(run, made):
    """Four wordings of each task; in one run every second start fails, in the other every second wording."""

    def rows(by_words: bool):
        for task, seed in product((f"libero_goal/{number}" for number in range(4)), range(10)):
            yield made(True, task=task, seed=seed)
            for word in range(4):
                lost = word < 2 if by_words else (seed + word) % 2 == 0
                yield made(not lost, task=task, seed=seed, condition="c", words=f"{word} of {task}")

    (own,), (even,) = (drops(run(rows(by_words)).frame()) for by_words in (True, False))
    assert own.change == even.change == -0.5
    widths = [each.interval.high - each.interval.low for each in (own, even)]
    assert widths[0] > 1.5 * widths[1]


def test_anytime_p_counts_a_start_once(run, made):
    """By its first wording: if one of six would do, a start whose control succeeds would nearly always lose."""
    rows = [made(True, seed=seed) for seed in range(20)] + [
        made(variant != seed % 6, seed=seed, condition="c", labels={"variant": variant})
        for seed in range(20)
        for variant in range(6)
    ]
    frame = run(rows).frame()
    (found,) = drops(frame, stopped={"c": {}})
    first = frame.filter(condition="c").sort("key").unique(("task", "seed"), keep="first")
    lost = int((first["outcome"] == "failure").sum())
    assert 0 < lost < 10 and found.p_two_sided == pytest.approx(Pairs.of([-1.0] * lost).p)


def test_stopped_condition_counts_as_stopped_among_others_and_over_runs(run, made):
    rows = [made(True, seed=seed) for seed in range(12)]
    rows += [made(seed >= 8, seed=seed, condition=name) for name in "cd" for seed in range(12)]
    frame = run(rows).frame().with_columns(every=pl.lit("all"))
    (fixed,) = drops(frame, ("every",))
    (stopped,) = drops(frame, ("every",), stopped={"c": {}})
    assert stopped.stopped and fixed.p_two_sided < stopped.p_two_sided == pytest.approx(
        Pairs.of([-1.0] * 8).p
    )
    assert pool_drops([stopped, stopped]).p == pytest.approx(stopped.p)
    assert pool_drops([fixed, fixed]).p < stopped.p
