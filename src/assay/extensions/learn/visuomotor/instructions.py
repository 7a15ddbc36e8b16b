"""Sentence embeddings of instructions (all-MiniLM-L6-v2), and the wordings that a network is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from assay import tasks
from assay.errors import DemonstrationError
from assay.perturb.words.distance.encoder import WIDTH, Encoder
from assay.perturb.words.distance.models import minilm_files
from assay.perturb.words.grid.generate import paraphrases

PARAPHRASES_SEED = 1_000_000
"""Seed of the training paraphrases; the experiment ``para`` uses seed 0, so that its wordings are different."""


@lru_cache(maxsize=4096)
def embed(text: str) -> np.ndarray:
    """Return the unit-length embedding of an instruction, float32, (384,); zeros for a blank instruction."""
    if not text.strip():
        return np.zeros(WIDTH, np.float32)
    return np.asarray(_encoder().sentences([text])[0], dtype=np.float32)


@cache
def _encoder() -> Encoder:
    return Encoder(minilm_files())


def wordings(instructions: Sequence[str], ids: Sequence[str], per_cell: int) -> list[list[str]]:
    """Return the wordings of each episode's instruction: the original and ``per_cell`` paraphrases per kind.

    Raises DemonstrationError if the task of an episode is unknown.
    """
    if not per_cell:
        return [[text] for text in instructions]
    if not all(ids):
        raise DemonstrationError(
            "paraphrases require a dataset from assay collect, which records the task of each episode"
        )
    added = {
        name: [paraphrase.text for paraphrase in paraphrases(tasks.load(name), per_cell, PARAPHRASES_SEED)]
        for name in dict.fromkeys(ids)
    }
    return [[text, *added[name]] for text, name in zip(instructions, ids, strict=True)]
