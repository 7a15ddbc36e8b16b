"""Intervals and tests in plain numpy, written from their definitions to check those of the package."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import special

Z = 1.959963984540054
Row = dict[str, Any]
Json = dict[str, Any]


# Intervals and effective sample sizes


def bounds(low: float, high: float) -> Json:
    return {"low": low, "high": high}


def wilson(p: float, n: float) -> Json:
    middle, half = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return bounds(
        max(0.0, min((middle - half) / (1 + Z**2 / n), p)), min(1.0, max((middle + half) / (1 + Z**2 / n), p))
    )


def kish(weights: np.ndarray) -> float:
    return weights.sum() ** 2 / (weights**2).sum()


def student_factor(clusters: float) -> float:
    """Squared ratio of the normal to Student's quantile."""
    return (Z / special.stdtrit(max(clusters - 1, 1), 0.975)) ** 2


def smoothed_variance(p: float, n: float) -> float:
    q = (p * n + 1) / (n + 2)
    return q * (1 - q)


def correlation(cross: float, room: float, free: float, rare: float) -> float:
    """Intra-cluster correlation, shrunk towards 0.2 by five pairs, and raised if fewer than five clusters fail."""
    r = min(
        (max(cross, 0) / student_factor(max(min(free, rare), 2) + 1) + 5 * 0.2) / (room + 5),
        1.0,
    )
    return r + (1 - r) * max(0.0, 1 - rare / 5)


def effective_of_sums(hits: np.ndarray, weights: np.ndarray, most: float) -> float:
    """Effective sample size of clusters with these sums."""
    clusters = kish(weights)
    if clusters < 2 or clusters >= most:
        return most
    hits, weights = hits * most / weights.sum(), weights * most / weights.sum()
    p = hits.sum() / most
    pairs = (weights**2).sum() - most
    cross = ((hits - p * weights) ** 2).sum() * clusters / (clusters - 1) - p * (1 - p) * most
    rare = min((hits > 1e-9).sum(), (hits < weights - 1e-9).sum())
    return most**2 / (
        most + correlation(cross, smoothed_variance(p, most) * pairs, clusters - 1, rare) * pairs
    )


def split(rows: Sequence[Row], *names: str) -> dict[tuple[Any, ...], list[int]]:
    """Indices of the rows with equal values, in order of appearance."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault(tuple(row[name] for name in names), []).append(at)
    return groups


def grouped(rows: Sequence[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    rows = [row for row in rows if all(row.get(name) is not None for name in names)]
    return {key: [rows[at] for at in members] for key, members in split(rows, *names).items()}


START = ("task", "start")
VARIANT = ("task", "condition", "instruction")


def nested(
    rows: Sequence[Row], off: np.ndarray, strata: Sequence[str], clusters: Sequence[str]
) -> Iterator[Any]:
    """For each stratum: its rows by cluster, sum of squares between clusters, between rows, and freedom."""
    for members in split(rows, *strata).values():
        own = off[members] - off[members].mean()
        parts = list(split([rows[at] for at in members], *clusters).values())
        k, n = len(parts), len(members)
        between = sum(own[part].sum() ** 2 for part in parts) * k / (k - 1) if k > 1 else 0.0
        within = (own**2).sum() * n / (n - 1) if n > 1 else 0.0
        yield [[members[at] for at in part] for part in parts], between, within, k - 1


def effective(
    rows: Sequence[Row], name: str, weight: str | None = None, given: Sequence[str] = ("task",)
) -> float:
    """Effective sample size of a rate, for episodes that share starts or variants."""
    hits = np.array([row[name] for row in rows], float)
    weights = np.array([row[weight] if weight else 1.0 for row in rows])
    p, squared = (weights * hits).sum() / weights.sum(), (weights**2).sum()
    most, unit = weights.sum() ** 2 / squared, squared / weights.sum()
    off, excess, largest = weights * (hits - p), 0.0, 0.0
    for strata, clusters in ((("task",), START), (given, VARIANT)):
        cross = pairs = free = 0.0
        for parts, between, within, freedom in nested(rows, off, strata, clusters):
            if freedom:
                cross, free = cross + between - within, free + freedom
                pairs += sum(weights[part].sum() ** 2 - (weights[part] ** 2).sum() for part in parts)
        groups = list(split(rows, *strata, *clusters).values())
        rare = min(sum((hits[g] > 0).any() for g in groups), sum((hits[g] < 1).any() for g in groups))
        room = smoothed_variance(p, most) * pairs / unit**2
        excess += correlation(cross / unit**2, room, free, rare) * pairs / unit**2
        largest = max(largest, pairs / unit**2)
    within_tasks, whole = 0.0, p * (1 - p)
    for members in split(rows, "task").values():
        here = (weights[members] * hits[members]).sum() / weights[members].sum()
        n = len(split([rows[at] for at in members], *START))
        own = (2 * whole + n * here * (1 - here) * n / max(n - 1, 1)) / (2 + n) if n > 1 else whole
        within_tasks += (weights[members] ** 2).sum() * own / squared
    left = min(max(within_tasks / whole, 0.0), 1.0) if whole > 0 else 1.0
    return most**2 / (most * left + min(excess, largest))


def variance(rows: Sequence[Row], off: np.ndarray, given: Sequence[str] = ("task",)) -> float:
    """Variance of a sum, crossed over starts and variants."""
    starts = list(nested(rows, off, ("task",), START))
    variants = list(nested(rows, off, given, VARIANT))
    several = sum(v[3] for v in variants) >= 4
    spread = sum(s[1] for s in starts)
    spread += sum(v[1] - v[2] for v in variants if v[3]) if several else 0.0
    if spread <= max((off**2).sum(), sum(s[2] for s in starts)) * (1 + 1e-9):
        return float((off**2).sum())
    free = [sum(s[3] for s in starts), sum(v[3] for v in variants) if several else 0]
    return spread / student_factor(min(f for f in free if f) + 1)


def share(rows: Sequence[Row], name: str) -> tuple[int, int, float, Json]:
    """Hits, rows, rate and Wilson interval."""
    hits = sum(row[name] for row in rows)
    return hits, len(rows), hits / len(rows), wilson(hits / len(rows), effective(rows, name))


def newcombe(p: float, q: float, n: float, m: float, r: float) -> Json:
    a, b = wilson(p, n), wilson(q, m)
    down = math.sqrt(
        max((q - b["low"]) ** 2 + (a["high"] - p) ** 2 - 2 * r * (q - b["low"]) * (a["high"] - p), 0)
    )
    up = math.sqrt(
        max((b["high"] - q) ** 2 + (p - a["low"]) ** 2 - 2 * r * (b["high"] - q) * (p - a["low"]), 0)
    )
    return bounds(max(-1.0, q - p - down), min(1.0, q - p + up))


def paired_interval(
    h: np.ndarray, w: np.ndarray, g: np.ndarray, v: np.ndarray, n: float, m: float
) -> tuple[float, float, Json]:
    """Two rates over the same clusters, and Newcombe's interval with their correlation."""
    p, q = h.sum() / w.sum(), g.sum() / v.sum()
    x, y = h - p * w, g - q * v
    size = math.sqrt((x**2).sum() * (y**2).sum())
    r = (x * y).sum() / size if size > 1e-12 else 0.0
    r *= max(0.0, 1 - 3 / kish(w + v)) if r > 0 else 1
    return p, q, newcombe(p, q, n, m, r)


def stratified(h: np.ndarray, n: np.ndarray, g: np.ndarray, m: np.ndarray) -> tuple[float, Json]:
    """Mantel-Haenszel difference of two rates and its interval."""
    w = n * m / (n + m)
    h, g = w * h / n, w * g / m
    sizes = [effective_of_sums(x, w, w.sum() ** 2 / (w**2 / k).sum()) for x, k in ((h, n), (g, m))]
    p, q, interval = paired_interval(h, w, g, w, *sizes)
    return q - p, interval


def widened(interval: Json, p: float) -> Json:
    return interval if p < 0.05 else bounds(min(interval["low"], 0.0), max(interval["high"], 0.0))


def mean_of_tasks(sums: np.ndarray, counts: np.ndarray, given: Json) -> Json | None:
    """Student's interval of a mean over tasks, never narrower than the interval for these tasks."""
    k, middle = len(sums), sums.sum() / counts.sum()
    if k < 3:
        return None
    error = math.sqrt(((sums - middle * counts) ** 2).sum() * k / (k - 1)) / counts.sum()
    return general(middle, error, k, given, -1.0, 1.0)


def general(middle: float, error: float, tasks: int, given: Json | None, least: float, most: float) -> Json:
    half = special.stdtrit(tasks - 1, 0.975) * error
    low, high = max(least, middle - half), min(most, middle + half)
    return bounds(min(low, given["low"]), max(high, given["high"])) if given else bounds(low, high)


def jackknife(
    value: Callable[[np.ndarray], float],
    tasks: Sequence[Any],
    given: Json | None,
    least: float = -math.inf,
    most: float = math.inf,
) -> Json | None:
    """Interval of a value of episodes or starts, (mask,), by leaving out the tasks one at a time."""
    names, own = sorted(set(tasks)), np.array(tasks)
    k = len(names)
    if k < 3:
        return None
    without = np.array([value(own != name) for name in names])
    error = math.sqrt((k - 1) / k * ((without - without.mean()) ** 2).sum())
    return general(value(own == own), error, k, given, least, most)


def retention(pairs: Sequence[Row]) -> tuple[float | None, Json | None]:
    """Perturbed divided by control success, with Fieller's interval."""
    c, s = (np.array([row[name] for row in pairs], float) for name in ("rate", "success"))
    p, q, given = c.mean(), s.mean(), ("task", "condition")
    if not p:
        return None, None
    one, two, apart = (variance(pairs, off / len(c), given) for off in (c - p, s - q, s - q - c + p))
    r = min(max((one + two - apart) / (2 * math.sqrt(one * two)), -1), 1) if one * two > 0 else 0.0
    a, b = (
        wilson(p, effective(pairs, "rate", given=given)),
        wilson(q, effective(pairs, "success", given=given)),
    )

    def root(x: float, y: float, sign: int) -> float:
        """Solve (q - R p)^2 = y^2 - 2 r x y R + x^2 R^2."""
        square, rest, middle = p**2 - x**2, q**2 - y**2, p * q - r * x * y
        half = math.sqrt(max(middle**2 - square * rest, 0.0))
        return (middle + half) / square if sign > 0 else rest / (middle + half) if middle + half > 0 else 0.0

    low, high = root(a["high"] - p, q - b["low"], -1), root(p - a["low"], b["high"] - q, 1)
    return q / p, bounds(min(max(low, 0.0), q / p), max(high, q / p))


# Tests


def binomial_tail(k: int, n: int, p: float) -> float:
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def sign_flip(values: Iterable[float]) -> float:
    """Two-sided p value if each sign is equally likely, from the exact distribution of the sum."""
    whole = [round(value * 5040) for value in values if abs(value) > 1e-9]
    sums = Counter({0: 1})
    for value in whole:
        sums = Counter(
            {k: sums[k - value] + sums[k + value] for k in {s + d for s in sums for d in (value, -value)}}
        )
    return sum(n for k, n in sums.items() if abs(k) >= abs(sum(whole))) / 2 ** len(whole)


def within_strata(h: np.ndarray, n: np.ndarray, g: np.ndarray, m: np.ndarray) -> float:
    """Two-sided exact Mantel-Haenszel p value."""
    chances, seen = np.ones(1), 0
    for hit, count, hit_now, now in zip(*(x.astype(int).tolist() for x in (h, n, g, m)), strict=True):
        won, total = hit + hit_now, count + now
        if not 0 < won < total or not count or not now:
            continue
        seen += hit
        ways = [math.comb(won, k) * math.comb(total - won, count - k) for k in range(count + 1)]
        chances = np.convolve(chances, np.array(ways) / math.comb(total, count))
    return min(1.0, 2 * min(chances[: seen + 1].sum(), chances[seen:].sum())) if len(chances) > 1 else 1.0


def paired_p(h: np.ndarray, n: np.ndarray, g: np.ndarray, m: np.ndarray) -> float:
    return max(sign_flip((g * n - h * m) / (n + m)), within_strata(h, n, g, m))


def holm(values: Sequence[float]) -> list[float]:
    raised, largest = [0.0] * len(values), 0.0
    for rank, at in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = raised[at] = max(largest, min(1.0, values[at] * (len(values) - rank)))
    return raised


def adjusted(values: Sequence[float], least: Sequence[float]) -> list[float]:
    """Holm's correction of the tests that can be significant (Tarone)."""
    able = [at for at, bound in enumerate(least) if bound < 0.05]
    raised = [min(1.0, value * (len(able) + 1)) for value in values]
    for at, p in zip(able, holm([values[at] for at in able]), strict=True):
        raised[at] = p
    return raised


def log_odds(c: np.ndarray, s: np.ndarray, n: np.ndarray) -> Json | None:
    """Conditional logistic regression with Firth's penalty; one control in each stratum."""
    strata = [(int(a), int(b), int(k)) for a, b, k in zip(c, s, n, strict=True) if 0 < a + b < k + 1]
    if not strata:
        return None

    def moments(beta: float) -> np.ndarray:
        result = []
        for a, b, k in strata:
            x = np.array([a + b - 1, a + b])  # successes with the change, if the control succeeds or not
            w = np.array([math.comb(k, v) if 0 <= v <= k else 0 for v in x]) * np.exp(beta * (x - x[0]))
            mean = (w * x).sum() / w.sum()
            result.append([b - mean, *((w * (x - mean) ** d).sum() / w.sum() for d in (2, 3))])
        return np.array(result)

    beta = 0.0
    for _ in range(100):
        off, var, skew = moments(beta).sum(axis=0)
        beta += float(np.clip((off + skew / (2 * var)) / var, -2, 2))
    table = moments(beta)
    information = table[:, 1].sum()
    error = math.sqrt(max(information, (table[:, 0] ** 2).sum())) / information
    p = 2 * special.ndtr(-abs(beta) / error)
    return {
        "log_odds": beta,
        "interval": bounds(beta - Z * error, beta + Z * error),
        "p": p,
        "strata": len(strata),
    }
