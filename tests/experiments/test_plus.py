from __future__ import annotations

import re
from collections import Counter

import pytest

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.episodes.senses import Sense
from assay.errors import ExperimentError, PerturbationError
from assay.experiments import load_experiment

TASK = tasks.load("libero_goal/8")


@pytest.fixture(scope="module")
def plan() -> list[EpisodeSpec]:
    return [spec for spec in load_experiment("plus").plan([TASK], (0,)) if spec.condition != CONTROL]


def test_there_are_seven_dimensions_and_five_difficulties(plan: list[EpisodeSpec]):
    assert len({spec.condition for spec in plan}) == len(plan)
    found = Counter(spec.labels["dimension"] for spec in plan)
    assert set(found) == {"layout", "camera", "robot", "language", "light", "background", "noise"}
    assert {spec.labels["difficulty"] for spec in plan} == {1, 2, 3, 4, 5}
    for dimension in found:
        levels = {spec.labels["difficulty"] for spec in plan if spec.labels["dimension"] == dimension}
        assert levels == {1, 2, 3, 4, 5}, dimension


def test_every_condition_is_realised_or_rejected_with_a_reason(plan: list[EpisodeSpec]):
    refused = 0
    for spec in plan:
        try:
            made = task_of(spec)
        except PerturbationError as error:
            assert "\n" not in str(error)
            refused += 1
            continue
        senses = any(isinstance(each, Sense) for each in spec.perturbations)
        assert senses == (made == TASK), f"{spec.condition} changes nothing"
        assert made.goal == TASK.goal
    assert refused <= 5


def test_an_unknown_dimension_or_difficulty_is_rejected():
    for address, words in (
        ("plus?dimensions=lite", "did you mean 'light'?"),
        ("plus?difficulties=6", "difficulty 6 is out of range: expected 1 to 5"),
        ("plus?dimensions=camera,camera", "at most once"),
    ):
        with pytest.raises(ExperimentError, match=re.escape(words)):
            load_experiment(address)
