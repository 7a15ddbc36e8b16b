"""What a policy has seen and done so far in an episode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from assay.extensions.tabletop.networks.shift import moved, moved_bins
from assay.extensions.tabletop.networks.tokens import Sight

LATEST = 3
"""So many observations are remembered, the present one among them, besides the first of the episode."""
OLDEST = 15
"""Actions ago; what is older counts as this old."""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Observations and actions in their order; the last observation is the present."""

    seen: tuple[Sight, ...]
    done: np.ndarray
    """Where the actions between them lay in bins, (len(seen) - 1, 5)."""

    @property
    def now(self) -> Sight:
        """The present."""
        return self.seen[-1]

    def remembered(self) -> Iterator[tuple[int, Sight]]:
        """What the networks are shown: how many actions ago, at most `OLDEST`, and what was seen then."""
        last = len(self.seen) - 1
        for place in sorted({0, *range(max(0, len(self.seen) - LATEST), len(self.seen))}, reverse=True):
            yield min(last - place, OLDEST), self.seen[place]

    def moved(self, way: np.ndarray) -> History:
        """The same with everything elsewhere on the table, a way (x, y), metres."""
        seen = list(self.seen)
        for place in {0, *range(max(0, len(seen) - LATEST), len(seen))}:
            seen[place] = moved(seen[place], way)
        return History(tuple(seen), moved_bins(self.done, way))

    def permuted(self, rng: np.random.Generator) -> History:
        """The same with objects in another order at every observation."""
        return replace(self, seen=tuple(each.permuted(rng) for each in self.seen))
