"""How far two paths are apart, whatever their speed: dynamic time warping, exact."""

from __future__ import annotations

import numpy as np

from assay.support.jit import compiled


def distances(paths: np.ndarray, references: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
    """Distance of each path (n, k, 3) from its reference (m, k, 3), metres: (n,).

    ``which`` (n,) names each path's reference; without it they go together one by one. The Euclidean
    distances between points that are matched, summed along the best matching, over the number of points.
    """
    return _warped(paths, np.full(len(paths), paths.shape[1]), references, which, open_end=False)


def open_distances(
    paths: np.ndarray,
    lengths: np.ndarray,
    references: np.ndarray,
    which: np.ndarray | None = None,
    within: np.ndarray | None = None,
) -> np.ndarray:
    """Distance of that beginning of each path (n, m, 3) which is nearest to its whole reference (r, k, 3): (n,).

    Of a path the first ``lengths`` (n,) points are there, as far apart in time as those of the reference. A path may
    go slower, or begin later, and may do anything after it has gone the way of the reference. The matched
    distances are summed along the best matching and divided by the number of points, the reference's or those of the
    beginning, whichever are more: so whoever goes slower has no more to pay, and whoever goes elsewhere meanwhile
    gains little. Beyond ``within`` (n,), if that is given, a distance is not computed to its end, and infinite.
    """
    return _warped(paths, lengths, references, which, open_end=True, within=within)


def _warped(
    paths: np.ndarray,
    lengths: np.ndarray,
    references: np.ndarray,
    which: np.ndarray | None,
    *,
    open_end: bool,
    within: np.ndarray | None = None,
) -> np.ndarray:
    if which is None:
        which = np.arange(len(paths))
    if within is None:
        within = np.full(len(paths), np.inf)
    return np.asarray(_distances(paths, lengths, references, which, open_end, within))


@compiled
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
        most = within[number] * max(points, lengths[number])  # that a sum of matched distances may come to
        for i in range(lengths[number]):
            x, y, z = path[i, 0], path[i, 1], path[i, 2]
            for j in range(points):  # a loop of its own: several at a time
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
