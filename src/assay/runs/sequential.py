"""Stop a condition as soon as it is decided, at a price that is paid in advance.

After every episode the interval of the success rate is that of a confidence sequence: with probability
1 - alpha it holds the true rate at *all* times, so looking after each episode and stopping when one likes is
allowed. The sequence comes from Robbins' mixture martingale for coin flips with a Beta(1/2, 1/2) mixture,

    M_n(p) = B(s + 1/2, n - s + 1/2) / B(1/2, 1/2) / (p^s (1 - p)^(n - s)),     s successes among n,

which has mean 1 under the true p, so that it ever exceeds 1 / alpha with probability at most alpha (Ville).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from assay.errors import RunError, did_you_mean

ALPHA = 0.05
Kind = Literal["half-width", "decided"]


@dataclass(frozen=True, slots=True)
class Until:
    """When a condition is decided."""

    kind: Kind
    value: float
    """The half-width to reach, or the success rate to be above or below of."""
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not 0.0 < self.value < 1.0:
            raise RunError(f"--until {self.kind}={self.value:g}: valid: between 0 and 1")

    def met(self, successes: int, count: int) -> bool:
        """Whether a condition with so many successes among ``count`` episodes is decided."""
        low, high = interval(successes, count, self.alpha)
        if self.kind == "half-width":
            return (high - low) / 2 <= self.value
        return not low <= self.value <= high

    def as_json(self, successes: int, count: int) -> dict[str, object]:
        """The rule and what it saw."""
        low, high = interval(successes, count, self.alpha)
        return {
            "rule": f"{self.kind}={self.value:g}",
            "alpha": self.alpha,
            "successes": successes,
            "episodes": count,
            "low": low,
            "high": high,
        }


def parse_until(text: str) -> Until:
    """``half-width=0.05`` or ``decided=0.8``."""
    name, _, value = text.partition("=")
    kind = next((each for each in get_args(Kind) if each == name), None)
    if kind is None:
        raise RunError(f"--until '{text}': {did_you_mean(name, get_args(Kind))}, e.g. decided=0.8")
    try:
        return Until(kind, float(value))
    except ValueError:
        raise RunError(f"--until '{text}': '{value}' is not a number") from None


def interval(successes: int, count: int, alpha: float = ALPHA) -> tuple[float, float]:
    """Lower and upper end of the confidence sequence after ``count`` episodes."""
    if count == 0:
        return 0.0, 1.0
    mixture = _log_beta(successes + 0.5, count - successes + 0.5) - _log_beta(0.5, 0.5)
    bound = -math.log(alpha)

    def excess(rate: float) -> float:
        """log M_n(rate) - log(1 / alpha): below zero inside the interval."""
        likelihood = _times_log(successes, rate) + _times_log(count - successes, 1 - rate)
        return mixture - likelihood - bound

    middle = successes / count
    return _root(excess, 0.0, middle), _root(excess, 1.0, middle)


def _root(excess: Callable[[float], float], outside: float, inside: float) -> float:
    """Where the function changes sign between a rate outside the interval and one inside."""
    if excess(outside) <= 0:
        return outside
    for _ in range(50):
        middle = (outside + inside) / 2
        if excess(middle) > 0:
            outside = middle
        else:
            inside = middle
    return outside


def _times_log(count: int, rate: float) -> float:
    if count == 0:
        return 0.0
    return count * math.log(rate) if rate > 0 else -math.inf


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
