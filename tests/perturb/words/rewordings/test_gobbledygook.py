from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from assay import tasks
from assay.perturb import apply_perturbations
from assay.perturb.words.distance.models import ModelError
from assay.perturb.words.rewordings import GobbledygookTokens, corrupted
from assay.perturb.words.rewordings.corrupted import random_letters, random_tokens, token_count
from assay.support.streams import stream


def test_words_keep_their_lengths_and_no_letter_has_a_meaning():
    text = "put both the alphabet soup and the cream cheese box in the basket."
    drawn = random_letters(text, stream(0))
    assert Counter(map(len, drawn.split())) == Counter(map(len, text.split()))
    assert drawn.replace(" ", "").isalpha() and any(sign.isupper() for sign in drawn)
    assert not set(drawn.lower().split()) & set(text.split())
    assert [len(word) for word in drawn.split()] != [len(word) for word in text.split()]


def test_upper_and_lower_case_are_drawn_alike():
    drawn = random_letters("x" * 10_000, stream(1))
    assert len(set(drawn)) == 52 and 0.45 < sum(sign.isupper() for sign in drawn) / len(drawn) < 0.55


@pytest.mark.parametrize("id", ["libero_goal/0", "libero_10/2", "libero_object/3", "libero_10/4"])
def test_the_number_of_sub_words_is_kept(tokenizer, id: str):
    text = tasks.load(id).instruction.text
    for seed in range(10):
        drawn = random_tokens(text, stream(seed))
        assert token_count(drawn) == token_count(text)
        assert not set(drawn.split()) & set(text.split())


def test_a_word_that_is_cut_to_pieces_keeps_their_number(tokenizer):
    text = "antidisestablishmentarianism moka bbq Schüsselchen"
    assert token_count(text) > 8
    assert all(token_count(random_tokens(text, stream(seed))) == token_count(text) for seed in range(10))


def test_without_a_tokenizer_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ASSAY_MINILM", str(tmp_path))
    corrupted._tokenizer.cache_clear()
    corrupted._vocabulary.cache_clear()
    try:
        with pytest.raises(ModelError) as caught:
            apply_perturbations(tasks.load("libero_goal/0"), (GobbledygookTokens(),), seed=0)
        assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)
    finally:
        corrupted._tokenizer.cache_clear()
        corrupted._vocabulary.cache_clear()
