from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay import tasks
from assay.errors import PerturbationError
from assay.measures.frames import find_renamed
from assay.perturb.words.rewordings.corrupted import (
    FUNCTION_WORDS,
    NEIGHBOURS,
    UNRELATED,
    Form,
    Shuffle,
    Substitute,
    Surface,
    Typos,
    random_letters,
    random_tokens,
    token_count,
)
from assay.support.streams import stream
from assay.tasks.language.lexicon import names_of, words

from .conftest import Reword

TEXT = "pick up the chocolate pudding and place it in the basket"
shared_fixtures = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_surface_forms_keep_the_words(reword: Reword):
    texts = {form.value: reword(Surface(form), "put the bowl on the stove") for form in Form}
    assert texts == {
        "full_stop": "put the bowl on the stove.",
        "capital": "Put the bowl on the stove",
        "capitals": "PUT THE BOWL ON THE STOVE",
        "task": "Task: put the bowl on the stove",
        "quotes": '"put the bowl on the stove"',
        "blanks": "put  the  bowl  on  the  stove",
        "please": "please put the bowl on the stove",
    }
    assert all(find_renamed("libero_goal/1", text) == "" for text in texts.values())
    for form in (Form.FULL_STOP, Form.CAPITAL):
        with pytest.raises(
            PerturbationError, match=r"words/surface: libero_goal/1: 'Put .* already has the form"
        ):
            reword(Surface(form), "Put the bowl on the stove.")


def name_typo(word: str, typed: str) -> str:
    if len(typed) == len(word) - 1:
        assert any(word[:place] + word[place + 1 :] == typed for place in range(1, len(word)))
        return "missing"
    wrong = [place for place in range(len(word)) if word[place] != typed[place]]
    if len(wrong) == 1:
        assert typed[wrong[0]] in NEIGHBOURS[word[wrong[0]]]
        return "neighbour"
    first, second = wrong
    assert second == first + 1 and typed[first] == word[second] and typed[second] == word[first]
    return "swapped"


def test_typos_are_of_three_kinds_and_spare_the_first_letter(reword: Reword):
    kinds = set()
    for seed in range(60):
        for word, typed in zip(TEXT.split(), reword(Typos(0.5), TEXT, seed).split(), strict=True):
            if word != typed:
                assert len(word) >= 4 and word[0] == typed[0]
                kinds.add(name_typo(word, typed))
    assert kinds == {"missing", "neighbour", "swapped"}
    assert all(key in NEIGHBOURS[other] for key, others in NEIGHBOURS.items() for other in others)
    with pytest.raises(PerturbationError, match="long enough"):
        reword(Typos(), "a 7 % .")


@shared_fixtures
@given(text=st.from_regex(r"[a-zA-Zäé]{2,9}( [a-z']{1,9}){0,4}", fullmatch=True), seed=st.integers(0, 99))
def test_typos_always_change_something(reword: Reword, text: str, seed: int):
    assert reword(Typos(), text, seed) != text


def count_changes(text: str, changed: str) -> int:
    return sum(a != b for a, b in zip(text.split(), changed.split(), strict=True))


def test_the_share_sets_how_many_words_change(reword: Reword):
    # long enough: pick, chocolate, pudding, place, basket; content words: open, middle, drawer, cabinet
    assert [count_changes(TEXT, reword(Typos(share), TEXT)) for share in (0.01, 0.5, 1.0)] == [1, 3, 5]
    text = "open the middle drawer of the cabinet"
    shares = (0.01, 0.25, 0.5, 0.6, 1.0)
    assert [count_changes(text, reword(Substitute(share), text)) for share in shares] == [1, 1, 2, 3, 4]
    for change in (Typos, Substitute):
        for share in (0.0, -1.0, 1.01, float("nan")):
            with pytest.raises(PerturbationError, match=r"expected 0 to 1|nothing is changed"):
                change(share)


def test_substitution_replaces_names_of_objects_first(reword: Reword):
    for task in tasks.resolve("all"):
        named = {
            word
            for entity in task.scene.entities
            for form in names_of(entity.category)
            for word in words(form)
        }
        text = task.instruction.text
        pairs = list(zip(text.split(), reword(Substitute(), text, 3, task.id).split(), strict=True))
        replaced = [(old, new) for old, new in pairs if old != new]
        assert all(
            old not in FUNCTION_WORDS and new in UNRELATED and new not in named for old, new in replaced
        )
        unchanged = [old for old, new in pairs if old == new and old not in FUNCTION_WORDS]
        assert all(old in named for old, _ in replaced) or not any(old in named for old in unchanged)


def test_shuffling_never_gives_another_valid_order(reword: Reword):
    drawn = {reword(Shuffle(), "turn on the stove", seed) for seed in range(100)}
    assert len(drawn) > 3 and not drawn & {"turn the stove on", "turn on the stove", "the stove turn on"}
    for text in ("xxx", "go go go"):
        with pytest.raises(PerturbationError, match="all words of the instruction are the same"):
            reword(Shuffle(), text)


def test_random_letters_keep_word_lengths():
    text = "put both the alphabet soup and the cream cheese box in the basket."
    drawn = random_letters(text, stream(0))
    assert Counter(map(len, drawn.split())) == Counter(map(len, text.split()))
    assert not set(drawn.lower().split()) & set(text.split())
    drawn = random_letters("x" * 10_000, stream(1))
    assert len(set(drawn)) == 52 and 0.45 < sum(letter.isupper() for letter in drawn) / len(drawn) < 0.55


def test_random_tokens_keep_the_number_of_sub_words(tokenizer):
    texts = [tasks.load(id).instruction.text for id in ("libero_goal/0", "libero_10/2", "libero_10/4")]
    for text in (*texts, "antidisestablishmentarianism moka bbq Schüsselchen"):
        for seed in range(6):
            drawn = random_tokens(text, stream(seed))
            assert token_count(drawn) == token_count(text)
            assert not set(drawn.split()) & set(text.split())
