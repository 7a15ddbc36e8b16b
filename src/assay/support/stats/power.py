"""Power of an experiment before it is run: the exact paired test over starts, with Holm's correction.

Each start is run with and without a change. Of ``starts`` such pairs, only the discordant ones are informative
(McNemar). The two outcomes of a pair are assumed independent given the success rates, which is the worst case for a
stochastic policy: if the two outcomes agree more often, fewer pairs contradict the loss, and the power is higher.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from assay.support.stats.significance import SURE, binomial_at_least, log_choose

POWER = 0.8
"""Target power (probability of detecting an existing effect) for which losses and sample sizes are computed."""
NAMED, SEARCHED = 0.8 * SURE, 0.2 * SURE
"""One-sided levels: four fifths of a report's 5 % are allocated to flaws named in advance, the rest to exploratory
findings.
"""
MOST_STARTS = 100_000
_FINE = 1e-3
"""Precision to which losses are computed, as a difference in success rates."""


def power(
    starts: int, loss: float, control: float, family: int = 1, level: float = NAMED, noise: float = 1.0
) -> float:
    """Return the power to detect a loss.

    This is the probability that the one-sided exact p value, times ``family`` (Holm's first step), is below a level.
    ``control`` is the success rate without changes and ``loss`` its decrease, both 0 to 1, with loss <= control.
    ``noise`` is the fraction of the outcomes' variance that differs between repetitions of a start; with 1, the two
    outcomes of a pair are independent.
    """
    won = noise * (control - loss) * (1 - control)
    lost = loss + won
    if lost + won <= 0:
        return 0.0
    telling = np.arange(starts + 1)
    chances = np.exp(log_choose(starts, telling) + _times_log(telling, lost + won)
                     + _times_log(starts - telling, 1 - lost - won))  # fmt: skip
    needed = _least_losses(starts, level / family)
    enough = needed <= telling
    chances_to_find = scipy.special.bdtrc(
        np.maximum(needed[enough] - 1, 0), telling[enough], lost / (lost + won)
    )
    return float(min(1.0, (chances[enough] * chances_to_find).sum()))


def detectable(
    starts: int, control: float, family: int = 1, level: float = NAMED, noise: float = 1.0
) -> float | None:
    """Return the smallest loss, 0 to 1, that is detected with 80 % power; None if even a total loss is not."""
    if starts < 1 or power(starts, control, control, family, level, noise) < POWER:
        return None
    low, high = 0.0, control
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if power(starts, middle, control, family, level, noise) >= POWER else (middle, high)
        )
    return high


def starts_for(loss: float, control: float, family: int = 1, level: float = NAMED) -> int | None:
    """Return the smallest number of starts with which a loss is detected with 80 % power.

    Returns None if no practical number suffices.
    """
    if not 0 < loss <= control:
        return None
    high = 1
    while power(high, loss, control, family, level) < POWER:
        high *= 2
        if high > MOST_STARTS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle, loss, control, family, level) >= POWER else (middle, high)
    return high


@lru_cache(maxsize=64)
def _least_losses(starts: int, level: float) -> np.ndarray:
    """Return the smallest numbers of losses whose tail probability is below ``level``, shape (starts + 1,).

    Item n is that number for n discordant starts. An item above n means that no number of losses suffices.
    """
    losses = np.empty(starts + 1, int)
    least = 1
    for telling in range(starts + 1):
        while least <= telling and binomial_at_least(least, telling, 0.5) >= level:
            least += 1
        losses[telling] = least
    return losses


def _times_log(counts: np.ndarray, chance: float) -> np.ndarray:
    return np.asarray(scipy.special.xlogy(counts, max(chance, 0.0)))
