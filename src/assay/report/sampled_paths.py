"""A few trajectories of failures and successes, to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.measures.failure.nearness import Failures, TaskFailures
from assay.measures.memory.paths import POINTS, Paths
from assay.runs.store import Store

__all__ = ["EACH", "POINTS", "TaskPaths", "sample_paths"]
EACH = {"success": 12, "near": 8, "far": 8}
"""How many paths of each kind are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskPaths:
    """A few paths of one task, to be drawn."""

    found: TaskFailures
    paths: dict[str, np.ndarray]
    """Kind -> (paths, 50, 3), metres."""


def sample_paths(store: Store, found: Failures) -> tuple[TaskPaths, ...]:
    """Of every task a few paths of each kind, evenly over the episodes; the tasks with the most failures first."""
    tasks = sorted(found.tasks, key=lambda each: (-each.failures, each.task, each.goal))
    return tuple(_sampled(store, found, task) for task in tasks)


def _sampled(store: Store, found: Failures, task: TaskFailures) -> TaskPaths:
    mine = found.episodes.filter((pl.col("task") == task.task) & (pl.col("goal") == task.goal)).sort("id")
    kinds = {"success": pl.col("success"), "near": pl.col("near"), "far": ~pl.col("near")}
    longest = 0
    paths: dict[str, np.ndarray] = {}
    for kind, which in kinds.items():
        ids = mine.filter(which)["id"].to_numpy()
        chosen = (
            ids[np.unique(np.linspace(0, len(ids) - 1, EACH[kind]).round().astype(int))] if len(ids) else ids
        )
        read = Paths.of(store.trajectories([int(number) for number in chosen]))
        if kind == "success":
            longest = int(read.lengths(chosen).max())
        paths[kind] = read.resampled(chosen, np.full(len(chosen), longest))
    return TaskPaths(task, paths)
