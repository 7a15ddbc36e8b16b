from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.episodes.episode import Outcome
from assay.errors import PerturbationError
from assay.perturb import Perturbation, apply_perturbations
from assay.perturb.words.rewordings.designs import (
    LADDER,
    LEVEL5,
    STYLES,
    Counterfactual,
    OtherTask,
)
from assay.perturb.words.text import Mask, Say
from assay.runs.executor import EpisodeRunner, WorkerConfig

from .conftest import Reword

ALL = LADDER | LEVEL5 | STYLES
RANDOM = (
    "paraphrase", "synonyms", "synonym", "substitute", "shuffle", "gobbledygook_words",
    "gobbledygook_tokens", "verbose", "typos",
)  # fmt: skip
TASK = tasks.load("libero_goal/1")
STOVE = ("turn on the stove", ("TurnOn flat_stove_1",))
ODD_TEXTS = (
    "", " \t\n", "put the bowl\x07 on the stove", "put the bowl\x00on the stove", "put the \ud800 bowl on the stove",
    "Stelle die Schüssel auf den Herd!", "把碗放在炉子上", "put the 🥣 on the 🔥", "a", "x" * 10_000,
    "put the bowl on the stove and " * 330 + "open it", "bowl " * 10_000, "put the bowl\non the stove",
    "put the {} on the {0}", "... !",
)  # fmt: skip


def test_the_ladder_and_level_5_have_the_published_order():
    assert list(LADDER) == [
        *("paraphrase", "synonyms", "substitute", "shuffle"),
        *("gobbledygook_words", "gobbledygook_tokens", "xxx", "empty"),
    ]
    assert [rung.plausible for rung in LADDER.values()] == [True, True] + [False] * 6
    assert list(LEVEL5) == ["synonym", "concise", "reorder", "passive", "verbose"]


@pytest.mark.parametrize(("name", "change"), ALL.items(), ids=list(ALL))
def test_a_rewording_changes_the_instruction_alone(name: str, change: Perturbation, tokenizer):
    spec = EpisodeSpec("libero_goal/1", 3, perturbations=(change,))
    assert spec.scene_key == spec.control().scene_key
    for task in tasks.resolve("all"):
        changed = apply_perturbations(task, (change,), seed=1)
        assert changed.instruction != task.instruction
        assert (changed.scene, changed.goal) == (task.scene, task.goal)
        assert changed == apply_perturbations(task, (change,), seed=1)
    task = tasks.load("libero_10/4")
    drawn = {apply_perturbations(task, (change,), seed=seed).instruction.text for seed in range(20)}
    assert (len(drawn) > 1) == (name in RANDOM)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=60)),
    change=st.sampled_from(list(ALL.values())),
)
def test_any_text_is_reworded_or_rejected(reword: Reword, tokenizer, text: str, change: Perturbation):
    try:
        changed = reword(change, text)
    except PerturbationError as error:
        assert str(error).startswith(f"{change.kind}: libero_goal/1: ")
        assert "\n" not in str(error) and len(str(error)) < 500
    else:
        if isinstance(change, Say | Mask):
            return
        assert text.strip() and changed != " ".join(text.split()) and "\n" not in changed
        assert "\x07" not in text and "\x00" not in text


def test_the_examples_in_the_documentation_are_generated():
    page = (Path(__file__).parents[4] / "docs" / "words.md").read_text(encoding="utf-8")
    for name, change in ALL.items():
        text = apply_perturbations(TASK, (change,), seed=0).instruction.text
        assert f"| `{name}` | {text} | {'yes' if change.plausible else 'no'} |" in page


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        (("TurnOn flat_stove_2",), "did you mean 'flat_stove_1'?"),
        (("Burn flat_stove_1",), "unknown predicate"),
        (("TurnOn",), "takes one name"),
        (("",), "unknown predicate"),
        ((), "the goal is empty"),
    ],
)
def test_a_goal_that_does_not_fit_the_scene_is_rejected(goal: tuple[str, ...], reason: str):
    for kind in (OtherTask, Counterfactual):
        with pytest.raises(PerturbationError) as caught:
            apply_perturbations(TASK, (kind("do it", goal),), seed=0)
        assert reason in str(caught.value) and str(caught.value).startswith(f"{kind.kind}: libero_goal/1: ")


def test_an_obedient_policy_succeeds_at_the_other_task_and_fails_the_counterfactual():
    runner = EpisodeRunner(WorkerConfig("keyword"))
    try:
        outcomes = {
            kind: runner.run(EpisodeSpec(TASK.id, 0, perturbations=(kind(*STOVE),))).outcome
            for kind in (OtherTask, Counterfactual)
        }
    finally:
        runner.close()
    assert outcomes == {OtherTask: Outcome.SUCCESS, Counterfactual: Outcome.FAILURE}
