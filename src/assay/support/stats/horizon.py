"""Sequential sign test that uses a planned number of starts, but is valid for any number and any choice of them.

Each start in which a condition and its control differ is a loss or a gain. Without a loss in any task, a loss has a
probability of at most 1/2, given all earlier starts. The test of level a is played as a bet: the capital is the
probability, given the signs so far, that the exact binomial test of level a rejects after the K differing starts that
are still expected. Under the hypothesis its mean never grows, so the probability that it ever reaches 1 is at most a.
K is chosen anew before each start, from earlier starts only; if it is right, the test is the fixed-sample one, and
otherwise only power is lost (Mueller and Schaefer's conditional error principle). After a run of losses a smaller K
will do, so that a large loss is confirmed early.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import Self

import numpy as np
import scipy

LEVELS = 10.0 ** -np.arange(0, 12, 0.02)
"""Levels at which the test is played; the p value is the smallest one that rejects."""
_REFERENCE = int(np.searchsorted(-LEVELS, -1e-3))
"""Index of the level for which K is chosen: about 5 % among forty conditions."""
_SOON, _ENOUGH = (3, 5, 8, 12, 18, 27), 0.9
"""Numbers of differing starts that are tried as K, and the probability of rejecting that suffices."""
_CERTAIN = 1 - 1e-9
"""Capital from which a test counts as rejecting."""


class HorizonTest:
    """Tests whether losses are more frequent than gains, over starts that are chosen one after the other."""

    def __init__(self) -> None:
        self.starts = self.lost = self.won = 0
        """Number of starts, and of those in which only the control, or only the condition, succeeded."""
        self._capital = LEVELS.copy()

    @classmethod
    def of(cls, differences: Iterable[tuple[int, float]], rounds: int) -> Self:
        """Test starts in order, as pairs of the round, from 0, and the condition's success minus the control's.

        As many starts as a round has are expected in each of the remaining ``rounds``.
        """
        test = cls()
        for number, group in groupby(differences, key=lambda pair: pair[0]):
            signs = [difference for _, difference in group]
            for place, sign in enumerate(signs):
                test.see(sign, len(signs) * (rounds - number) - place)
        return test

    def see(self, difference: float, left: int) -> None:
        """Bet on the sign of a difference; ``left`` is the expected number of starts from this one on."""
        if difference:
            count = self._horizon(left)
            needed, share = _critical(count, self._capital)
            more, exactly = _chances(count - 1)
            needed = needed - (difference < 0)
            capital = more[needed + 2] + share * exactly[needed + 1]
            self._capital = np.where(capital > _CERTAIN, 1.0, capital)
        self.starts += 1
        self.lost += difference < 0
        self.won += difference > 0

    def _horizon(self, left: int) -> int:
        """Return the number K of differing starts for which the next bet is placed."""
        differing = self.lost + self.won
        expected = max(1, math.ceil(left * (differing + 1) / (self.starts + 2)))
        chance = (self.lost + 1) / (differing + 2)
        counts = (count for count in _SOON if differing >= _SOON[0] and count < expected)
        return next(
            (count for count in counts if self._rejects(count, chance, _REFERENCE) >= _ENOUGH), expected
        )

    def _rejects(self, count: int, chance: float, level: int) -> float:
        """Return the probability of rejecting at a level after ``count`` signs, each a loss with a given chance."""
        ((needed,), _) = _critical(count, self._capital[level : level + 1])
        return float(scipy.special.bdtrc(int(needed), count, chance)) if self._capital[level] < 1 else 1.0

    @property
    def p(self) -> float:
        """One-sided p value, valid at any stopping time."""
        return float(LEVELS[self._capital >= 1].min())

    def power(self, level: float, left: int, loss: float) -> float:
        """Return the probability of rejecting at a level after ``left`` further starts, with a given mean loss."""
        gains = (self.won + 0.5) / (self.starts + 1)
        count = max(1, math.ceil(left * (2 * gains + loss)))
        place = min(int(np.searchsorted(-LEVELS, -level)), len(LEVELS) - 1)
        return self._rejects(count, (gains + loss) / (2 * gains + loss), place)


def _critical(count: int, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the critical number c of losses among ``count`` signs and the probability of rejecting at exactly c."""
    more, exactly = _chances(count)
    needed = np.searchsorted(-more[1:], -level, side="left") - 1  # the smallest c with P(K > c) <= level
    needed = np.clip(needed, 0, count)
    chance = exactly[needed + 1]  # 0 where P(K > c) = 1 up to rounding
    share = np.divide(level - more[needed + 2], chance, where=chance > 0, out=np.ones_like(level))
    return needed, np.clip(share, 0.0, 1.0)


@lru_cache(maxsize=4096)
def _chances(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return P(K >= k) and P(K = k) for k = -1, 0, ..., ``count`` + 2 and K losses among ``count`` fair signs."""
    k = np.arange(-1, count + 3)
    more = np.where(k <= 0, 1.0, scipy.special.bdtrc(np.clip(k - 1, 0, count), count, 0.5))
    more[k > count] = 0.0
    return more, np.append(more[:-1] - more[1:], 0.0)
