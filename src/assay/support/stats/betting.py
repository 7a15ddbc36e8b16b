"""Tests by betting: evidence that may be inspected after every observation, with optional stopping.

A bettor who stakes a fraction of the capital on every difference d in [-1, 1] multiplies it by 1 + fraction * d. If the
mean of the differences is not above 0, the capital is not expected to grow, so the probability that it ever exceeds c
is at most 1 / c (Ville's inequality), however often it is inspected.

Against the hypothesis of a mean of at most m, the same bet multiplies the capital by 1 + fraction * (d - m) /
(1 + m). The smaller m is, the larger the gain from the same differences. All m below some bound are therefore
rejected, and the lower and upper bounds form an interval that contains the mean at *all* times (a confidence
sequence).

The fraction may depend on everything seen so far. With a planned number of differences it aims at a capital of
1 / alpha by the last of them: it is that of an option on Brownian motion which pays once the sum reaches a bound
(``Wager``). A small share of the capital is staked without a plan, and continues to grow beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy

from assay.support.stats.significance import hypergeometric

# The best stake depends on the unknown mean. A tenth of the capital follows each of ten fixed stakes: the total is an
# average of valid bets, so it is valid, and it loses at most log(10) against the best of the ten in hindsight.
SHARES = np.linspace(0.05, 0.95, 10)
"""Stakes, as fractions of the capital."""
LOSSES = np.array([0.5, 0.8, 0.98])
"""Fractions of the odds of success on whose loss `loss_evidence` bets: few, since a search is for large losses."""
RESERVE = 0.05
"""Share of the capital that is staked without a plan, for duels that continue beyond it."""
_URGENCY = 1.1
"""Factor of the planned stakes: above 1, the target is reached earlier, at the cost of one or two points of power."""
_LARGEST = 0.95
"""Largest stake; below 1, so that no single difference costs all."""
_PRIOR, _PRIOR_COUNT = 0.5, 2.0
"""Variance that is assumed at first, and its weight as a number of differences."""
_GRID = 401
"""Means tried at once for the bounds of an interval; two rounds compute them to 5 / 100,000."""


def evidence(differences: np.ndarray) -> float:
    """Return the log capital from betting that the mean of differences (n,), each in [-1, 1], is above 0."""
    grown = np.log1p(SHARES[:, None] * np.asarray(differences, float)).sum(axis=1)
    return float(np.logaddexp.reduce(grown)) - math.log(len(SHARES))


def loss_evidence(
    hits: np.ndarray, counts: np.ndarray, hits_now: np.ndarray, counts_now: np.ndarray
) -> float:
    """Return the log capital from betting that successes are rarer with a change than without it, within strata.

    The inputs (strata,) are the successes and episodes without and with the change. If the change costs nothing, the
    successes K with it follow a hypergeometric distribution, and a bet that the odds are multiplied by r = 1 - loss
    multiplies the capital by r^K / E[r^K]. With one pair per stratum, it is a bet on losses against fair coins.
    """
    total, won, drawn = (values[:, None] for values in (counts + counts_now, hits + hits_now, counts_now))
    outcomes = np.arange(int(drawn.max(initial=0)) + 1)
    chances = hypergeometric(total, won, drawn, outcomes)  # (strata, outcomes)
    logs = np.log1p(-LOSSES)[:, None]
    grown = (logs * hits_now - np.log(np.exp(logs * outcomes) @ chances.T)).sum(axis=1)
    return float(np.logaddexp.reduce(grown)) - math.log(len(LOSSES))


class Wager:
    """Sequential bets that means of differences are above given values, one value per element of an array."""

    def __init__(
        self,
        above: float | np.ndarray,
        alpha: float,
        *,
        planned: int = 0,
        reserve: float = RESERVE,
        shape: tuple[int, ...] = (),
    ) -> None:
        """``planned``: number of differences by which the bets aim to be won; ``reserve``: share without a plan."""
        self._above = np.broadcast_to(np.asarray(above, float), shape)
        self._target, self._left = 1 / alpha, planned
        self._main = np.full(shape, 1 - reserve)
        self._rest = np.full((len(SHARES), *shape), reserve / len(SHARES))
        self._squares, self._count = np.full(shape, _PRIOR * _PRIOR_COUNT), np.full(shape, _PRIOR_COUNT)
        self.won = np.zeros(shape, bool)
        """Whether the capital has ever reached 1 / alpha."""

    def see(self, differences: float | np.ndarray) -> None:
        """Bet on differences in [-1, 1], one per element; NaN for one that is missing, which uses up its place."""
        absent = np.isnan(differences)
        excess = np.where(absent, 0.0, differences - self._above)
        # A capital that has reached its target is staked no more; it would grow without bound.
        gain = np.where(self.won, 0.0, excess / (1 + self._above))
        if self._left > 0:
            self._main = self._main * (1 + self._stake() * gain)
        self._left -= 1
        self._rest = self._rest * (1 + np.multiply.outer(SHARES, gain))
        self._squares, self._count = self._squares + excess**2, self._count + ~absent
        self.won = self.won | (self._main + self._rest.sum(axis=0) >= self._target * (1 - 1e-9))

    def extend(self, planned: int) -> None:
        """Aim at ``planned`` more differences, with the capital that is left.

        The decision may depend on everything seen so far: no bet is expected to gain, whenever it is made.
        """
        rest = self._rest.sum(axis=0)
        total = self._main + rest
        self._main, self._rest = (1 - RESERVE) * total, self._rest * (RESERVE * total / rest)
        self._left = planned

    def _stake(self) -> np.ndarray:
        """Return the fraction of the capital to stake next.

        Let V = 2 P(Z > y) be the probability that Brownian motion reaches a bound within the differences left. A
        bettor with capital V / alpha who stakes the derivative of log V has 1 / alpha once the bound is reached.
        The distance y follows from the capital, and is recomputed at every step.
        """
        need = np.maximum(self._target - self._rest.sum(axis=0), 1e-9)
        chance = np.clip(self._main / need, 1e-12, 1 - 1e-9)
        y = scipy.special.ndtri(chance / 2)
        slope = 2 * np.exp(-y * y / 2) / np.sqrt(2 * np.pi) / chance
        spread = np.sqrt(self._squares / self._count * self._left)
        # A stake that reaches the target with the largest difference, 1, is enough.
        largest = (1 - self._above) / (1 + self._above)
        enough = np.maximum(need / np.maximum(self._main, 1e-300) - 1, 0) / largest
        wanted = _URGENCY * slope / spread * (1 + self._above)
        return np.asarray(np.minimum(np.minimum(wanted, enough), _LARGEST))


def extensions(plans: Sequence[int]) -> dict[int, int]:
    """Return by how many differences each plan extends the one before, by the length of the latter."""
    return {before: after - before for before, after in pairwise(plans)}


def anytime_interval(
    differences: np.ndarray, alpha: float, plans: Sequence[int] = (0,)
) -> tuple[float, float]:
    """Return an interval that contains the mean of differences (n,) with probability 1 - alpha at all times.

    Each bound has an error probability of ``alpha`` / 2. Values once excluded remain excluded. ``plans``: numbers of
    differences, missing ones (NaN) included, for which the interval is meant to be narrow, in increasing order.
    """
    values = np.asarray(differences, float)
    low, high = _refuted_below(values, alpha / 2, plans), -_refuted_below(-values, alpha / 2, plans)
    return low, max(low, high)


def _refuted_below(differences: np.ndarray, alpha: float, plans: Sequence[int]) -> float:
    """Return the bound below which all values of the mean are rejected; -1 if none is rejected."""
    low, high = -1.0, 1.0
    for _ in range(2):
        means = np.linspace(low, high, _GRID)[1:-1]
        wager, longer = Wager(means, alpha, planned=plans[0], shape=means.shape), extensions(plans)
        for place, difference in enumerate(differences):
            if place in longer:
                wager.extend(longer[place])
            wager.see(difference)
        kept = int(np.argmin(wager.won)) if not wager.won.all() else len(means)
        ends = np.concatenate([[low], means, [high]])
        low, high = float(ends[kept]), float(ends[kept + 1])
    return low
