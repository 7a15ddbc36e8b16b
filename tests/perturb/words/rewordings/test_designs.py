from __future__ import annotations

from pathlib import Path

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.errors import PerturbationError
from assay.perturb import apply_perturbations, from_json, to_json
from assay.perturb.words.rewordings import LADDER, LEVEL5, SEMANTIC, STYLES, Rewording
from assay.perturb.words.text import Mask, Say

ALL = (*LADDER, *LEVEL5, *SEMANTIC, *STYLES)
BY_CHANCE = (
    "paraphrase", "synonyms", "synonym", "semantic", "substitute", "shuffle", "gobbledygook_words",
    "gobbledygook_tokens", "verbose", "typos",
)  # fmt: skip


def test_the_ladder_goes_down_from_plausible_to_nothing():
    assert [each.name for each in LADDER] == [
        "paraphrase",
        "synonyms",
        "substitute",
        "shuffle",
        "gobbledygook_words",
        "gobbledygook_tokens",
        "xxx",
        "empty",
    ]
    assert [each.plausible for each in LADDER] == [True, True] + [False] * 6
    assert [each.labels["rung"] for each in LADDER] == list(range(1, 9))


def test_level_5_has_its_five_forms():
    assert [each.name for each in LEVEL5] == ["synonym", "concise", "reorder", "passive", "verbose"]


@pytest.mark.parametrize("rewording", ALL, ids=lambda each: each.name)
def test_each_says_whether_it_is_plausible(rewording: Rewording):
    assert rewording.labels["plausible"] is rewording.plausible
    assert getattr(rewording.perturbation, "plausible", rewording.plausible) is rewording.plausible


@pytest.mark.parametrize("rewording", ALL, ids=lambda each: each.name)
def test_each_survives_json_and_keeps_the_compiled_scene(rewording: Rewording):
    assert from_json(to_json(rewording.perturbation)) == rewording.perturbation
    spec = EpisodeSpec("libero_goal/1", 3, perturbations=(rewording.perturbation,))
    assert EpisodeSpec.from_json(spec.to_json()) == spec
    assert spec.scene_key == spec.control().scene_key


@pytest.mark.parametrize("rewording", ALL, ids=lambda each: each.name)
def test_each_rewords_every_built_in_task_and_changes_nothing_else(rewording: Rewording, tokenizer):
    for task in tasks.resolve("all"):
        changed = apply_perturbations(task, (rewording.perturbation,), seed=1)
        assert changed.instruction != task.instruction
        assert (changed.scene, changed.goal) == (task.scene, task.goal)
        assert changed == apply_perturbations(task, (rewording.perturbation,), seed=1)


@pytest.mark.parametrize("rewording", ALL, ids=lambda each: each.name)
def test_the_seed_draws_where_there_is_something_to_draw_and_nowhere_else(rewording: Rewording):
    task = tasks.load("libero_10/4")
    drawn = {
        apply_perturbations(task, (rewording.perturbation,), seed=seed).instruction.text for seed in range(20)
    }
    assert (len(drawn) > 1) == (rewording.name in BY_CHANCE)


ODD = {
    "empty": "",
    "blank": " \t\n",
    "control characters": "put the bowl\x07 on the stove",
    "a zero byte": "put the bowl\x00on the stove",
    "half a pair": "put the \ud800 bowl on the stove",
    "German": "Stelle die Schüssel auf den Herd!",
    "Chinese": "把碗放在炉子上",
    "emoji": "put the 🥣 on the 🔥",
    "one letter": "a",
    "10,000 letters": "x" * 10_000,
    "10,000 characters": "put the bowl on the stove and " * 330 + "open it",
    "10,000 words": "bowl " * 10_000,
    "lines": "put the bowl\non the stove",
    "braces": "put the {} on the {0}",
    "only punctuation": "... !",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
@pytest.mark.parametrize("rewording", ALL, ids=lambda each: each.name)
def test_odd_text_is_refused_in_one_line_or_reworded(rewording: Rewording, text: str, saying, tokenizer):
    task = saying(text)
    try:
        changed = apply_perturbations(task, (rewording.perturbation,), seed=0).instruction.text
    except PerturbationError as error:
        said = str(error)
        assert said.startswith(f"{rewording.perturbation.kind}: libero_goal/1: ")
        assert "\n" not in said and len(said) < 500 and said.isprintable()
    else:
        assert changed != " ".join(text.split()) or isinstance(rewording.perturbation, Say | Mask)
        assert "\n" not in changed and "\x00" not in changed


def test_text_without_words_is_never_reworded(saying):
    for each in ALL:
        if not isinstance(each.perturbation, Say | Mask):
            with pytest.raises(PerturbationError, match=r"is empty|control characters"):
                apply_perturbations(saying("  "), (each.perturbation,), seed=0)
            with pytest.raises(PerturbationError, match=r"is empty|control characters"):
                apply_perturbations(saying("put the\x07bowl on the stove"), (each.perturbation,), seed=0)


@pytest.mark.parametrize("rewording", [*LADDER, *STYLES, *LEVEL5], ids=lambda each: each.name)
def test_the_examples_in_the_documents_are_what_it_says(rewording: Rewording):
    told = apply_perturbations(
        tasks.load("libero_goal/1"), (rewording.perturbation,), seed=0
    ).instruction.text
    row = f"| `{rewording.name}` | {told} | {'yes' if rewording.plausible else 'no'} |"
    assert row in (Path(__file__).parents[4] / "docs" / "words.md").read_text(encoding="utf-8")
