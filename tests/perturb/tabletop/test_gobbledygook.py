from __future__ import annotations

import re
from collections import Counter

import pytest

from assay.perturb import apply_perturbations
from assay.perturb.tabletop import Gobbledygook, Unit
from assay.perturb.tabletop.gobbledygook import tokens
from assay.perturb.tabletop.grammar import vocabulary
from assay.tabletop import KINDS, Setting, make


def shown(text: str) -> list[str]:
    return [word for word in text.split() if "{" in word]


def spoken(text: str) -> list[str]:
    return [word for word in text.split() if "{" not in word]


@pytest.mark.parametrize("kind", KINDS)
def test_words_keep_their_number_and_lengths_between_the_same_pictures(kind: str):
    task = make(Setting(kind, 0, KINDS[kind].levels[0]))
    before, after = task.prompt.text, apply_perturbations(task, Gobbledygook(Unit.WORDS), seed=3).prompt.text
    assert Counter(map(len, spoken(before))) == Counter(map(len, spoken(after)))
    assert [bool(shown(word)) for word in before.split()] == [bool(shown(word)) for word in after.split()]
    assert shown(before) == shown(after)
    assert re.fullmatch("[A-Za-z]+", "".join(spoken(after)))
    longer = {word.lower() for word in spoken(before) if len(word) > 3}
    assert not longer & {word.lower() for word in spoken(after)}


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_keep_their_number_and_are_words_that_prompts_use(kind: str):
    task = make(Setting(kind, 0, KINDS[kind].levels[0]))
    before, after = task.prompt.text, apply_perturbations(task, Gobbledygook(Unit.TOKENS), seed=3).prompt.text
    assert len(tokens(before)) == len(tokens(after))
    assert shown(before) == shown(after)
    assert set(spoken(after)) <= set(vocabulary())
    assert not {word.lower() for word in tokens(before)} & set(spoken(after))


def test_nothing_can_be_done_by_nonsense_and_its_words_say_so():
    task = make(Setting("T1", 0))
    changed = apply_perturbations(task, Gobbledygook(Unit.WORDS), seed=0)
    assert changed.asked is None and changed.prompt.pictures == task.prompt.pictures
    assert re.fullmatch(r"[A-Za-z]{3} \[[^]]+\] [A-Za-z]{4} \[[^]]+\]\.", changed.prompt.words)


def test_other_seeds_give_other_nonsense():
    task = make(Setting("T9", 0))
    for unit in Unit:
        assert (
            len({apply_perturbations(task, Gobbledygook(unit), seed=seed).prompt.text for seed in range(9)})
            == 9
        )


def test_a_token_is_a_word_a_mark_or_a_picture():
    assert tokens("Put the L-shaped {base_obj}, then stop.") == [
        "Put", "the", "L", "-", "shaped", "picture", ",", "then", "stop", ".",
    ]  # fmt: skip
