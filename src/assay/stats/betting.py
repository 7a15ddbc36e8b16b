"""Tests by betting: evidence that may be looked at after every observation, and stopped at any time.

Whoever bets a share of the capital on every difference d, in [-1, 1], multiplies it by 1 + share * d. If the
mean of the differences is not above 0, the capital is not expected to grow, so that it ever exceeds c has a
probability of at most 1 / c (Ville's inequality), however often it is looked at.
"""

from __future__ import annotations

import numpy as np

SHARES = np.linspace(0.05, 0.95, 10)
"""Of the capital; a tenth of it is bet by each."""


def evidence(differences: np.ndarray) -> float:
    """Logarithm of the capital won by betting that the mean of differences (n,), each in [-1, 1], is above 0."""
    grown = np.log1p(np.outer(SHARES, differences)).sum(axis=1)
    return float(np.logaddexp.reduce(grown) - np.log(len(SHARES)))
