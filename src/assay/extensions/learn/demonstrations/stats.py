"""Statistics of features, as LeRobotDataset v3.0 keeps them for each episode and for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
NAMES = ("min", "max", "mean", "std", *QUANTILES, "count")

Stats = dict[str, np.ndarray]
"""By `NAMES`; all of the feature's shape but ``count``, which is (1,)."""


def of_values(values: np.ndarray) -> Stats:
    """Statistics over frames of values (frames,) or (frames, n); single values get the shape (1,)."""
    table = values.reshape(len(values), -1).astype(np.float64)
    return {
        "min": table.min(axis=0),
        "max": table.max(axis=0),
        "mean": table.mean(axis=0),
        "std": table.std(axis=0),
        **dict(zip(QUANTILES, np.quantile(table, list(QUANTILES.values()), axis=0), strict=True)),
        "count": np.array([len(table)]),
    }


class PictureStats:
    """Statistics over all pixels of many pictures, of which none is kept; (3, 1, 1), values from 0 to 1."""

    def __init__(self) -> None:
        self._pictures = 0
        self._histogram = np.zeros((3, 256), dtype=np.int64)

    def add(self, picture: np.ndarray) -> None:
        """Count the pixels of one picture: uint8, (height, width, 3)."""
        self._pictures += 1
        for channel, counts in enumerate(self._histogram):
            counts += np.bincount(picture[..., channel].ravel(), minlength=256)

    def result(self) -> Stats:
        """The statistics; ``count`` is the number of pictures."""
        levels = np.arange(256) / 255.0
        share = self._histogram / self._histogram.sum(axis=1, keepdims=True)
        mean = share @ levels
        below = np.cumsum(self._histogram, axis=1)
        ranks = {"min": 0.0, "max": 1.0, **QUANTILES}
        # The smallest level that at least this share of the pixels, and at least one, does not exceed.
        places = {
            name: [np.searchsorted(counts, max(rank * counts[-1], 1)) for counts in below]
            for name, rank in ranks.items()
        }
        stats = {
            **{name: levels[place] for name, place in places.items()},
            "mean": mean,
            "std": np.sqrt((share * (levels - mean[:, None]) ** 2).sum(axis=1)),
        }
        return {name: value.reshape(3, 1, 1) for name, value in stats.items()} | {
            "count": np.array([self._pictures])
        }


def joined(parts: Sequence[Stats]) -> Stats:
    """The statistics of several episodes together: quantiles are the mean of theirs, all else is exact."""
    count = np.array([part["count"][0] for part in parts])

    def mean(values: list[np.ndarray]) -> np.ndarray:
        return np.asarray(np.average(values, axis=0, weights=count))

    centre = mean([part["mean"] for part in parts])
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": centre,
        "std": np.sqrt(mean([part["std"] ** 2 + (part["mean"] - centre) ** 2 for part in parts])),
        **{name: mean([part[name] for part in parts]) for name in QUANTILES},
        "count": np.array([count.sum()]),
    }
