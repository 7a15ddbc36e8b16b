"""The smallest change at which success is lost: where to look next, and a confidence set that holds at all times.

A ladder has changes of growing magnitude, rung 0 to K - 1. Success at a rung is a chance that does not grow from
rung to rung. The *threshold* is the first rung at which that chance is below a level (such as a half); K where none is.
What it may be is tested candidate by candidate. If the threshold is j, success has a chance of at least the level on
every rung before j, and of less on j and all after it. So a bettor against j, on failures before it and on
successes from it on, has a capital that is not expected to grow if j is true, and exceeds 1 / alpha at *any* time with
a probability of at most alpha (Ville's inequality), for any choice of rungs and any stopping time. Candidates
against which so much was won are refuted; those that are left hold the true one with a probability of 1 - alpha.

The stake and the rung may depend on everything observed before. A small model decides (curves with a place, a
slope, a lapse rate and a guessing rate, weighed by how well they predict): the capital against j is multiplied by

    (q / level)^x * ((1 - q) / (1 - level))^(1 - x)         x: 1 for success, q: the model's prediction

where the model contradicts j (q above the level on j or after it, below it before j), and by 1 elsewhere. A wrong model
loses bets and makes the set wider; it cannot make it false. Only that chances do not grow is assumed.

What is played with one start is one bet: each candidate is bet against on one rung of it, chosen beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import product

import numpy as np

LEVEL, ALPHA = 0.5, 0.05
_SLOPES = ((0.05, 4.0), (0.8, 1.0), (2.0, 1.0), (4.0, 0.5))
"""How many rungs it takes for success to be lost, and how much each is believed in at first."""
_LAPSES = ((0.01, 6.0), (0.1, 2.0), (0.25, 1.0))
"""The chance to fail where nothing is lost, and to succeed where all is; and how much each is believed in at first."""
_BEYOND = 2.0
"""How much more than any rung it is believed at first that success is not lost at all."""
_SURE = (0.45, 0.8)
"""How sure the rungs are that are played, of 0 to 1: where success is lost at once, and where it is gradually."""
_LEAST = 0.01
"""The least chance that the model speaks of, and less than all."""
_SAME = 1e-9


class LadderEvidence:
    """What is known of the threshold on one ladder, start by start."""

    def __init__(self, rungs: int, level: float = LEVEL, alpha: float = ALPHA) -> None:
        self.rungs, self.level = rungs, level
        self._need = -math.log(alpha)
        self._curves, believed, self._gradual = _family(rungs)
        self._believed = believed.copy()
        self._capital = np.zeros(rungs + 1)
        self._most = np.zeros(rungs + 1)
        """Logarithm of the largest capital that was won against each candidate so far."""

    @property
    def success_chances(self) -> np.ndarray:
        """The chance of success on each rung, as the model has it: (rungs,)."""
        return np.asarray(self._weights @ self._curves)

    @property
    def lost(self) -> np.ndarray:
        """How much the model believes that success is lost on each rung: (rungs,)."""
        return np.asarray(self._weights @ (self._curves < self.level))

    @property
    def possible(self) -> np.ndarray:
        """Which thresholds are not refuted: bool, (rungs + 1,)."""
        return self._most < self._need

    @property
    def interval(self) -> tuple[int, int] | None:
        """The first and the last threshold that is not refuted; None where all are."""
        left = np.flatnonzero(self.possible)
        return (int(left[0]), int(left[-1])) if len(left) else None

    @property
    def best(self) -> int | None:
        """The threshold that the model believes in, among those that are not refuted."""
        ends = self.interval
        return None if ends is None else int(np.clip(np.sum(self.lost < 0.5), *ends))

    def is_settled(self, playable: Collection[int]) -> bool:
        """Whether no rung that can be played could tell the thresholds that are left apart."""
        left = np.flatnonzero(self.possible)
        return not any(left.min() <= rung < left.max() for rung in playable) if len(left) else True

    def next(self, playable: Collection[int]) -> tuple[int, ...]:
        """The rungs to be played with the next start: one where success is likely kept, one where it is likely lost.

        Each is about half as sure as it could be, and surer where success seems to be lost gradually: nearer to the
        threshold little would be won with a bet, further off few candidates would be refuted.
        """
        predicted, left = self.success_chances, np.flatnonzero(self.possible)
        sure = _SURE[0] + (_SURE[1] - _SURE[0]) * float(self._weights[self._gradual].sum())
        likely = [rung for rung in sorted(playable) if predicted[rung] > self.level and left.min() <= rung]
        unlikely = [rung for rung in sorted(playable) if predicted[rung] <= self.level and left.max() > rung]
        chosen = []
        if likely:
            aim = self.level + (1 - self.level) * sure
            chosen.append(min(likely, key=lambda rung: (round(abs(float(predicted[rung]) - aim), 9), -rung)))
        if unlikely:
            aim = self.level * (1 - sure)
            chosen.append(min(unlikely, key=lambda rung: (round(abs(float(predicted[rung]) - aim), 9), rung)))
        return tuple(chosen)

    def see(self, outcomes: Mapping[int, bool]) -> None:
        """Take note of a start: whether it succeeded on the rungs that were played with it."""
        if not outcomes:
            return
        predicted = self.success_chances
        surest = sorted(outcomes, key=lambda rung: -_gain(float(predicted[rung]), self.level))
        unbet = np.ones(self.rungs + 1, bool)
        for rung in surest:
            chance = float(predicted[rung])
            if abs(chance - self.level) < _SAME:
                continue
            says_lost = np.arange(self.rungs + 1) <= rung
            against = unbet & (says_lost if chance > self.level else ~says_lost)
            won = chance / self.level if outcomes[rung] else (1 - chance) / (1 - self.level)
            self._capital[against] += math.log(won)
            unbet &= ~against
        self._most = np.maximum(self._most, self._capital)
        for rung, succeeded in outcomes.items():
            predictions = self._curves[:, rung]
            self._believed += np.log(predictions if succeeded else 1 - predictions)

    @property
    def _weights(self) -> np.ndarray:
        weights = np.exp(self._believed - self._believed.max())
        return np.asarray(weights / weights.sum())


def _gain(chance: float, level: float) -> float:
    """What a bet on a prediction is expected to win, if it is true: the logarithm."""
    return chance * math.log(chance / level) + (1 - chance) * math.log((1 - chance) / (1 - level))


@lru_cache(maxsize=32)
def _family(rungs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The model's curves, (curves, rungs), how much each is believed in at first (logarithms), which are gradual."""
    places, curves, believed, gradual = np.arange(rungs), [], [], []
    for threshold in range(rungs + 1):
        for (slope, common), (lapse, often), (guess, rare) in product(_SLOPES, _LAPSES, _LAPSES):
            falling = 1 / (1 + np.exp(np.clip((places - threshold + 0.5) / slope, -50, 50)))
            gradual.append(slope > _SLOPES[0][0])
            curves.append(guess + (1 - guess - lapse) * falling)
            believed.append(math.log(common * often * rare * (_BEYOND if threshold == rungs else 1.0)))
    return np.clip(np.array(curves), _LEAST, 1 - _LEAST), np.array(believed), np.array(gradual)
