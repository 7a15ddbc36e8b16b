"""Trajectories of the end effector: storage, dynamic time warping, and comparison with the controls of their task.

Distances are those of open-end dynamic time warping: a trajectory may be slower than the control, or begin later, and
is ignored after it has followed the control. The natural spread of a task is the distance from each successful control
to the nearest *other* one (the nearest, because a policy may have several ways to perform a task). If a start has
several controls, which differ only by the policy's noise, only these are compared.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from assay.episodes.episode import Trajectory
from assay.errors import RunError
from assay.measures.frames import START, goal
from assay.measures.result import MeasureError
from assay.support.jit import machine_code

POINTS = 50
"""Number of points of a resampled trajectory, as in LIBERO-Para."""
STRETCH = 1.75
"""Maximum duration of a trajectory: it may take a third longer than its reference and begin a second later."""
MAX_POINTS = 10_000_000
"""Maximum number of points of a run whose trajectories are all kept in memory."""
BLOCK = 4_000
"""Number of trajectories that are read at a time otherwise."""
QUANTILE = 0.95
FLOOR = 0.01
"""Minimum spread and minimum displacement, in metres."""
ELSEWHERE = 0.02
"""Minimum distance, in metres, between the first points of trajectories that start at different positions."""
MOST_CONTROLS = 20
"""Maximum number of the task's controls, besides the episode's own, with which a trajectory is compared."""
SAME_ACTIONS = 0.98
"""Minimum fraction of steps with nearly the same action in episodes that execute the same actions."""
ACTION_TOLERANCE = 0.02
"""Maximum difference of nearly equal actions, as a fraction of the range of the control's actions."""
OTHER_TASK_CONTROLS = 5
"""Number of controls of each other task that are compared with those of this task."""

ReadTrajectories = Callable[[Sequence[int] | None], Iterable[tuple[int, Trajectory]]]
"""Function that yields the trajectories of episodes by id, or of all episodes."""


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Trajectories of several episodes in one array."""

    ids: np.ndarray
    """Ids of episodes with a trajectory of at least two points, ascending: (n,)."""
    points: np.ndarray
    """Points of all trajectories in metres, float32: (all points, 3)."""
    bounds: np.ndarray
    """Index of the first point of each trajectory, and of the end of the last one: (n + 1,)."""

    @classmethod
    def of(cls, paths: Iterable[tuple[int, Trajectory]]) -> Paths:
        """Collect trajectories in ascending order of episode id."""
        by_id = dict(_usable(paths))
        lengths = [len(points) for points in by_id.values()]
        points = np.concatenate(list(by_id.values())) if by_id else np.zeros((0, 3), np.float32)
        bounds = np.cumsum([0, *lengths], dtype=np.int64)
        return cls(np.array(list(by_id), np.int64), points, bounds)

    def part(self, *ids: np.ndarray) -> Paths:
        """Return the trajectories of these episodes, or more, with all points in memory."""
        return self

    def has(self, ids: np.ndarray) -> np.ndarray:
        """Return whether each episode has a trajectory: (len(ids),)."""
        return np.isin(ids, self.ids)

    def lengths(self, ids: np.ndarray) -> np.ndarray:
        """Return the number of points of each trajectory: (len(ids),)."""
        which = np.searchsorted(self.ids, ids)
        return np.asarray(self.bounds[which + 1] - self.bounds[which])

    def first(self, ids: np.ndarray) -> np.ndarray:
        """Return the first point of each trajectory: (len(ids), 3)."""
        return np.asarray(self.points[self.bounds[np.searchsorted(self.ids, ids)]])

    def resample(self, ids: np.ndarray, most: np.ndarray | None = None) -> np.ndarray:
        """Resample each trajectory to 50 points at equal time intervals, float32: (len(ids), 50, 3).

        Only the first ``most`` points of each trajectory are used. Every episode must have a trajectory.
        """
        first, lengths = self.bounds[np.searchsorted(self.ids, ids)], self.lengths(ids)
        if most is not None:
            lengths = np.minimum(lengths, np.maximum(most, 2))
        counts = np.full(len(ids), POINTS)
        return np.asarray(_sample(self.points, first, lengths, (lengths - 1) / (POINTS - 1), counts, POINTS))

    def beginnings(self, ids: np.ndarray, durations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Resample trajectories at a rate of 50 points per duration (len(ids),); return points and counts.

        The points are (len(ids), most, 3), float32, and the counts (len(ids),). A trajectory is resampled up to 1.75
        times the duration, which is given in recorded points.
        """
        stride = (np.maximum(durations, 2) - 1) / (POINTS - 1)
        most = int(STRETCH * POINTS)
        counts = np.clip((self.lengths(ids) - 1) // stride + 1, 1, most).astype(np.int64)
        first = self.bounds[np.searchsorted(self.ids, ids)]
        return np.asarray(_sample(self.points, first, self.lengths(ids), stride, counts, most)), counts


class StoredPaths:
    """Trajectories of a run that is too large for memory: their points are read again, in blocks of episodes."""

    def __init__(self, read: ReadTrajectories) -> None:
        self._read = read
        ids, lengths, first = array("q"), array("q"), array("f")
        for number, points in _usable(read(None)):
            ids.append(number)
            lengths.append(len(points))
            first.extend(points[0])
        self.ids = np.array(ids)
        self._lengths = np.array(lengths)
        self._first = np.array(first).reshape(-1, 3)

    def part(self, *ids: np.ndarray) -> Paths:
        """Return the trajectories of these episodes, with all points in memory. Raises RunError if they changed."""
        wanted = np.unique(np.concatenate(ids))
        part = Paths.of(self._read(wanted.tolist()))
        if not np.array_equal(part.ids, wanted) or not np.array_equal(
            part.lengths(wanted), self.lengths(wanted)
        ):
            raise RunError("the run changed while its trajectories were read")
        return part

    def has(self, ids: np.ndarray) -> np.ndarray:
        """Return the same as `Paths.has`."""
        return np.isin(ids, self.ids)

    def lengths(self, ids: np.ndarray) -> np.ndarray:
        """Return the same as `Paths.lengths`."""
        return np.asarray(self._lengths[np.searchsorted(self.ids, ids)])

    def first(self, ids: np.ndarray) -> np.ndarray:
        """Return the same as `Paths.first`."""
        return np.asarray(self._first[np.searchsorted(self.ids, ids)])

    def resample(self, ids: np.ndarray, most: np.ndarray | None = None) -> np.ndarray:
        """Return the same as `Paths.resample`."""
        result = np.zeros((len(ids), POINTS, 3), np.float32)
        for block in blocks(len(ids)):
            part = self.part(ids[block])
            result[block] = part.resample(ids[block], None if most is None else most[block])
        return result


AnyPaths = Paths | StoredPaths


def blocks(count: int) -> Iterator[slice]:
    """Yield slices that divide ``count`` episodes into blocks whose trajectories fit into memory."""
    for first in range(0, count, BLOCK):
        yield slice(first, first + BLOCK)


def _usable(paths: Iterable[tuple[int, Trajectory]]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the points of the trajectories that can be compared, by episode id."""
    for number, path in paths:
        points = path.end_effector
        if len(points) > 1 and np.isfinite(points).all():
            yield number, points


@machine_code
def _sample(
    points: np.ndarray,
    first: np.ndarray,
    lengths: np.ndarray,
    stride: np.ndarray,
    counts: np.ndarray,
    most: int,
) -> np.ndarray:
    result = np.zeros((len(first), most, 3), np.float32)
    for path in range(len(first)):
        for step in range(counts[path]):
            time = min(step * stride[path], lengths[path] - 1.0)
            before = min(int(time), lengths[path] - 2)
            part = time - before
            row = first[path] + before
            for axis in range(3):
                result[path, step, axis] = (1 - part) * points[row, axis] + part * points[row + 1, axis]
    return result


def distances(
    paths: np.ndarray,
    references: np.ndarray,
    which: np.ndarray | None = None,
    *,
    lengths: np.ndarray | None = None,
    within: np.ndarray | None = None,
) -> np.ndarray:
    """Return the distance of each path (n, m, 3) from its reference (r, k, 3), in metres: (n,).

    ``which`` (n,) is the index of each path's reference; by default they correspond one to one. The distance is the
    sum of Euclidean distances along the best warping, divided by the number of points.

    With ``lengths`` (n,), the number of points of each path at the time step of the reference, only the beginning of
    each path that is nearest to the whole reference counts. The path may be slower or begin later, and is ignored after
    it has followed the reference. The sum is divided by the number of points of the reference or of the beginning,
    whichever is larger: a slower path costs no more, and a detour gains little. Distances beyond ``within`` (n,) are
    infinite.
    """
    counts = np.full(len(paths), paths.shape[1]) if lengths is None else lengths
    which = np.arange(len(paths)) if which is None else which
    within = np.full(len(paths), np.inf) if within is None else within
    return np.asarray(_distances(paths, counts, references, which, lengths is not None, within))


@machine_code
def _distances(
    paths: np.ndarray,
    lengths: np.ndarray,
    references: np.ndarray,
    which: np.ndarray,
    open_end: bool,
    within: np.ndarray,
) -> np.ndarray:
    count, points = paths.shape[0], references.shape[1]
    result = np.empty(count)
    row, costs = np.empty(points), np.empty(points)
    for number in range(count):
        path, reference = paths[number], references[which[number]]
        nearest = np.inf
        most = within[number] * max(points, lengths[number])  # bound of the sum of distances
        for i in range(lengths[number]):
            x, y, z = path[i, 0], path[i, 1], path[i, 2]
            for j in range(points):  # a separate loop is vectorised
                dx, dy, dz = x - reference[j, 0], y - reference[j, 1], z - reference[j, 2]
                costs[j] = np.sqrt(dx * dx + dy * dy + dz * dz)
            diagonal = row[0] if i else 0.0
            before = least = row[0] = diagonal + costs[0]
            for j in range(1, points):
                best = min(diagonal, row[j], before) if i else before
                diagonal = row[j]
                before = row[j] = best + costs[j]
                least = min(least, before)
            if open_end:
                nearest = min(nearest, row[points - 1] / max(points, i + 1))
            if least > most:  # sums only grow
                break
        if not open_end:
            nearest = row[points - 1] / points
        result[number] = nearest if nearest <= within[number] else np.inf
    return result


def spreads(successful: pl.DataFrame, paths: AnyPaths) -> tuple[dict[str, float], dict[str, float]]:
    """Return the spread of the ``successful`` controls of each task, in metres, and the policy's noise.

    The noise can be measured for tasks that have several controls with the same start. The key "" holds the spread for
    tasks with a single control.
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
        raise MeasureError("the natural spread can only be measured for a task with two successful controls")
    spread[""] = np.concatenate(list(spread.values()))
    high, noisy = (
        {task: float(np.quantile(values, QUANTILE)) for task, values in part.items()}
        for part in (spread, noise)
    )
    return {task: max(FLOOR, value) for task, value in high.items()}, noisy


def by_chance(
    successful: pl.DataFrame, paths: AnyPaths, spread: dict[str, float], read: ReadTrajectories
) -> dict[str, float]:
    """Return, by task, the fraction of controls with other goals that would count as repeating the task's controls.

    It estimates how often a trajectory towards another goal is similar by chance. A single task has no entry.
    """
    rows = successful.with_columns(_goal=goal() if "truth" in successful.columns else None)
    shares = {}
    for (task,), group in rows.group_by("task", maintain_order=True):
        others = rows.filter((pl.col("task") != task) & (pl.col("_goal") != group["_goal"][0]))
        ids = others.group_by("task", maintain_order=True).head(OTHER_TASK_CONTROLS)["id"].to_numpy()
        if len(ids) and str(task) in spread:
            within = np.full(len(ids), spread[str(task)])
            usual = group["id"].to_numpy()
            near = alike(ids, None, usual, within, paths)
            near[~near] = same_actions(ids[~near], None, usual, read)
            shares[str(task)] = float(near.mean())
    return shares


def alike(
    ids: np.ndarray, own: np.ndarray | None, usual: np.ndarray, within: np.ndarray, paths: AnyPaths
) -> np.ndarray:
    """Return whether each trajectory is ``within`` (ids,) metres of a control: (ids,).

    The controls include the episode's ``own`` (ids,) control.
    """
    usual, result = usual[:MOST_CONTROLS], np.zeros(len(ids), bool)
    for block in blocks(len(ids)):
        mine, near, limits = ids[block], result[block], within[block]
        part = paths.part(mine, usual, *([] if own is None else [own[block]]))
        if own is not None:
            begun, counts = part.beginnings(mine, part.lengths(own[block]))
            near[:] = distances(begun, part.resample(own[block]), lengths=counts, within=limits) <= limits
        for control in usual:
            left = np.flatnonzero(~near)
            near[left] = _distance(mine[left], control, part, limits[left]) <= limits[left]
    return result


def same_actions(
    ids: np.ndarray, own: np.ndarray | None, usual: np.ndarray, read: ReadTrajectories
) -> np.ndarray:
    """Return whether each episode executes the actions of a control step by step: (ids,).

    The controls are those of `alike`. Compared are the steps that both episodes have, at least half of the control's,
    in the dimensions in which the control's actions vary.
    """
    result, shared = np.zeros(len(ids), bool), _actions(usual[:MOST_CONTROLS], read)
    for block in blocks(len(ids)):
        mine, theirs = _actions(ids[block], read), {} if own is None else _actions(own[block], read)
        rows = np.array([row for row in range(len(ids))[block] if int(ids[row]) in mine], int)
        lengths = np.array([len(mine[int(number)]) for number in ids[rows]], int)
        size = max((actions.shape[1] for actions in mine.values()), default=0)
        stacked = np.full((len(rows), lengths.max(initial=0), size), np.nan, np.float32)
        for row, number in enumerate(ids[rows]):
            stacked[row, : lengths[row]] = mine[int(number)]
        for number, control in (theirs | shared).items():
            among = (
                np.arange(len(rows))
                if own is None or number in shared
                else np.flatnonzero(own[rows] == number)
            )
            span = np.ptp(control, axis=0)
            varied, most = span > 0, min(len(control), stacked.shape[1])
            apart = np.abs(stacked[among, :most][:, :, varied] - control[:most, varied])
            close = (apart <= ACTION_TOLERANCE * span[varied]).all(axis=2).sum(axis=1)
            steps = np.minimum(lengths[among], len(control))
            result[rows[among]] |= (
                varied.any() & (2 * steps >= len(control)) & (close >= SAME_ACTIONS * steps)
            )
    return result


def _actions(ids: np.ndarray, read: ReadTrajectories) -> dict[int, np.ndarray]:
    """Return the recorded actions, (steps, size), of episodes by id, without those that have none."""
    recorded = read(np.unique(ids).tolist())
    return {number: path.actions for number, path in recorded if path.actions.ndim == 2 and len(path.actions)}


def starting_elsewhere(rows: pl.DataFrame, paths: AnyPaths) -> np.ndarray:
    """Return whether each trajectory starts at a different position from its control: (rows,)."""
    begin, usual = (paths.first(rows[name].to_numpy()) for name in ("id", "control_id"))
    return np.asarray(np.linalg.norm(begin - usual, axis=1) > ELSEWHERE)


@lru_cache(maxsize=8_192)
def displacement(now: str | None, usual: str | None) -> float | None:
    """Return the largest displacement of the task's objects from their positions in the control, in metres.

    Uses the recorded initial positions of both episodes (JSON); None if they were not recorded. Less than a
    centimetre counts as 0, because objects settle differently.
    """
    if now is None or usual is None:
        return None
    here, there = json.loads(now), json.loads(usual)
    apart = [math.dist(here[name], there[name]) for name in here.keys() & there.keys()]
    farthest = max(apart, default=0.0)
    return farthest if farthest >= FLOOR else 0.0


def _nearest_distances(ids: np.ndarray, paths: AnyPaths) -> np.ndarray:
    """Return the distance of each trajectory from the nearest other trajectory: (ids,)."""
    part = paths.part(ids)
    apart = np.stack([_distance(ids, other, part) for other in ids])  # (to, from)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.min(axis=0))


def _distance(ids: np.ndarray, control: int, paths: Paths, within: np.ndarray | None = None) -> np.ndarray:
    """Return the distance of each trajectory from one control: (ids,); infinite beyond ``within`` (ids,)."""
    reference, which = np.array([control]), np.zeros(len(ids), int)
    begun, counts = paths.beginnings(ids, paths.lengths(reference)[which])
    return distances(begun, paths.resample(reference), which, lengths=counts, within=within)
