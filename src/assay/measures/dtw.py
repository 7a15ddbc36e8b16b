"""How far two paths are apart, whatever their speed: dynamic time warping, exact."""

from __future__ import annotations

import numpy as np

from assay.jit import compiled


def distances(paths: np.ndarray, references: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
    """Distance of each path (n, k, 3) from its reference (m, k, 3), metres: (n,).

    ``which`` (n,) names each path's reference; without it they go together one by one. The Euclidean
    distances between points that are matched, summed along the best matching, over the number of points.
    """
    if which is None:
        which = np.arange(len(paths))
    return np.asarray(_distances(paths, references, which))


@compiled
def _distances(paths: np.ndarray, references: np.ndarray, which: np.ndarray) -> np.ndarray:
    count, points = paths.shape[0], paths.shape[1]
    result = np.empty(count)
    row = np.empty(points)
    for number in range(count):
        path, reference = paths[number], references[which[number]]
        for i in range(points):
            x, y, z = path[i, 0], path[i, 1], path[i, 2]
            diagonal = 0.0 if i == 0 else row[0]
            for j in range(points):
                dx, dy, dz = x - reference[j, 0], y - reference[j, 1], z - reference[j, 2]
                cost = np.sqrt(dx * dx + dy * dy + dz * dz)
                if i == 0:
                    best = row[j - 1] if j > 0 else 0.0
                elif j == 0:
                    best = row[0]
                else:
                    best = min(diagonal, row[j], row[j - 1])
                    diagonal = row[j]
                row[j] = best + cost
        result[number] = row[points - 1] / points
    return result
