"""What is done first when something happened during an episode: what is held is set down where it stood."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.policies.oracle.motion import OPEN, Motion, grip, move
from assay.policies.oracle.placing import put_back
from assay.policies.oracle.sight import Sight

FINGERS = 2
OFF = 0.015
"""How far above where it stood a thing is off the ground, metres."""

Stood = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""Where things stood: name -> position (3,) and rotation (3, 3)."""


def standing(sight: Sight) -> Stood:
    """Where the movable things are now."""
    return {movable.name: sight.pose(movable) for movable in sight.movables()}


def set_down(sight: Sight, stood: Stood) -> Motion:
    """Set down what is held where it stood, open the hand, and draw back."""
    for thing in sight.movables():
        if thing.name in stood and sight.touched(thing) == FINGERS:
            origin, rotation = stood[thing.name]
            if sight.pose(thing)[0][2] - origin[2] > OFF:
                yield from put_back(sight, thing, origin, rotation)
            yield from grip(sight, OPEN, steps=6)
            here, turned = sight.hand()
            yield from move(sight, here + (0.0, 0.0, 0.06), turned, OPEN, steps=12, near=0.02)
    return True
