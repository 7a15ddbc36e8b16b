"""Duels: error rates and numbers of episodes, in simulated runs with known truth.

The log-odds of an episode are the policy's level + task + start + condition, which both policies share (+ preference,
how well a policy does at a task). Levels are chosen such that the difference over these tasks, all starts and all
conditions has the required value.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit

from assay.support.stats.betting import SHARES
from assay.support.stats.significance import SURE, sign_flip
from bench.figure import Figure

TASKS, SEEDS, CONDITIONS = 10, 50, 4
RUNS = 1000
MARGIN = 0.05
POWERS = (0.8, 0.9, 0.95, 0.99)
MOST_POWER = POWERS[-1]
"""Maximum number of starts of the compared designs; a thousand simulated duels cannot resolve more."""
DIFFERENCES = (0.1, 0.2, 0.3)
CONTROLS = (0.4, 0.6)
"""Success rate of policy A."""
_NEVER = 10**9


def differences(
    change: float,
    rng: np.random.Generator,
    *,
    control: float = 0.6,
    per_start: int = 1,
    likings: float = 0.0,
    runs: int = RUNS,
) -> np.ndarray:
    """Sample B - A for each start, in the order of execution, as the mean over its episodes: (runs, starts).

    ``control``: success rate of A; ``likings``: standard deviation of the policies' task preferences, log-odds.
    """
    tasks, liking = rng.normal(size=(2, runs, TASKS, 1, 1))
    conditions = np.linspace(1.0, -1.0, CONDITIONS)
    mine, theirs = (tasks + conditions + sign * likings * liking for sign in (-1, 1))
    lower = _level(mine, np.full(runs, control))
    upper = _level(theirs, np.full(runs, control + change))
    starts = rng.normal(size=(runs, TASKS, SEEDS, 1))
    chosen = rng.random((runs, TASKS, SEEDS, CONDITIONS)).argsort(axis=3)[..., :per_start]
    won = [
        rng.random(chosen.shape) < expit(starts + np.take_along_axis(each + level, chosen, axis=3))
        for each, level in ((mine, lower), (theirs, upper))
    ]
    apart = (won[1] * 1.0 - won[0]).mean(axis=3).reshape(runs, TASKS * SEEDS)
    return np.asarray(rng.permuted(apart, axis=1))


def _level(odds: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the offset of log-odds (runs, tasks, 1, conditions) at which success over all starts is ``wanted``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    low, high = np.full(len(odds), -20.0), np.full(len(odds), 20.0)
    for _ in range(25):
        middle = (low + high) / 2
        chances = expit(
            odds + nodes[:, None] + middle[:, None, None, None]
        )  # (runs, tasks, nodes, conditions)
        less = np.einsum("rtnc,n->r", chances, weights) / (TASKS * CONDITIONS) < wanted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.asarray((low + high) / 2)[:, None, None, None]


def won_at(apart: np.ndarray, above: float, alpha: float = SURE / 2) -> np.ndarray:
    """Return the number of starts after which the mean is known to exceed a bound: (runs,)."""
    capital = np.zeros(apart.shape)
    for share in SHARES:
        capital += (1 + share * (apart - above) / (1 + above)).cumprod(axis=1) / len(SHARES)
    won = capital >= 1 / alpha
    return np.where(won.any(axis=1), won.argmax(axis=1) + 1, _NEVER)


def decided(apart: np.ndarray, margin: float = MARGIN) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers of starts after which B is known to be better, worse, or equivalent: (runs,) each."""
    equivalent = np.maximum(won_at(apart, -margin), won_at(-apart, -margin))
    return won_at(apart, 0.0), won_at(-apart, 0.0), equivalent


def fixed_power(apart: np.ndarray, starts: int) -> float:
    """Return the power of a fixed number of starts with a single exact test, as in `assay compare`."""
    if starts >= apart.shape[1]:
        return 1.0
    return float(np.mean([sign_flip(each) < SURE for each in apart[:, :starts]]))


@cache
def _sample(change: float, control: float, per_start: int) -> np.ndarray:
    """Return simulated starts shared by duels and fixed designs."""
    return differences(change, np.random.default_rng(13), control=control, per_start=per_start)


@cache
def fixed_starts(change: float, control: float, power: float, per_start: int = 1) -> int:
    """Return the number of starts that a fixed design needs for a given power."""
    apart, low, high = _sample(change, control, per_start), 2, TASKS * SEEDS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fixed_power(apart, middle) >= power else (middle, high)
    return high


@cache
def stops(change: float, control: float, per_start: int = 1) -> np.ndarray:
    """Return the number of starts after which a duel ends: (runs,)."""
    better, worse, equivalent = decided(_sample(change, control, per_start))
    return np.asarray(np.minimum(np.minimum(better, worse), equivalent))


def measure() -> list[Figure]:
    """Measure error rates, and episodes relative to a fixed design."""
    return [*_errors(), *_episodes()]


def _errors() -> list[Figure]:
    found = []
    for per_start in (1, CONDITIONS):
        for likings in (0.0, 1.5):
            how = f"{per_start} per start, {'different task preferences' if likings else 'equal task preferences'}"
            for change in (0.0, MARGIN, -MARGIN):
                rng = np.random.default_rng(11)
                apart = differences(change, rng, per_start=per_start, likings=likings)
                found.append(
                    false_verdicts(f"false verdicts at {100 * change:+.0f} points, {how}", apart, change)
                )
    return found


def false_verdicts(what: str, apart: np.ndarray, change: float) -> Figure:
    """Measure how often a duel reaches a wrong verdict for policies that are ``change`` apart: 0, or a margin.

    ``apart``: B - A, in the order of execution, (duels, starts).
    """
    better, worse, equivalent = decided(apart)
    ended = TASKS * SEEDS
    claims = {
        "better": (better <= ended) & (better <= np.minimum(worse, equivalent)),
        "worse": (worse <= ended) & (worse < np.minimum(better, equivalent)),
        "equivalent": (equivalent <= ended) & (equivalent < np.minimum(better, worse)),
    }
    if change == 0:
        wrong = claims["better"] | claims["worse"]
    else:
        wrong = claims["equivalent"] | claims["worse" if change > 0 else "better"]
    low, high = _interval(int(wrong.sum()), len(wrong))
    note = f"{100 * low:.1f} to {100 * high:.1f}, {len(wrong)} duels with up to {ended} starts"
    return Figure(what, 100 * float(wrong.mean()), "%", 5.0, note=note)


def _interval(hits: int, count: int) -> tuple[float, float]:
    from scipy.stats import beta

    low = 0.0 if hits == 0 else float(beta.ppf(0.025, hits, count - hits + 1))
    return low, 1.0 if hits == count else float(beta.ppf(0.975, hits + 1, count - hits))


def _episodes() -> list[Figure]:
    """Compare with a fixed design of equal power and, for 20 points, with designs of other powers."""
    found = []
    for change in DIFFERENCES:
        for control in CONTROLS:
            power = min(MOST_POWER, float(np.mean(stops(change, control) < _NEVER)))
            found.append(_against(change, control, power, 60.0 if change == 0.2 else 100.0))
    found += [_against(0.2, control, power, 100.0) for power in POWERS[:-1] for control in CONTROLS]
    one, whole = (2 * each * float(np.median(stops(0.2, 0.6, each))) for each in (1, CONDITIONS))
    what = (
        f"episodes of a duel with all {CONDITIONS} conditions per start / of a duel with one, 60 against 80 %"
    )
    return [*found, Figure(what, 100 * whole / one, "%", 100.0, False, f"{whole:.0f} of {one:.0f}")]


def _against(change: float, control: float, power: float, most: float) -> Figure:
    ended = stops(change, control)
    median, once = float(np.median(ended)), fixed_starts(change, control, power)
    return Figure(
        f"episodes of a duel / of a fixed design with a power of {100 * power:.0f} %, {100 * control:.0f} against "
        f"{100 * (control + change):.0f} %",
        100 * median / once,
        "%",
        most,
        note=f"median {2 * median:.0f} of {2 * once}; decided in {100 * (ended < _NEVER).mean():.1f} %",
    )


def draw(path: Path) -> None:
    """Draw the number of episodes of duels and of fixed designs, for the documentation."""
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(7.2, 3.0), layout="constrained")
    axes = drawing.subplots(1, len(DIFFERENCES), sharey=True)
    for axis, change in zip(axes, DIFFERENCES, strict=True):
        ended = np.sort(stops(change, 0.6))
        axis.step(2 * ended, 100 * np.arange(1, len(ended) + 1) / len(ended), where="post", color="#1f6f8b")
        once = {power: fixed_starts(change, 0.6, power) for power in POWERS}
        _dots(axis, [(2 * starts, 100 * power) for power, starts in once.items() if starts < TASKS * SEEDS])
        axis.set(title=f"{100 * change:.0f} points", xlabel="episodes of both policies", ylim=(0, 103))
        axis.set_xlim(0, min(2 * TASKS * SEEDS, 2.2 * 2 * fixed_starts(change, 0.6, 0.95)))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("decided, %")
    names = ["duel", "fixed number, one test"]
    drawing.legend(axes[0].lines, names, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    drawing.savefig(path, dpi=150)


def _dots(axis: object, places: Iterable[tuple[float, float]]) -> None:
    x, y = zip(*places, strict=True)
    axis.plot(x, y, "o", color="#c1440e", markersize=4)  # type: ignore[attr-defined]


if __name__ == "__main__":
    draw(Path("docs/images/duel.png"))
