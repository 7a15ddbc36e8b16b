from __future__ import annotations

import re
from collections import Counter

import pytest

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import ExperimentError
from assay.experiments import load_experiment
from assay.experiments.labels import families

GOAL = tasks.suite("libero_goal")


@pytest.fixture(scope="module")
def para(tmp_path_factory: pytest.TempPathFactory) -> list[EpisodeSpec]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        return list(load_experiment("para?per_cell=1").plan(GOAL, (7,)))


def test_the_grid_has_43_cells_labelled_with_their_distances(para: list[EpisodeSpec]):
    counts = Counter(spec.condition for spec in para)
    assert counts.pop(CONTROL) == 10 and len(counts) == 43
    assert len({spec.key for spec in para}) == len(para)
    for spec in para:
        labels = spec.labels
        if spec.condition != CONTROL:
            assert spec.condition == f"para/obj={labels['object']},act={labels['action']}"
            assert labels["pd"] == pytest.approx(1 - (labels["s_k"] + labels["s_t"]) / 2)
            assert labels["plausible"] is True and labels["axis"] == "words" and labels["parser"]


def test_the_ladder_goes_from_paraphrase_to_nothing():
    plan = list(load_experiment("corruption").plan([tasks.load("libero_goal/1")], (0,)))
    told = {spec.condition.removeprefix("corruption/"): task_of(spec).instruction.text for spec in plan}
    assert told[CONTROL] == "put the bowl on the stove" and told["empty"] == "" and told["xxx"] == "xxx"
    assert (
        sorted(told["shuffle"].split()) == sorted(told[CONTROL].split()) and told["shuffle"] != told[CONTROL]
    )
    plausible = {spec.condition: spec.labels.get("plausible") for spec in plan}
    assert plausible["corruption/paraphrase"] and not plausible["corruption/gobbledygook_words"]


def test_tasks_of_one_scene_get_different_counterfactual_goals():
    plan = [
        spec for spec in load_experiment("corruption").plan(GOAL, (0,)) if "counterfactual" in spec.condition
    ]
    asked = [spec.labels["asked_goal"] for spec in plan]
    assert len(plan) == 10 and len(set(asked)) >= 5 and Counter(asked).most_common(1)[0][1] <= 3


def test_labels_are_derived_from_the_task():
    for task, labels in (
        ("libero_goal/3", ("placement, state change, composite", "2", "container, ordinal", "category")),
        ("libero_goal/7", ("state change", "1", None, "category")),
        ("libero_10/4", ("placement", "2", "surface, left-right", "colour")),
        ("libero_spatial/1", ("placement", "1", "surface", "colour")),
        ("libero_object/1", ("placement", "1", "container", "category")),
    ):
        assert tuple(families(tasks.load(task)).values()) == labels


def test_an_invalid_address_names_valid_experiments_and_fields():
    for address, words in (
        ("parra", "did you mean 'para'?"),
        ("para?percell=2", "did you mean 'per_cell'?"),
        ("para?per_cell=many", "got 'many'"),
        ("libero?x=1", "it takes no fields"),
    ):
        with pytest.raises(ExperimentError, match=re.escape(words)):
            load_experiment(address)
