from __future__ import annotations

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.episodes.episode import Outcome
from assay.errors import PerturbationError
from assay.perturb import apply_perturbations, from_json, to_json
from assay.perturb.words.rewordings import Counterfactual, OtherTask, counterfactuals, other_tasks
from assay.runs.worker import EpisodeRunner, WorkerConfig

TASK = tasks.load("libero_goal/1")
ASKED = ("turn on the stove", ("TurnOn flat_stove_1",))


def test_another_task_changes_goal_and_instruction_and_leaves_the_scene():
    other = apply_perturbations(TASK, (OtherTask(*ASKED),), seed=0)
    assert other.instruction.text == "turn on the stove" and str(other.goal) == "TurnOn flat_stove_1"
    assert other.scene == TASK.scene and other.id == TASK.id and other.of_interest == ("flat_stove_1",)


def test_a_counterfactual_changes_the_instruction_alone():
    other = apply_perturbations(TASK, (Counterfactual(*ASKED),), seed=0)
    assert other.instruction.text == "turn on the stove"
    assert (other.goal, other.scene, other.of_interest) == (TASK.goal, TASK.scene, TASK.of_interest)


@pytest.mark.parametrize("kind", [OtherTask, Counterfactual])
@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (("TurnOn flat_stove_2",), "did you mean 'flat_stove_1'?"),
        (("Burn flat_stove_1",), "unknown predicate"),
        (("TurnOn",), "takes one name"),
        (("",), "unknown predicate"),
        ((), "the goal is empty"),
    ],
)
def test_a_goal_that_does_not_fit_the_scene_is_refused(kind, goal: tuple[str, ...], words: str):
    with pytest.raises(PerturbationError) as caught:
        apply_perturbations(TASK, (kind("do it", goal),), seed=0)
    assert words in str(caught.value) and str(caught.value).startswith(f"{kind.kind}: libero_goal/1: ")


def test_they_survive_json():
    for each in (*other_tasks(TASK), *counterfactuals(TASK)):
        assert from_json(to_json(each.perturbation)) == each.perturbation


def test_twins_ask_the_same_and_say_what():
    pairs = list(zip(other_tasks(TASK), counterfactuals(TASK), strict=True))
    assert len(pairs) >= 9
    for other, counter in pairs:
        assert isinstance(other.perturbation, OtherTask) and isinstance(counter.perturbation, Counterfactual)
        assert other.perturbation.text == counter.perturbation.text
        assert other.labels["asked_goal"] == counter.labels["asked_goal"]
        assert (other.plausible, counter.plausible) == (True, False)
        realised = apply_perturbations(TASK, (other.perturbation,), seed=0)
        assert str(realised.goal) == other.labels["asked_goal"]


def test_a_policy_that_obeys_succeeds_at_the_other_task_and_fails_the_counterfactual():
    stage = EpisodeRunner(WorkerConfig("keyword"))
    try:
        outcome = {
            kind: stage.run(EpisodeSpec(TASK.id, 0, perturbations=(kind(*ASKED),))).outcome
            for kind in (OtherTask, Counterfactual)
        }
    finally:
        stage.close()
    assert outcome == {OtherTask: Outcome.SUCCESS, Counterfactual: Outcome.FAILURE}
