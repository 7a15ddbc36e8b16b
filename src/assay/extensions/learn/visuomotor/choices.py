"""What can be chosen of a network."""

from __future__ import annotations

from enum import StrEnum


class Head(StrEnum):
    """How a network gives actions."""

    REGRESSION = "regression"
    """A whole chunk by the least absolute error, as ACT and OpenVLA-OFT."""
    BINS = "bins"
    """Each number as one of 256 bins, as OpenVLA."""
    FLOW = "flow"
    """A chunk that flows from noise along a learned velocity, as pi0."""


class Input(StrEnum):
    """What can be kept from a network."""

    WORDS = "words"
    IMAGES = "images"
    STATE = "state"
    """Proprioception: pose of the hand and the fingers."""
