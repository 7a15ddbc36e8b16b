"""Tests by betting: evidence that may be inspected after every observation, with optional stopping.

A bettor who stakes a fraction of the capital on every difference d in [-1, 1] multiplies it by 1 + fraction * d. If the
mean of the differences is not above 0, the capital is not expected to grow, so the probability that it ever exceeds c
is at most 1 / c (Ville's inequality), however often it is inspected.

Against the hypothesis of a mean of at most m, the same bet multiplies the capital by 1 + fraction * (d - m) /
(1 + m). The smaller m is, the larger the gain from the same differences. All m below some bound are therefore
rejected, and the lower and upper bounds form an interval that contains the mean at *all* times (a confidence
sequence).
"""

from __future__ import annotations

import math

import numpy as np

# The best stake depends on the unknown mean. A tenth of the capital follows each of ten fixed stakes: the total is an
# average of valid bets, so it is valid, and it loses at most log(10) against the best of the ten in hindsight.
SHARES = np.linspace(0.05, 0.95, 10)
"""Stakes, as fractions of the capital."""
_FINE = 1e-4
"""Precision to which the bounds of the interval are computed."""


def evidence(differences: np.ndarray, above: float = 0.0) -> float:
    """Return the log capital from betting that the mean of differences (n,), each in [-1, 1], is above a value."""
    return float(capital(np.asarray(differences, float), above)[..., -1]) if len(differences) else 0.0


def capital(differences: np.ndarray, above: float = 0.0) -> np.ndarray:
    """Return the log capital after each of the differences (..., n), an array of the same shape."""
    # Dividing by 1 + above keeps the factor positive for the worst difference, -1: the capital never becomes negative.
    grown = np.log1p(SHARES[:, None] * ((differences - above) / (1 + above))[..., None, :]).cumsum(axis=-1)
    return np.asarray(np.logaddexp.reduce(grown, axis=-2) - math.log(len(SHARES)))


class Wager:
    """A sequential bet that the mean of differences is above a value."""

    def __init__(self, above: float) -> None:
        self._above = above
        self._grown = np.zeros(len(SHARES))
        self.most = 0.0
        """Logarithm of the largest capital so far; the initial capital is 1."""

    def see(self, difference: float) -> None:
        """Bet on a difference in [-1, 1]."""
        # The capital is the average over the stakes, not that of the best one: which stake is best is known only
        # afterwards, so Ville's inequality does not apply to the maximum over the stakes.
        self._grown += np.log1p(SHARES * (difference - self._above) / (1 + self._above))
        self.most = max(self.most, float(np.logaddexp.reduce(self._grown)) - math.log(len(SHARES)))

    def won(self, alpha: float) -> bool:
        """Return whether the capital has ever reached 1 / alpha."""
        return self.most >= -math.log(alpha)


def anytime_interval(differences: np.ndarray, alpha: float) -> tuple[float, float]:
    """Return an interval that contains the mean of differences (n,) with probability 1 - alpha at all times.

    Each bound has an error probability of ``alpha`` / 2. Values once excluded remain excluded.
    """
    values = np.asarray(differences, float)
    low, high = _refuted_below(values, alpha / 2), -_refuted_below(-values, alpha / 2)
    return low, max(low, high)


def _refuted_below(differences: np.ndarray, alpha: float) -> float:
    """Return the bound below which all values of the mean are rejected; -1 if none is rejected."""
    if not len(differences):
        return -1.0
    # The maximum over time counts (Ville's inequality bounds it), so the running capital need not be high at the end.
    enough, low, high = -math.log(alpha), -1.0, float(differences.max())
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (middle, high) if capital(differences, middle).max() >= enough else (low, middle)
    return low
