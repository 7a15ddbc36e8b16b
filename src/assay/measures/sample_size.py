"""Sample size: the smallest loss that a number of starts can reveal, and the seeds needed to confirm an observed loss.

All numbers refer to the paired, exact, one-sided test over starts that the diagnosis uses, with its correction for
multiple testing. The power is 80 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy

from assay.measures.frames import outcome_counts
from assay.measures.result import Result
from assay.support.stats import significance
from assay.support.stats.intervals import Interval, Z
from assay.support.stats.power import POWER
from assay.support.streams import stream

MOST_SEEDS = 500
"""Maximum recommended number of seeds."""
_DRAWS = 400
"""Number of simulated experiments used to estimate the power."""


@dataclass(frozen=True, slots=True)
class MoreSeeds(Result):
    """Number of seeds with which an observed loss would be significant with a probability of 80 %."""

    now: int
    """Number of seeds so far (of the task with the most seeds)."""
    needed: int
    """Total number of seeds needed."""

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


def more_seeds(table: pl.DataFrame, times: float) -> MoreSeeds | None:
    """Return the number of seeds with which the loss in a drop's table of starts would be significant.

    ``times`` is the factor by which multiple testing increases the p value. Experiments are simulated by
    resampling the observed starts within tasks, and four out of five must detect the loss. None if there is no
    loss, or if more than `MOST_SEEDS` seeds would be needed.
    """
    values = outcome_counts(table)
    if values[:, 1].sum() >= values[:, 0].sum():
        return None
    outcomes = ["control", "perturbed", "count"]
    kinds = table.group_by("task", *outcomes, maintain_order=True).len("starts")  # identical starts together
    tasks, starts = kinds["task"].to_numpy(), kinds["starts"].to_numpy()
    rows = [np.flatnonzero(tasks == task) for task in dict.fromkeys(tasks)]
    now = max(int(starts[row].sum()) for row in rows)
    control, changed, count = outcome_counts(kinds).T
    usual = np.rint(control / count)
    apart = (usual * count - changed) / (1 + count)
    mean, variance = significance.hypergeometric_moments(1 + count, usual + changed, np.ones(len(count)))
    # Contribution of each start to the test, (starts, 7): difference, its square, fall, rise; deviation and variance of
    # the control's success under permutation of the start's episodes; whether control and perturbed differ at all.
    parts = np.stack(
        [apart, apart**2, apart > 1e-9, apart < -1e-9, usual - mean, variance, np.abs(apart) > 1e-9], axis=1
    ).astype(float)
    single = bool((values[:, 2] == 1).all())

    def enough(seeds: int) -> bool:
        random, drawn = stream("more seeds", seeds), np.zeros((_DRAWS, len(kinds)))
        for row in rows:
            drawn[:, row] = random.multinomial(seeds, starts[row] / starts[row].sum(), _DRAWS)
        return float((times * _approximate_p(drawn @ parts, single) < significance.SURE).mean()) >= POWER

    high = now + 1
    while not enough(high):
        if high >= MOST_SEEDS:
            return None
        high = min(2 * high, MOST_SEEDS)
    low = max(now, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return MoreSeeds(now, high)


def _approximate_p(sums: np.ndarray, single: bool) -> np.ndarray:
    """Return the one-sided p value of a loss in each simulated experiment, from the contributions of its starts.

    ``sums`` has the shape (draws, 7). The p value is exact if every start has a ``single`` pair of episodes, and
    otherwise a normal approximation that respects the bound given by the number of starts.
    """
    fall, squares, falls, rises, off, variance, differing = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        over = significance.normal_below(-np.nan_to_num(fall / np.sqrt(squares)))
        among = significance.normal_below(-np.nan_to_num(np.maximum(off - 0.5, 0.0) / np.sqrt(variance)))
    signs = scipy.special.bdtrc(falls - 1, (falls + rises).astype(int), 0.5)
    # if all fall, the sizes do not matter
    over = np.where(rises == 0, signs, np.maximum(over, 0.5**differing))
    return np.asarray(np.where(fall > 0, signs if single else np.maximum(over, among), 1.0))


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
