from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import PerturbationError
from assay.perturb.words.rewordings.corrupted import NEIGHBOURS, Typos, mistype
from assay.support.streams import stream

TEXT = "pick up the chocolate pudding and place it in the basket"


def slip(word: str, typed: str) -> str:
    """What happened to a word."""
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


def test_each_slip_is_one_of_three_kinds_and_spares_the_first_letter():
    kinds = set()
    for seed in range(60):
        for word, typed in zip(TEXT.split(), mistype(TEXT, 0.5, stream(seed)).split(), strict=True):
            if word != typed:
                assert len(word) >= 4 and word[0] == typed[0]
                kinds.add(slip(word, typed))
    assert kinds == {"missing", "neighbour", "swapped"}


@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.5, 3), (1.0, 5)])
def test_the_share_says_in_how_many_words(share: float, count: int):
    typed = mistype(TEXT, share, stream(0)).split()  # pick, chocolate, pudding, place, basket
    assert sum(a != b for a, b in zip(TEXT.split(), typed, strict=True)) == count


def test_neighbours_are_neighbours_both_ways():
    assert all(key in NEIGHBOURS[other] for key, others in NEIGHBOURS.items() for other in others)


@given(text=st.from_regex(r"[a-zA-Zäé]{2,9}( [a-z']{1,9}){0,4}", fullmatch=True), seed=st.integers(0, 99))
def test_something_always_changes(text: str, seed: int):
    assert mistype(text, 0.4, stream(seed)) != text


def test_words_that_are_too_short_are_refused():
    with pytest.raises(PerturbationError, match="long enough"):
        mistype("a 7 % .", 0.4, stream(0))


@pytest.mark.parametrize("share", [0.0, 2.0, float("nan")])
def test_a_share_out_of_range_is_refused(share: float):
    with pytest.raises(PerturbationError, match="above 0 and at most 1"):
        Typos(share)
