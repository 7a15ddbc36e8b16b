"""Spread: estimates and intervals of the variance of success between tasks, starts and repetitions.

Tasks and starts have normal terms in the log-odds of success. The true components are those of a large sample of tasks
and, for starts and repetitions, of starts of the simulated tasks. Deterministic policies decide every start once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from assay.measures.success.spread import SOURCES, component_limits, variance_components
from assay.support.stats.intervals import Z
from assay.support.streams import stream
from bench.figure import Figure

SIMULATIONS = 400
TASKS, SEEDS, REPEATS = 10, 10, 3
LARGE = 1000
"""Numbers of tasks, and of starts of each, from which the true components are computed."""
POLICIES = {  # log-odds of success, standard deviations between tasks and between starts
    "30 %": (-1.1, 1.0, 1.0),
    "50 %": (0.0, 1.0, 1.0),
    "70 %": (1.1, 1.0, 1.0),
    "95 %": (3.8, 1.0, 1.0),
    "50 %, starts equal": (0.0, 1.0, 0.0),
    "50 %, deterministic": (0.0, 10.0, 30.0),
}


def chances(rng: np.random.Generator, policy: str, levels: np.ndarray, starts: int) -> np.ndarray:
    """Draw success probabilities (tasks, starts) for tasks with these normal terms (tasks,)."""
    offset, between_tasks, between_starts = POLICIES[policy]
    own = rng.normal(size=(len(levels), starts))
    rates = expit(offset + between_tasks * levels[:, None] + between_starts * own)
    return np.asarray(np.round(rates) if "deterministic" in policy else rates)


def _figures() -> Iterator[Figure]:
    tasks, counts = np.repeat(np.arange(TASKS), SEEDS), np.full(TASKS * SEEDS, float(REPEATS))
    for policy in POLICIES:
        rng = stream("bench", "spread", policy)
        of_tasks = chances(rng, policy, rng.normal(size=LARGE), LARGE).mean(axis=1).var()
        values, true = np.zeros((2, SIMULATIONS, 3))
        held, known = np.zeros(3), np.zeros(3)
        shown, seen = np.zeros((2, SIMULATIONS))
        for number in range(SIMULATIONS):
            levels = rng.normal(size=TASKS)
            many = chances(rng, policy, levels, LARGE)  # starts and repetitions: of these tasks
            true[number] = of_tasks, many.var(axis=1).mean(), (many * (1 - many)).mean()
            rates = chances(rng, policy, levels, SEEDS)
            hits = rng.binomial(REPEATS, rates.ravel()).astype(float)
            values[number] = variance_components(hits, counts, tasks)
            limits = component_limits(hits, counts, tasks)
            held += (limits[:, 0] - 1e-9 <= true[number]) & (true[number] <= limits[:, 1] + 1e-9)
            known += np.isfinite(limits[:, 0])
            one, other = rng.random((2, *rates.shape)) < rates  # two runs of the same command
            seen[number] = abs(one.mean() - other.mean())
            shown[number] = Z * (2 * max(values[number, 2], 0.0) / rates.size) ** 0.5
        for place, source in enumerate(SOURCES):
            note = (
                f"mean true variance {true[:, place].mean():.4f}, mean estimate {values[:, place].mean():.4f}"
            )
            what = f"coverage: variance between {source}, success {policy}"
            yield Figure(what, 100 * held[place] / max(known[place], 1), "%", 90.0, at_most=False, note=note)
        share = 100 * float(np.mean(seen <= shown + 1e-9))
        yield Figure(f"runs that differ by chance as said, success {policy}", share, "%", 88.0, at_most=False)


def measure() -> list[Figure]:
    """Measure the coverage of the intervals of `assay spread`."""
    return list(_figures())


if __name__ == "__main__":
    for figure in _figures():
        print(f"{figure.what}: {figure.measured}", flush=True)
