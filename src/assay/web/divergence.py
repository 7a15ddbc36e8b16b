"""Where an episode leaves the way of its control."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np

from assay.episodes.spec import CONTROL
from assay.runs.queries import Run

FAR = 0.05
"""Metres from every point of the control's path, at whatever time: beyond, the episode goes another way."""


class Way(NamedTuple):
    """How an episode's path compares to its control's."""

    step: int | None
    """The first step at which it is far from all of the control's; None where it never is."""
    still: bool
    """Whether it is never far from its own start: to be near the control's path is then nothing."""


def way(mine: np.ndarray, control: np.ndarray) -> Way | None:
    """How a path (n, 3), metres, compares to its control's; None where one of them was not recorded."""
    if not len(mine) or not len(control):
        return None
    still = bool(np.linalg.norm(mine - mine[0], axis=1).max() <= FAR)
    return Way(diverges(mine, control), still)


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
        self._known: defaultdict[tuple[Path, int], dict[int, Way | None]] = defaultdict(dict)
        self._whole: defaultdict[tuple[Path, int], Lock] = defaultdict(Lock)
        """One at a time reads all paths of a run; whoever wants a few waits for nobody."""

    def of(self, run: Run, path: Path, ids: Iterable[int] | None = None) -> dict[int, Way | None]:
        """The ways of episodes, by id; of all of a run if none are named. Those without a control are left out."""
        which = path, path.stat().st_ino
        with self._whole[which] if ids is None else nullcontext():
            known = self._known[which]
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
                    known[mine] = way(path_.end_effector, paths.get(other, np.zeros((0, 3))))
            return known

    def steps(self, run: Run, path: Path) -> dict[int, int | None]:
        """The step at which each episode of a run leaves its control's path, by id."""
        found = dict(self.of(run, path))
        return {number: None if each is None else each.step for number, each in found.items()}

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
