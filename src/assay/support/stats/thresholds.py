"""The smallest change at which success is lost: adaptively chosen magnitudes, an anytime-valid confidence set.

A *ladder* is a sequence of K changes of increasing magnitude, its *rungs* 0 to K - 1. The success probability is
assumed not to increase from one rung to the next. The *threshold* is the first rung at which that probability is
below a level (for example one half), or K if there is no such rung. Each candidate is tested. If the threshold is
j, the success probability is at least the level on every rung before j, and below it on j and all later rungs. A
bettor who bets against j, on failures before rung j and on successes from rung j on, therefore has a capital that
is not expected to grow if j is true, and that exceeds 1 / alpha at *any* time with a probability of at most alpha
(Ville's inequality), for any choice of rungs and any stopping time. Candidates against which this capital is
reached are rejected; the remaining set contains the true threshold with a probability of at least 1 - alpha.

The stakes and rungs may depend on all earlier observations. They are chosen by a small model (curves with a
location, a slope, a lapse rate and a guessing rate, weighted by predictive performance): the capital against j is
multiplied by

    (q / level)^x * ((1 - q) / (1 - level))^(1 - x)         x: 1 for success, q: the model's prediction

where the model contradicts j (q above the level on j or after it, below it before j), and by 1 elsewhere. A wrong
model loses bets and widens the set, but cannot invalidate it. The only assumption is monotonicity.

The episodes of one start form one bet: against each candidate, the bet uses the outcome on a single rung, which is
chosen in advance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import product

import numpy as np

LEVEL, ALPHA = 0.5, 0.05
_SLOPES = ((0.05, 4.0), (0.8, 1.0), (2.0, 1.0), (4.0, 0.5))
"""Numbers of magnitude steps over which success is lost, with prior weights."""
_LAPSES = ((0.01, 6.0), (0.1, 2.0), (0.25, 1.0))
"""Lapse and guessing rates (failure before the loss, success after it), with prior weights."""
_BEYOND = 2.0
"""Prior weight of the absence of a threshold, relative to that of any single threshold."""
_SURE = (0.45, 0.8)
"""Target certainty of predictions for the chosen magnitudes, 0 to 1, for an abrupt and for a gradual loss."""
_LEAST = 0.01
"""Minimum probability that the model predicts; the maximum is 1 minus this value."""
_SAME = 1e-9


class LadderEvidence:
    """Evidence about the threshold on one ladder of magnitudes, updated after every start."""

    def __init__(self, rungs: int, level: float = LEVEL, alpha: float = ALPHA) -> None:
        self.rungs, self.level = rungs, level
        self._need = -math.log(alpha)
        self._curves, believed, self._gradual = _family(rungs)
        self._believed = believed.copy()
        self._capital = np.zeros(rungs + 1)
        self._most = np.zeros(rungs + 1)
        """Logarithm of the largest capital so far against each candidate."""

    @property
    def success_chances(self) -> np.ndarray:
        """Success probability at each magnitude according to the model, shape (rungs,)."""
        return np.asarray(self._weights @ self._curves)

    @property
    def lost(self) -> np.ndarray:
        """Probability, according to the model, that success is lost at each magnitude, shape (rungs,)."""
        return np.asarray(self._weights @ (self._curves < self.level))

    @property
    def possible(self) -> np.ndarray:
        """Whether each threshold is still possible, that is, not rejected; bool, shape (rungs + 1,)."""
        return self._most < self._need

    @property
    def interval(self) -> tuple[int, int] | None:
        """First and last thresholds that are not rejected; None if all are rejected."""
        left = np.flatnonzero(self.possible)
        return (int(left[0]), int(left[-1])) if len(left) else None

    @property
    def best(self) -> int | None:
        """Most probable threshold according to the model, among those not rejected."""
        ends = self.interval
        return None if ends is None else int(np.clip(np.sum(self.lost < 0.5), *ends))

    def is_settled(self, playable: Collection[int]) -> bool:
        """Return whether none of the ``playable`` rungs can distinguish the remaining candidate thresholds."""
        left = np.flatnonzero(self.possible)
        return not any(left.min() <= rung < left.max() for rung in playable) if len(left) else True

    def next(self, playable: Collection[int]) -> tuple[int, ...]:
        """Return the magnitudes (rungs) for the next start: one with likely success and one with unlikely success.

        The model's prediction for each has about half of the possible certainty, or more if success seems to be
        lost gradually: closer to the threshold, a bet would gain little; farther away, it would reject few
        candidates.
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
        """Update the evidence with the outcomes of one start: success at each rung that was run."""
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
    """Return the expected log gain from betting on a prediction if the prediction is true."""
    return chance * math.log(chance / level) + (1 - chance) * math.log((1 - chance) / (1 - level))


@lru_cache(maxsize=32)
def _family(rungs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the model's curves (curves, rungs), their log prior weights, and whether each is gradual."""
    places, curves, believed, gradual = np.arange(rungs), [], [], []
    for threshold in range(rungs + 1):
        for (slope, common), (lapse, often), (guess, rare) in product(_SLOPES, _LAPSES, _LAPSES):
            falling = 1 / (1 + np.exp(np.clip((places - threshold + 0.5) / slope, -50, 50)))
            gradual.append(slope > _SLOPES[0][0])
            curves.append(guess + (1 - guess - lapse) * falling)
            believed.append(math.log(common * often * rare * (_BEYOND if threshold == rungs else 1.0)))
    return np.clip(np.array(curves), _LEAST, 1 - _LEAST), np.array(believed), np.array(gradual)
