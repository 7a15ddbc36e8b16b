from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from assay.errors import PerturbationError
from assay.extensions.tabletop.prompts.perturbations import (
    Gobbledygook,
    PromptParaphrase,
    Unit,
    list_wordings,
    read_fields,
)
from assay.extensions.tabletop.tasks import KINDS, make
from assay.extensions.tabletop.tasks.task import Difficulty, Setting, TableTask
from assay.perturb import apply_perturbations

FEWEST = 6


def tasks_of(kind: str) -> Iterator[TableTask]:
    """A kind of task in its usual and its extreme words, with different seeds."""
    for number, difficulty in enumerate((Difficulty.DEFAULT, Difficulty.EXTREME)):
        yield make(Setting(kind, number, KINDS[kind].levels[0], difficulty))


@pytest.mark.parametrize("kind", KINDS)
def test_every_task_has_many_wordings_that_keep_pictures_and_what_the_task_says(kind: str):
    for task in tasks_of(kind):
        said = [value for (value,) in read_fields(task).values()]
        found = list(list_wordings(task))
        assert len(set(found)) == len(found) >= FEWEST and task.prompt.text not in found
        for text in found:
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", task.prompt.text)), text
            assert all(re.search(rf"\b{re.escape(each)}\b", text) for each in said), text


@pytest.mark.parametrize("kind", KINDS)
def test_every_wording_is_well_formed(kind: str):
    for text in list_wordings(make(Setting(kind, 0, KINDS[kind].levels[0]))):
        assert re.fullmatch(r"[A-Z{][^<>]*\.", text), text
        assert not re.search(r"\s\s|\s[.,:;]|[.,:;][.,:;]|\. [a-z]|\b(\w+) \1\b", text), text


@pytest.mark.parametrize("kind", KINDS)
def test_a_draw_hangs_on_the_seed_and_is_one_of_the_wordings(kind: str):
    task = make(Setting(kind, 0, KINDS[kind].levels[0]))
    drawn = [apply_perturbations(task, PromptParaphrase(), seed=seed) for seed in range(40)]
    texts = [each.prompt.text for each in drawn]
    assert texts == [
        apply_perturbations(task, PromptParaphrase(), seed=seed).prompt.text for seed in range(40)
    ]
    assert len(set(texts)) >= FEWEST and set(texts) <= set(list_wordings(task))
    assert {each.asked for each in drawn} == {task.goal}
    assert {each.prompt.pictures for each in drawn} == {task.prompt.pictures}


def test_an_angle_a_count_and_a_direction_are_what_a_prompt_says():
    assert {*read_fields(make(Setting("T3", 0)))} == {"angle"}
    assert {*read_fields(make(Setting("T12", 0)))} == {"count"}
    assert {*read_fields(make(Setting("T16", 0)))} == {"way"}


def test_nonsense_is_not_worded_back_into_sense():
    task = apply_perturbations(make(Setting("T1", 0)), Gobbledygook(Unit.WORDS), seed=0)
    with pytest.raises(PerturbationError, match="tabletop/T1/L1: the prompt was changed before"):
        apply_perturbations(task, PromptParaphrase(), seed=0)
