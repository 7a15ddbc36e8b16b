"""Exact tests of paired outcomes, Holm's correction for several tests, and chance-corrected inter-rater agreement.

Distribution functions come from ``scipy.special``. ``scipy.stats`` also has them, but takes 0.75 s to import, longer
than most commands run. SciPy loads its subpackages on first access, so functions refer to ``scipy.special.x``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import lcm

import numpy as np
import scipy
from numpy.typing import NDArray


def normal_below(z: float | np.ndarray) -> np.ndarray:
    """Return P(Z <= z) for a standard normal Z."""
    return np.asarray(scipy.special.ndtr(z))


def normal_quantile(p: float) -> float:
    """Return the z with P(Z <= z) = p for a standard normal Z."""
    return float(scipy.special.ndtri(p))


def t_below(t: float | np.ndarray, freedom: float) -> float:
    """Return P(T <= t) for Student's t distribution."""
    return float(scipy.special.stdtr(freedom, t))


def t_quantile(p: float, freedom: float) -> float:
    """Return the t with P(T <= t) = p for Student's t distribution."""
    return float(scipy.special.stdtrit(freedom, p))


def binomial_at_least(hits: int, count: int, chance: float) -> float:
    """Return P(K >= hits) for the number K of hits in ``count`` trials, each with probability ``chance``."""
    return float(scipy.special.bdtrc(hits - 1, count, chance)) if hits > 0 else 1.0


def hypergeometric(total: np.ndarray, won: np.ndarray, drawn: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Return P(K = hits): K successes in a sample of ``drawn`` from ``total`` items, ``won`` being successes."""
    possible = (hits >= np.maximum(0, drawn - (total - won))) & (hits <= np.minimum(won, drawn))
    k = np.where(possible, hits, np.maximum(0, drawn - (total - won)))
    logs = log_choose(won, k) + log_choose(total - won, drawn - k) - log_choose(total, drawn)
    return np.where(possible, np.exp(logs), 0.0)


def hypergeometric_moments(
    total: np.ndarray, won: np.ndarray, drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and variance of the distribution of `hypergeometric`."""
    share = won / total
    spread = share * (1 - share) * (total - drawn) / np.maximum(total - 1, 1)
    return drawn * share, drawn * spread


def log_choose(total: int | np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the logarithm of the binomial coefficient ``total`` choose ``chosen``."""
    return np.asarray(
        scipy.special.gammaln(total + 1)
        - scipy.special.gammaln(chosen + 1)
        - scipy.special.gammaln(total - chosen + 1)
    )


SURE = 0.05
"""Significance level: p values below it are significant."""
_GRID = 20_000
"""Number of grid points for the sum of all differences if they have no small common denominator."""
_EXACT = 200_000
"""Largest sum of integers whose distribution is computed exactly."""
_ENUMERATED = 16
"""Maximum number of differences for which all signs are enumerated, if they have no small common denominator."""


def paired_p(hits: np.ndarray, counts: np.ndarray, hits_now: np.ndarray, counts_now: np.ndarray) -> float:
    """Return the two-sided exact p value of a difference between two success rates.

    The inputs, each of shape (strata,), are the successes and episodes without and with a change. A stratum is a
    level of a factor that both share, such as a start or a wording. The result is the larger p of two tests:
    ``sign_flip`` over strata, valid if a change helps in some strata and hurts in others, and ``within`` strata,
    valid if one control is compared with several variants. With one pair per stratum both are McNemar's test.
    """
    differences = (hits_now * counts - hits * counts_now) / (counts + counts_now)
    return max(sign_flip(differences), within(hits, counts, hits_now, counts_now))


def least_p(telling: int, family: int = 1) -> float:
    """Return the smallest two-sided p value that is possible after Holm's correction for ``family`` tests.

    ``telling`` is the number of informative starts: those with at least one success with or without the change
    (see `telling`). In all other starts, nothing can be lost.
    """
    return min(1.0, family * 2.0 ** (1 - telling))


def telling(hits: np.ndarray, hits_now: np.ndarray) -> int:
    """Return the number of informative strata, which have at least one success with or without the change.

    ``hits`` and ``hits_now`` (strata,) are the successes without and with the change.
    """
    return int(((hits > 0) | (hits_now > 0)).sum())


def sign_flip(differences: np.ndarray) -> float:
    """Return the two-sided p value of differences (clusters,), if both signs of each are equally likely.

    The test is exact and allows ties. For differences with a small common denominator, it uses the characteristic
    function of their sum; otherwise, it enumerates all signs if there are at most `_ENUMERATED` differences. A
    larger number of differences is rounded to 1/20,000 of the sum of their absolute values; sums that differ only
    by rounding may count as ties, so that p is not too small. With one pair per cluster this is McNemar's exact
    test.
    """
    differences = np.asarray(differences, float)
    differences = differences[np.abs(differences) > 1e-9]
    if not len(differences):
        return 1.0
    signed = _whole(differences)
    if signed is None and len(differences) <= _ENUMERATED:
        sums = np.zeros(1)
        for difference in differences:
            sums = np.concatenate([sums + difference, sums - difference])
        close = 1e-9 * np.abs(differences).sum()
        return float((np.abs(sums) >= abs(differences.sum()) - close).mean())
    slack = 0
    if signed is None:
        signed = np.rint(differences * (_GRID / np.abs(differences).sum())).astype(int)
        slack = int(np.ceil(2 * len(differences) ** 0.5))
    sizes = np.abs(signed[signed != 0])
    observed, reach = max(abs(int(signed.sum())) - slack, 0), int(sizes.sum())
    if sizes.max() == 1:
        return min(1.0, 2 * binomial_at_least((len(sizes) + observed) // 2, len(sizes), 0.5))
    turn = 2 * np.pi * np.arange(reach + 1) / (2 * reach + 1)
    wave = np.ones(reach + 1)
    for value, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        wave *= np.cos(value * turn) ** count
    chances = np.fft.irfft(wave, 2 * reach + 1)  # of the sums 0, 1, ..., reach, -reach, ..., -1
    beyond = float(chances[observed : 2 * reach + 2 - max(observed, 1)].sum())
    return min(1.0, max(beyond, 2.0 ** (1 - len(sizes))))


def _whole(differences: np.ndarray) -> np.ndarray | None:
    """Return nonzero differences as integers over their common denominator; None if the denominator is large."""
    values, where = np.unique(differences, return_inverse=True)
    shares = [_fraction(float(value)) for value in values]
    if any(abs(float(share) - value) > 1e-9 for share, value in zip(shares, values, strict=True)):
        return None
    common = 1
    for share in shares:
        common = lcm(common, share.denominator)
        if common > 10**9:
            return None
    whole = np.array([int(share * common) for share in shares])
    whole //= np.gcd.reduce(whole)
    signed = whole[where]
    return None if np.abs(signed).sum() > _EXACT else signed


@lru_cache(maxsize=4096)
def _fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10_000)


def within(hits: np.ndarray, counts: np.ndarray, hits_now: np.ndarray, counts_now: np.ndarray) -> float:
    """Return the two-sided p value of a difference in success if outcomes are exchangeable within strata.

    The inputs are those of `paired_p`. This is the exact Mantel-Haenszel test: in each stratum, the number of
    successes without the change has a hypergeometric distribution. p is twice the smaller tail probability, so
    that p / 2 is the one-sided p value. With more than 20,000 episodes without the change, the normal
    approximation is used.
    """
    total, won = (counts + counts_now).astype(int), (hits + hits_now).astype(int)
    mixed = (won > 0) & (won < total) & (counts > 0) & (counts_now > 0)
    total, won, first = total[mixed], won[mixed], counts[mixed].astype(int)
    if not len(total):
        return 1.0
    observed = int(hits[mixed].sum())
    if first.sum() > _GRID:
        mean, variance = hypergeometric_moments(total, won, first)
        off = max(abs(observed - mean.sum()) - 0.5, 0.0)
        return float(2 * normal_below(-off / np.sqrt(variance.sum())))
    kinds, times = np.unique(np.stack([total, won, first]), axis=1, return_counts=True)
    size, hits_in_it, drawn_of_it = kinds[:, :, None]
    distributions = hypergeometric(
        size, hits_in_it, drawn_of_it, np.arange(kinds[2].max() + 1)
    )  # (kinds, outcomes)
    chances = np.ones(1)
    for drawn, one in zip(np.repeat(kinds[2], times), np.repeat(distributions, times, axis=0), strict=True):
        chances = np.convolve(chances, one[: drawn + 1])
    fewer, more = chances[: observed + 1].sum(), chances[observed:].sum()
    return min(1.0, 2 * float(min(fewer, more)))


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for multiple testing by Holm's method."""
    order = np.argsort(values, kind="stable")
    raised = np.asarray(values, float)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(raised))
    return [float(value) for value in adjusted]


def control_false_discoveries(log_evidence: Sequence[float]) -> list[float]:
    """Return the lowest false discovery rates at which e-values are discoveries (e-BH, Wang and Ramdas 2022).

    ``log_evidence`` are their logarithms. The e-values may depend on each other in any way.
    """
    values = np.asarray(log_evidence, float)
    order = np.argsort(-values, kind="stable")
    levels = np.log(max(len(order), 1)) - np.log(np.arange(1, len(order) + 1)) - values[order]
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum.accumulate(levels[::-1])[::-1]
    return [float(level) for level in np.exp(np.minimum(adjusted, 0.0))]


def kappa(observed: float, chance: float) -> float:
    """Return the chance-corrected agreement: (observed - chance) / (1 - chance)."""
    return (observed - chance) / (1 - chance)


def gwet_ac1(ratings: NDArray[np.int64], categories: int, confidence: float) -> tuple[float, float, float]:
    """Return Gwet's AC1 and the limits of its confidence interval.

    Ratings, (items, raters), are 0 to ``categories`` - 1, or -1 if missing. Chance agreement is sum(p (1 - p)) /
    (categories - 1) over the proportions p of the categories; the interval is that of Gwet (2008) for a sample of
    items, with Student's t.
    """
    counts = np.stack(
        [(ratings == item_values).sum(axis=1) for item_values in range(categories)], axis=1
    )  # (n, q)
    counts = counts[counts.sum(axis=1) > 0]
    n, raters = len(counts), counts.sum(axis=1)  # (n,)
    several = raters > 1
    shares = (counts / raters[:, None]).mean(axis=0)  # (q,)
    pairs = (counts * (counts - 1)).sum(axis=1) / np.maximum(raters * (raters - 1), 1)
    observed = pairs[several].mean()
    chance = (shares * (1 - shares)).sum() / (categories - 1)
    value = (observed - chance) / (1 - chance)
    item_values = n / several.sum() * (pairs - chance * several) / (1 - chance)
    chance_each = (counts @ (1 - shares)) / raters / (categories - 1)
    spread = item_values - 2 * (1 - value) * (chance_each - chance) / (1 - chance) - value
    error = math.sqrt((spread**2).sum() / (n * (n - 1)))
    reach = t_quantile((1 + confidence) / 2, n - 1) * error
    return float(value), float(value - reach), min(1.0, float(value + reach))
