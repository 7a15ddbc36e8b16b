from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from assay.measures.attribution import ATTRIBUTION, attribution
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.measures.measure import profile
from assay.measures.result import MeasureError
from assay.measures.sentences import format_finding
from assay.perturb.world.objects import Recolour, Resize
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import Relight

FACTORS = ("words", "world", "senses")
FULL = tuple(product((False, True), repeat=3))
MAIN = {"words": -1.2, "world": -0.4, "senses": 0.0}
TOGETHER = -1.0
"""Words and world together cost more than the sum of both."""


def log_odds(on: tuple[bool, ...]) -> float:
    centred = dict(zip(FACTORS, np.array(on) - 0.5, strict=True))
    return (
        0.8
        + sum(MAIN[name] * centred[name] for name in FACTORS)
        + TOGETHER * centred["words"] * centred["world"]
    )


def factorial(made, starts: int, cells=FULL):
    """A full factorial with planted effects; the control is all off."""
    rng = np.random.default_rng(7)
    for seed, on in product(range(starts), cells):
        levels = dict(zip(FACTORS, on, strict=True))
        success = bool(rng.random() < expit(log_odds(on)))
        condition = "factors/" + "+".join(name for name, level in levels.items() if level)
        labels = {f"factor:{name}": level for name, level in levels.items()}
        changed = {"condition": condition, "labels": labels} if any(on) else {}
        yield made(success, seed=seed, **changed)


def test_factors_that_cost_in_some_tasks_only_are_uncertain_for_tasks_in_general(run, made):
    """Words cost everything in two of four tasks: certain for these, not for others."""
    rows = []
    for task, seed in product(range(4), range(10)):
        place = {"task": f"libero_goal/{task}", "seed": seed}
        rows.append(made(True, **place))
        labels = {"factor:words": True, "factor:world": False}
        rows.append(made(task > 1, condition="factors/words", labels=labels, **place))
        labels = {"factor:words": False, "factor:world": True}
        rows.append(made(True, condition="factors/world", labels=labels, **place))
        rows.append(made(task > 1, condition="factors/both", labels=dict.fromkeys(labels, True), **place))
    store = run(rows)
    found = attribution(store.frame())
    words = next(share for share in found.shares if share.factor == "words")
    contrast = next(contrast for contrast in found.contrasts if contrast.factor == "words")
    assert words.interval.low > 0.2 and words.over_tasks.low < 0
    half = 3.1824463 * np.sqrt(np.var([1, 1, 0, 0], ddof=1) / 4)
    assert words.over_tasks.high == pytest.approx(min(1.0, 0.5 + half))
    assert contrast.interval.high < 0 < contrast.over_tasks.high
    table = {row.quantity: row for row in profile(store)["over_tasks"]}
    assert table["loss due to words"].over_tasks == words.over_tasks


def test_planted_effects_are_recovered(run, made):
    found = attribution(run(factorial(made, 250)).frame())
    assert found.factors == tuple(sorted(FACTORS)) and found.starts == 250 and found.episodes == 2000
    effects = {each.factors: each for each in found.effects}
    for name, truth in MAIN.items():
        effect = effects[name,]
        assert effect.interval.low < truth < effect.interval.high
    both = effects["words", "world"]
    assert both.interval.low < TOGETHER < both.interval.high < 0 and both.p < 0.01
    assert effects["words",].p < 1e-6 and effects["senses",].p > 0.05
    assert found.aliased == () and found.modelled == 0


def test_shapley_shares_are_those_of_all_orders_and_make_up_the_drop(run, made):
    store = run(factorial(made, 100))
    found = attribution(store.frame())
    frame = store.frame()
    names = [f"factor:{name}" for name in found.factors]
    rates = {
        tuple(bool(row[name]) for name in names): row["success"]
        for row in frame.with_columns(success=frame["outcome"] == "success")
        .group_by(names)
        .agg(success=pl.col("success").mean())
        .iter_rows(named=True)
    }
    losses = dict.fromkeys(found.factors, 0.0)
    orders = list(permutations(range(3)))
    for order in orders:
        on = [False] * 3
        for place in order:
            before = rates[tuple(on)]
            on[place] = True
            losses[found.factors[place]] += (before - rates[tuple(on)]) / len(orders)
    shares = {each.factor: each for each in found.shares}
    assert {name: each.loss for name, each in shares.items()} == pytest.approx(losses)
    assert sum(each.loss for each in found.shares) == pytest.approx(found.drop)
    assert sum(each.share for each in found.shares) == pytest.approx(1.0)
    assert shares["words"].share > 0.5 and all(
        each.interval.low < each.loss < each.interval.high for each in found.shares
    )


def test_fractional_design_reports_aliased_interactions(run, made):
    half = [on for on in product((False, True), repeat=3) if sum(on) % 2 == 0]
    found = attribution(run(factorial(made, 200, half)).frame())
    assert {each.factors for each in found.effects} == {(name,) for name in FACTORS}
    assert len(found.aliased) == 3 and found.modelled == 4
    assert sum(each.loss for each in found.shares) == pytest.approx(found.drop)


def test_cell_without_failures_has_finite_effects(run, made):
    store = run(
        made(True, seed=seed, condition=f"c{on}" if on else "control", labels={"factor:a": on})
        for seed in range(10)
        for on in (False, True)
    )
    found = attribution(store.frame())
    (effect,) = found.effects
    assert abs(effect.log_odds) < 1e-6 and effect.interval.low < -1 and effect.interval.high > 1
    assert found.drop == 0 and found.shares[0].share is None


def test_other_experiments_and_constant_factors_are_left_out(run, made):
    others = [made(False, seed=seed, condition="elsewhere") for seed in range(50)]
    alone, mixed = (attribution(run([*factorial(made, 50), *more]).frame()) for more in ([], others))
    assert alone == mixed
    levels = run(
        made(seed % 2 > level, seed=seed, condition=f"c{level}", labels={"factor:a": level, "factor:b": True})
        for seed in range(10)
        for level in (0, 1, 2)
    )
    assert attribution(levels.frame()).factors == ("a",)
    with pytest.raises(MeasureError, match="varies 0"):
        attribution(run([made(True)]).frame())
    with pytest.raises(MeasureError, match="expected at least 5 starts, got 4"):
        attribution(run(factorial(made, 4)).frame())


def test_factor_is_tested_in_all_combinations_if_alone_it_has_too_few_episodes(run, made):
    """A policy that goes by looks fails in most of the combinations with them, whatever else is changed."""
    changes = {"object": (Recolour(), Resize(1.1)), "position": (Displace(0.2),), "room": (Relight(0.5),)}
    rows = [made(True, seed=seed) for seed in range(7)]
    for seed, count in product(range(7), (1, 2, 3)):
        for place, chosen in enumerate(combinations(changes, count)):
            lost = "object" in chosen and (seed + place) % 4 > 0
            labels = {f"factor:{name}": name in chosen for name in changes}
            together = tuple(change for name in chosen for change in changes[name])
            rows.append(
                made(not lost, seed=seed, condition="+".join(chosen), labels=labels, changes=together)
            )
    measured = profile(run(rows))
    contrasts = {each.factor: each for each in measured.get(ATTRIBUTION).contrasts}
    looks = contrasts["object"]
    assert (looks.change, looks.count) == ("appearance+object", 28)
    assert (looks.others, looks.others_count) == (28, 28)
    assert looks.interval.high < 0 and looks.p == pytest.approx(2 / 2**7)
    assert contrasts["position"].p > 0.5
    first = diagnose(measured)[0]
    assert (first.flaw, first.verdict) == (Flaw.OBJECT, Verdict.FOUND)
    assert first.evidence[0].measure == "attribution"
    assert "28 of 28 without, all else equal" in format_finding(first).text


def test_different_tasks_create_no_interaction(run, made):
    """Two hopeless tasks, six easy ones: two factors that add up within each of them."""
    rng = np.random.default_rng(7)
    rows = []
    for task, seed, on in product(range(8), range(40), product((False, True), repeat=2)):
        chance = 0.0 if task < 2 else expit(2.5 - 1.5 * sum(on))
        labels = {f"factor:{name}": level for name, level in zip("ab", on, strict=True)} if any(on) else {}
        success, condition = bool(rng.random() < chance), f"c{on}" if any(on) else "control"
        rows.append(made(success, task=f"libero_goal/{task}", seed=seed, condition=condition, labels=labels))
    effects = {each.factors: each for each in attribution(run(rows).frame()).effects}
    alone, both = effects["a",], effects["a", "b"]
    assert alone.interval.low < -1.5 < alone.interval.high, "not diluted by the hopeless"
    assert both.p > 0.05
    steps = [0.75 * (expit(2.5 - 1.5 * count) - expit(1.0 - 1.5 * count)) for count in (0, 1)]
    assert alone.points == pytest.approx(-np.mean(steps), abs=0.06) and alone.points_p < 1e-6
    assert alone.points_interval.low < -np.mean(steps) < alone.points_interval.high
    assert both.points == pytest.approx(steps[0] - steps[1], abs=0.12), "in points it is another question"


def test_constant_tasks_do_not_increase_certainty(run, made):
    """Every second task fails when a factor is on, in each of its starts: nothing varies within a task."""
    rows = []
    for task, seed, on in product(range(4), range(6), (False, True)):
        labels, condition = ({"factor:a": True}, "on") if on else ({}, "control")
        task_id, success = f"libero_goal/{task}", not (on and task % 2)
        rows.append(made(success, task=task_id, seed=seed, condition=condition, labels=labels))
    (effect,) = attribution(run(rows).frame()).effects
    assert effect.interval.low < effect.log_odds < effect.interval.high < 0 and 0 < effect.p < 0.05
