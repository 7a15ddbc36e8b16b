"""Actions outside [-1, 1], which the robot's controller cuts: how many, and what that may mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

from assay.episodes import Episode

MANY = 0.1
"""The share of cut actions from which on it is worth a warning."""


class Clipping(NamedTuple):
    """Counts over the episodes in which the world cuts actions."""

    episodes: int
    affected: int
    """Episodes with an action that was cut."""
    cut: int
    """Actions that were cut."""
    actions: int

    @classmethod
    def of(cls, episodes: Iterable[Episode]) -> Self:
        """Counted over episodes."""
        known = [(episode.clipped, episode.steps) for episode in episodes if episode.clipped is not None]
        return cls(
            len(known),
            sum(cut > 0 for cut, _ in known),
            sum(cut for cut, _ in known),
            sum(steps for _, steps in known),
        )

    @property
    def share(self) -> float:
        """Of all actions."""
        return self.cut / self.actions if self.actions else 0.0

    @property
    def warning(self) -> str:
        """What to say where many were cut; empty where few were."""
        if self.share < MANY:
            return ""
        return (
            f"{100 * self.share:.0f} % of the actions ({self.cut:,} of {self.actions:,}, in {self.affected:,} of "
            f"{self.episodes:,} episodes) were outside [-1, 1] and were cut to it: does the policy return "
            "normalised actions? (docs/policies.md, Pitfalls)"
        )
