from __future__ import annotations

import re
from collections import Counter

import pytest

from assay.extensions.tabletop.prompts.perturbations import Gobbledygook, Unit
from assay.extensions.tabletop.tasks import KINDS, make
from assay.extensions.tabletop.tasks.task import Setting, TableTask
from assay.perturb import apply_perturbations
from assay.perturb.words.rewordings.corrupted import sub_words, token_count

SYNONYMS = {
    "put": "put place set lay drop deposit insert stow store stick move bring carry transfer take lift pick grab",
    "rotate": "rotate turn spin pivot swivel twist revolve twirl degrees angle clockwise",
    "arrange": "arrange rearrange reposition reorder reorganize organise match recreate copy layout setup scene",
    "restore": "restore return undo reverse revert back original initial",
    "follow": "follow copy imitate repeat motion movement move guide",
    "stack": "stack pile tower build construct order sequence",
    "sweep": "sweep brush push shove move exceed cross touch contact limit boundary",
    "same": "same identical similar matching texture pattern look profile shape form outline",
    "first": "first then finally before previously next north south east west",
}
COMMANDS = {
    "T1": "put", "T2": "put", "T3": "rotate", "T4": "arrange", "T5": "arrange restore", "T6": "put", "T7": "put",
    "T8": "put", "T9": "rotate", "T10": "follow", "T11": "stack", "T12": "sweep", "T13": "sweep", "T14": "put same",
    "T15": "put same", "T16": "put first", "T17": "put restore first",
}  # fmt: skip
PROMPTS = 300


def shown(text: str) -> list[str]:
    return [word for word in text.split() if "{" in word]


def spoken(text: str) -> list[str]:
    return [word for word in text.split() if "{" not in word]


def task_of(kind: str, seed: int = 0) -> TableTask:
    return make(Setting(kind, seed, KINDS[kind].levels[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_words_keep_their_number_and_lengths_between_the_same_pictures(kind: str):
    task = task_of(kind)
    before, after = task.prompt.text, apply_perturbations(task, Gobbledygook(Unit.WORDS), seed=3).prompt.text
    assert Counter(map(len, spoken(before))) == Counter(map(len, spoken(after)))
    assert [bool(shown(word)) for word in before.split()] == [bool(shown(word)) for word in after.split()]
    assert shown(before) == shown(after)
    assert re.fullmatch("[A-Za-z]+", "".join(spoken(after)))


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_keep_the_number_of_sub_words_between_the_same_pictures(kind: str):
    task = task_of(kind)
    before, after = task.prompt.text, apply_perturbations(task, Gobbledygook(Unit.TOKENS), seed=3).prompt.text
    assert sum(map(token_count, spoken(before))) == sum(map(token_count, spoken(after)))
    assert shown(before) == shown(after)
    assert len(spoken(after)) >= len(spoken(before))


@pytest.mark.parametrize("kind", KINDS)
def test_no_synonym_of_the_command_survives_in_three_hundred_prompts(kind: str):
    """Neither as a word nor as a sub-word, nor any word of the prompt itself."""
    task = task_of(kind)
    told = {word for each in COMMANDS[kind].split() for word in SYNONYMS[each].split()}
    told |= {
        word for word in re.findall("[a-z]+", " ".join(spoken(task.prompt.text)).lower()) if len(word) > 1
    }
    drawn = set()
    for seed in range(PROMPTS):
        text = apply_perturbations(task, Gobbledygook(Unit.TOKENS), seed=seed).prompt.text
        words = spoken(text)
        assert not told.intersection(words), text
        assert not told.intersection(sub_words(" ".join(words))), text
        drawn.update(words)
    assert len(drawn) > PROMPTS  # words come from a large vocabulary, not from a few


def test_nothing_can_be_done_by_nonsense_and_its_words_say_so():
    task = make(Setting("T1", 0))
    changed = apply_perturbations(task, Gobbledygook(Unit.WORDS), seed=0)
    assert changed.asked is None and changed.prompt.pictures == task.prompt.pictures
    letters = r"[A-Za-z]{3} [A-Za-z]{3} \[[^]]+\] [A-Za-z]{3,4} [A-Za-z]{3,4} \[[^]]+\]\."
    assert re.fullmatch(letters, changed.prompt.words)


def test_other_seeds_give_other_nonsense():
    task = make(Setting("T9", 0))
    for unit in Unit:
        drawn = {apply_perturbations(task, Gobbledygook(unit), seed=seed).prompt.text for seed in range(9)}
        assert len(drawn) == 9
