"""Logistic regression on counts, unconditional and conditional on strata, with Firth's penalty.

The penalty keeps estimates finite when a cell has no failures. The conditional model has a single term, the effect
of one change. Given the total number of successes in a stratum (a start), the number of successes with the change
has Fisher's noncentral hypergeometric distribution, whatever the odds in the stratum. A mixed-effects model would
have to assume a distribution of those odds. With one pair per stratum the estimate is that of McNemar's table with
the penalty, log((only changed + 1/2) / (only control + 1/2)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from assay.support.stats.intervals import Interval, Result, Z
from assay.support.stats.significance import log_choose, normal_below

_ROUNDS = 100
_STRIDE = 2.0
"""Maximum change of a coefficient per iteration."""
SPARSE = 5
"""Minimum number of successes and failures in a cell for a reliable estimate of the variance between clusters."""


def fit(design: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return coefficients (draws, terms) fitted to ``hits`` successes in ``counts`` episodes, (draws, cells) each.

    ``design`` is the design matrix (cells, terms).

    Uses Newton's method on the likelihood times the square root of the information matrix's determinant.
    """
    terms = np.zeros((len(hits), design.shape[1]))
    for _ in range(_ROUNDS):
        chance = scipy.special.expit(terms @ design.T)
        weight = counts * chance * (1 - chance)
        inverse = _inverse(design, weight)
        leverage = weight * np.einsum("ct,dtu,cu->dc", design, inverse, design, optimize=True)
        score = (hits - counts * chance + leverage * (0.5 - chance)) @ design
        step = np.einsum("dtu,du->dt", inverse, score)
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, _STRIDE / np.maximum(longest, 1e-12))
        terms = terms + step
        if longest.max() < 1e-8:
            break
    return terms


def errors(design: np.ndarray, terms: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return standard errors (terms,) of coefficients ``terms`` (terms,), from counts (clusters, cells).

    They are based on the variance between clusters (starts), of which at least two are required. If a cell has fewer
    than five successes or failures, that variance is underestimated, and the model-based variance is used if it is
    larger.
    """
    chance = scipy.special.expit(design @ terms)
    total = counts.sum(axis=0)
    inverse = _inverse(design, (total * chance * (1 - chance))[None])[0]
    score = (hits - counts * chance) @ design  # (clusters, terms)
    few = len(hits) / (len(hits) - 1)
    squares = np.diag(inverse @ (score.T @ score * few) @ inverse)
    between = np.sqrt(np.maximum(squares, 0.0))  # rounding may give small negative values
    seen = total > 0
    least = np.minimum(hits.sum(axis=0), (counts - hits).sum(axis=0))[seen].min()
    return np.asarray(between if least >= SPARSE else np.maximum(between, np.sqrt(np.diag(inverse))))


def _inverse(design: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the inverse information matrices (draws, terms, terms) for weights (draws, cells)."""
    information = np.einsum("dc,ct,cu->dtu", weight, design, design, optimize=True)
    return np.linalg.inv(information + 1e-9 * np.eye(design.shape[1]))


@dataclass(frozen=True, slots=True)
class LogOdds(Result):
    """Effect of a change on the log-odds of success within a start."""

    log_odds: float
    """Change in the log-odds; negative if success decreased."""
    interval: Interval
    """Wald interval, based on the larger of the model's variance and the variance between strata."""
    p: float
    """Two-sided p value of the Wald test."""
    strata: int
    """Number of strata with both successes and failures; the others are uninformative."""


def conditional_log_odds(
    hits: np.ndarray, counts: np.ndarray, hits_now: np.ndarray, counts_now: np.ndarray
) -> LogOdds | None:
    """Estimate the effect from the successes and episodes (strata,) in each stratum, without and with the change.

    Returns None if no stratum is informative.
    """
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
    """Return log counts of combinations (kinds, outcomes), and possible successes with the change (outcomes,)."""
    now = np.arange(int(np.minimum(won, counts_now).max()) + 1)
    k, w, n, m = now[None, :], won[:, None], counts[:, None], counts_now[:, None]
    possible = (k <= np.minimum(w, m)) & (w - k <= n)
    safe = np.where(possible, k, np.maximum(w - n, 0))
    logs = log_choose(m, safe) + log_choose(n, w - safe)
    return np.where(possible, logs, -np.inf), now.astype(float)


def _cumulants(
    ways: np.ndarray, outcomes: np.ndarray, term: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, variance and third central moment (kinds,) of the successes with the change."""
    logs = ways + term * outcomes
    chance = np.exp(logs - logs.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    mean = chance @ outcomes
    off = outcomes - mean[:, None]
    return mean, (chance * off**2).sum(axis=1), (chance * off**3).sum(axis=1)
