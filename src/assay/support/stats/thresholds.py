"""The smallest change at which success is lost: adaptively chosen magnitudes, an anytime-valid confidence set.

A *ladder* is a sequence of K changes of increasing magnitude, its *rungs* 0 to K - 1. Success is *lost* on a rung if
its success rate is below ``level`` (for example one half) times the success rate of the controls. Both are rates over
all starts: if only starts with a successful control counted, random failures would look like a loss. The success rate
is assumed not to increase from one rung to the next. The *threshold* is the first rung on which success is lost, or K
if there is no such rung.

Each candidate threshold is tested. A start contributes the difference

    d = y - level * k         y, k: success of the perturbed episode and of the control, 0 or 1

whose mean is at least 0 on every rung before the threshold, and below 0 from the threshold on. A bettor multiplies the
capital against a candidate by 1 + stake * d or 1 - stake * d, if the candidate implies that d is on average at most,
or at least, 0. Under the true candidate this capital is not expected to grow, so that it exceeds 1 / alpha at *any*
time with a probability of at most alpha (Ville's inequality), for any choice of rungs and any stopping time, and
for any success rate of the controls. Candidates against which this capital is reached are rejected; the
remaining set contains the true threshold with a probability of at least 1 - alpha.

The stakes and rungs may depend on all earlier starts, but not on the control of the same start. They are chosen by a
small model: curves of success relative to the controls (with a location, a slope, a lapse rate and a guessing rate), a
success rate of the controls, and the fraction of luck that a start shares with its control, weighted by predictive
performance. A wrong model loses bets and widens the set, but cannot invalidate it. The only assumption is monotonicity.

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
_CONTROLS = tuple(product((0.1, 0.3, 0.5, 0.7, 0.9, 0.99), (0.0, 0.5, 1.0)))
"""Success rates of the controls, and fractions of luck that a start shares with its control."""
_BEYOND = 2.0
"""Prior weight of the absence of a threshold, relative to that of any single threshold."""
_SURE = (0.45, 0.8)
"""Target certainty of predictions for the chosen magnitudes, 0 to 1, for an abrupt and for a gradual loss."""
_LEAST = 0.01
"""Minimum probability that the model predicts; the maximum is 1 minus this value."""
_STAKES = np.linspace(0.02, 0.98, 49)
"""Stakes, as fractions of the stake that could lose the whole capital."""


class LadderEvidence:
    """Evidence about the threshold on one ladder of magnitudes, updated after every start."""

    def __init__(self, rungs: int, level: float = LEVEL, alpha: float = ALPHA) -> None:
        self.rungs, self.level = rungs, level
        self._need = -math.log(alpha)
        self._curves, believed, self._gradual = _family(rungs)
        self._believed = np.tile(believed[:, None], len(_CONTROLS))
        """Log weight of each curve (rows) with each pair of `_CONTROLS` (columns)."""
        self._capital = np.zeros(rungs + 1)
        self._most = np.zeros(rungs + 1)
        """Logarithm of the largest capital so far against each candidate."""

    @property
    def success_chances(self) -> np.ndarray:
        """Success at each magnitude relative to the controls, according to the model, shape (rungs,)."""
        return np.asarray(self._weights.sum(axis=1) @ self._curves)

    @property
    def lost(self) -> np.ndarray:
        """Probability, according to the model, that success is lost at each magnitude, shape (rungs,)."""
        return np.asarray(self._weights.sum(axis=1) @ (self._curves < self.level))

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

    def see(self, control: bool, outcomes: Mapping[int, bool]) -> None:
        """Update the evidence with one start: success of its control, and at each rung that was run."""
        if not outcomes:
            return
        bets = {rung: self._bet(rung) for rung in outcomes}
        unbet = np.ones(self.rungs + 1, bool)
        for rung in sorted(bets, key=lambda rung: -bets[rung][0]):
            _, stake = bets[rung]
            is_before = (
                np.arange(self.rungs + 1) <= rung
            )  # candidates that imply that success is lost on the rung
            against = unbet & (is_before if stake > 0 else ~is_before)
            self._capital[against] += math.log1p(stake * (outcomes[rung] - self.level * control))
            unbet &= ~against
        self._most = np.maximum(self._most, self._capital)
        self._believed += np.log(_CHANCES if control else 1 - _CHANCES)
        for rung, succeeded in outcomes.items():
            predictions = np.clip(self._curves[:, rung, None] * _SHARED[int(control)], _LEAST, 1 - _LEAST)
            self._believed += np.log(predictions if succeeded else 1 - predictions)

    def _bet(self, rung: int) -> tuple[float, float]:
        """Return the expected log gain of the best bet on a rung according to the model, and its stake.

        A positive stake bets that success is retained, a negative one that it is lost.
        """
        weights, curve = self._weights, self._curves[:, rung]
        succeeded = np.stack(
            [(curve @ weights) * shared for shared in _SHARED]
        )  # (control, pairs of _CONTROLS)
        control = np.stack([1 - _CHANCES, _CHANCES])
        joint = np.stack([weights.sum(axis=0) - succeeded, succeeded]) * control  # (outcome, control, pairs)
        chances = joint.sum(axis=2)
        off = np.arange(2)[:, None] - self.level * np.arange(2)
        stakes = np.concatenate([_STAKES / self.level, -_STAKES])
        gains = np.tensordot(np.log1p(stakes[:, None, None] * off), chances, axes=2)
        best = int(gains.argmax())
        return float(gains[best]), float(stakes[best])

    @property
    def _weights(self) -> np.ndarray:
        weights = np.exp(self._believed - self._believed.max())
        return np.asarray(weights / weights.sum())


def starts_needed(control: float, level: float = LEVEL, alpha: float = ALPHA) -> int:
    """Return the approximate number of starts that locate a sharp loss, for a success rate of the controls above 0.

    Bets on a difference with this mean and variance gain about mean^2 / (2 (mean^2 + variance)) of log capital with
    each start, if the luck of an episode and that of its control are independent. Twice as many starts are needed,
    because the first ones only locate the rungs (``bench.search``).
    """
    mean, variance = control * min(level, 1 - level), control * (1 - control) * (1 + level**2)
    return math.ceil(-4 * math.log(alpha) * (1 + variance / mean**2))


_CHANCES, _luck = np.array(_CONTROLS).T
_SHARED = np.stack([(1 - _luck) * _CHANCES, _luck + (1 - _luck) * _CHANCES])
"""Success of an episode whose change costs nothing, given failure and success of its control."""


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
