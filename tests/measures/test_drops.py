from __future__ import annotations

import pytest
from scipy import stats

from assay.measures import MeasureError, drops


def test_a_drop_counts_pairs_and_their_outcomes(run, made):
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
    assert found.p == pytest.approx(stats.binomtest(0, 25).pvalue)
    for interval in (found.interval, found.bootstrap):
        assert -0.68 < interval.low < -0.5 < interval.high < -0.3


def test_variants_of_one_start_count_as_one_witness(run, made):
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
    assert many.p == pytest.approx(few.p) == pytest.approx(0.125)
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
    store = run(
        [made(True, seed=seed) for seed in range(20)]
        + [
            made(True, seed=seed, condition="c", labels={"axis": "words", "plausible": True})
            for seed in range(20)
        ]
        + [
            made(False, seed=seed, condition="xxx", labels={"axis": "words", "plausible": False})
            for seed in range(20)
        ]
    )
    fine, nonsense = drops(store.frame())
    assert (fine.family, fine.plausible) == ("words", True)
    assert (nonsense.family, nonsense.plausible, nonsense.change) == (
        "words, success not expected",
        False,
        -1.0,
    )


@pytest.mark.parametrize(
    ("conditions", "words"),
    [(["control"], "no perturbed episode"), (["c"], "none of the 1 perturbed episodes has a control")],
)
def test_without_pairs_there_is_no_drop(run, made, conditions: list[str], words: str):
    with pytest.raises(MeasureError, match=words):
        drops(run(made(True, condition=each) for each in conditions).frame())
