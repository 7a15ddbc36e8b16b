from __future__ import annotations

import numpy as np
import pytest

from assay.perturb.words.distance.encoder import BATCH_TOKENS, MOST_TOKENS, WIDTH
from assay.perturb.words.distance.scorer import Scorer


def test_vectors_have_length_one(models: Scorer):
    vectors = models.embedding.sentences(["bowl", "put the bowl on the plate", "ramekin"])
    assert vectors.shape == (3, WIDTH)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


def test_a_vector_does_not_hang_on_the_others(models: Scorer):
    others = [f"{word}{ending}" for word in ("bowl", "plate", "stove") for ending in ("", "s", " rack", "ly")]
    assert len(others) * 4 * 20 > BATCH_TOKENS
    alone = models.embedding.sentences(["stove"])[0]
    among = models.embedding.sentences(others * 20)[others.index("stove")]
    assert np.abs(alone - among).max() < 1e-13


def test_case_and_accents_do_not_matter_to_the_model(models: Scorer):
    plain, other = models.embedding.sentences(["cafe", "Café"])
    assert plain == pytest.approx(other)


def test_near_words_are_nearer(models: Scorer):
    stove, oven, cheese = models.embedding.sentences(["stove", "oven", "cheese"])
    assert stove @ oven > 0.6 > 0.4 > stove @ cheese


def test_there_is_one_vector_for_each_sub_word(models: Scorer):
    one, many, none = models.embedding.tokens(["bowl", "ramekin", "\u0301"])
    assert one.shape == (1, WIDTH) and many.shape == (3, WIDTH) and none.shape == (0, WIDTH)


def test_what_is_too_long_for_the_model_is_cut_off(models: Scorer):
    (vectors,) = models.embedding.tokens(["bowl " * 1000])
    assert len(vectors) == MOST_TOKENS - 2


def test_nothing_gives_no_vectors(models: Scorer):
    assert models.embedding.sentences([]).shape == (0, WIDTH)
