from __future__ import annotations

import pytest

from assay.measures.failure.grounding import confusion, goal_objects
from assay.measures.result import MeasureError

DRAWER = {"Open wooden_cabinet_1_middle_region": ((90, 100),)}
TWO = {"On plate_1 main_table_region": ((9, 10),), "In akita_black_bowl_1 plate_1_region": ((9, 10),)}


def test_named_object_is_the_object_of_the_goal():
    assert goal_objects('{"Open wooden_cabinet_1_middle_region": []}') == "wooden_cabinet_1"
    assert goal_objects('{"TurnOn flat_stove_1": []}') == "flat_stove_1"
    assert goal_objects('{"On b_2 x": [], "On a_1 x": []}') == "a_1+b_2"
    assert goal_objects("{}") == ""


def test_planted_confusion_is_recovered(run, made):
    store = run(
        [made(True, seed=seed) for seed in range(6)]
        + [made(False, seed=seed, condition="c", touched="plate_1") for seed in range(4)]
        + [made(False, seed=seed, condition="c", touched=None) for seed in range(4, 6)]
        + [made(True, seed=6, condition="c", truth=DRAWER, touched="wooden_cabinet_1")]
        + [made(None, seed=7, condition="c", touched="plate_1")]
    )
    (all_,) = confusion(store.frame())
    assert all_.named == ("akita_black_bowl_1", "wooden_cabinet_1")
    assert all_.first == ("akita_black_bowl_1", "plate_1", "wooden_cabinet_1", "nothing")
    assert all_.counts == ((6, 4, 0, 2), (0, 0, 1, 0))
    assert (all_.right, all_.count) == (7, 13) and all_.interval.low < 7 / 13 < all_.interval.high
    control, changed = confusion(store.frame(), by=("condition",))
    assert control.accuracy == 1.0 and changed.right == 1
    (moved,) = confusion(store.frame(), "moved")
    assert moved.right == 12


def test_either_of_two_named_objects_is_right(run, made):
    store = run(
        made(True, seed=seed, truth=TWO, touched=thing)
        for seed, thing in enumerate(("plate_1", "akita_black_bowl_1", "x_1"))
    )
    assert confusion(store.frame())[0].right == 2


def test_label_overrides_the_objects_of_the_goal(run, made):
    labels = {"plausible": False, "named": "plate_1"}
    store = run(
        [made(False, condition="counterfactual", labels=labels, touched="plate_1")]
        + [made(False, condition="nonsense", labels={"plausible": False}, touched="plate_1")]
    )
    (found,) = confusion(store.frame())
    assert (found.named, found.count, found.right) == (("plate_1",), 1, 1), "nonsense names nothing"


def test_run_without_goal_objects_raises(run, made):
    with pytest.raises(MeasureError, match="no episode records the objects of its goal"):
        confusion(run([made(True, truth={})]).frame())
