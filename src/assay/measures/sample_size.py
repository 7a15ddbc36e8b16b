"""Sample size: the smallest loss that a number of starts can reveal, and the seeds needed to find a given loss.

Recommendations are for a loss worth finding that is chosen in advance, not for the observed one: an observed loss that
is due to chance would otherwise recommend seeds for nothing.

All numbers refer to the paired, exact, one-sided test over starts that the diagnosis uses, with its correction for
multiple testing. The power is 80 %.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from assay.measures.frames import outcome_counts
from assay.measures.result import Result
from assay.support.stats import significance
from assay.support.stats.intervals import Interval, Z
from assay.support.stats.power import POWER

MOST_SEEDS = 500
"""Maximum recommended number of seeds."""


@dataclass(frozen=True, slots=True)
class MoreSeeds(Result):
    """Number of seeds with which a loss worth finding would be found with a probability of 80 %."""

    now: int
    """Number of seeds so far (of the task with the most seeds)."""
    needed: int
    """Total number of seeds needed."""
    loss: float
    """Loss of success, 0 to 1."""

    @property
    def more(self) -> int:
        """Number of additional seeds."""
        return self.needed - self.now


def telling(table: pl.DataFrame) -> int:
    """Return the number of informative starts (those whose control succeeds) in a drop's table of starts."""
    return int((table["control"] > 0).sum())


def least_one_sided(starts: int) -> float:
    """Return the smallest attainable one-sided p value of a paired test, given the number of informative starts."""
    return float(2.0**-starts)


def loss_p(table: pl.DataFrame | np.ndarray) -> float:
    """Return the exact one-sided p value of a loss from a table with one row per start.

    The columns are the successes of the control, the successes of the perturbed episodes, and the number of pairs.
    """
    control, changed, count = (table if isinstance(table, np.ndarray) else outcome_counts(table)).T
    if changed.sum() >= control.sum():
        return 1.0
    usual = np.rint(control / count)
    return significance.paired_p(usual, np.ones(len(count)), changed, count) / 2


def detectable(
    control: float, interval: Interval, starts: int, times: float, pairs: float = 1.0
) -> float | None:
    """Return the smallest loss (0 to 1) detectable with 80 % power; None if no loss is detectable.

    ``control`` is the success rate without the change, and ``interval`` the interval of the observed difference,
    which determines the variance. There are ``starts`` informative starts with ``pairs`` pairs each, and ``times``
    is the factor by which multiple testing increases the p value. The result is the larger of two bounds: one from
    the width of the interval, one from the number of starts that must show a loss.
    """
    level = significance.SURE / times
    error = (interval.high - interval.low) / (2 * Z)
    wide = (significance.normal_quantile(1 - level) + significance.normal_quantile(POWER)) * error
    need = next((k for k in range(1, starts + 1) if 2.0**-k < level), None)
    if need is None or not control:
        return None
    shares = np.linspace(0.01, 1.0, 100)
    seen = [
        share
        for share in shares
        if significance.binomial_at_least(need, starts, 1 - (1 - share) ** pairs) >= POWER
    ]
    smallest = max(wide, seen[0] * control)
    return float(smallest) if smallest <= control else None


def more_seeds(
    loss: float, control: float, interval: Interval, starts: int, times: float, pairs: float, now: int
) -> MoreSeeds | None:
    """Return the number of seeds with which a ``loss`` (0 to 1) is found with 80 % power.

    ``now`` is the number of seeds so far; the other arguments are those of `detectable`. None if the loss is already
    excluded by the interval or would already be found, and if it is impossible or takes more than `MOST_SEEDS` seeds.
    """

    def is_found(seeds: int) -> bool:
        grown = seeds / now
        narrow = replace(interval, high=interval.low + (interval.high - interval.low) / grown**0.5)
        smallest = detectable(control, narrow, int(starts * grown), times, pairs)
        return smallest is not None and smallest <= loss

    if not now or -interval.low < loss or loss > control or is_found(now):
        return None
    seeds = range(now + 1, MOST_SEEDS + 1)
    place = bisect_left(seeds, True, key=is_found)
    return MoreSeeds(now, seeds[place], loss) if place < len(seeds) else None
