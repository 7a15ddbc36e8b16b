"""Stop a condition as soon as it is decided, at a price that is paid in advance.

Episodes are played start by start (task and seed), all conditions of a start together and starts in a random order that
is always the same: so conditions that stop early have their starts in common, and with them their pairs. Of a start's
several episodes of a condition the first of every start come before the second of any.

After every episode the interval of the success rate is that of a confidence sequence: with probability
1 - alpha it holds the true rate at *all* times, so looking after each episode and stopping when one likes is
allowed. The sequence comes from Robbins' mixture martingale for coin flips with a Beta(1/2, 1/2) mixture,

    M_n(p) = B(s + 1/2, n - s + 1/2) / B(1/2, 1/2) / (p^s (1 - p)^(n - s)),     s successes among n,

which has mean 1 under the true p, so that it ever exceeds 1 / alpha with probability at most alpha (Ville).

The same martingale at p = 1/2, over the starts in which a condition and its control differ, tests a drop at any time
(``differs``): 1 / the largest M_n so far is a p that holds whenever one stops.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar, get_args

from assay.episodes.spec import CONTROL
from assay.errors import RunError, did_you_mean

ALPHA = 0.05
Kind = Literal["half-width", "decided", "differs"]


@dataclass(frozen=True, slots=True)
class Until:
    """When a condition is decided."""

    kind: Kind
    value: float
    """The half-width to reach, the success rate to be above or below of, or the p of a difference to the control."""
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not 0.0 < self.value < 1.0:
            raise RunError(f"--until {self.kind}={self.value:g}: valid: between 0 and 1")

    @property
    def paired(self) -> bool:
        """Whether a condition is set against its control."""
        return self.kind == "differs"

    def met(self, successes: int, count: int, p: float = 1.0) -> bool:
        """Whether a condition with so many successes among ``count`` episodes is decided.

        ``p`` is the one that holds at any time of its difference to the control.
        """
        if self.paired:
            return p <= self.value
        low, high = interval(successes, count, self.alpha)
        if self.kind == "half-width":
            return (high - low) / 2 <= self.value
        return not low <= self.value <= high

    def as_json(self, successes: int, count: int, pairs: Pairs | None = None) -> dict[str, object]:
        """The rule and what it saw."""
        low, high = interval(successes, count, self.alpha)
        seen = {} if pairs is None else pairs.as_json()
        return seen | {
            "rule": f"{self.kind}={self.value:g}",
            "alpha": self.alpha,
            "successes": successes,
            "episodes": count,
            "low": low,
            "high": high,
        }


@dataclass(slots=True)
class Pairs:
    """A condition and its control, start by start, in the order in which they count."""

    only_control: int = 0
    """Starts in which the control did better."""
    only_changed: int = 0
    """Starts in which the condition did better."""
    most: float = 0.0
    """The logarithm of the largest value of the martingale so far; it begins at 1."""

    def see(self, difference: float) -> None:
        """Take note of a start: success of the condition less that of the control."""
        self.only_control += difference < 0
        self.only_changed += difference > 0
        self.most = max(self.most, log_mixture(self.only_changed, self.only_control, 0.5))

    @property
    def p(self) -> float:
        """Two-sided, and valid whenever one stops."""
        return math.exp(-self.most)

    def as_json(self) -> dict[str, object]:
        """What it saw."""
        return {"only_control": self.only_control, "only_changed": self.only_changed, "p": self.p}


def anytime_p(differences: Iterable[float]) -> float:
    """The p of a condition's differences to its control, start by start, that holds whenever one stops."""
    pairs = Pairs()
    for difference in differences:
        pairs.see(difference)
    return pairs.p


@lru_cache(maxsize=65_536)
def start_order(task: str, seed: int) -> str:
    """Where a start stands in the random order of all: a hash, which sorts."""
    return hashlib.sha256(f"{task} {seed}".encode()).hexdigest()


T = TypeVar("T")


def in_shared_order(entries: Iterable[T], about: Callable[[T], tuple[str, str, int, str]]) -> list[T]:
    """Episodes in the order in which they are played, and count; ``about``: condition, task, seed and key of one."""
    seen: Counter[tuple[str, str, int]] = Counter()
    placed = []
    for entry in sorted(entries, key=lambda each: about(each)[3]):
        condition, task, seed, key = about(entry)
        turn = seen[condition, task, seed]
        seen[condition, task, seed] += 1
        placed.append(((turn, start_order(task, seed), condition != CONTROL, key), entry))
    return [entry for _, entry in sorted(placed, key=lambda each: each[0])]


def parse_until(text: str) -> Until:
    """``half-width=0.05``, ``decided=0.8`` or ``differs=0.05``."""
    name, _, value = text.partition("=")
    kind = next((get_arg for get_arg in get_args(Kind) if get_arg == name), None)
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
    bound = -math.log(alpha)

    def excess(rate: float) -> float:
        """log M_n(rate) - log(1 / alpha): below zero inside the interval."""
        return log_mixture(successes, count - successes, rate) - bound

    middle = successes / count
    return _root(excess, 0.0, middle), _root(excess, 1.0, middle)


def log_mixture(successes: int, failures: int, rate: float) -> float:
    """log M_n(rate)."""
    mixture = _log_beta(successes + 0.5, failures + 0.5) - _log_beta(0.5, 0.5)
    return mixture - _times_log(successes, rate) - _times_log(failures, 1 - rate)


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
