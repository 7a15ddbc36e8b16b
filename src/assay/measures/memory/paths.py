"""Where the hand went: many paths in one array, cut and resampled to the same number of points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.episodes.episode import Trajectory
from assay.runs.store import Store
from assay.support.jit import compiled

POINTS = 50
"""As many as LIBERO-Para uses."""
STRETCH = 1.75
"""How many times as long as another path a path may take to go the same way: a third slower and a second late."""


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """The hand's paths of episodes, one after the other."""

    ids: np.ndarray
    """The episodes that have a path of two points at least, ascending: (n,)."""
    points: np.ndarray
    """Metres, float32: (all points, 3)."""
    bounds: np.ndarray
    """Where each path begins, and where the last one ends: (n + 1,)."""

    @classmethod
    def of(cls, paths: Iterable[tuple[int, Trajectory]]) -> Paths:
        """Gather paths by their episodes' ids, which ascend."""
        hands = {
            number: path.end_effector
            for number, path in paths
            if len(path.end_effector) > 1 and np.isfinite(path.end_effector).all()
        }
        lengths = [len(hand) for hand in hands.values()]
        points = np.concatenate(list(hands.values())) if hands else np.zeros((0, 3), np.float32)
        return cls(
            np.array(list(hands), np.int64), points, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        )

    @classmethod
    def read(cls, store: Store) -> Paths:
        """The paths of all episodes of a run."""
        return cls.of(store.trajectories())

    def has(self, ids: np.ndarray) -> np.ndarray:
        """Which of the episodes have a path: (len(ids),)."""
        return np.isin(ids, self.ids)

    def lengths(self, ids: np.ndarray) -> np.ndarray:
        """How many points episodes' paths have: (len(ids),)."""
        which = np.searchsorted(self.ids, ids)
        return np.asarray(self.bounds[which + 1] - self.bounds[which])

    def first(self, ids: np.ndarray) -> np.ndarray:
        """Where episodes' paths begin: (len(ids), 3)."""
        return np.asarray(self.points[self.bounds[np.searchsorted(self.ids, ids)]])

    def resampled(self, ids: np.ndarray, most: np.ndarray | None = None) -> np.ndarray:
        """Episodes' paths as 50 points at even times, float32: (len(ids), 50, 3).

        Of each path only the first ``most`` points count. Every episode must have a path.
        """
        first, lengths = self.bounds[np.searchsorted(self.ids, ids)], self.lengths(ids)
        if most is not None:
            lengths = np.minimum(lengths, np.maximum(most, 2))
        counts = np.full(len(ids), POINTS)
        return np.asarray(_sample(self.points, first, lengths, (lengths - 1) / (POINTS - 1), counts, POINTS))

    def beginnings(self, ids: np.ndarray, durations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Episodes' paths as points in the time in which durations (len(ids),) have 50, and how many there are.

        (len(ids), most, 3), float32, and (len(ids),): up to 1.75 times the duration, given in points as recorded.
        """
        stride = (np.maximum(durations, 2) - 1) / (POINTS - 1)
        most = int(STRETCH * POINTS)
        counts = np.clip((self.lengths(ids) - 1) // stride + 1, 1, most).astype(np.int64)
        first = self.bounds[np.searchsorted(self.ids, ids)]
        return np.asarray(_sample(self.points, first, self.lengths(ids), stride, counts, most)), counts


@compiled
def _sample(
    points: np.ndarray,
    first: np.ndarray,
    lengths: np.ndarray,
    stride: np.ndarray,
    counts: np.ndarray,
    most: int,
) -> np.ndarray:
    result = np.zeros((len(first), most, 3), np.float32)
    for path in range(len(first)):
        for step in range(counts[path]):
            time = min(step * stride[path], lengths[path] - 1.0)
            before = min(int(time), lengths[path] - 2)
            part = time - before
            row = first[path] + before
            for axis in range(3):
                result[path, step, axis] = (1 - part) * points[row, axis] + part * points[row + 1, axis]
    return result
