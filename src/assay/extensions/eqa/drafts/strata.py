"""In which order actions are asked about: those that have a rare dimension as often as those that have a common one.

The order hangs on what options are chosen around, never on which of them will be right: else the component that is
asked about more often than it occurs among the options would give the answer away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, zip_longest

import numpy as np


def in_turn(patterns: np.ndarray, owners: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Places of patterns of signs (n, 7): one whose rarest dimension is X, one whose is Y, ..., while they last.

    ``owners`` are the episodes of the patterns, (n,): of each dimension, they take turns.
    """
    moved = patterns != 0
    often = np.where(moved, moved.sum(axis=0), len(patterns) + 1)
    rarest = often.argmin(axis=1) if len(patterns) else np.zeros(0, dtype=int)
    order = rng.permutation(len(patterns))
    names = rng.permutation(np.unique(owners)).tolist()
    rank = {name: place for place, name in enumerate(names)}
    strata = []
    for dimension in range(patterns.shape[1]):
        seen: Counter[int] = Counter()
        turns = {}
        ahead = (
            dimension * len(names) // patterns.shape[1]
        )  # so that no two dimensions begin with one episode
        for place in order[rarest[order] == dimension].tolist():
            turns[place] = seen[owners[place]], (rank[owners[place]] - ahead) % len(names)
            seen[owners[place]] += 1
        strata.append(sorted(turns, key=turns.__getitem__))
    return [place for place in chain(*zip_longest(*strata)) if place is not None]
