"""Robustness: how often flawless policies of unequal success are called unequally robust, and coverage of retention.

Tasks and starts differ in difficulty (a normal term in the log-odds of each, shared by the policies), and every episode
has luck of its own: a start that fails once may succeed the next time. ``fixed`` is the probability that the luck of a
start is instead shared by all its conditions, as for a deterministic policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import expit, logit

from assay.measures.clustering import ratio
from assay.measures.compare import Decision, compare, judge_robustness
from assay.support.streams import stream
from bench.figure import Figure, exact_interval

REPEATS = 400
LEVEL = 5.0
PAIRS = ((0.9, 0.6), (0.95, 0.7), (0.5, 0.3), (0.8, 0.2), (0.98, 0.9))
"""Success rates of two policies."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Design of a simulated run, and what varies in it."""

    name: str
    tasks: int = 10
    seeds: int = 10
    changes: int = 2
    task_spread: float = 1.0
    """Standard deviation of the tasks' difficulty, log-odds."""
    start_spread: float = 1.0
    fixed: float = 0.0
    """Probability that the luck of a start is shared by all its conditions."""
    interaction: float = 0.0
    """Standard deviation of a random effect of each change on each start, log-odds; its mean effect is 0 points."""


SHAPES = (
    Shape("tasks and starts differ"),
    Shape("tasks differ much", task_spread=2.5, start_spread=0.5),
    Shape("all starts equal", task_spread=0.0, start_spread=0.0),
    Shape("a change helps some starts and hurts others", interaction=1.0),
    Shape("half of the luck fixed by the start", fixed=0.5),
    Shape("luck fixed by the start", fixed=1.0),
    Shape("3 tasks, 5 seeds, 4 changes", tasks=3, seeds=5, changes=4),
)


def chances(success: float, difficulty: np.ndarray) -> np.ndarray:
    """Return success probabilities with this mean, for starts with these differences in log-odds."""
    offset = brentq(lambda value: expit(value + difficulty).mean() - success, -30, 30)
    return np.asarray(expit(offset + difficulty))


def outcomes(
    rng: np.random.Generator, rates: np.ndarray, *, fixed: float = 0.0
) -> np.ndarray:  # (conditions, tasks, seeds)
    """Draw success from probabilities of the same shape; with ``fixed``, a start's conditions may share their luck."""
    luck = rng.random(rates.shape)
    shared = rng.random(rates.shape[1:])
    return np.where(rng.random(rates.shape[1:]) < fixed, shared, luck) < rates


def frame(success: np.ndarray) -> pl.DataFrame:
    """Return outcomes (conditions, tasks, seeds), the control first, as a run's frame."""
    condition, task, seed = (index.ravel() for index in np.indices(success.shape))
    names = np.array(["control", *(f"c{number}" for number in range(1, len(success)))])
    return pl.DataFrame(
        {
            "key": np.arange(success.size),
            "task": task,
            "seed": seed,
            "start": seed,
            "condition": names[condition],
            "instruction": task,
            "outcome": np.where(success.ravel(), "success", "failure"),
        }
    )


def simulate(
    rng: np.random.Generator, shape: Shape, success: tuple[float, ...], loss: float = 0.0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return success and its probability (conditions, tasks, seeds) for policies on the same tasks and starts.

    ``loss`` is the fraction of success that every change costs every policy.
    """
    size = (shape.tasks, shape.seeds)
    tasks = shape.task_spread * rng.normal(size=(shape.tasks, 1))
    difficulty = tasks + shape.start_spread * rng.normal(size=size)
    runs = []
    for rate in success:
        control = chances(rate, difficulty)
        rates = np.stack([control] * (1 + shape.changes))
        if shape.interaction:
            shift = shape.interaction * rng.normal(size=(shape.changes, *size))
            rates[1:] = [chances(rate, logit(control) + own) for own in shift]
        rates[1:] *= 1 - loss
        runs.append((outcomes(rng, rates, fixed=shape.fixed), rates))
    return runs


def _describe_share(hits: int, count: int) -> str:
    low, high = exact_interval(hits, count)
    return f"{hits} of {count}, 95 % interval {100 * low:.1f} to {100 * high:.1f} %"


def compared(shape: Shape, success: tuple[float, float], loss: float = 0.0) -> Iterator[tuple[str, bool]]:
    """Compare two policies repeatedly; yield each kind of verdict and whether it was given."""
    rng = stream("bench", "robustness", shape.name, repr(success), repr(loss))
    decided = (Decision.BETTER, Decision.WORSE)
    for _ in range(REPEATS):
        runs = simulate(rng, shape, success, loss)
        found = compare({str(number): frame(won) for number, (won, _) in enumerate(runs)})
        for result in found.robustness:
            yield str(result.aspect), result.decision in decided
        yield "either scale", any(result.decision in decided for result in found.robustness)
        yield "more robust", judge_robustness(found.robustness) in decided


def measure() -> list[Figure]:
    """Measure false verdicts about robustness, and the coverage of the interval of retention."""
    return [*_false_verdicts(), *_coverage()]


def _false_verdicts() -> Iterator[Figure]:
    """Yield how often flawless policies are told apart, on either scale and on both."""
    for shape in SHAPES:
        for success in PAIRS if shape is SHAPES[0] else PAIRS[:3]:
            given = list(compared(shape, success))
            for kind in ("drop", "retention", "either scale", "more robust"):
                hits = [hit for name, hit in given if name == kind]
                what = f"flawless, {success[0]:.0%} and {success[1]:.0%}, {shape.name}: {kind} differs"
                note = _describe_share(sum(hits), len(hits))
                yield Figure(what, 100 * float(np.mean(hits)), "%", LEVEL, note=note)


def _coverage() -> Iterator[Figure]:
    """Yield the coverage of the interval of retention, for true values from 0 to 1."""
    for shape in SHAPES:
        for success in (0.95, 0.6, 0.3, 0.1):
            for loss in (0.0, 0.3, 0.8, 1.0):
                rng = stream("bench", "retention", shape.name, repr(success), repr(loss))
                held, empty = 0, 0
                for _ in range(REPEATS):
                    ((won, rates),) = simulate(rng, shape, (success,), loss)
                    control = np.broadcast_to(won[0], won[1:].shape)
                    rows = frame(won[1:]).with_columns(
                        condition=pl.col("condition").str.replace("control", "c"),
                        success=pl.Series(won[1:].ravel().astype(float)),
                        control_rate=pl.Series(control.ravel().astype(float)),
                    )
                    retained, true = (
                        ratio(rows, "control_rate", "success"),
                        rates[1:].mean() / rates[0].mean(),
                    )
                    empty += retained is None
                    held += retained is not None and bool(
                        retained.interval.low - 1e-9 <= true <= retained.interval.high + 1e-9
                    )
                note = f"{_describe_share(held, REPEATS - empty)}; {empty} without a successful control"
                what = f"coverage of retention {1 - loss:.0%}, control {success:.0%}, {shape.name}"
                yield Figure(what, 100 * held / (REPEATS - empty), "%", 92.0, at_most=False, note=note)


if __name__ == "__main__":
    for figure in chain(_false_verdicts(), _coverage()):
        print(f"{figure.what}: {figure.measured}", flush=True)
