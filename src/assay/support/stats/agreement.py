"""How far raters agree beyond chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from assay.support.stats.distributions import t_quantile


def kappa(observed: float, chance: float) -> float:
    """Agreement beyond chance, of all that could be: (observed - chance) / (1 - chance)."""
    return (observed - chance) / (1 - chance)


def gwet_ac1(ratings: NDArray[np.int64], categories: int, confidence: float) -> tuple[float, float, float]:
    """Gwet's AC1 with its confidence interval.

    Ratings, (items, raters), are 0 to ``categories`` - 1, or -1 for none. Chance agreement is
    sum(p (1 - p)) / (categories - 1) over the categories' shares p; the interval is that of Gwet (2008) for a
    sample of items, with Student's t.
    """
    counts = np.stack([(ratings == each).sum(axis=1) for each in range(categories)], axis=1)  # (n, q)
    counts = counts[counts.sum(axis=1) > 0]
    n, raters = len(counts), counts.sum(axis=1)  # (n,)
    several = raters > 1
    shares = (counts / raters[:, None]).mean(axis=0)  # (q,)
    pairs = (counts * (counts - 1)).sum(axis=1) / np.maximum(raters * (raters - 1), 1)
    observed = pairs[several].mean()
    chance = (shares * (1 - shares)).sum() / (categories - 1)
    value = (observed - chance) / (1 - chance)
    each = n / several.sum() * (pairs - chance * several) / (1 - chance)
    chance_each = (counts @ (1 - shares)) / raters / (categories - 1)
    spread = each - 2 * (1 - value) * (chance_each - chance) / (1 - chance) - value
    error = math.sqrt((spread**2).sum() / (n * (n - 1)))
    reach = t_quantile((1 + confidence) / 2, n - 1) * error
    return float(value), float(value - reach), min(1.0, float(value + reach))
