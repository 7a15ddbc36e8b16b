"""Whether the main camera sees the things of a scene, and the places they go to."""

from __future__ import annotations

from assay.sim import Simulation
from assay.sim.visibility import MAIN, regions_seen_now, seen_now

SEEN = 0.7
"""The share of a thing, or of a place, that must be in view: a new scene can always be drawn again."""


def hidden(world: Simulation) -> list[str]:
    """The movable things of which too little is seen: out of the picture, or behind something."""
    return [name for name, (view,) in seen_now(world, (MAIN,)).items() if not view.is_visible(SEEN)]


def hidden_regions(world: Simulation) -> set[str]:
    """The regions of the workspace of which too little is seen, with something low on them."""
    return {name for name, (view,) in regions_seen_now(world, (MAIN,)).items() if not view.is_visible(SEEN)}
