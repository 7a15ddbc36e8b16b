"""Settings of a network (inputs, action head, sizes), and the encoding of instructions and proprioception."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache, lru_cache

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.spatial.transform import Rotation

from assay import tasks
from assay.errors import DemonstrationError
from assay.perturb.words.distance.encoder import WIDTH, Encoder
from assay.perturb.words.distance.models import minilm_files
from assay.perturb.words.grid.generate import paraphrases

PROPRIOCEPTION_WIDTH = 11


class Head(StrEnum):
    """Action head of a network."""

    REGRESSION = "regression"
    """Predict a chunk with an L1 loss, as ACT and OpenVLA-OFT do."""
    BINS = "bins"
    """Predict each action component as one of 256 bins, as OpenVLA does."""
    FLOW = "flow"
    """Integrate a learned velocity from noise to a chunk, as pi0 does."""


class Input(StrEnum):
    """Inputs that can be withheld from a network."""

    WORDS = "words"
    IMAGES = "images"
    STATE = "state"
    """Proprioception: end-effector pose and finger positions."""


class NetworkSettings(BaseModel):
    """Shape and inputs of a network."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    head: Head = Head.REGRESSION
    without: tuple[Input, ...] = ()
    """Inputs that are withheld."""
    pixels: int = Field(default=64, ge=32, le=128, multiple_of=16)
    """Height and width of the input images, in pixels."""
    chunk: int = Field(default=16, ge=1, le=64)
    """Number of actions predicted at once."""
    width: int = Field(default=256, ge=16, le=2048)
    """Width of the hidden layers."""


def proprioception(states: np.ndarray) -> np.ndarray:
    """Convert states (n, 8) with axis-angle rotations to float32 (n, 11) with two columns of the rotation matrix.

    The gripper points down, half a turn from the world's axes, where the axis-angle vector is discontinuous and the
    matrix is not.
    """
    columns = Rotation.from_rotvec(states[:, 3:6]).as_matrix()[:, :, :2].reshape(len(states), 6)
    return np.concatenate([states[:, :3], columns, states[:, 6:]], axis=1).astype(np.float32)


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
