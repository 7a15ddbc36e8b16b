"""`pro` changes what LIBERO-PRO changes, as it changes it; milder changes have names of their own."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, task_of
from assay.errors import ExperimentError
from assay.experiments import load_experiment
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.world.exchange import ExchangePlaces
from assay.perturb.world.position import SWEEP, DisplaceAlong

BOWL = "libero_goal/1"
DIMENSIONS = ("object", "position", "semantic", "environment")


def planned(address: str, task: str = BOWL, seed: int = 0) -> dict[str, EpisodeSpec]:
    return {spec.condition: spec for spec in load_experiment(address).plan([tasks.load(task)], (seed,))}


def test_the_four_dimensions_are_combined_and_the_task_stands_alone():
    together = (each for count in range(1, 5) for each in combinations(DIMENSIONS, count))
    expected = ["control", *(f"pro/{'+'.join(each)}" for each in together), "pro/task"]
    plan = planned("pro?experiments=false")
    assert list(plan) == expected
    spec = plan["pro/object+position"]
    assert {name: spec.labels[f"factor:{name}"] for name in DIMENSIONS} == {
        "object": True,
        "position": True,
        "semantic": False,
        "environment": False,
    }


def test_a_label_records_where_no_exchange_was_possible():
    said = {task: planned("pro", task)["pro/position"] for task in (BOWL, "libero_goal/0")}
    assert said[BOWL].labels["moved_to"] == "another's place"
    assert said[BOWL].perturbations == (ExchangePlaces(),)
    assert said["libero_goal/0"].labels["moved_to"] == "free place", (
        "no fixture fits where the cabinet stands"
    )
    assert said["libero_goal/0"].perturbations == (ExchangePlaces(free=True),)


def test_the_other_task_was_never_trained_and_the_known_one_was():
    for task in ("libero_goal/7", "libero_spatial/5", "libero_object/3", "libero_10/8"):
        plan, trained = planned("pro", task), {each.instruction.text for each in tasks.resolve("all")}
        new = task_of(plan["pro/task"])
        assert new.instruction.text not in trained and plan["pro/task"].labels["asked_from"] is None
        if task == "libero_10/8":
            assert "pro/task=known" not in plan, "no other task is known in its scene"
        else:
            assert task_of(plan["pro/task=known"]).instruction.text in trained


def test_a_task_with_two_objects_has_twice_the_time():
    spec = planned("pro?experiments=false", "libero_object/3")["pro/task"]
    (asked,) = spec.perturbations
    assert isinstance(asked, OtherTask) and len(asked.goal) == 2 and spec.steps == 2 * 280


def test_the_displacement_ladder_has_the_distances_and_the_axis_that_are_asked_for():
    plan = planned("pro?distances=0.1,0.2,0.3&axis=y", "libero_object/5")
    found = {name: spec for name, spec in plan.items() if "displace" in name}
    assert list(found) == ["pro/displace=0.1", "pro/displace=0.2", "pro/displace=0.3"]
    assert [spec.labels["distance"] for spec in found.values()] == [0.1, 0.2, 0.3]
    assert all(isinstance(spec.perturbations[0], DisplaceAlong) for spec in found.values())
    usual = [spec.labels["distance"] for name, spec in planned("pro").items() if "displace" in name]
    assert usual == list(SWEEP)


def test_an_invalid_ladder_is_rejected():
    for fields, reason in (
        ("distances=0.1,0.9", "0.9 m is out of range: expected above 0, up to 0.6"),
        ("distances=0.1,0.1", "expected one or more distinct distances"),
        ("axis=z", "got 'z'"),
    ):
        with pytest.raises(ExperimentError, match=re.escape(reason)):
            load_experiment(f"pro?{fields}")


def test_the_ladder_of_objects_goes_from_colour_to_abstract_shape():
    plan = planned("pro")
    ladder = ("colour", "pattern", "size", "same", "category", "shape")
    rungs = [plan[f"pro/object={name}"] for name in ladder]
    assert [spec.labels["dissimilarity"] for spec in rungs] == [1, 2, 3, 4, 5, 6]
    assert [spec.labels["plausible"] for spec in rungs] == [True] * 4 + [False] * 2, "no bowl is left"
    looks = [task_of(spec).scene.objects[0] for spec in rungs]
    assert len({(each.category, each.finish, each.size) for each in looks}) == 6
    two = task_of(plan["pro/task=two"])
    assert len(two.goal.atoms) == 2 and " and " in two.instruction.text
