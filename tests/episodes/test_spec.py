from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.episodes import EpisodeSpec, horizon
from assay.errors import AssayError, SpecError
from assay.perturb import Say

SPEC = EpisodeSpec("libero_goal/3", 7, condition="para", perturbations=(Say("make it so"),), replan=5)

texts = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=30)


@given(task=texts, condition=texts, text=texts, seed=st.integers(0), replan=st.none() | st.integers(1, 50))
def test_a_spec_survives_json_and_the_json_is_canonical(
    task: str, condition: str, text: str, seed: int, replan: int | None
):
    spec = EpisodeSpec(task, seed, condition=condition, perturbations=(Say(text),), replan=replan)
    written = spec.to_json()
    assert EpisodeSpec.from_json(written) == spec
    content = json.loads(written)
    assert written == json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_the_key_covers_the_content_but_not_the_labels():
    from dataclasses import replace

    assert SPEC.key == replace(SPEC, labels={"pd": 0.1}).key
    others = [
        replace(SPEC, seed=8),
        replace(SPEC, condition="other"),
        replace(SPEC, perturbations=(Say("make it"),)),
        replace(SPEC, steps=10),
        replace(SPEC, pack="libero"),
        replace(SPEC, initial="stored"),
    ]
    assert len({SPEC.key, *(spec.key for spec in others)}) == 7


def test_the_key_is_the_same_on_every_machine():
    assert EpisodeSpec("libero_goal/0", 0).key == "446994b37eec9f2f82021d39c40d15d0"


def test_words_share_the_compiled_scene_of_their_control():
    assert SPEC.scene_key == SPEC.control().scene_key
    assert SPEC.control().condition == "control" and not SPEC.control().perturbations


def test_an_invalid_spec_is_rejected():
    for text in ("", "[]", "{}", '{"task": "a"}', SPEC.to_json().replace("words/say", "words/sya")):
        with pytest.raises(AssayError) as caught:
            EpisodeSpec.from_json(text)
        if "sya" in text:
            assert "did you mean 'words/say'?" in str(caught.value)
        else:
            assert isinstance(caught.value, SpecError)


def test_a_task_gets_the_horizon_that_evaluations_on_libero_share():
    for task_id, steps in (("libero_spatial/3", 220), ("libero_10/0", 520), ("my_own", 400)):
        assert horizon(EpisodeSpec(task_id, 0)) == steps == horizon(EpisodeSpec(task_id, 3, condition="x"))
        assert horizon(EpisodeSpec(task_id, 0, steps=7)) == 7
