"""Small changes together: failures where success is known to be kept with each change alone.

A surrogate, a regression with a linear and a Gaussian kernel on what was played so far, proposes what is likely to
fail, is little known and changes little. What failed is then confirmed on starts that no proposal was played on: only
that counts.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from assay.api.searches.asking import (
    UNCHANGED,
    Answer,
    Asked,
    Item,
    Procedure,
    Setting,
    certified,
    played,
)
from assay.api.searches.threshold import FLOOR
from assay.support.stats.betting import Wager, share_of
from assay.support.stats.thresholds import ALPHA, LEVEL

EXPLORED = 4
"""Starts that proposals are played on, in turn."""
BATCH = 4
"""Proposals that are made, or starts that confirm, at once."""
SHARE = 0.5
"""Of the budget that goes to proposals; the rest confirms."""
FORGIVEN = 2
"""How many successes on fresh starts a failure may have before it is dropped."""
APART = 0.25
"""How far failures must be from each other to be different: of an axis' range, over all axes."""
MOST = 512
"""Settings that are thought about; where there are more, so many are drawn."""
WIDTH, NOISE, USUAL = 0.5, 0.1, 0.2
"""Of the surrogate: how far what was seen reaches, how noisy it is, and the chance of failure far from all of it."""
CURIOUS = 0.15
"""What it is worth not to know."""


@dataclass(slots=True)
class Case:
    """Changes that were played on fresh starts."""

    setting: Setting
    failures: int = 0
    starts: int = 0
    confirmed: bool = False


@dataclass(slots=True)
class Combination:
    """The search for small changes of one task that break it together."""

    rungs: Mapping[str, int]
    """For each axis, how many rungs of its ladder success is known to be kept on, with it alone."""
    budget: int
    chance: np.random.Generator
    guided: bool = True
    """Whether the surrogate proposes; otherwise chance does, for comparison."""
    level: float = LEVEL
    alpha: float = ALPHA
    episodes: int = 0
    proposals: int = 0
    tested: int = 0
    """Failures that were played on fresh starts: the error is shared among them in this order."""
    cases: list[Case] = field(default_factory=list)
    """... of which an episode did not break."""
    ended: str = ""
    _usual: dict[int, bool] = field(default_factory=dict)
    """Controls that were played: seed -> success."""

    def search(self, seeds: Iterable[int]) -> Procedure:
        """Propose, then confirm."""
        later = iter(seeds)
        space = self._space()
        first = yield from self._starts(later, EXPLORED)
        if len(first) < EXPLORED:
            self.ended = "controls"
            return
        seen: dict[Setting, bool] = {}
        tried: set[Setting] = set()
        turn = 0
        while self.episodes + BATCH <= SHARE * self.budget and len(tried) < len(space):
            several = self._proposals(space, seen, tried)
            tried.update(several)
            items = tuple((first[(turn + n) % EXPLORED], setting) for n, setting in enumerate(several))
            turn += len(items)
            can = yield from certified(items)
            chosen = tuple(item for item in items if item in can)
            self.episodes += len(chosen)
            self.proposals += len(chosen)
            if chosen:
                found = yield from played(chosen)
                seen |= {setting: won for (_, setting), won in found.items() if won is not None}
        fresh: list[int] = []
        for setting in self._suspects(seen):
            if not (yield from self._confirm(setting, later, fresh)):
                break
        self.ended = "settled" if not self.ended else self.ended

    def _starts(self, seeds: Iterator[int], count: int) -> Generator[Asked, Answer, list[int]]:
        """So many starts whose controls succeed; fewer where the budget or the policy does not allow."""
        found: list[int] = []
        failed = 0
        for seed in seeds:
            if self.episodes >= self.budget:
                break
            control = (seed, UNCHANGED)
            if control not in (yield from certified((control,))):
                continue
            self.episodes += 1
            usual = (yield from played((control,)))[control]
            if usual:
                found.append(seed)
            elif usual is not None:
                failed += 1
            if len(found) == count or (failed >= FLOOR and not found):
                break
        return found

    def _confirm(
        self, setting: Setting, later: Iterator[int], fresh: list[int]
    ) -> Generator[Asked, Answer, bool]:
        """Play a setting on fresh starts until it is known to fail, or not to; False where the budget is used up."""
        case, wager = Case(setting), Wager(1 - 2 * self.level)
        place, number = 0, 0
        while not case.confirmed and case.starts - case.failures <= FORGIVEN:
            if len(fresh) <= place:
                more = yield from self._starts(later, BATCH)
                fresh += more
                if len(fresh) <= place:
                    self.ended = "budget"
                    break
            if self.episodes + 1 > self.budget:
                self.ended = "budget"
                break
            items: tuple[Item, ...] = tuple((seed, setting) for seed in fresh[place : place + BATCH])
            place += len(items)
            can = yield from certified(items)
            chosen = tuple(item for item in items if item in can)[: self.budget - self.episodes]
            self.episodes += len(chosen)
            if chosen and not number:
                self.tested += 1
                number = self.tested
            found = (yield from played(chosen, fresh=True)) if chosen else {}
            for won in found.values():
                if won is not None:
                    case.starts += 1
                    case.failures += not won
                    wager.see(-1.0 if won else 1.0)
            case.confirmed = bool(number) and wager.won(share_of(self.alpha, number))
            if place >= 40:
                break
        if case.starts:
            self.cases.append(case)
        return not self.ended

    def _space(self) -> list[Setting]:
        """What may be proposed: two axes or more, each as far as success is kept with it alone."""
        names = [axis for axis, rungs in self.rungs.items() if rungs]
        size = math.prod(self.rungs[axis] + 1 for axis in names)
        if size <= MOST:
            places: Iterable[tuple[int, ...]] = product(*(range(-1, self.rungs[axis]) for axis in names))
        else:
            drawn = [self.chance.integers(-1, self.rungs[axis], MOST) for axis in names]
            largest = tuple(self.rungs[axis] - 1 for axis in names)
            places = list(dict.fromkeys([largest, *zip(*(each.tolist() for each in drawn), strict=True)]))
        found = (
            tuple((axis, place) for axis, place in zip(names, each, strict=True) if place >= 0)
            for each in places
        )
        return [setting for setting in found if len(setting) > 1]

    def scaled(self, settings: Iterable[Setting]) -> np.ndarray:
        """How far each axis is changed, of as far as it may be: (settings, axes)."""
        names = list(self.rungs)
        rows = [
            [(dict(setting).get(axis, -1) + 1) / max(self.rungs[axis], 1) for axis in names]
            for setting in settings
        ]
        return np.array(rows).reshape(-1, len(names))

    def size(self, setting: Setting) -> float:
        """How much is changed in all, of as much as may be."""
        return float(self.scaled([setting]).mean())

    def _proposals(
        self, space: list[Setting], seen: Mapping[Setting, bool], tried: set[Setting]
    ) -> list[Setting]:
        """The next ones to be played."""
        left = [setting for setting in space if setting not in tried]
        order = self.chance.permutation(len(left))
        if not self.guided:
            return [left[place] for place in order[:BATCH]]
        places = self.scaled(left)
        if not seen:  # the largest of all, and some others: if anything fails, that does
            largest = int(np.argmax(places.sum(axis=1)))
            others = [left[place] for place in order if place != largest]
            return [left[largest], *others[: BATCH - 1]]
        chosen: list[Setting] = []
        known = self.scaled(seen)
        failed = np.array([0.0 if won else 1.0 for won in seen.values()])
        for _ in range(min(BATCH, len(left))):
            likely, unsure = surrogate(known, failed, places)
            worth = np.clip(likely + CURIOUS * unsure, 0.0, 1.0) * (1 - places.mean(axis=1))
            worth[[left.index(each) for each in chosen]] = -np.inf
            best = int(order[np.argmax(worth[order])])
            chosen.append(left[best])
            # As if it had come out as expected: the next one is sought elsewhere.
            known, failed = np.vstack([known, places[best]]), np.append(failed, likely[best])
        return chosen

    def _suspects(self, seen: Mapping[Setting, bool]) -> list[Setting]:
        """What failed, the likeliest and smallest first, none near one that comes before it."""
        failures = [setting for setting, won in seen.items() if not won]
        if not failures:
            return []
        known, outcomes = self.scaled(seen), np.array([0.0 if won else 1.0 for won in seen.values()])
        places = self.scaled(failures)
        likely = surrogate(known, outcomes, places)[0] if self.guided else np.ones(len(failures))
        kept: list[int] = []
        for place in np.argsort(-np.clip(likely, 0.0, 1.0) * (1 - places.mean(axis=1)), kind="stable"):
            if all(np.linalg.norm(places[place] - places[other]) >= APART for other in kept):
                kept.append(int(place))
        return [failures[place] for place in kept]


def surrogate(known: np.ndarray, failed: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The chance of failure at places (n, axes), and how unsure it is, from what failed (1) at others (m, axes)."""

    def alike(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        apart = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
        return np.asarray(one @ other.T + np.exp(-apart / (2 * WIDTH**2)))

    between = alike(places, known)
    solved = np.linalg.solve(
        alike(known, known) + NOISE * np.eye(len(known)), np.c_[failed - USUAL, between.T]
    )
    own = 1.0 + (places**2).sum(axis=1)
    unsure = np.sqrt(np.clip(own - (between * solved[:, 1:].T).sum(axis=1), 0.0, None))
    return USUAL + between @ solved[:, 0], unsure
