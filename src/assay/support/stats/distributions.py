"""The few distributions that intervals and tests need, on ``scipy.special``.

``scipy.stats`` has them too, and takes three quarters of a second to import: longer than most commands. SciPy imports
its parts when they are asked for, ``scipy.special`` in a fifth of a second: so it is asked for in functions.
"""

from __future__ import annotations

import numpy as np
import scipy


def normal_below(z: float | np.ndarray) -> np.ndarray:
    """P(Z <= z) of a standard normal Z."""
    return np.asarray(scipy.special.ndtr(z))


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p of a standard normal Z."""
    return float(scipy.special.ndtri(p))


def t_below(t: float | np.ndarray, freedom: float) -> float:
    """P(T <= t) of Student's T."""
    return float(scipy.special.stdtr(freedom, t))


def t_quantile(p: float, freedom: float) -> float:
    """The t with P(T <= t) = p of Student's T."""
    return float(scipy.special.stdtrit(freedom, p))


def binomial_at_most(hits: int | np.ndarray, count: int, chance: float) -> np.ndarray:
    """P(K <= hits) of K hits among ``count``, each with probability ``chance``."""
    return np.asarray(scipy.special.bdtr(hits, count, chance))


def binomial_at_least(hits: int, count: int, chance: float) -> float:
    """P(K >= hits) of K hits among ``count``, each with probability ``chance``."""
    return float(scipy.special.bdtrc(hits - 1, count, chance)) if hits > 0 else 1.0


def chi_square_above(x: float, freedom: float) -> float:
    """P(X > x) of a chi-square X."""
    return float(scipy.special.chdtrc(freedom, x))


def hypergeometric(total: np.ndarray, won: np.ndarray, drawn: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """P(K = hits) of K successes among ``drawn`` of ``total`` of which ``won`` are successes; broadcast."""
    possible = (hits >= np.maximum(0, drawn - (total - won))) & (hits <= np.minimum(won, drawn))
    k = np.where(possible, hits, np.maximum(0, drawn - (total - won)))
    logs = _ways(won, k) + _ways(total - won, drawn - k) - _ways(total, drawn)
    return np.where(possible, np.exp(logs), 0.0)


def hypergeometric_moments(
    total: np.ndarray, won: np.ndarray, drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the same."""
    share = won / total
    spread = share * (1 - share) * (total - drawn) / np.maximum(total - 1, 1)
    return drawn * share, drawn * spread


def pearson(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The correlation of two samples (n,) and its two-sided p if both were normal and independent."""
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
    freedom = len(x) - 2
    if freedom < 1 or abs(r) == 1:
        return r, 1.0 if freedom < 1 else 0.0
    return r, 2 * t_below(-abs(r) * (freedom / (1 - r * r)) ** 0.5, freedom)


def _ways(things: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The logarithm of how many ways there are to choose so many of so many things."""
    return np.asarray(
        scipy.special.gammaln(things + 1)
        - scipy.special.gammaln(chosen + 1)
        - scipy.special.gammaln(things - chosen + 1)
    )
