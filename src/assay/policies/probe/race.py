"""Successive elimination: contenders are scored round by round, and poor ones drop out early."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from assay.support.stats.betting import evidence

T = TypeVar("T")
R = TypeVar("R")

ERROR_PROBABILITY = 0.01
"""Upper bound of the probability that the best is eliminated by evidence; halving is not included."""
HALVING_ROUNDS, MIN_SURVIVORS = 6, 4
"""After every 6 rounds the worse half drops out as well, down to 4."""
SCORE_DIGITS = 6
"""Scores that differ less are a draw."""
PREFERENCE = math.log(3.0)
"""The first contender, the default, stays ahead of others that are better by less evidence than this."""


class RefusedError(Exception):
    """A contender that cannot take part, and why."""


@dataclass(eq=False)
class Contender(Generic[T]):
    """One alternative and its scores."""

    value: T
    scores: list[float] = field(default_factory=list)
    """In [0, 1], one per round until it dropped out."""
    refused: str = ""
    """Why it could not take part."""
    is_eliminated: bool = False

    @property
    def mean(self) -> float:
        """Mean score; -1 without any."""
        return float(np.mean(self.scores)) if self.scores else -1.0

    @property
    def is_racing(self) -> bool:
        """Whether it still takes part."""
        return not self.refused and not self.is_eliminated

    def ahead_of(self, other: Contender[T]) -> float:
        """Logarithm of the evidence that this wins more of the shared rounds than another.

        Margins do not count, so that small but consistent differences show.
        """
        if other.refused:
            return math.inf
        shared = min(len(self.scores), len(other.scores))
        return evidence(np.sign(np.subtract(self.scores[:shared], other.scores[:shared]).round(SCORE_DIGITS)))

    def play(self, item: R, score: Callable[[T, R], float]) -> None:
        """Add the score of one round."""
        try:
            self.scores.append(score(self.value, item))
        except RefusedError as reason:
            self.refused = str(reason)


def race(
    values: Sequence[T],
    rounds: Iterable[R],
    score: Callable[[T, R], float],
    *,
    on_round: Callable[[int], None] = lambda racing: None,
) -> list[Contender[T]]:
    """Race values, the default first, until one is left or the rounds are over; the best comes first.

    ``score`` returns a number in [0, 1], or raises RefusedError. ``on_round`` is called with the number that remain.
    """
    contenders = [Contender(value) for value in values]
    threshold = math.log(len(contenders) / ERROR_PROBABILITY)  # any of the others may seem to beat the best
    for number, item in enumerate(rounds, 1):
        racing = [contender for contender in contenders if contender.is_racing]
        if len(racing) < 2 and any(contender.scores for contender in racing):
            break
        for contender in racing:
            contender.play(item, score)
        leader = _leader(contenders)
        for contender in contenders:
            if contender is not leader and contender.is_racing and leader.ahead_of(contender) > threshold:
                contender.is_eliminated = True
        if number % HALVING_ROUNDS == 0:
            left = sorted(
                (contender for contender in contenders if contender.is_racing),
                key=lambda contender: -contender.mean,
            )
            for contender in left[max(MIN_SURVIVORS, len(left) // 2) :]:
                contender.is_eliminated |= contender is not leader
        on_round(sum(contender.is_racing for contender in contenders))
    best = _leader(contenders)
    return [best, *(contender for contender in contenders if contender is not best)]


def catch_up(
    contender: Contender[T],
    best: Contender[T],
    rounds: Sequence[R],
    score: Callable[[T, R], float],
    threshold: float,
) -> None:
    """Play the rounds that an eliminated contender missed, until the evidence against it reaches a threshold."""
    for item in rounds[len(contender.scores) : len(best.scores)]:
        if contender.refused or best.ahead_of(contender) >= threshold:
            return
        contender.play(item, score)


def _leader(contenders: Sequence[Contender[T]]) -> Contender[T]:
    """The best so far; the default, unless it is beaten with some evidence."""
    racing = [contender for contender in contenders if contender.is_racing] or list(contenders)
    best = max(racing, key=lambda contender: contender.mean)  # the first of equals
    default = contenders[0]
    return default if default.is_racing and best.ahead_of(default) < PREFERENCE else best
