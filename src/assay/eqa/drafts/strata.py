"""In which order actions are asked about: those that have a rare dimension as often as those that have a common one.

The order hangs on what options are chosen around, never on which of them will be right: else the component that is
asked about more often than it occurs among the options would give the answer away.
"""

from __future__ import annotations

from itertools import chain, zip_longest

import numpy as np


def in_turn(patterns: np.ndarray, rng: np.random.Generator) -> list[int]:
    """Places of patterns of signs (n, 7): one whose rarest dimension is X, one whose is Y, ..., while they last."""
    moved = patterns != 0
    often = np.where(moved, moved.sum(axis=0), len(patterns) + 1)
    rarest = often.argmin(axis=1) if len(patterns) else np.zeros(0, dtype=int)
    order = rng.permutation(len(patterns))
    strata = [order[rarest[order] == dimension].tolist() for dimension in range(patterns.shape[1])]
    return [place for place in chain(*zip_longest(*strata)) if place is not None]
