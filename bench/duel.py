"""Duels: error rates, power and numbers of episodes, in simulated runs with known truth.

Every figure comes from `assay.support.stats.sequential.decide`, which takes the outcomes of whole duels as an array and
decides them as `assay duel` does. The log-odds of an episode are the policy's level + task + start + condition, which
both policies share (+ preference, how well a policy does at a task). Levels are chosen such that the difference over
these tasks, all starts and all conditions has the required value.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import beta

from assay.support.stats.betting import Wager
from assay.support.stats.judgement import PairVerdict
from assay.support.stats.sequential import Decisions, decide, median_unbiased
from assay.support.stats.significance import SURE, sign_flip
from bench.figure import Figure

TASKS, CONDITIONS = 10, 4
DUELS = 4000
MARGIN = 0.05
PLANS = (50, 100, 200)
"""Numbers of starts that people plan."""
PAIRS = ((0.5, 0.7), (0.6, 0.8), (0.8, 0.95))
"""Success rates of A and B."""
MOST_LOST = 3.0
"""Largest loss of power against one test of all planned starts, percentage points."""


def independent(control: float, other: float, starts: int, rng: np.random.Generator) -> np.ndarray:
    """Sample outcomes without effects of tasks or starts: (duels, starts, 2)."""
    return (rng.random((DUELS, starts, 2)) < (control, other)) * 1.0


def by_task(chances: np.ndarray, starts: int, per_start: int, rng: np.random.Generator) -> np.ndarray:
    """Sample outcomes, means over ``per_start`` episodes, from the success rates of each task, (tasks, 2)."""
    tasks = rng.permuted(np.tile(np.arange(starts) % len(chances), (DUELS, 1)), axis=1)
    return np.asarray(rng.binomial(per_start, chances[tasks]) / per_start)


def shared(
    change: float,
    starts: int,
    rng: np.random.Generator,
    *,
    control: float = 0.6,
    per_start: int = 1,
    likings: float = 0.0,
    spread: float = 1.0,
) -> np.ndarray:
    """Sample outcomes with shared effects of tasks, starts and conditions, in the order of execution.

    Returns means over the episodes of a start, (duels, starts, 2). ``control``: success rate of A; ``likings``:
    standard deviation of the policies' task preferences, log-odds; ``spread``: that of starts.
    """
    seeds = starts // TASKS
    tasks, liking = rng.normal(size=(2, DUELS, TASKS, 1, 1))
    conditions = np.linspace(1.0, -1.0, CONDITIONS)
    mine, theirs = (tasks + conditions + sign * likings * liking for sign in (-1, 1))
    lower = _level(mine, np.full(DUELS, control), spread)
    upper = _level(theirs, np.full(DUELS, control + change), spread)
    effects = spread * rng.normal(size=(DUELS, TASKS, seeds, 1))
    chosen = rng.random((DUELS, TASKS, seeds, CONDITIONS)).argsort(axis=3)[..., :per_start]
    won = [
        rng.random(chosen.shape) < expit(effects + np.take_along_axis(odds + level, chosen, axis=3))
        for odds, level in ((mine, lower), (theirs, upper))
    ]
    rates = np.stack([episodes.mean(axis=3).reshape(DUELS, -1) for episodes in won], axis=-1)
    order = rng.random((DUELS, TASKS * seeds)).argsort(axis=1)
    return np.asarray(np.take_along_axis(rates, order[..., None], axis=1))


def _level(odds: np.ndarray, wanted: np.ndarray, spread: float) -> np.ndarray:
    """Return the offset of log-odds (duels, tasks, 1, conditions) at which success over all starts is ``wanted``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    low, high = np.full(len(odds), -20.0), np.full(len(odds), 20.0)
    for _ in range(25):
        middle = (low + high) / 2
        chances = expit(
            odds + spread * nodes[:, None] + middle[:, None, None, None]
        )  # (d, tasks, nodes, conditions)
        less = np.einsum("rtnc,n->r", chances, weights) / (TASKS * CONDITIONS) < wanted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.asarray((low + high) / 2)[:, None, None, None]


def fixed_power(outcomes: np.ndarray) -> float:
    """Return the power of one exact test of all starts, as in `assay compare`."""
    return float(np.mean([sign_flip(duel[:, 1] - duel[:, 0]) < SURE for duel in outcomes]))


def differ(decisions: Decisions) -> np.ndarray:
    """Return which duels found a difference."""
    return np.isin(decisions.verdicts, [PairVerdict.BETTER, PairVerdict.WORSE])


def bounds(hits: int, count: int) -> tuple[float, float]:
    """Return the exact 95 % interval (Clopper-Pearson) of a share."""
    low = 0.0 if hits == 0 else float(beta.ppf(0.025, hits, count - hits + 1))
    return low, 1.0 if hits == count else float(beta.ppf(0.975, hits + 1, count - hits))


def measure() -> list[Figure]:
    """Measure power, episodes, errors, intervals and differences at the stop."""
    return [*_power(), *_errors(), *_at_the_stop()]


@cache
def _sample(control: float, other: float, starts: int) -> np.ndarray:
    return independent(control, other, starts, np.random.default_rng(13))


def _power() -> list[Figure]:
    """Compare with one test of all planned starts; also duels with all conditions of a start, which bet."""
    figures = []
    for starts in PLANS:
        for control, other in PAIRS:
            figures += _against(
                f"{100 * control:.0f} and {100 * other:.0f} %", _sample(control, other, starts)
            )
        rng = np.random.default_rng(14)
        played = shared(0.2, starts, rng, per_start=CONDITIONS)
        figures += _against(f"60 and 80 %, {CONDITIONS} episodes per start", played, binary=False)
    return figures


def _against(what: str, played: np.ndarray, *, binary: bool = True) -> list[Figure]:
    starts = played.shape[1]
    decisions, fixed = decide(played, binary=binary), fixed_power(played)
    power, mean = float(differ(decisions).mean()), float(decisions.stops.mean())
    return [
        Figure(
            f"power lost against one test of all {starts} planned starts, {what}",
            100 * (fixed - power),
            "points",
            MOST_LOST,
            note=f"{power:.3f} of {fixed:.3f}",
        ),
        Figure(f"mean starts of {starts} planned, {what}", mean, "starts", float(starts)),
    ]


def _errors() -> list[Figure]:
    figures = []
    for rate in (0.1, 0.3, 0.5, 0.7, 0.9, 0.95):
        for starts in PLANS:
            played = independent(rate, rate, starts, np.random.default_rng(15))
            figures.append(false_verdicts(f"equal policies of {100 * rate:.0f} %", played, 0.0))
    opposed = np.repeat([[0.9, 0.1], [0.1, 0.9]], TASKS // 2, axis=0)
    deciding = np.array([[0.95, 0.05], *[[0.5, 0.6]] * (TASKS - 1)])
    for per_start in (1, CONDITIONS):
        one = per_start == 1
        how = f"{per_start} per start"
        for name, chances in {"opposed tasks": opposed, "one task decides": deciding}.items():
            for starts in PLANS:
                played = by_task(chances, starts, per_start, np.random.default_rng(16))
                figures.append(false_verdicts(f"{name}, {how}", played, 0.0, binary=one))
        for name, options in {
            "tasks and starts differ": {},
            "strongly correlated starts": {"spread": 3.0},
            "task preferences": {"likings": 1.5},
        }.items():
            for change in (0.0, MARGIN, -MARGIN):
                played = shared(change, 200, np.random.default_rng(11), per_start=per_start, **options)
                what = f"{name}, {how}, {100 * change:+.0f} points"
                figures.append(false_verdicts(what, played, change, binary=one))
    longer = independent(0.6, 0.6, 200, np.random.default_rng(17))
    figures.append(
        false_verdicts("equal policies, extended from 50 starts", longer, 0.0, plans=(50, 100, 200))
    )
    return figures


def false_verdicts(
    what: str, played: np.ndarray, change: float, *, binary: bool = True, plans: tuple[int, ...] | None = None
) -> Figure:
    """Measure how often a duel reaches a wrong verdict for policies that are ``change`` apart: 0, or a margin."""
    verdicts = decide(played, margin=MARGIN, binary=binary, plans=plans).verdicts
    if change == 0:
        wrong = np.isin(verdicts, [PairVerdict.BETTER, PairVerdict.WORSE])
    elif change > 0:
        wrong = np.isin(verdicts, [PairVerdict.EQUIVALENT, PairVerdict.WORSE])
    else:
        wrong = np.isin(verdicts, [PairVerdict.EQUIVALENT, PairVerdict.BETTER, PairVerdict.NOT_WORSE])
    low, high = bounds(int(wrong.sum()), len(wrong))
    note = f"{100 * low:.1f} to {100 * high:.1f}, {len(wrong):,} duels of {played.shape[1]} starts"
    return Figure(f"false verdicts, {what}", 100 * float(wrong.mean()), "%", 5.0, note=note)


def _at_the_stop() -> list[Figure]:
    """Measure differences and intervals as they are printed when a duel ends."""
    figures = []
    for control, other in (*PAIRS, (0.6, 0.6), (0.6, 0.61), (0.6, 0.62), (0.6, 0.65)):
        played, change = _sample(control, other, 100), other - control
        decisions, apart = decide(played), played[..., 1] - played[..., 0]
        what = f"{100 * control:.0f} and {100 * other:.0f} %, 100 starts"
        held = ~_excluded(apart, decisions, change)
        low, high = bounds(int(held.sum()), DUELS)
        note = f"{100 * low:.1f} to {100 * high:.1f}"
        figures.append(Figure(f"intervals that hold, {what}", 100 * held.mean(), "%", 95.0, False, note))
        if change > MARGIN:
            stopped = [differences[:stop] for differences, stop in zip(apart, decisions.stops, strict=True)]
            raw = np.array([differences.mean() for differences in stopped])
            found = differ(decisions)
            corrected = np.where(found, [median_unbiased(differences) for differences in stopped], raw)
            usual = f"mean {100 * raw.mean():+.1f}, median {100 * np.median(raw):+.1f}"
            note = f"mean {100 * corrected.mean():+.1f}; uncorrected {usual}"
            off = 100 * abs(float(np.median(corrected)) - change)
            figures.append(
                Figure(f"median difference printed, off the truth, {what}", off, "points", 1.5, note=note)
            )
    return figures


def _excluded(apart: np.ndarray, decisions: Decisions, change: float) -> np.ndarray:
    """Return whether the interval at the stop excludes the true difference: (duels,)."""
    starts = apart.shape[1]
    ended = np.arange(starts)[:, None] >= decisions.stops
    above = Wager(change, SURE / 2, planned=starts, shape=(len(apart),))
    below = Wager(-change, SURE / 2, planned=starts, shape=(len(apart),))
    for differences, end in zip(apart.T, ended, strict=True):
        above.see(np.where(end, np.nan, differences))
        below.see(np.where(end, np.nan, -differences))
    higher, lower = (decisions.verdicts == verdict for verdict in (PairVerdict.BETTER, PairVerdict.WORSE))
    if change == 0:
        return np.asarray(higher | lower)
    return np.asarray(above.won | below.won | (lower if change > 0 else higher))


def draw(path: Path) -> None:
    """Draw power against the mean number of episodes, for the documentation."""
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(7.2, 3.0), layout="constrained")
    axes = drawing.subplots(1, len(PAIRS), sharey=True)
    plans = (20, 30, 50, 70, 100, 140, 200)
    for axis, (control, other) in zip(axes, PAIRS, strict=True):
        samples = [_sample(control, other, starts) for starts in plans]
        decisions = [decide(played) for played in samples]
        power = [100 * differ(decision).mean() for decision in decisions]
        axis.plot(
            [2 * decision.stops.mean() for decision in decisions], power, "o-", color="#1f6f8b", markersize=4
        )
        fixed = [100 * fixed_power(played) for played in samples]
        axis.plot([2 * starts for starts in plans], fixed, "o-", color="#c1440e", markersize=4)
        axis.set(title=f"{100 * control:.0f} and {100 * other:.0f} %", xlabel="mean episodes", ylim=(0, 103))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("power, %")
    names = ["duel", "one test of all planned starts"]
    drawing.legend(axes[0].lines, names, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    drawing.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(Path("docs/images/duel.png"))
