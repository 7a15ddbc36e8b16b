from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.rewordings.corrupted import (
    FUNCTION_WORDS,
    UNRELATED,
    Substitute,
    shuffle_words,
    substitute_words,
)
from assay.support.streams import stream
from assay.tasks.language.lexicon import names_of, words


def test_shuffling_keeps_every_word():
    text = "put both the alphabet soup and the tomato sauce in the basket"
    mixed = shuffle_words(text, stream(0))
    assert Counter(mixed.split()) == Counter(text.split()) and mixed != text


def test_shuffling_never_gives_another_way_to_say_it():
    drawn = {shuffle_words("turn on the stove", stream(seed)) for seed in range(200)}
    assert len(drawn) > 3 and not drawn & {"turn the stove on", "turn on the stove", "the stove turn on"}


@pytest.mark.parametrize("text", ["xxx", "go go go"])
def test_where_there_is_no_other_order_it_is_refused(text: str):
    with pytest.raises(PerturbationError, match="no two words to change places"):
        shuffle_words(text, stream(0))


@given(said=st.lists(st.sampled_from(["a", "b"]), min_size=2, max_size=6).filter(lambda w: len(set(w)) > 1))
def test_two_words_are_enough(said: list[str]):
    mixed = shuffle_words(" ".join(said), stream(0))
    assert mixed.split() != said and Counter(mixed.split()) == Counter(said)


@pytest.mark.parametrize("id", tasks.all_ids())
def test_names_of_things_are_replaced_first(id: str):
    task = tasks.load(id)
    named = {word for each in task.scene.entities for form in names_of(each.category) for word in words(form)}
    text = task.instruction.text
    changed = substitute_words(text, task.scene, 0.5, stream(3))
    pairs = list(zip(text.split(), changed.split(), strict=True))
    replaced = [(old, new) for old, new in pairs if old != new]
    assert all(old not in FUNCTION_WORDS and new in UNRELATED and new not in named for old, new in replaced)
    kept = [old for old, new in pairs if old == new and old not in FUNCTION_WORDS]
    assert all(old in named for old, _ in replaced) or not any(old in named for old in kept)


def test_the_share_says_how_many():
    task = tasks.load("libero_goal/0")
    text = task.instruction.text  # open, middle, drawer, cabinet
    for share, count in ((0.01, 1), (0.25, 1), (0.5, 2), (0.6, 3), (1.0, 4)):
        changed = substitute_words(text, task.scene, share, stream(0))
        assert sum(a != b for a, b in zip(text.split(), changed.split(), strict=True)) == count


@pytest.mark.parametrize("share", [0.0, -1.0, 1.01, float("nan")])
def test_a_share_out_of_range_is_refused(share: float):
    with pytest.raises(PerturbationError, match="above 0 and at most 1"):
        Substitute(share)
