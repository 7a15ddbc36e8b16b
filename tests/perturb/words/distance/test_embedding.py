from __future__ import annotations

import numpy as np

from assay.perturb.words.distance.encoder import BATCH_TOKENS, MOST_TOKENS, WIDTH
from assay.perturb.words.distance.scorer import Scorer


def test_a_vector_does_not_hang_on_the_others(models: Scorer):
    others = [f"{word}{ending}" for word in ("bowl", "plate", "stove") for ending in ("", "s", " rack", "ly")]
    assert len(others) * 4 * 20 > BATCH_TOKENS
    alone = models.embedding.sentences(["stove"])[0]
    among = models.embedding.sentences(others * 20)[others.index("stove")]
    assert np.abs(alone - among).max() < 1e-13


def test_there_is_one_vector_for_each_sub_word(models: Scorer):
    one, many, none = models.embedding.tokens(["bowl", "ramekin", "\u0301"])
    assert one.shape == (1, WIDTH) and many.shape == (3, WIDTH) and none.shape == (0, WIDTH)


def test_what_is_too_long_for_the_model_is_cut_off(models: Scorer):
    (vectors,) = models.embedding.tokens(["bowl " * 1000])
    assert len(vectors) == MOST_TOKENS - 2
