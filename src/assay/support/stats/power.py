"""What an experiment can find before it is run: the power of the exact paired test over starts, with Holm's price.

A start is tried with and without a change. Of ``starts`` such pairs, those in which one alone succeeds tell (McNemar).
Both outcomes of a pair are taken as independent given the success rates, which is what a policy that acts with noise
does at worst: pairs that agree more often than that leave fewer against the loss, and the power is higher.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from assay.support.stats.significance import SURE, binomial_at_least, log_choose

POWER = 0.8
"""How often something that is there should be found: wherever it is said what can be, or how many starts it takes."""
NAMED, SEARCHED = 0.8 * SURE, 0.2 * SURE
"""One-sided levels: of a report's 5 %, four fifths are for flaws that are named beforehand, the rest for what is only
looked for."""
MOST_STARTS = 100_000
_FINE = 1e-3
"""Precision of losses, as a share."""


def power(starts: int, loss: float, control: float, family: int = 1, level: float = NAMED) -> float:
    """The probability that a loss is found: the one-sided exact p, times ``family`` (Holm's first step), below a level.

    ``control``: success with nothing changed; ``loss``: by how much it falls; both 0 to 1, loss <= control.
    """
    changed = control - loss
    lost, won = control * (1 - changed), changed * (1 - control)
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


def detectable(starts: int, control: float, family: int = 1, level: float = NAMED) -> float | None:
    """The least loss that is found with a power of 80 %, 0 to 1; None where not even the loss of everything is."""
    if starts < 1 or power(starts, control, control, family, level) < POWER:
        return None
    low, high = 0.0, control
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if power(starts, middle, control, family, level) >= POWER else (middle, high)
        )
    return high


def starts_for(loss: float, control: float, family: int = 1, level: float = NAMED) -> int | None:
    """How many starts find a loss with a power of 80 %; None where no sensible number does."""
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
    """Of each number of telling starts, 0 to ``starts``, how many must be losses for the tail to be below
    ``level``; more than there are where none are enough."""
    losses = np.empty(starts + 1, int)
    least = 1
    for telling in range(starts + 1):
        while least <= telling and binomial_at_least(least, telling, 0.5) >= level:
            least += 1
        losses[telling] = least
    return losses


def _times_log(counts: np.ndarray, chance: float) -> np.ndarray:
    return np.asarray(scipy.special.xlogy(counts, max(chance, 0.0)))
