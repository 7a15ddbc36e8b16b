"""Where an episode leaves the way of its control."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import numpy as np

from assay.episodes.spec import CONTROL
from assay.runs.queries import Run

FAR = 0.05
"""Metres from every point of the control's path, at whatever time: beyond, the episode goes another way."""


def diverges(mine: np.ndarray, control: np.ndarray) -> int | None:
    """The first step at which a path (n, 3), metres, is far from all of another; None where it never is."""
    if not len(mine) or not len(control):
        return None
    nearest = np.full(len(mine), np.inf)
    for begin in range(0, len(control), 64):  # at no time all distances at once
        between = mine[:, None] - control[None, begin : begin + 64]
        nearest = np.minimum(nearest, np.einsum("ijk,ijk->ij", between, between).min(axis=1))
    away = np.flatnonzero(nearest > FAR**2)
    return int(away[0]) if len(away) else None


class Divergences:
    """Of every run that was asked for, kept: an episode is recorded once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, int], dict[int, int | None]] = {}
        self._lock = Lock()

    def of(self, run: Run, path: Path, ids: Iterable[int] | None = None) -> dict[int, int | None]:
        """The step at which episodes diverge, by id; of all of a run if none are named."""
        with self._lock:
            known = self._known.setdefault((path, path.stat().st_ino), {})
            done = {number for (number,) in run.rows("SELECT id FROM episodes")}
            wanted = (done if ids is None else done.intersection(ids)) - known.keys()
            controls = (
                {mine: other for mine, other in self._controls(run) if mine in wanted} if wanted else {}
            )
            paths: dict[int, np.ndarray] = {}
            for mine, other in sorted(controls.items(), key=lambda each: each[1]):
                if other not in paths:  # controls are many episodes': one at a time
                    paths = {number: path.end_effector for number, path in run.store.trajectories([other])}
                for _, path_ in run.store.trajectories([mine]):
                    known[mine] = diverges(path_.end_effector, paths.get(other, np.zeros((0, 3))))
            return known

    @staticmethod
    def _controls(run: Run) -> Iterable[tuple[int, int]]:
        starts = {
            (task, seed): number
            for number, task, seed in run.rows(
                "SELECT specs.id, task, seed FROM specs JOIN episodes USING (id) WHERE condition = :control "
                "ORDER BY specs.id DESC",
                {"control": CONTROL},
            )
        }
        rows = run.rows("SELECT id, task, seed FROM specs WHERE condition <> :control", {"control": CONTROL})
        return ((number, starts[task, seed]) for number, task, seed in rows if (task, seed) in starts)
