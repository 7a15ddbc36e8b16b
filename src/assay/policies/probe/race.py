"""Who is best, round by round: the bad drop out early, so that few rounds are wasted on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from assay.support.stats.betting import evidence

T = TypeVar("T")
R = TypeVar("R")

DOUBT = 0.01
"""The probability, at most, that the best drops out for being beaten; that halving takes it out is not in it."""
HALVING, KEPT = 6, 4
"""Every so many rounds the worse half drops out as well, down to so many."""
DIGITS = 6
"""Of a score; what differs less is a draw."""
PREFERENCE = math.log(3.0)
"""The first entry, which is what is usual, stays ahead of others that are better by less evidence than this."""


class Refused(Exception):  # noqa: N818
    """Somebody cannot take part; says why."""


@dataclass(eq=False)
class Entry(Generic[T]):
    """One of those who compete."""

    what: T
    scores: list[float] = field(default_factory=list)
    """In [0, 1], one for each round until they dropped out."""
    refused: str = ""
    """Why it could not take part."""
    beaten: bool = False
    """Whether it dropped out."""

    @property
    def mean(self) -> float:
        """Mean score; -1 if there is none."""
        return float(np.mean(self.scores)) if self.scores else -1.0

    @property
    def racing(self) -> bool:
        """Whether it still takes part."""
        return not self.refused and not self.beaten

    def ahead_of(self, other: Entry[T]) -> float:
        """Logarithm of the evidence that this wins more rounds than another, of those that both took part in.

        By how much does not count, so that small differences that are always there show.
        """
        if other.refused:
            return math.inf
        shared = min(len(self.scores), len(other.scores))
        return evidence(np.sign(np.subtract(self.scores[:shared], other.scores[:shared]).round(DIGITS)))


def race(
    contenders: Sequence[T],
    rounds: Iterable[R],
    score: Callable[[T, R], float],
    *,
    on_round: Callable[[int], None] = lambda racing: None,
) -> list[Entry[T]]:
    """Let contenders compete, the usual one first, until one is left or the rounds are over; the best comes first.

    ``score`` gives a number in [0, 1], or raises Refused. ``on_round`` is told how many still race.
    """
    entries = [Entry(contender) for contender in contenders]
    enough = math.log(len(entries) / DOUBT)  # each of the others may seem to beat the best
    for number, this in enumerate(rounds, 1):
        racing = [entry for entry in entries if entry.racing]
        if len(racing) < 2 and any(entry.scores for entry in racing):
            break
        for entry in racing:
            try:
                entry.scores.append(score(entry.what, this))
            except Refused as reason:
                entry.refused = str(reason)
        leader = _leader(entries)
        for entry in entries:
            entry.beaten |= entry is not leader and entry.racing and leader.ahead_of(entry) > enough
        if number % HALVING == 0:
            left = sorted((entry for entry in entries if entry.racing), key=lambda entry: -entry.mean)
            for entry in left[max(KEPT, len(left) // 2) :]:
                entry.beaten |= entry is not leader
        on_round(sum(entry.racing for entry in entries))
    best = _leader(entries)
    return [best, *(entry for entry in entries if entry is not best)]


def catch_up(
    entry: Entry[T], best: Entry[T], rounds: Sequence[R], score: Callable[[T, R], float], enough: float
) -> None:
    """Let one who dropped out do the rounds that the best did, until the evidence between them is enough."""
    for this in rounds[len(entry.scores) : len(best.scores)]:
        if entry.refused or best.ahead_of(entry) >= enough:
            return
        try:
            entry.scores.append(score(entry.what, this))
        except Refused as reason:
            entry.refused = str(reason)


def _leader(entries: Sequence[Entry[T]]) -> Entry[T]:
    """Who is best so far; the usual one, unless it is beaten with some evidence."""
    racing = [entry for entry in entries if entry.racing] or list(entries)
    best = max(racing, key=lambda entry: entry.mean)  # the first of equals
    usual = entries[0]
    return usual if usual.racing and best.ahead_of(usual) < PREFERENCE else best
