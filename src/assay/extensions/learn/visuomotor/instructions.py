"""Instructions as vectors, by all-MiniLM-L6-v2; and the wordings that a network is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from assay import tasks
from assay.extensions.learn.demonstrations.errors import DemonstrationError
from assay.perturb.words.distance.encoder import WIDTH, Encoder
from assay.perturb.words.distance.models import minilm_files
from assay.perturb.words.grid.generate import paraphrases

PARAPHRASES_SEED = 1_000_000
"""Paraphrases for training are drawn by another seed than those of the experiment ``para``, which has 0."""


@lru_cache(maxsize=4096)
def embedded(text: str) -> np.ndarray:
    """An instruction's vector, float32, (384,), of length one; zeros where it says nothing."""
    if not text.strip():
        return np.zeros(WIDTH, np.float32)
    return np.asarray(_encoder().sentences([text])[0], dtype=np.float32)


@cache
def _encoder() -> Encoder:
    return Encoder(minilm_files())


def wordings(instructions: Sequence[str], ids: Sequence[str], per_cell: int) -> list[list[str]]:
    """For each episode the wordings of its instruction: its own, and paraphrases, ``per_cell`` of each cell.

    Raises DemonstrationError where there is no task to make paraphrases from.
    """
    if not per_cell:
        return [[text] for text in instructions]
    if not all(ids):
        raise DemonstrationError("paraphrases need data sets of assay collect, which say what the task is")
    made = {
        name: [paraphrase.text for paraphrase in paraphrases(tasks.load(name), per_cell, PARAPHRASES_SEED)]
        for name in dict.fromkeys(ids)
    }
    return [[text, *made[name]] for text, name in zip(instructions, ids, strict=True)]
