"""Experiments on the table."""

from __future__ import annotations

from collections import Counter

import pytest

from assay.episodes import EpisodeSpec, task_of
from assay.errors import AssayError
from assay.experiments import load_experiment
from assay.extensions.tabletop.tasks.task import Difficulty


def test_the_levels_are_made_harder_beside_their_control():
    experiment = load_experiment("tabletop")
    plan = list(experiment.plan(experiment.choose("T1,T8"), (0, 1)))
    assert len(plan) == 4 * 4 * 2  # T1 at three levels and T8 at one, four difficulties, two seeds
    assert Counter(spec.condition for spec in plan)["difficulty=extreme"] == 8
    harder = next(spec for spec in plan if spec.condition == "difficulty=distracting")
    assert task_of(harder).setting.difficulty is Difficulty.DISTRACTING
    assert task_of(harder.control()).setting == task_of(harder.control()).setting
    assert task_of(harder.control()).setting.difficulty is Difficulty.DEFAULT


def test_prompts_are_changed_where_the_change_is_defined():
    experiment = load_experiment("prompts")
    conditions = {
        kind: {spec.condition for spec in experiment.plan(experiment.choose(f"{kind}"), (0,))}
        for kind in ("T1", "T4")
    }
    assert conditions["T1"] - conditions["T4"] == {"referents=text", "instruction=other"}
    assert {"control", "paraphrase", "mask=language", "mask=visual", "mask=instruction"} <= conditions["T4"]
    assert {"gobbledygook=words", "gobbledygook=tokens", "order=permuted"} <= conditions["T4"]


def test_labels_have_the_kind_the_level_and_the_fewest_actions():
    experiment = load_experiment("prompts")
    for spec in experiment.plan(experiment.choose("tabletop/T9/L1"), range(4)):
        task = task_of(spec)
        assert spec.labels["kind"] == "T9" and spec.labels["level"] == "L1"
        assert spec.labels["best"] == task.best and spec.steps is None
        assert EpisodeSpec.from_json(spec.to_json(), spec.labels) == spec
        if spec.condition != "control":
            assert spec.labels["plausible"] == (task.asked is not None)


def test_difficulties_prompts_and_orders_are_crossed():
    experiment = load_experiment("prompts?difficulty=distracting,extreme&order=permuted")
    plan = {spec.condition: spec for spec in experiment.plan(experiment.choose("tabletop/T4/L1"), (0,))}
    told = 6  # paraphrase, two nonsenses, three masks
    assert len(plan) == 1 + (told + 1 + told) + 2 * (1 + told + 1 + told)
    spec = plan["difficulty=extreme,mask=instruction,order=permuted"]
    task = task_of(spec)
    assert task.setting.difficulty is Difficulty.EXTREME and not task.prompt.text
    assert any(each.kind == "senses/permuted_objects" for each in spec.perturbations)
    assert task_of(plan["difficulty=extreme,paraphrase"]).scene == task.scene
    chosen = load_experiment("prompts?difficulty=extreme").only("difficulty=*,mask=instruction")
    plan = {spec.condition: spec for spec in chosen.plan(chosen.choose("tabletop/T4/L1"), (0,))}
    assert set(plan) == {"control", "difficulty=extreme,mask=instruction"}


def test_invalid_fields_are_rejected():
    for address, told in (
        ("prompts?difficulty=hard", "unknown difficulty 'hard'"),
        ("prompts?order=random", "order: input should be 'own' or 'permuted'"),
        ("tabletop?actions=0", "actions=0: expected an integer >= 1"),
    ):
        with pytest.raises(AssayError, match=told):
            load_experiment(address)


def test_the_number_of_actions_can_be_limited():
    for address, most in (("tabletop?actions=10", {10}), ("tabletop", {None})):
        experiment = load_experiment(address)
        assert {spec.steps for spec in experiment.plan(experiment.choose("tabletop/T5/L1"), (0,))} == most
    strict = load_experiment("tabletop?mistakes=false&actions=10")
    assert {spec.steps for spec in strict.plan(strict.choose("tabletop/T5/L1"), (0,))} == {6, 7}
