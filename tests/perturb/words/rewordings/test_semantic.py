from __future__ import annotations

import pytest

from assay import tasks
from assay.perturb import apply_perturbations
from assay.perturb.words.rewordings import Semantic
from assay.perturb.words.rewordings.sentences import variants
from assay.tasks.language.lexicon import mentions, names_of


@pytest.mark.parametrize("id", tasks.all_ids())
def test_every_built_in_task_has_three_variants_with_the_same_names(id: str):
    task = tasks.load(id)
    text = task.instruction.text
    found = variants(text)
    assert len(found) >= 3 and len(set(found)) == len(found) and text not in found
    for variant in (each.replace("'s ", " ") for each in found):
        for entity in task.scene.entities:
            assert all(
                mentions(variant, name) == mentions(text, name) for name in names_of(entity.category)
            ), variant


def test_parts_get_an_owner():
    assert "open the cabinet's middle drawer" in variants("open the middle drawer of the cabinet")
    text = "pick up the bowl in the top drawer of the cabinet and place it on the plate"
    assert "pick up the bowl in the cabinet's top drawer and place it on the plate" in variants(text)


def test_a_long_step_is_not_put_into_a_chain():
    for text in variants("turn on the stove and put the moka pot on it"):
        assert "it on it" not in text and text.count(" and ") <= 1


def test_the_seed_chooses():
    task = tasks.load("libero_goal/1")
    chosen = [apply_perturbations(task, (Semantic(),), seed=seed).instruction.text for seed in range(30)]
    assert set(chosen) == set(variants(task.instruction.text))
    assert chosen == [
        apply_perturbations(task, (Semantic(),), seed=seed).instruction.text for seed in range(30)
    ]
