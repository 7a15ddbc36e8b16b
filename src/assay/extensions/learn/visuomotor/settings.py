"""Settings of a network: inputs, action head and sizes."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.spatial.transform import Rotation

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
