"""Which episodes of a run are exported: all, those that failed, or some by key; and each with what it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.episodes import EpisodeSpec, Outcome, Trajectory
from assay.errors import RunError
from assay.runs.store import Store

SIZE = 256
"""Of images of a dataset, pixels each way: what policies of LIBERO are trained on."""
MOST = 50
"""Episodes that are exported where nobody says how many: what is drawn takes time and room."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A recorded episode."""

    row: dict[str, Any]
    """What `Store.frame` has of it."""
    spec: EpisodeSpec
    trajectory: Trajectory

    @property
    def name(self) -> str:
        """What its file is called: task, seed and the beginning of its key."""
        return f"{self.spec.task.replace('/', '-')}_{self.spec.seed:03d}_{self.row['key'][:8]}"


def chosen(store: Store, which: str = "all", most: int | None = None) -> tuple[list[dict[str, Any]], int]:
    """The rows of some episodes, and how many more there are; ``which``: all, failures, or keys with commas.

    Of more than ``most`` episodes every so-manieth is taken, from the first. Raises RunError where there is none.
    """
    frame = store.frame()
    if which == "failures":
        frame = frame.filter(pl.col("outcome") == Outcome.FAILURE)
    elif which != "all":
        keys = [key.strip() for key in which.split(",") if key.strip()]
        for key in keys:
            if sum(each.startswith(key) for each in frame["key"]) != 1:
                raise RunError(
                    f"{store.path}: no recorded episode, or several, have a key that begins with '{key}'; "
                    "valid: all, failures, or keys (assay export RUN --csv -)"
                )
        frame = frame.filter(pl.any_horizontal([pl.col("key").str.starts_with(key) for key in keys]))
    if not len(frame):
        raise RunError(f"{store.path}: there is no episode to export (--episodes {which})")
    count = min(most or len(frame), len(frame))
    rows = frame.to_dicts()
    return [rows[at * len(rows) // count] for at in range(count)], len(rows) - count


def kept(store: Store, rows: list[dict[str, Any]]) -> Iterator[Kept]:
    """Episodes with their paths, one after the other; those whose path cannot be read are left out."""
    for row in rows:
        spec = store.specs([row["id"]])[0]
        for _, trajectory in store.trajectories([row["id"]]):
            yield Kept(row, spec, trajectory)
