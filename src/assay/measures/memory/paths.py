"""Trajectories of the end effector: storage, resampling, and exact dynamic time warping."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.episodes.episode import Trajectory
from assay.runs.store import Store
from assay.support.jit import machine_code

POINTS = 50
"""Number of points of a resampled trajectory, as in LIBERO-Para."""
STRETCH = 1.75
"""Maximum relative duration of a trajectory that follows another: a third slower and a second late."""


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Trajectories of episodes in one array."""

    ids: np.ndarray
    """Ids of episodes with a trajectory of at least two points, ascending: (n,)."""
    points: np.ndarray
    """Points of all trajectories, metres, float32: (all points, 3)."""
    bounds: np.ndarray
    """Index of the first point of each trajectory, and of the end of the last one: (n + 1,)."""

    @classmethod
    def of(cls, paths: Iterable[tuple[int, Trajectory]]) -> Paths:
        """Collect trajectories by ascending episode ids."""
        by_id = {
            number: path.end_effector
            for number, path in paths
            if len(path.end_effector) > 1 and np.isfinite(path.end_effector).all()
        }
        lengths = [len(points) for points in by_id.values()]
        points = np.concatenate(list(by_id.values())) if by_id else np.zeros((0, 3), np.float32)
        return cls(
            np.array(list(by_id), np.int64), points, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        )

    @classmethod
    def read(cls, store: Store) -> Paths:
        """Read the trajectories of all episodes of a run."""
        return cls.of(store.trajectories())

    def has(self, ids: np.ndarray) -> np.ndarray:
        """Return whether episodes have a trajectory: (len(ids),)."""
        return np.isin(ids, self.ids)

    def lengths(self, ids: np.ndarray) -> np.ndarray:
        """Return the number of points of trajectories: (len(ids),)."""
        which = np.searchsorted(self.ids, ids)
        return np.asarray(self.bounds[which + 1] - self.bounds[which])

    def first(self, ids: np.ndarray) -> np.ndarray:
        """Return the first points of trajectories: (len(ids), 3)."""
        return np.asarray(self.points[self.bounds[np.searchsorted(self.ids, ids)]])

    def resample(self, ids: np.ndarray, most: np.ndarray | None = None) -> np.ndarray:
        """Resample trajectories to 50 points at even times, float32: (len(ids), 50, 3).

        Only the first ``most`` points of each are used. Every episode must have a trajectory.
        """
        first, lengths = self.bounds[np.searchsorted(self.ids, ids)], self.lengths(ids)
        if most is not None:
            lengths = np.minimum(lengths, np.maximum(most, 2))
        counts = np.full(len(ids), POINTS)
        return np.asarray(_sample(self.points, first, lengths, (lengths - 1) / (POINTS - 1), counts, POINTS))

    def beginnings(self, ids: np.ndarray, durations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Resample trajectories at the rate that gives ``durations`` (len(ids),) 50 points; returns points and counts.

        (len(ids), most, 3), float32, and (len(ids),): up to 1.75 times the duration, which is in recorded points.
        """
        stride = (np.maximum(durations, 2) - 1) / (POINTS - 1)
        most = int(STRETCH * POINTS)
        counts = np.clip((self.lengths(ids) - 1) // stride + 1, 1, most).astype(np.int64)
        first = self.bounds[np.searchsorted(self.ids, ids)]
        return np.asarray(_sample(self.points, first, self.lengths(ids), stride, counts, most)), counts


@machine_code
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


def distances(paths: np.ndarray, references: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
    """Return the distance of each path (n, k, 3) from its reference (m, k, 3), metres: (n,).

    ``which`` (n,) is the index of each path's reference; by default they correspond one to one. The distance is the
    sum of Euclidean distances along the best warping, divided by the number of points.
    """
    lengths = np.full(len(paths), paths.shape[1])
    which = np.arange(len(paths)) if which is None else which
    return np.asarray(_distances(paths, lengths, references, which, False, np.full(len(paths), np.inf)))


def open_distances(
    paths: np.ndarray,
    lengths: np.ndarray,
    references: np.ndarray,
    which: np.ndarray | None = None,
    within: np.ndarray | None = None,
) -> np.ndarray:
    """Distance of the beginning of each path (n, m, 3) that is nearest to its whole reference (r, k, 3): (n,).

    A path has ``lengths`` (n,) points with the same time step as the reference. It may be slower or begin later, and is
    ignored after it has followed the reference. The sum along the best warping is divided by the number of points of
    the reference or of the beginning, whichever is larger: a slower path costs no more, and a detour gains little.
    Distances beyond ``within`` (n,) are not computed exactly, but infinite.
    """
    which = np.arange(len(paths)) if which is None else which
    within = np.full(len(paths), np.inf) if within is None else within
    return np.asarray(_distances(paths, lengths, references, which, True, within))


@machine_code
def _distances(
    paths: np.ndarray,
    lengths: np.ndarray,
    references: np.ndarray,
    which: np.ndarray,
    open_end: bool,
    within: np.ndarray,
) -> np.ndarray:
    count, points = paths.shape[0], references.shape[1]
    result = np.empty(count)
    row, costs = np.empty(points), np.empty(points)
    for number in range(count):
        path, reference = paths[number], references[which[number]]
        nearest = np.inf
        most = within[number] * max(points, lengths[number])  # bound of the sum of distances
        for i in range(lengths[number]):
            x, y, z = path[i, 0], path[i, 1], path[i, 2]
            for j in range(points):  # a separate loop is vectorised
                dx, dy, dz = x - reference[j, 0], y - reference[j, 1], z - reference[j, 2]
                costs[j] = np.sqrt(dx * dx + dy * dy + dz * dz)
            diagonal = row[0] if i else 0.0
            before = least = row[0] = diagonal + costs[0]
            for j in range(1, points):
                best = min(diagonal, row[j], before) if i else before
                diagonal = row[j]
                before = row[j] = best + costs[j]
                least = min(least, before)
            if open_end:
                nearest = min(nearest, row[points - 1] / max(points, i + 1))
            if least > most:  # sums only grow
                break
        if not open_end:
            nearest = row[points - 1] / points
        result[number] = nearest if nearest <= within[number] else np.inf
    return result
