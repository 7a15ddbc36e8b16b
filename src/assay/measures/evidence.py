"""What a diagnosis rests on: numbers in words, and hypotheses about flaws that they test.

Every test is one-sided: only what is worse than chance is a flaw.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy import stats

from assay.measures.flaws import Degree, Flaw
from assay.measures.rates import Rate
from assay.measures.result import Result
from assay.stats.intervals import Interval

TOLERATED = 0.05
"""The share of unchanged episodes lost, or of nonsense obeyed, that is nobody's fault."""
HARMLESS = 0.05
"""A loss that does no harm, if it is less than this beyond doubt."""


@dataclass(frozen=True, slots=True)
class Evidence(Result):
    """A number that a finding rests on."""

    run: int
    """Which of the profiles, from 0; the first, where it is from several."""
    measure: str
    """Where it is in the profile: ``changes.position``, ``memorisation.world``, ..."""
    says: str
    """In words, with counts."""
    value: float
    interval: Interval | None
    p: float | None
    """One-sided: of a flaw, not of its opposite. Before it was adjusted; None for what was not tested."""
    runs: tuple[int, ...] = ()
    """All the profiles that it was taken from together; empty where that is one."""


@dataclass(frozen=True, slots=True)
class Test:
    """A flaw as a hypothesis about runs."""

    flaw: Flaw
    evidence: tuple[Evidence, ...]
    """What was tested first."""
    p: float
    """One-sided."""
    size: Interval
    """The share of episodes that the flaw spoils."""
    more: str = ""
    """What else the run tells, if the flaw is found: a clause."""
    least: float = 0.0
    """What the tested number must come to, to be worth telling."""
    otherwise: str = ""
    """What the run shows, if the flaw is not found; empty where that is nothing sure."""
    least_p: float = 0.0
    """The least p, two-sided, that so many starts can come to: above 5 % they are too few to tell."""

    @property
    def claim(self) -> str:
        """What such a policy does, and how much of it."""
        return self.flaw.claim if self.flaw is Flaw.KIND else f"{Degree.of(self.size)} {self.flaw.claim}"

    def covers(self, other: Test) -> bool:
        """Whether it may be the cause of another flaw: it is as certain, but for what does no harm."""
        return self.size.low >= other.size.low - max(other.least, HARMLESS)


def taken(
    runs: tuple[int, ...], measure: str, says: str, value: float, interval: Interval | None, p: float | None
) -> Evidence:
    """A number from one run or from several together."""
    return Evidence(runs[0], measure, says, value, interval, p, runs if len(runs) > 1 else ())


def fallen(change: float, p: float) -> float:
    """The one-sided p of a fall, from that of a change either way (twice a tail): a rise is no flaw."""
    return p / 2 if change < 0 else 1.0


def loss(change: Interval) -> Interval:
    """What is lost, from what is changed."""
    return Interval(-change.high, -change.low, change.method)


def failing(run: int, rate: Rate) -> Evidence:
    """How often nothing is changed and it fails all the same."""
    assert rate.interval is not None
    lost, share = rate.count - rate.successes, 1 - rate.successes / rate.count
    interval = Interval(1 - rate.interval.high, 1 - rate.interval.low, rate.interval.method)
    return Evidence(
        run, "control", f"{lost:,} of {rate.count:,} fail", share, interval, often(lost, rate.count)
    )


def often(hits: int, count: int) -> float:
    """One-sided exact p of a share that is tolerated."""
    return float(stats.binomtest(hits, count, TOLERATED, alternative="greater").pvalue)
