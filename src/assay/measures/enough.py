"""How many starts are enough: what loss would have been seen, and with how many more seeds one like this is.

Everything is about the test that the diagnosis uses: paired, exact, over starts, one-sided, its p multiplied by what
the family costs. Power is 80 %: of repeated experiments four in five would find it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy

from assay.measures.result import Result
from assay.support.stats.intervals import Interval, Z
from assay.support.stats.power import POWER
from assay.support.stats.significance import (
    SURE,
    binomial_at_least,
    hypergeometric_moments,
    normal_below,
    normal_quantile,
    paired,
)
from assay.support.streams import stream

MOST_SEEDS = 500
"""More than that is no advice."""
_DRAWS = 400
"""Repeated experiments from which the power of so many seeds is told."""


@dataclass(frozen=True, slots=True)
class MoreSeeds(Result):
    """How many seeds would make a loss like the one seen certain, with a power of 80 %."""

    now: int
    """Seeds that each task has at most."""
    needed: int
    """In all."""

    @property
    def more(self) -> int:
        """Besides those that there are."""
        return self.needed - self.now


def telling(table: pl.DataFrame) -> int:
    """Starts of a drop's table that can show a loss: those whose control succeeds."""
    return int((table["control"] > 0).sum())


def least_one_sided(starts: int) -> float:
    """The least one-sided p of a paired test over so many starts that can tell."""
    return float(2.0**-starts)


def loss_p(table: pl.DataFrame | np.ndarray) -> float:
    """One-sided exact p of a loss, from successes of control and perturbed, and pairs, of each start."""
    values = table if isinstance(table, np.ndarray) else _columns(table)
    control, changed, count = values.T
    if changed.sum() >= control.sum():
        return 1.0
    usual = np.rint(control / count)
    return paired(usual, np.ones(len(count)), changed, count) / 2


def more_seeds(table: pl.DataFrame, times: float) -> MoreSeeds | None:
    """How many seeds a loss like that of a drop's table needs, if its p is multiplied by ``times`` in the family.

    Starts are drawn anew, task by task, from those that were seen; in four of five such draws the test must find the
    loss. None where no loss was seen, or where it is so small that no sensible number is enough.
    """
    values = _columns(table)
    if values[:, 1].sum() >= values[:, 0].sum():
        return None
    outcomes = ["control", "perturbed", "count"]
    kinds = table.group_by("task", *outcomes, maintain_order=True).len("starts")  # starts that are alike
    tasks, starts = kinds["task"].to_numpy(), kinds["starts"].to_numpy()
    rows = [np.flatnonzero(tasks == task) for task in dict.fromkeys(tasks)]
    now = max(int(starts[row].sum()) for row in rows)
    known, single = _parts(_columns(kinds)), bool((values[:, 2] == 1).all())

    def enough(seeds: int) -> bool:
        random, drawn = stream("more seeds", seeds), np.zeros((_DRAWS, len(kinds)))
        for row in rows:
            drawn[:, row] = random.multinomial(seeds, starts[row] / starts[row].sum(), _DRAWS)
        return float((times * _approximate_p(drawn @ known, single) < SURE).mean()) >= POWER

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


def _parts(values: np.ndarray) -> np.ndarray:
    """What each start adds to the test: (starts, 7).

    Its difference, that squared, whether it falls, whether it rises; of its episodes, if they could change places, how
    far the control's success is off and its variance; and whether it differs at all.
    """
    control, changed, count = values.T
    usual = np.rint(control / count)
    apart = (usual * count - changed) / (1 + count)
    total, won = 1 + count, usual + changed
    mean, variance = hypergeometric_moments(total, won, np.ones(len(count)))
    return np.stack(
        [apart, apart**2, apart > 1e-9, apart < -1e-9, usual - mean, variance, np.abs(apart) > 1e-9], axis=1
    ).astype(float)


def _approximate_p(sums: np.ndarray, single: bool) -> np.ndarray:
    """One-sided p of a loss from the sums of `_parts` (draws, 7): normal, and never less than so many starts allow.

    With a ``single`` pair for each start it is exact.
    """
    fall, squares, falls, rises, off, variance, differing = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        over = normal_below(-np.nan_to_num(fall / np.sqrt(squares)))
        among = normal_below(-np.nan_to_num(np.maximum(off - 0.5, 0.0) / np.sqrt(variance)))
    signs = scipy.special.bdtrc(falls - 1, (falls + rises).astype(int), 0.5)
    over = np.where(
        rises == 0, signs, np.maximum(over, 0.5**differing)
    )  # where all fall, their sizes do not matter
    return np.asarray(np.where(fall > 0, signs if single else np.maximum(over, among), 1.0))


def detectable(
    control: float, interval: Interval, starts: int, times: float, each: float = 1.0
) -> float | None:
    """The smallest loss that would have been found with a power of 80 %, if there is one; 0 to 1.

    ``control``: success without the change; ``interval``: of the difference that was seen, which tells how much it
    shakes; ``starts``: those that can tell, with ``each`` so many pairs; ``times``: what the p is multiplied by in the
    family. The larger of two: what the interval's width allows, and what it takes that enough starts lose something.
    """
    level = SURE / times
    error = (interval.high - interval.low) / (2 * Z)
    wide = (normal_quantile(1 - level) + normal_quantile(POWER)) * error
    need = next((k for k in range(1, starts + 1) if 2.0**-k < level), None)
    if need is None or not control:
        return None
    shares = np.linspace(0.01, 1.0, 100)
    seen = [share for share in shares if binomial_at_least(need, starts, 1 - (1 - share) ** each) >= POWER]
    found = max(wide, seen[0] * control)
    return float(found) if found <= control else None


def _columns(table: pl.DataFrame) -> np.ndarray:
    return table.select("control", "perturbed", "count").to_numpy().astype(float)
