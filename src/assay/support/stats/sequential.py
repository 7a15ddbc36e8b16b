"""Sequential comparison of two policies over a planned number of starts.

Differences between two episodes of a start are -1, 0 or 1. If their mean is 0, then, given which of them are not 0,
their signs are fair coins, so the distribution of the number of wins is known exactly, for any share of differing
starts (as in McNemar's test). After start t of n, the test may have spent a share (t / n)^2 of its error probability:
it ends if the balance of wins is among the most extreme ones that this allows (alpha spending). Where the balance
ends, with which probability, is computed start by start; what rounding leaves unspent is kept for later starts.

Means over several episodes of a start, and progress, have no known distribution given their sizes: flipping signs tests
whether differences are *symmetric*, which policies with equal means need not be (one may win a little often and lose
much rarely). For these, and for the margin, the comparison bets (`assay.support.stats.betting`), towards the same
planned number of starts. The bets hold for every distribution of differences with that mean.

A boundary has no error probability left once its plan is over, and a user who extends an undecided duel has looked at
it. A share of alpha, ``RESERVE``, is therefore bet from the first start on. It alone decides starts that are added
later, and is then staked towards the new number of starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy

from assay.support.stats.betting import RESERVE, Wager, anytime_interval, extensions
from assay.support.stats.judgement import PairVerdict, verdict_of
from assay.support.stats.significance import SURE

_SPENDING = 2.0
"""Power of the share of starts that gives the share of alpha spent: 1 decides earlier, 3 has more power."""


class Rule(StrEnum):
    """Rule that decided a comparison."""

    BOUNDARY = "sign test"
    """Sequential sign test with a boundary for the planned number of starts."""
    BETS = "bets"
    """Bets, which are valid for any scores and at any number of starts."""


class SignBoundary:
    """Sequential sign test of differences in {-1, 0, 1} with a planned number of starts, for several duels at once."""

    def __init__(self, planned: int, alpha: float, duels: int = 1) -> None:
        """``alpha``: probability, for every share of starts that differ, that a mean of 0 is ever rejected."""
        self._planned, self._alpha, self._seen = planned, alpha, 0
        self._balance = np.zeros(duels, int)
        self._chances = np.ones((duels, 1))
        """Probability, if the mean is 0, that the test continues with each absolute balance: (duels, balances)."""
        self._spent = np.zeros(duels)
        self.higher, self.lower = np.zeros((2, duels), bool)
        """Whether the mean is known to be above 0, or below 0: (duels,)."""
        self.p = np.ones(duels)
        """Two-sided p value at the time of rejection; 1 before."""

    def see(self, differences: np.ndarray) -> None:
        """Update with the next start of each duel, (duels,); NaN for a start that could not be compared."""
        self._seen += 1
        if self._seen > self._planned:
            return
        signs = np.nan_to_num(differences).astype(int)
        self._balance += signs
        half = np.pad(self._chances / 2, ((0, 0), (1, 2)))  # (duels, balances -1, ..., most + 2)
        moved = half[:, :-2] + half[:, 2:]
        moved[:, 0] = half[:, 2]
        moved[:, 1] += half[:, 1]  # a balance of 0 becomes 1 with certainty
        stayed = np.pad(self._chances, ((0, 0), (0, 1)))
        chances = np.where((signs != 0)[:, None], moved, stayed)
        beyond = chances[:, ::-1].cumsum(axis=1)[:, ::-1]  # probability of at least each balance
        most = self._alpha * (self._seen / self._planned) ** _SPENDING
        ends = (self._spent[:, None] + beyond <= most + 1e-12) & (np.arange(chances.shape[1]) > 0)
        bound = np.where(ends.any(axis=1), ends.argmax(axis=1), chances.shape[1])
        size, running = np.abs(self._balance), ~(self.higher | self.lower)
        crossed = running & (size >= bound)
        at = np.minimum(size, chances.shape[1] - 1)[:, None]
        self.p = np.where(crossed, self._spent + np.take_along_axis(beyond, at, axis=1)[:, 0], self.p)
        self.higher |= crossed & (self._balance > 0)
        self.lower |= crossed & (self._balance < 0)
        self._spent += np.where(ends, chances, 0.0).sum(axis=1)
        chances = np.where(ends, 0.0, chances)
        self._chances = chances[:, : max(1, int(bound.max()))]


class Comparison:
    """Comparison of B with A over starts, updated start by start, for several duels at once."""

    def __init__(
        self, plans: Sequence[int], *, margin: float, alpha: float, binary: bool, duels: int = 1
    ) -> None:
        """``plans``: number of starts planned at first, and after every extension.

        ``binary``: whether each start has one episode, which succeeds or fails.
        """
        planned, self._seen, self._extensions = plans[0], 0, extensions(plans)
        self._boundary = SignBoundary(planned, (1 - RESERVE) * alpha, duels) if binary else None
        # Bets that B - A is above 0 and above -margin, and the same for A - B.
        if binary:
            zeros = [Wager(0.0, RESERVE * alpha / 2, reserve=1.0, shape=(duels,)) for _ in range(2)]
        else:
            zeros = [Wager(0.0, alpha / 2, planned=planned, shape=(duels,)) for _ in range(2)]
        self._zeros = zeros
        self._margins = [Wager(-margin, alpha / 2, planned=planned, shape=(duels,)) for _ in range(2)]
        self.verdicts = [PairVerdict.UNDECIDED] * duels
        """Verdict on each duel; a final one never changes."""
        self.rules = [Rule.BETS] * duels
        """Rule that gave each verdict."""
        self.stops = np.zeros(duels, int)
        """Number of starts until the final verdict, or so far."""

    def see(self, differences: np.ndarray) -> None:
        """Update with B - A of the next start of each duel, (duels,); NaN for a start that cannot be compared."""
        claims = np.zeros((4, len(differences)), bool)
        for row, wagers in ((0, self._zeros), (2, self._margins)):
            for side, wager in enumerate(wagers):
                if self._seen in self._extensions:
                    wager.extend(self._extensions[self._seen])
                wager.see(differences if side == 0 else -differences)
                claims[row + side] = wager.won
        self._seen += 1
        by_sign = np.zeros(len(differences), bool)
        if self._boundary is not None:
            self._boundary.see(differences)
            by_sign = self._boundary.higher | self._boundary.lower
            claims[0] |= self._boundary.higher
            claims[1] |= self._boundary.lower
        above_zero, below_zero, above_loss, below_gain = claims
        for number in np.flatnonzero([not verdict.final for verdict in self.verdicts]):
            verdict = verdict_of(
                above_zero=bool(above_zero[number]),
                below_zero=bool(below_zero[number]),
                above_loss=bool(above_loss[number]),
                below_gain=bool(below_gain[number]),
            )
            self.stops[number] += 1
            self.verdicts[number] = verdict
            if by_sign[number] and verdict in (PairVerdict.BETTER, PairVerdict.WORSE):
                self.rules[number] = Rule.BOUNDARY


@dataclass(frozen=True, slots=True)
class Decisions:
    """Results of several duels, each array of shape (duels,)."""

    verdicts: np.ndarray
    """`PairVerdict` of each duel."""
    stops: np.ndarray
    """Number of starts until the final verdict; all starts if there is none."""
    rules: np.ndarray
    """`Rule` that gave each verdict."""


def decide(
    outcomes: np.ndarray,
    *,
    plans: Sequence[int] | None = None,
    margin: float = 0.05,
    alpha: float = SURE,
    binary: bool = True,
) -> Decisions:
    """Decide duels as `assay duel` does, given the outcomes (duels, starts, 2) of A and B in the order of execution.

    An outcome is the mean score of a start's episodes, 0 to 1; NaN for errors. ``plans``: number of starts planned
    at first, and after every extension (default: all at once). ``binary``: whether outcomes are those of one episode
    each, 0 or 1.
    """
    duels, starts, _ = outcomes.shape
    differences = outcomes[..., 1] - outcomes[..., 0]
    comparison = Comparison(plans or (starts,), margin=margin, alpha=alpha, binary=binary, duels=duels)
    for difference in differences.T:
        comparison.see(difference)
    verdicts, rules = (np.array(values, object) for values in (comparison.verdicts, comparison.rules))
    return Decisions(verdicts, comparison.stops, rules)


def interval_at_stop(
    differences: np.ndarray, verdict: PairVerdict, *, alpha: float, plans: Sequence[int]
) -> tuple[float, float]:
    """Return an interval for the mean of differences (n,) that agrees with the verdict about 0.

    It is the anytime-valid interval, cut at 0 if the difference is known to be above or below, and otherwise
    extended to 0.
    """
    low, high = anytime_interval(differences, alpha, plans)
    low = max(low, 0.0) if verdict is PairVerdict.BETTER else min(low, 0.0)
    return low, min(high, 0.0) if verdict is PairVerdict.WORSE else max(high, 0.0)


def median_unbiased(differences: np.ndarray) -> float:
    """Return the mean of differences (n,) corrected for having stopped once their sum had reached a bound.

    The mean at such a time is too large: sums that were large by chance stopped. The estimate is the drift with which
    Brownian motion reaches the observed sum by the observed time with a probability of one half.
    """
    values = differences[~np.isnan(differences)]
    mean, error = float(values.mean()), float(values.std()) / len(values) ** 0.5
    if error == 0 or mean == 0:
        return mean
    z, low, high = abs(mean) / error, -1 / error, abs(mean) / error
    for _ in range(50):
        drift = (low + high) / 2
        later = np.exp(2 * z * drift + scipy.special.log_ndtr(-z - drift))
        reached = scipy.special.ndtr(drift - z) + later
        low, high = (low, drift) if reached >= 0.5 else (drift, high)
    return float(np.sign(mean) * drift * error)
