"""The demonstrator: a privileged policy that knows all poses and the goal."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.world.goals import (
    Put,
    PutGoal,
    Rectangle,
    SweepGoal,
    TableGoalProgress,
    reaches_straight,
)
from assay.extensions.tabletop.world.model import BLADE
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableScene
from assay.extensions.tabletop.world.simulation import BEHIND, SHORT, action
from assay.support.streams import stream

if TYPE_CHECKING:
    from assay.extensions.tabletop.world.env import TableEnv


_MARGIN = 0.003
"""Safety margin of a push's clearance, in metres."""
_EDGE_MARGIN = 0.04
"""Distance of target positions from the edge of the table, in metres."""
_AMPLE_CLEARANCE = 0.02
"""Clearance, in metres, above which more clearance has no benefit."""
_INSETS = (0.022, 0.008)
"""Preferred distances of a block's final position from the zone's edge, in metres, largest first."""
_RANDOM_PUSHES, _AIMED_FRACTION = 24, 0.5
"""Number of random pushes, and the fraction of them that aim at the zone."""
_MIN_CLEARANCE = -0.02
"""Minimum clearance of a push, in metres; negative values accept an obstructed path."""


@dataclass(frozen=True, slots=True, eq=False)
class _Push:
    """One push of one block."""

    item: int
    goal: np.ndarray
    room: float
    """Clearance between the push's corridor and the nearest other block, in metres; negative if obstructed."""


class Sweeper:
    """Plans pushes for one state of the table."""

    def __init__(
        self, goal: SweepGoal, scene: TableScene, poses: np.ndarray, rng: np.random.Generator
    ) -> None:
        self._goal, self._scene, self._poses = goal, scene, poses
        self._rng = rng
        self._blocks = np.array([scene.index(name) for name in (*goal.targets, *goal.bystanders)])
        self._radii = np.array([scene.items[i].radius for i in self._blocks])

    def pushes(self, inside: list[str]) -> Iterator[np.ndarray]:
        """Yield actions (12,) that push a block, most promising first; ``inside`` names targets in the zone."""
        surplus, waiting = inside[self._goal.most :], self._waiting(inside)
        for name in self.strays() or surplus:
            item = self._scene.index(name)
            yield from self._actions(self._best(item, self._outside(item), self._poses))
        candidates = [
            push
            for inset in _INSETS
            for push in (self._best(item, self._ends(item, inset), self._poses) for item in waiting)
            if push
        ]
        candidates.sort(key=lambda push: -push.room)
        yield from self._actions(*(push for push in candidates if push.room >= 0))
        tight = [push for push in candidates if push.room < 0]
        first = self._first_of_two(waiting)
        if first is not None and (not tight or first.room > tight[0].room):
            yield from self._actions(first)
        yield from self._actions(*tight, self._separate(waiting))
        # Random pushes into or beside the zone respect the line but not other blocks.
        for _ in range(_RANDOM_PUSHES if waiting else 0):
            item = int(self._rng.choice(waiting))
            places = self._ends(item) if self._rng.random() < _AIMED_FRACTION else self._outside(item)
            possible = places[np.isfinite(self._rooms(item, places, self._poses)[0])]
            if len(possible):
                yield from self._actions(_Push(item, self._rng.choice(possible), 0.0))

    def strays(self) -> list[str]:
        """Return the bystanders that are in the zone."""
        items = {name: self._scene.index(name) for name in self._goal.bystanders}
        return [
            name
            for name, item in items.items()
            if _within(self._poses[item : item + 1, :2], self._goal.zone, self._scene.items[item].radius)[0]
        ]

    def ways(self, inside: list[str]) -> float:
        """Return the number of targets that can still be pushed into the zone; an obstructed one counts half."""
        rooms = [float(self._rooms(i, self._ends(i), self._poses)[0].max()) for i in self._waiting(inside)]
        return sum(0.5 * (room > -np.inf) + 0.5 * (room >= 0) for room in rooms)

    def _waiting(self, inside: list[str]) -> list[int]:
        return [self._scene.index(name) for name in self._goal.targets if name not in inside]

    def _best(self, item: int, places: np.ndarray, poses: np.ndarray) -> _Push | None:
        """Return the best push of a block to any of the given positions; None if no push is possible."""
        rooms, lengths = self._rooms(item, places, poses)
        if not len(rooms) or rooms.max() < _MIN_CLEARANCE:
            return None
        # Fill the back and the sides of the zone first, so that its entrance stays free for later blocks.
        value = 0.1 * np.abs(places[:, 1]) - 0.3 * places[:, 0] - 0.02 * lengths
        value += 0.5 * np.minimum(rooms, _AMPLE_CLEARANCE)
        pick = int(np.argmax(np.where(rooms >= min(rooms.max(), 0.0), value, -np.inf)))
        return _Push(item, places[pick], float(rooms[pick]))

    def _rooms(self, item: int, places: np.ndarray, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the clearance of pushes to positions (n, 2), -inf if impossible, and their lengths, both in metres."""
        start, solid = poses[item, :2], self._scene.items[item].solid
        half = float(max(solid.half_size))
        lengths = np.maximum(np.linalg.norm(places - start, axis=1), 1e-6)
        ways = (places - start) / lengths[:, None]
        behind = start - ways * (solid.radius + 0.012)
        others = self._blocks != item
        offsets = poses[self._blocks[others], None, :2] - behind  # (others, n, 2)
        radii = self._radii[others][:, None]
        along = (offsets * ways).sum(axis=-1)
        aside = (
            np.abs(offsets[..., 1] * ways[:, 0] - offsets[..., 0] * ways[:, 1]) - radii - max(BLADE[1], half)
        )
        reached = (along > -radii) & (along < lengths + 2 * solid.radius + 0.012 + radii)
        rooms = np.where(reached, aside, 0.05).min(axis=0, initial=0.05) - _MARGIN
        possible = lengths > 0.008
        possible &= (behind[:, 0] > X_LOW) & (behind[:, 0] < X_HIGH + 0.015)
        possible &= (behind[:, 1] > Y_LOW) & (behind[:, 1] < Y_HIGH)
        if self._scene.items[item].name in self._goal.targets:
            possible &= reaches_straight(start, places, self._goal.barrier, half)
        return np.where(possible, rooms, -np.inf), lengths

    def _first_of_two(self, waiting: list[int]) -> _Push | None:
        """Return a push of a block, or of another block in its way, after which a push into the zone is possible."""
        x, y = (X_LOW + _EDGE_MARGIN, X_HIGH - _EDGE_MARGIN), (Y_LOW + _EDGE_MARGIN, Y_HIGH - _EDGE_MARGIN)
        grid = _grid(x, 8, y, 15)
        grid += self._rng.uniform(-0.02, 0.02, grid.shape)  # a push that failed is not repeated exactly
        best: _Push | None = None
        bystanders = [self._scene.index(name) for name in self._goal.bystanders]
        for item in (*waiting, *bystanders):
            stays_out = item not in waiting
            places = grid[~_within(grid, self._goal.zone, 0.05)] if stays_out else grid
            rooms, lengths = self._rooms(item, places, self._poses)
            for index in np.argsort(lengths - 1.0 * np.minimum(rooms, _AMPLE_CLEARANCE)):
                if rooms[index] < _MIN_CLEARANCE or (best is not None and rooms[index] <= best.room):
                    continue
                after = self._poses.copy()
                after[item, :2] = places[index]
                followers = waiting if stays_out else [item]
                pushes = [push for push in (self._best(i, self._ends(i), after) for i in followers) if push]
                room = max((push.room for push in pushes), default=-np.inf)
                if min(room, rooms[index]) > (best.room if best else _MIN_CLEARANCE):
                    best = _Push(item, places[index], float(min(room, rooms[index])))
                if best is not None and best.room > 0:
                    return best
        return best

    def _separate(self, waiting: list[int]) -> _Push | None:
        """Return a push that moves a block away from the others, for use if no push brings it closer."""
        best, most = None, -np.inf
        for item in waiting:
            places = self._outside(item)
            rooms, lengths = self._rooms(item, places, self._poses)
            others = self._poses[self._blocks[self._blocks != item], :2]
            alone = np.linalg.norm(places[:, None] - others, axis=-1).min(axis=1, initial=0.3)
            value = np.where(rooms > 2 * _MIN_CLEARANCE, np.minimum(alone, 0.12) - 0.3 * lengths, -np.inf)
            if len(value) and value.max() > most:
                most, pick = float(value.max()), int(np.argmax(value))
                best = _Push(item, places[pick], float(rooms[pick]))
        return best

    def _ends(self, item: int, inset: float = 0.008) -> np.ndarray:
        """Return the positions, (n, 2), at which a block lies completely inside the zone."""
        x_min, y_min, x_max, y_max = self._goal.zone
        inset += self._scene.items[item].radius
        x = (x_min + inset, max(x_max - inset, x_min + inset))
        y = (y_min + inset, max(y_max - inset, y_min + inset))
        return _grid(x, 5, y, 13)

    def _outside(self, item: int) -> np.ndarray:
        """Return positions around the zone, (n, 2)."""
        grid = _grid((X_LOW + 0.1, X_HIGH - _EDGE_MARGIN), 10, (-0.38, 0.38), 19)
        return np.asarray(grid[~_within(grid, self._goal.zone, self._scene.items[item].radius + 0.02)])

    def _actions(self, *pushes: _Push | None) -> Iterator[np.ndarray]:
        for push in filter(None, pushes):
            start = self._poses[push.item, :2]
            way = (push.goal - start) / np.linalg.norm(push.goal - start)
            width, depth = self._scene.items[push.item].solid.half_size
            angle = float(np.arctan2(way[1], way[0]) - self._poses[push.item, 2])
            reach = float(width * abs(np.cos(angle)) + depth * abs(np.sin(angle)))
            first = start - way * (reach + BLADE[0] + 0.004 - BEHIND)
            second = push.goal - way * (min(width, depth) + BLADE[0] - SHORT)
            yield action((first[0], first[1]), (second[0], second[1]))


def _grid(x: tuple[float, float], columns: int, y: tuple[float, float], rows: int) -> np.ndarray:
    """Return the points of a regular grid between the given bounds, (columns * rows, 2)."""
    return np.stack(np.meshgrid(np.linspace(*x, columns), np.linspace(*y, rows)), axis=-1).reshape(-1, 2)


def _within(places: np.ndarray, rectangle: Rectangle, margin: float) -> np.ndarray:
    """Return whether each position (n, 2) is in a rectangle enlarged by a margin: bool, (n,)."""
    x_min, y_min, x_max, y_max = rectangle
    x, y = places[:, 0], places[:, 1]
    return (x > x_min - margin) & (x < x_max + margin) & (y > y_min - margin) & (y < y_max + margin)


_GRASP_INSET = 0.006
"""Preferred distance of the grasp point from an edge, in metres."""
_MAX_GRASP_TRIES = 60
"""Maximum number of random grasp points that are tried."""
_MAX_SIMULATED_PUSHES = 24
"""Maximum number of pushes that are simulated."""


class TableOracle:
    """Privileged scripted policy that pursues the goal of the prompt and does nothing without a prompt."""

    def attach(self, env: TableEnv) -> None:
        """Keep a reference to the privileged state of an environment."""
        task = env.task
        self._world = env.simulation
        self._task = task
        # If the prompt requests another goal than the one that is scored, track the progress towards it separately.
        self._requested = (
            None if task.asked in (None, task.goal) else TableGoalProgress(task.asked, task.scene)
        )
        self._progress = self._requested or env.progress

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode."""
        self._has_prompt = bool(prompt.segments)
        self._rng = stream("tabletop", self._task.setting.id, "oracle")

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12)."""
        goal = self._task.asked
        if not self._has_prompt or goal is None:
            return idle()[None]
        if self._requested is not None and self._requested.update(self._world.poses()[None]).success:
            return idle()[None]
        if not isinstance(goal, PutGoal):
            return self._sweep(goal)[None]
        pending = self._progress.pending()
        if not pending:
            return self._clear_away(goal, self._intruder(goal, self._progress.stage))[None]
        blocker = self._intruder(goal, pending[:1])
        return (self._clear_away(goal, blocker) if blocker >= 0 else self._carry(pending[0]))[None]

    def _sweep(self, goal: SweepGoal) -> np.ndarray:
        """Return the first push that makes progress in simulation, otherwise the best one."""
        poses = self._world.poses()
        pushes = Sweeper(goal, self._task.scene, poses, self._rng).pushes(self._progress.inside(poses))
        now = self._state_value(goal, poses)
        best, most = idle(), -np.inf
        for push in islice(pushes, _MAX_SIMULATED_PUSHES):
            trail = self._world.predict(push)
            verdict = copy(self._progress).update(trail)
            if verdict.success:
                return push
            value = -np.inf if verdict.mistake == "constraint" else self._state_value(goal, trail[-1])
            if value > most:
                best, most = push, value
            if most > now:
                break
        return best

    def _state_value(self, goal: SweepGoal, poses: np.ndarray) -> float:
        """Return the number of targets in the zone minus wrong blocks, plus a small bonus for each possible push."""
        inside = self._progress.inside(poses)
        sweeper = Sweeper(goal, self._task.scene, poses, self._rng)
        wrong = max(len(inside) - goal.most, 0) + len(sweeper.strays())
        return min(len(inside), goal.most) - wrong + 0.01 * sweeper.ways(inside)

    def _carry(self, put: Put) -> np.ndarray:
        """Return the action that carries an item to its target position and yaw."""
        item = self._task.scene.index(put.item)
        return self._move(item, np.array([put.x, put.y]), put.yaw - self._world.poses()[item, 2])

    def _move(self, item: int, place: np.ndarray, turn: float) -> np.ndarray:
        origin = self._world.poses()[item, :2]
        grasp = self._grasp_point(item)
        c, s = np.cos(turn), np.sin(turn)
        arm = origin - grasp
        target = place - np.array([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]])
        turn = (turn + np.pi) % (2 * np.pi) - np.pi
        return action((grasp[0], grasp[1]), (target[0], target[1]), float(turn))

    def _grasp_point(self, item: int) -> np.ndarray:
        """Return a random position at which the descending tip touches the item first, (2,)."""
        x, y, yaw = self._world.poses()[item]
        pieces = self._task.scene.items[item].solid.pieces
        c, s = np.cos(yaw), np.sin(yaw)
        spot = np.array([x, y])
        for attempt in range(_MAX_GRASP_TRIES):
            outline = pieces[int(self._rng.integers(len(pieces)))].top
            own = self._rng.dirichlet(np.ones(len(outline))) @ outline
            spot = np.array([x + c * own[0] - s * own[1], y + s * own[0] + c * own[1]])
            inset = _GRASP_INSET if attempt < _MAX_GRASP_TRIES // 2 else 0.0
            around = [spot + inset * np.array(side) for side in ((1, 0), (-1, 0), (0, 1), (0, -1), (0, 0))]
            if all(self._world.below(*point)[0] == item for point in around):
                break
        return spot

    def _intruder(self, goal: PutGoal, puts: tuple[Put, ...]) -> int:
        """Return the index of a bystander that occupies a goal position; -1 for none."""
        scene, poses = self._task.scene, self._world.poses()
        for name in goal.bystanders:
            index = scene.index(name)
            if scene.items[index].fixed:
                continue
            if any(np.hypot(*(poses[index, :2] - (put.x, put.y))) <= put.within + 0.005 for put in puts):
                return index
        return -1

    def _clear_away(self, goal: PutGoal, item: int) -> np.ndarray:
        """Return the action that carries a bystander to the position farthest from all other items and targets."""
        if item < 0:
            return idle()
        places = [(put.x, put.y) for stage in goal.stages for put in stage]
        others = np.array([*np.delete(self._world.poses(), item, axis=0)[:, :2], *places])
        margin = self._task.scene.items[item].radius
        grid = _grid((X_LOW + margin, X_HIGH - margin), 12, (Y_LOW + margin, Y_HIGH - margin), 24)
        room = np.linalg.norm(grid[:, None] - others[None], axis=-1).min(axis=1)
        return self._move(item, grid[int(np.argmax(room))], 0.0)


def idle() -> np.ndarray:
    """Return the action that does nothing, (12,)."""
    return action((0.5, 0.0), (0.5, 0.0))
