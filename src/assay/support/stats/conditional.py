"""Conditional logistic regression with one change: what it does to the odds of success within matched strata.

Given how often a stratum (a start) succeeds altogether, how many of these successes are on the changed side has
Fisher's noncentral hypergeometric distribution, whatever the stratum's own odds: strata may differ as much as they
like, which a mixed-effects model would have to assume a distribution for. With one pair in each stratum the estimate
is that of McNemar's table, log(only changed / only control). Firth's penalty keeps it finite where one of them never
happens: log((only changed + 1/2) / (only control + 1/2)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from assay.support.stats.distributions import normal_below
from assay.support.stats.intervals import Interval, Z
from assay.support.stats.result import Result

_ROUNDS = 100
_STRIDE = 2.0
"""The longest step of the estimate."""


@dataclass(frozen=True, slots=True)
class LogOdds(Result):
    """What a change does to the log-odds of success within a start."""

    log_odds: float
    """Negative where success fell."""
    interval: Interval
    """Wald's, from the larger of the model's variance and that between strata."""
    p: float
    """Two-sided, Wald's."""
    strata: int
    """That have both successes and failures: the others say nothing."""


def conditional_log_odds(
    hits: np.ndarray, counts: np.ndarray, hits_now: np.ndarray, counts_now: np.ndarray
) -> LogOdds | None:
    """From successes and episodes of both sides in each stratum, (strata,) all; None where none can tell."""
    won, total = (hits + hits_now).astype(int), (counts + counts_now).astype(int)
    mixed = (won > 0) & (won < total) & (counts > 0) & (counts_now > 0)
    if not mixed.any():
        return None
    values = np.stack([won[mixed], counts[mixed].astype(int), counts_now[mixed].astype(int)])
    now = hits_now[mixed].astype(float)
    kinds, which = np.unique(values, axis=1, return_inverse=True)
    which = which.ravel()
    times = np.bincount(which)
    ways, outcomes = _ways(*kinds)  # (kinds, outcomes) and (outcomes,)
    term = 0.0
    for _ in range(_ROUNDS):
        mean, variance, skew = _cumulants(ways, outcomes, term)
        information = float(times @ variance)
        score = float(now.sum() - times @ mean) + float(times @ skew) / (2 * information)
        step = float(np.clip(score / information, -_STRIDE, _STRIDE))
        term += step
        if abs(step) < 1e-9:
            break
    mean, variance, _ = _cumulants(ways, outcomes, term)
    information = float(times @ variance)
    between = float(np.square(now - mean[which]).sum())
    error = max(information, between) ** 0.5 / information
    interval = Interval(term - Z * error, term + Z * error, "wald, conditional on starts")
    return LogOdds(term, interval, float(2 * normal_below(-abs(term) / error)), int(mixed.sum()))


def _ways(won: np.ndarray, counts: np.ndarray, counts_now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of how many ways there are to so many successes now, -inf where it is impossible."""
    now = np.arange(int(np.minimum(won, counts_now).max()) + 1)
    k, w, n, m = now[None, :], won[:, None], counts[:, None], counts_now[:, None]
    possible = (k <= np.minimum(w, m)) & (w - k <= n)
    safe = np.where(possible, k, np.maximum(w - n, 0))
    logs = (
        scipy.special.gammaln(m + 1)
        - scipy.special.gammaln(safe + 1)
        - scipy.special.gammaln(m - safe + 1)
        + scipy.special.gammaln(n + 1)
        - scipy.special.gammaln(w - safe + 1)
        - scipy.special.gammaln(n - w + safe + 1)
    )
    return np.where(possible, logs, -np.inf), now.astype(float)


def _cumulants(
    ways: np.ndarray, outcomes: np.ndarray, term: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, variance and third central moment of each kind of stratum: (kinds,) each."""
    logs = ways + term * outcomes
    chance = np.exp(logs - logs.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    mean = chance @ outcomes
    off = outcomes - mean[:, None]
    return mean, (chance * off**2).sum(axis=1), (chance * off**3).sum(axis=1)
