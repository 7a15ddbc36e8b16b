"""Rankings of policies with known success: letters that separate equal policies, and coverage of the strengths.

Five policies on ten tasks x ten starts x three conditions; the first two fifths of the rankings' policies differ.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import expit

from assay.measures.compare import compare
from assay.support.streams import stream
from bench.figure import Figure

POLICIES, TASKS, STARTS, CONDITIONS, RUNS = 5, 10, 10, 3, 150
LEVELS = {"equal": np.zeros(POLICIES), "two are better": np.array([1.0, 1.0, 0.0, 0.0, 0.0])}
KINDS = {"noise": 0.0, "noise of the start in a policy": 1.5, "fixed by the start in a policy": 30.0}
"""Standard deviation of the log-odds of a start that only one policy has."""


def outcomes(level: np.ndarray, own: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sample successes (policies, tasks, starts, conditions), and their chances."""
    shape = (len(level), TASKS, STARTS, 1)
    preference = 0.7 * rng.normal(size=(len(level), TASKS, 1, 1))
    preference -= preference.mean(axis=1, keepdims=True)
    odds = rng.normal(size=(1, TASKS, 1, 1)) + rng.normal(size=(1, TASKS, STARTS, 1)) + preference
    odds = odds + own * rng.normal(size=shape) + level[:, None, None, None] * (1 + own / 3)
    chances = expit(odds + np.linspace(0.5, -0.5, CONDITIONS))
    return rng.random(chances.shape) < chances, chances


def frames(success: np.ndarray) -> dict[str, pl.DataFrame]:
    """Return the recorded outcomes as frames of runs A, B, ..."""
    task, start, condition = np.indices(success.shape[1:]).reshape(3, -1)
    names = np.array(["control", "c", "d"])[condition]
    table = pl.DataFrame(
        {
            "key": [f"{a} {b} {c}" for a, b, c in zip(task, start, names, strict=True)],
            "condition": names,
            "task": [f"libero_goal/{place}" for place in task],
            "seed": start,
            "start": start,
            "instruction": "do it",
        }
    )
    return {
        chr(ord("A") + place): table.with_columns(
            outcome=pl.Series(np.where(own.ravel(), "success", "failure"))
        )
        for place, own in enumerate(success)
    }


def measure() -> list[Figure]:
    """Measure rankings that separate equal policies, and intervals that contain the strength."""
    figures = []
    for kind, own in KINDS.items():
        for case, level in LEVELS.items():
            separated, covered, apart = 0, [], []
            for run in range(RUNS):
                success, _ = outcomes(level, own, stream("ranking", kind, case, run))
                ranking = {ranked.name: ranked for ranked in compare(frames(success)).ranking}
                ranked = [ranking[chr(ord("A") + place)] for place in range(POLICIES)]
                groups = [[ranked[place] for place in np.flatnonzero(level == value)] for value in set(level)]
                separated += any(
                    not set(one.letters) & set(other.letters)
                    for group in groups
                    for one in group
                    for other in group
                )
                if case == "equal":
                    covered += [own.interval.low <= 0.5 <= own.interval.high for own in ranked]
                else:
                    apart.append(not set(ranked[0].letters) & set(ranked[-1].letters))
            note = f"{separated} of {RUNS}"
            if covered:
                note += f"; intervals of the strength cover in {100 * np.mean(covered):.1f} %"
            if apart:
                note += f"; the best and the worst are separated in {100 * np.mean(apart):.0f} %"
            what = f"rankings of {POLICIES} that separate equal policies, {kind}, {case}"
            figures.append(Figure(what, 100 * separated / RUNS, "%", 5.0, note=note))
    return figures
