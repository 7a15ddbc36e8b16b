"""Whether a path is the control's own: how far it is from the nearest control, and how far controls are apart.

Distances are those of open-end dynamic time warping: a path may be slower than the control, or begin later, and does
what it likes afterwards. What counts as the same path is the natural spread of the task: the distance of each
successful control to the nearest of the *others*. (The nearest, because a policy may know several ways; the mean of
two ways is none.) Where a start has several controls, which differ by the policy's own noise alone, only these are
compared: layouts that differ are no noise.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from assay.measures.frames import START, goal
from assay.measures.memory.dtw import distances, open_distances
from assay.measures.memory.paths import Paths
from assay.measures.result import MeasureError

QUANTILE = 0.95
FLOOR = 0.01
"""The least spread that is assumed, and the least displacement, metres."""
RESOLVED = 2
"""How many times the spread a control must be away from standing still."""
ELSEWHERE = 0.02
"""From how far apart on two paths begin elsewhere, metres."""
MOST_CONTROLS = 20
"""Controls of a task that paths are compared with, besides their own."""
OF_OTHERS = 5
"""Controls of each other task that are asked whether they could be taken for this task's."""


def spreads(known: pl.DataFrame, paths: Paths) -> tuple[dict[str, float], dict[str, float]]:
    """What counts as the same path for each task, metres, and the policy's own noise for those that show it.

    Under "" what counts for tasks with a single control. ``known`` are successful controls.
    """
    found: dict[str, np.ndarray] = {}
    noise: dict[str, np.ndarray] = {}
    for (task,), group in known.group_by("task", maintain_order=True):
        group = group.head(MOST_CONTROLS)
        repeated = [
            _apart(each["id"].to_numpy(), paths)
            for _, each in group.group_by(START, maintain_order=True)
            if len(each) > 1
        ]
        if repeated:
            found[str(task)] = noise[str(task)] = np.concatenate(repeated)
        elif len(group) > 1:
            found[str(task)] = _apart(group["id"].to_numpy(), paths)
    if not found:
        raise MeasureError("needs a task with two successful controls, to know their natural spread")
    found[""] = np.concatenate(list(found.values()))
    return _quantiles(found, FLOOR), _quantiles(noise, 0.0)


def by_chance(known: pl.DataFrame, paths: Paths, spread: dict[str, float]) -> dict[str, float]:
    """How often controls of tasks with other goals could be taken for each task's: task -> share.

    That is how often a path which goes somewhere else is alike by chance. Tasks without such others have no entry.
    """
    told = known.with_columns(_goal=goal()) if "truth" in known.columns else known.with_columns(_goal=None)
    found = {}
    for (task,), group in told.group_by("task", maintain_order=True):
        others = told.filter((pl.col("task") != task) & (pl.col("_goal") != group["_goal"][0]))
        asked = others.group_by("task", maintain_order=True).head(OF_OTHERS)["id"].to_numpy()
        if len(asked) and str(task) in spread:
            within = np.full(len(asked), spread[str(task)])
            found[str(task)] = float(alike(asked, None, group["id"].to_numpy(), within, paths).mean())
    return found


def alike(
    ids: np.ndarray, own: np.ndarray | None, usual: np.ndarray, within: np.ndarray, paths: Paths
) -> np.ndarray:
    """Which paths go the way of a control of their task, its ``own`` (ids,) among them: (ids,).

    They do that are no farther from one than ``within`` (ids,), metres.
    """
    found = np.zeros(len(ids), bool)
    if own is not None:
        begun, counts = paths.beginnings(ids, paths.lengths(own))
        found = open_distances(begun, counts, paths.resampled(own), within=within) <= within
    for each in usual[:MOST_CONTROLS]:
        left = np.flatnonzero(~found)
        found[left] = _distance(ids[left], each, paths, within[left]) <= within[left]
    return found


def starting_elsewhere(rows: pl.DataFrame, paths: Paths) -> np.ndarray:
    """Whose path begins elsewhere than the control's: (rows,)."""
    begin, usual = (paths.first(rows[name].to_numpy()) for name in ("id", "control_id"))
    return np.asarray(np.linalg.norm(begin - usual, axis=1) > ELSEWHERE)


def standing_still(rows: pl.DataFrame, paths: Paths) -> np.ndarray:
    """Whose control is hardly away from a hand that never leaves its start: (rows,)."""
    control = paths.resampled(rows["control_id"].to_numpy())
    still = np.repeat(control[:, :1], control.shape[1], axis=1)
    return np.asarray(distances(still, control) < RESOLVED * rows["spread"].to_numpy())


def _apart(ids: np.ndarray, paths: Paths) -> np.ndarray:
    """The distance of each path from the nearest of the others: (ids,)."""
    apart = np.stack([_distance(ids, each, paths) for each in ids])  # (to, from)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.min(axis=0))


def _distance(ids: np.ndarray, control: int, paths: Paths, within: np.ndarray | None = None) -> np.ndarray:
    """Distance of paths from one control: (ids,); infinite beyond ``within`` (ids,)."""
    reference = np.array([control])
    begun, counts = paths.beginnings(ids, np.repeat(paths.lengths(reference), len(ids)))
    return open_distances(begun, counts, paths.resampled(reference), np.zeros(len(ids), int), within)


def _quantiles(found: dict[str, np.ndarray], least: float) -> dict[str, float]:
    return {task: max(least, float(np.quantile(each, QUANTILE))) for task, each in found.items()}
