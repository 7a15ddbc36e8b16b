"""Comparison of trajectories with the controls of their task, and the natural spread of controls.

Distances are those of open-end dynamic time warping: a trajectory may be slower than the control, or begin later, and
is ignored after it has followed the control. The natural spread of a task is the distance of each successful control
to the nearest of the *others* (the nearest, because a policy may know several ways). If a start has several controls,
which differ by the policy's noise alone, only these are compared.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache

import numpy as np
import polars as pl

from assay.measures.frames import START, goal
from assay.measures.memory.paths import Paths, open_distances
from assay.measures.result import MeasureError

QUANTILE = 0.95
FLOOR = 0.01
"""Minimum spread, and minimum displacement, metres."""
ELSEWHERE = 0.02
"""Minimum distance between the first points of trajectories that start at different positions, metres."""
MOST_CONTROLS = 20
"""Maximum number of a task's controls, besides the episode's own, with which trajectories are compared."""
OTHER_TASK_CONTROLS = 5
"""Number of controls of each other task that are compared with those of this task."""


def spreads(successful: pl.DataFrame, paths: Paths) -> tuple[dict[str, float], dict[str, float]]:
    """Return the spread of the ``successful`` controls of each task, metres, and the policy's noise.

    The noise is measurable for tasks with several controls of one start. The key "" holds the spread for tasks with a
    single control.
    """
    spread: dict[str, np.ndarray] = {}
    noise: dict[str, np.ndarray] = {}
    for (task,), group in successful.group_by("task", maintain_order=True):
        group = group.head(MOST_CONTROLS)
        repeated = [
            _nearest_distances(start["id"].to_numpy(), paths)
            for _, start in group.group_by(START, maintain_order=True)
            if len(start) > 1
        ]
        if repeated:
            spread[str(task)] = noise[str(task)] = np.concatenate(repeated)
        elif len(group) > 1:
            spread[str(task)] = _nearest_distances(group["id"].to_numpy(), paths)
    if not spread:
        raise MeasureError("needs a task with two successful controls, for their natural spread")
    spread[""] = np.concatenate(list(spread.values()))
    return _quantiles(spread, FLOOR), _quantiles(noise, 0.0)


def by_chance(successful: pl.DataFrame, paths: Paths, spread: dict[str, float]) -> dict[str, float]:
    """Return, by task, the share of controls with other goals that pass for controls of the task.

    It estimates how often a trajectory to another place is similar by chance. Tasks without others have no entry.
    """
    rows = successful.with_columns(_goal=goal() if "truth" in successful.columns else None)
    shares = {}
    for (task,), group in rows.group_by("task", maintain_order=True):
        others = rows.filter((pl.col("task") != task) & (pl.col("_goal") != group["_goal"][0]))
        ids = others.group_by("task", maintain_order=True).head(OTHER_TASK_CONTROLS)["id"].to_numpy()
        if len(ids) and str(task) in spread:
            within = np.full(len(ids), spread[str(task)])
            shares[str(task)] = float(alike(ids, None, group["id"].to_numpy(), within, paths).mean())
    return shares


def alike(
    ids: np.ndarray, own: np.ndarray | None, usual: np.ndarray, within: np.ndarray, paths: Paths
) -> np.ndarray:
    """Return whether trajectories are ``within`` (ids,) metres of a control: (ids,).

    Controls include the ``own`` (ids,) one.
    """
    result = np.zeros(len(ids), bool)
    if own is not None:
        begun, counts = paths.beginnings(ids, paths.lengths(own))
        result = open_distances(begun, counts, paths.resample(own), within=within) <= within
    for control in usual[:MOST_CONTROLS]:
        left = np.flatnonzero(~result)
        result[left] = _distance(ids[left], control, paths, within[left]) <= within[left]
    return result


def starting_elsewhere(rows: pl.DataFrame, paths: Paths) -> np.ndarray:
    """Return whether trajectories start at another position than their control: (rows,)."""
    begin, usual = (paths.first(rows[name].to_numpy()) for name in ("id", "control_id"))
    return np.asarray(np.linalg.norm(begin - usual, axis=1) > ELSEWHERE)


@lru_cache(maxsize=65_536)
def displacement(now: str | None, usual: str | None) -> float | None:
    """Return the largest displacement of the task's objects from their positions in the control, metres.

    Uses the recorded initial positions of both episodes (JSON); None without them. Less than a centimetre counts as
    0, since objects settle differently.
    """
    if now is None or usual is None:
        return None
    here, there = json.loads(now), json.loads(usual)
    apart = [math.dist(here[name], there[name]) for name in here.keys() & there.keys()]
    farthest = max(apart, default=0.0)
    return farthest if farthest >= FLOOR else 0.0


def _nearest_distances(ids: np.ndarray, paths: Paths) -> np.ndarray:
    """Return the distance of each trajectory from the nearest other one: (ids,)."""
    apart = np.stack([_distance(ids, other, paths) for other in ids])  # (to, from)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.min(axis=0))


def _distance(ids: np.ndarray, control: int, paths: Paths, within: np.ndarray | None = None) -> np.ndarray:
    """Return the distance of trajectories from one control: (ids,); infinite beyond ``within`` (ids,)."""
    reference = np.array([control])
    begun, counts = paths.beginnings(ids, np.repeat(paths.lengths(reference), len(ids)))
    return open_distances(begun, counts, paths.resample(reference), np.zeros(len(ids), int), within)


def _quantiles(spread: dict[str, np.ndarray], least: float) -> dict[str, float]:
    return {task: max(least, float(np.quantile(values, QUANTILE))) for task, values in spread.items()}
