"""95 % confidence intervals: in repeated experiments, about 95 of 100 contain the true value.

Outcomes are counts, so no interval has a coverage of exactly 95 % at every rate: coverage oscillates about its mean
as the rate varies, the more so the fewer episodes there are. Wilson's interval is used because its mean coverage over
the rates is within 0.6 percentage points of 95 % for five or more episodes, and because it oscillates least;
Clopper and Pearson's interval never falls below 95 % but averages 98 % at ten episodes, and Jeffreys' dips to
87 %. This is verified in ``tests/measures/test_coverage.py``.

Episodes that share a start or a wording are not independent: their number n is replaced by the
effective sample size n / (1 + r (m - 1)) for clusters of size m, with the intra-cluster correlation r (``icc``).
The same rule applies at all rates, so that a higher success rate never widens an interval.

Most intervals refer to new starts of the same tasks. Intervals over tasks (`mean_over_tasks`, `share_over_tasks`,
`jackknife_over_tasks`) generalise to tasks that were not run: each task is one observation, however many episodes it
has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from assay.support.stats.significance import sign_flip, t_quantile

FOR_DRAWING = MappingProxyType({"for": "drawing"})
"""Metadata for a dataclass field that is used in figures but omitted from JSON."""


class Result:
    """Base class of all measured values; its subclasses are frozen dataclasses."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Return the value as plain JSON types; numbers are finite, and values that could not be measured are null."""
        names = (field.name for field in fields(self) if not field.metadata)  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in names}


def plain(value: Any) -> Any:
    """Convert results, mappings, sequences, arrays and numbers to plain JSON types."""
    if isinstance(value, Result):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a measure must be a finite number or None")
    return value


LEVEL = 0.95
Z = 1.959963984540054
"""Normal quantile of (1 + LEVEL) / 2, as a literal so that SciPy is imported only when needed."""
_ALIKE, _SEEN = 0.2, 5.0
"""Prior intra-cluster correlation towards which the estimate is shrunk, and the weight of this prior in pairs (of
variance 1). Chosen by simulation: a prior of 0.1 gives 93 % coverage with five clusters; with 0.4, the interval
for 500 successes in 500 episodes would be wider than that for 499.
"""
_TELLING = 5
"""Number of clusters with the rarer outcome below which the estimated intra-cluster correlation is raised."""


@dataclass(frozen=True, slots=True)
class Interval(Result):
    """A 95 % confidence interval."""

    low: float
    high: float
    method: str
    one_start: bool = field(default=False, metadata=FOR_DRAWING)
    """Whether the interval applies only to the observed starts, because no task has a second start."""


@dataclass(frozen=True, slots=True)
class Difference(Result):
    """Two proportions measured on the same clusters, and their difference, second minus first."""

    first: float
    second: float
    difference: float
    interval: Interval


def wilson(share: ArrayLike, effective: ArrayLike) -> tuple[Any, Any]:
    """Return the bounds of the Wilson score interval for a proportion observed in ``effective`` independent episodes.

    The computation is elementwise.
    """
    p, n = np.clip(np.asarray(share, float), 0.0, 1.0), np.asarray(effective, float)
    middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return np.clip(middle - half, 0.0, p), np.clip(middle + half, p, 1.0)


def wilson_interval(share: float, effective: float) -> Interval:
    """Return Wilson's interval for one proportion."""
    low, high = wilson(share, effective)
    return Interval(float(low), float(high), "wilson")


def kish(weights: np.ndarray) -> float:
    """Return Kish's effective sample size of weights (n,)."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


def small_sample_factor(clusters: float) -> float:
    """Return the correction factor for an effective sample size if the variance is estimated from few clusters."""
    return float((Z / t_quantile((1 + LEVEL) / 2, max(clusters - 1, 1))) ** 2)


def icc(cross: float, room: float, free: float, rare: float) -> float:
    """Return the intra-cluster correlation, 0 to 1: the fraction of an episode's variance shared within a cluster.

    ``cross`` is the sum of the products of residuals over all pairs of episodes in the same cluster; ``room`` is
    the maximum of that sum, reached if outcomes in a cluster are identical; ``free`` is the number of informative
    clusters. ``rare`` is the number of clusters with the rarer outcome: only these show whether that outcome
    occurs in groups, however many episodes a cluster has.

    The estimate is shrunk towards a prior value, and raised if few clusters are informative. If none are, the
    episodes of a cluster may all be identical, and each cluster counts once.
    """
    seen = max(cross, 0.0) / small_sample_factor(max(min(free, rare), 2.0) + 1)
    correlation = min((seen + _SEEN * _ALIKE) / (room + _SEEN), 1.0)
    return correlation + (1 - correlation) * max(0.0, 1 - rare / _TELLING)


def bernoulli_variance(share: float, count: float) -> float:
    """Return the variance of one episode's outcome, with one success and one failure added to ``count``."""
    near = (share * count + 1) / (count + 2)
    return near * (1 - near)


def effective_count(hits: np.ndarray, weights: np.ndarray, most: float) -> float:
    """Return the number of independent episodes that are equivalent to these clusters, at most ``most``.

    ``hits`` and ``weights`` (clusters,) are the successes and trials in each cluster.
    """
    clusters = kish(weights)
    if clusters < 2 or clusters >= most:
        return most  # one cluster shows no correlation; clusters of one episode have none
    unit = weights.sum() / most
    hits, weights = hits / unit, weights / unit
    share = hits.sum() / most
    pairs = float(np.square(weights).sum()) - most
    cross = np.square(hits - share * weights).sum() * clusters / (clusters - 1) - share * (1 - share) * most
    room = bernoulli_variance(share, most) * pairs
    rare = int(min((hits > 1e-9).sum(), (hits < weights - 1e-9).sum()))  # clusters with the rarer outcome
    alike = icc(float(cross), room, clusters - 1, rare)
    return float(most**2 / (most + alike * pairs))


def share_interval(hits: np.ndarray, weights: np.ndarray, most: float) -> Interval:
    """Return Wilson's interval for the proportion of ``hits`` in ``weights`` (clusters,).

    ``most`` is the total number of episodes.
    """
    return wilson_interval(float(hits.sum() / weights.sum()), effective_count(hits, weights, most))


def paired_difference(
    hits: tuple[np.ndarray, np.ndarray], weights: tuple[np.ndarray, np.ndarray], most: tuple[float, float]
) -> Difference:
    """Return two proportions measured on the same clusters, and Newcombe's interval for their difference.

    For each proportion, ``hits`` and ``weights`` (clusters,) are the successes and trials in each cluster, and
    ``most`` is the total number of episodes. Wilson's limits of the two proportions are combined using their
    correlation over the clusters; unlike the bootstrap's, the interval is also valid when failures are rare.
    """
    counts = [
        effective_count(hit, weight, count) for hit, weight, count in zip(hits, weights, most, strict=True)
    ]
    return difference_of(hits, weights, (counts[0], counts[1]))


def difference_of(
    hits: tuple[np.ndarray, np.ndarray],
    weights: tuple[np.ndarray, np.ndarray],
    effective: tuple[float, float],
) -> Difference:
    """Return the same difference as `paired_difference`, from the effective sample size of each proportion."""
    shares = [float(hit.sum() / weight.sum()) for hit, weight in zip(hits, weights, strict=True)]
    off = [hit - share * weight for hit, weight, share in zip(hits, weights, shares, strict=True)]
    size = float(np.sqrt(np.square(off[0]).sum() * np.square(off[1]).sum()))
    together = float((off[0] * off[1]).sum()) / size if size > 1e-12 else 0.0
    clusters = kish(weights[0] + weights[1])
    if together > 0:  # few clusters may correlate by chance, and the interval would be too narrow
        together *= max(0.0, 1 - 3 / clusters)
    return newcombe((shares[0], shares[1]), effective, together)


def stratified_difference(
    hits: np.ndarray, counts: np.ndarray, now: np.ndarray, counts_now: np.ndarray
) -> Difference:
    """Compare the proportions ``hits / counts`` and ``now / counts_now`` within strata; arrays are (strata,).

    Strata are weighted by their information about the difference (Mantel and Haenszel), so that neither proportion
    profits from having more episodes of an easy task.
    """
    weights = counts * counts_now / (counts + counts_now)
    most = [weights.sum() ** 2 / (weights**2 / side).sum() for side in (counts, counts_now)]
    return paired_difference(
        (weights * hits / counts, weights * now / counts_now), (weights, weights), (most[0], most[1])
    )


def newcombe(shares: tuple[float, float], effective: tuple[float, float], together: float) -> Difference:
    """Return Newcombe's interval from two proportions, their effective sample sizes, and their correlation."""
    (low, high), (low_now, high_now) = (
        wilson(share, count) for share, count in zip(shares, effective, strict=True)
    )
    difference = shares[1] - shares[0]
    down, up = (
        float(np.sqrt(max(one**2 + other**2 - 2 * together * one * other, 0.0)))
        for one, other in ((shares[1] - low_now, high - shares[0]), (high_now - shares[1], shares[0] - low))
    )
    interval = Interval(max(-1.0, difference - down), min(1.0, difference + up), "newcombe")
    return Difference(shares[0], shares[1], difference, interval)


def ratio_interval(
    shares: tuple[float, float], effective: tuple[float, float], together: float
) -> Interval | None:
    """Return the interval of the second proportion divided by the first; None if the first is 0.

    A ratio R is inside if Newcombe's interval for ``second - R * first`` contains 0 (Fieller's method with Wilson's
    limits, Donner and Zou 2012). It is defined where the second proportion is 0, and wide where the first is near 0.
    """
    if not shares[0] > 0:
        return None
    (low, high), (low_now, high_now) = (
        wilson(share, count) for share, count in zip(shares, effective, strict=True)
    )
    ends = []
    for off, off_now in ((high - shares[0], shares[1] - low_now), (shares[0] - low, high_now - shares[1])):
        # The roots of square * R^2 - 2 * middle * R + rest, in the form that is stable if ``square`` is 0.
        square, rest = shares[0] ** 2 - off**2, shares[1] ** 2 - off_now**2
        middle = shares[0] * shares[1] - together * off * off_now
        root = math.sqrt(max(middle**2 - square * rest, 0.0))
        ends.append((middle, root, square, rest))
    (middle, root, _, rest), (middle_now, root_now, square_now, _) = ends
    lowest = rest / (middle + root) if middle + root > 0 else 0.0
    ratio = shares[1] / shares[0]
    highest = (middle_now + root_now) / square_now
    return Interval(float(min(max(lowest, 0.0), ratio)), float(max(highest, ratio)), "fieller-wilson")


def widen_to_p(interval: Interval, p: float) -> Interval:
    """Extend the interval of a difference to include 0 if an exact test with this p value does not reject it."""
    if p < 1 - LEVEL:
        return interval
    return Interval(min(interval.low, 0.0), max(interval.high, 0.0), interval.method)


def median_interval(values: np.ndarray, effective: float | None = None) -> Interval | None:
    """Return an interval for the median, interpolated between order statistics (Hettmansperger and Sheather).

    ``effective`` is the effective sample size if it is smaller than the number of values. Returns None for fewer
    than six values.
    """
    ordered = np.sort(values)
    n = int(min(len(values), len(values) if effective is None else effective + 1e-9))
    if n < 6:
        return None  # the range of five values contains the median with a probability of only 94 %
    outside = scipy.special.bdtr(
        np.arange(n // 2), n, 0.5
    )  # that the d-th value from either end excludes the median, d = 1, 2, ...
    d = max(int(np.searchsorted(2 * outside, 1 - LEVEL, side="right")), 1)
    cover, inner = 1 - 2 * outside[d - 1], 1 - 2 * outside[d] if d < n // 2 else 0.0
    excess = (cover - LEVEL) / (cover - inner)
    weight = (n - d) * excess / (d + (n - 2 * d) * excess)
    tail = (d + weight) / (n + 1)
    low, high = np.quantile(ordered, [tail, 1 - tail], method="weibull")
    return Interval(float(low), float(high), "order statistics")


FEWEST = 3
"""Minimum number of tasks for generalising to other tasks."""


def mean_over_tasks(sums: np.ndarray, counts: np.ndarray, given: Interval) -> tuple[Interval, float] | None:
    """Return the interval and p value of a mean difference, given its sum and count for each task (tasks,).

    The interval is Student's, but never narrower than ``given``, the interval for these tasks. p is exact under
    the hypothesis that both signs are equally likely for each task. Returns None for fewer than three tasks.
    """
    tasks = len(sums)
    if tasks < FEWEST:
        return None
    middle = float(sums.sum() / counts.sum())
    off = sums - middle * counts
    error = float(np.sqrt(np.square(off).sum() * tasks / (tasks - 1)) / counts.sum())
    own = student_over_tasks(middle, error, tasks - 1)
    return Interval(min(own.low, given.low), max(own.high, given.high), own.method), sign_flip(sums)


def share_over_tasks(hits: np.ndarray, counts: np.ndarray, most: float) -> Interval | None:
    """Return the interval of a proportion, given hits and counts for each task (tasks,); None for fewer than three.

    It is Wilson's, which stays within 0 and 1; the variance between tasks reduces the effective sample size ``most``.
    """
    if len(hits) < FEWEST:
        return None
    return replace(share_interval(hits, counts, most), method="wilson, over tasks")


def jackknife_over_tasks(
    statistic: Callable[[np.ndarray], np.ndarray],
    sums: np.ndarray,
    given: Interval | None,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Interval | None:
    """Return the interval of a function of sums over tasks, (tasks, sums), by leaving out one task at a time.

    ``statistic`` maps sums (draws, sums) to values (draws,), which lie within ``limits``. The interval is Student's,
    but never narrower than ``given``, the interval for these tasks. Returns None for fewer than three tasks, or if the
    statistic is undefined without one of them.
    """
    tasks, total = len(sums), sums.sum(axis=0)
    if tasks < FEWEST:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        without, middle = statistic(total - sums), float(statistic(total[None])[0])
    if not np.isfinite(without).all():
        return None
    error = float(np.sqrt((tasks - 1) ** 2 / tasks * without.var(ddof=1)))
    half = t_quantile((1 + LEVEL) / 2, tasks - 1) * error
    low, high = max(limits[0], middle - half), min(limits[1], middle + half)
    if given is not None:
        low, high = min(low, given.low), max(high, given.high)
    return Interval(low, high, "jackknife, over tasks")


def student_over_tasks(middle: float, error: float, freedom: int) -> Interval:
    """Return Student's interval for a difference over tasks, clipped to [-1, 1], from its standard error."""
    half = t_quantile((1 + LEVEL) / 2, freedom) * error
    return Interval(max(-1.0, middle - half), min(1.0, middle + half), "student, over tasks")
