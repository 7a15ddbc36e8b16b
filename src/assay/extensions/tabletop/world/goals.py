"""Goals on the table, and the progress of an episode towards them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableScene

TURN_TOLERANCE = np.radians(15)
KEEP_OFF = 0.011
"""Minimum gap between the line and a pushed block that passes it, in metres."""
Rectangle = tuple[float, float, float, float]
"""Bounds x_min, y_min, x_max, y_max, in metres."""


@dataclass(frozen=True, slots=True)
class Put:
    """Target position of one item."""

    item: str
    x: float
    y: float
    yaw: float = 0.0
    """Target yaw used by the demonstrator, in radians."""
    within: float = 0.10
    """Maximum distance between the item's origin and the target, in metres."""
    turned: bool = False
    """Whether the yaw is part of the goal."""

    def holds_at(self, pose: np.ndarray) -> bool:
        """Return whether an item at a pose (x, y, yaw) meets the target."""
        if np.hypot(pose[0] - self.x, pose[1] - self.y) > self.within:
            return False
        error = (pose[2] - self.yaw + np.pi) % (2 * np.pi) - np.pi
        return not self.turned or bool(abs(error) < TURN_TOLERANCE)


@dataclass(frozen=True, slots=True)
class PutGoal:
    """Successive stages, each with targets in any order. A stage ends once all its targets are met simultaneously."""

    stages: tuple[tuple[Put, ...], ...]
    bystanders: tuple[str, ...] = ()
    """Items that, when a stage ends, must not be at its targets, nor close to an item placed there."""
    in_order: bool = False
    """Whether meeting a target of a later stage too early is a mistake."""
    blockers: int = 0
    """Number of bystanders at target positions, which have to be moved away first."""

    @property
    def best(self) -> int:
        """Minimum number of actions."""
        return self.blockers + sum(len(stage) for stage in self.stages)


@dataclass(frozen=True, slots=True)
class SweepGoal:
    """Goal of having ``fewest`` to ``most`` target blocks inside a zone, without crossing a line."""

    targets: tuple[str, ...]
    bystanders: tuple[str, ...]
    fewest: int
    most: int
    zone: Rectangle
    barrier: Rectangle
    """Area of the line, which no target block may ever enter."""
    best: int
    """Minimum number of actions."""


Goal = PutGoal | SweepGoal


@dataclass(frozen=True, slots=True)
class GoalStatus:
    """Status of a goal after an action."""

    success: bool
    mistake: str = ""
    """Mistake, such as ``wrong_item``; empty for none. Some mistakes can be undone."""


class TableGoalProgress:
    """Tracks the progress of an episode towards a goal, action by action."""

    def __init__(self, goal: Goal, scene: TableScene) -> None:
        self.goal = goal
        self._scene = scene
        self._stage = 0
        self._met: set[Put] = set()
        self._broken = ""
        self.verdict = GoalStatus(False)
        self._was = {item.name: np.array([item.x, item.y, item.yaw]) for item in scene.items}

    @property
    def stage(self) -> tuple[Put, ...]:
        """The targets of the current stage, which must be met simultaneously."""
        if not isinstance(self.goal, PutGoal) or self._stage == len(self.goal.stages):
            return ()
        return self.goal.stages[self._stage]

    def pending(self) -> tuple[Put, ...]:
        """Return the targets of the current stage that are not met yet."""
        return tuple(put for put in self.stage if put not in self._met)

    def update(self, trail: np.ndarray) -> GoalStatus:
        """Update with the poses of all items during an action, (times, items, 3), up to their final poses."""
        goal, last, index_of = self.goal, trail[-1], self._scene.index
        if isinstance(goal, PutGoal):
            self.verdict = self._judge_put(goal, last)
            return self.verdict
        if any(self._overlaps(trail[:, i], i, goal.barrier) for i in map(index_of, goal.targets)):
            self._broken = "constraint"
        inside = len(self.inside(last))
        intruder = any(self._overlaps(last[i], i, goal.zone) for i in map(index_of, goal.bystanders))
        mistake = self._broken or ("wrong_item" if intruder else "too_many" if inside > goal.most else "")
        self.verdict = GoalStatus(not mistake and inside >= goal.fewest, mistake)
        return self.verdict

    def _judge_put(self, goal: PutGoal, poses: np.ndarray) -> GoalStatus:
        if self.verdict.success:
            return self.verdict
        pose = {item.name: poses[i] for i, item in enumerate(self._scene.items)}
        awaited = {put.item for put in self.pending()}
        later = [put for stage in goal.stages[self._stage + 1 :] for put in stage]
        early = goal.in_order and any(
            put.holds_at(pose[put.item]) and put.item not in awaited for put in later
        )
        was, self._was = self._was, pose
        stage = self.stage
        holds = {put for put in stage if put.holds_at(pose[put.item])}
        if goal.in_order:
            # In order means done in order: what was there before its turn has to be done again.
            holds = {put for put in holds if put in self._met or not put.holds_at(was[put.item])}
        progress, self._met = bool(holds - self._met), holds
        if len(holds) == len(stage):
            for put in stage:
                for taken in (np.array([put.x, put.y]), pose[put.item][:2]):
                    if any(np.hypot(*(pose[name][:2] - taken)) <= put.within for name in goal.bystanders):
                        return GoalStatus(False, "wrong_item")
            self._stage += 1
            self._met = set()
        if self._stage == len(goal.stages):
            return GoalStatus(True)
        if early:
            return GoalStatus(False, "wrong_order")
        places = [pose[put.item] for put in self.pending()]
        if not all(X_LOW <= x <= X_HIGH and Y_LOW <= y <= Y_HIGH for x, y, _ in places):
            return GoalStatus(False, "off_table")
        return GoalStatus(False, "" if progress else "no_progress")

    def inside(self, poses: np.ndarray) -> list[str]:
        """Return the targets of a sweep that are completely inside its zone, at poses (items, 3)."""
        if not isinstance(self.goal, SweepGoal):
            return []
        x_min, y_min, x_max, y_max = self.goal.zone
        names = []
        for name in self.goal.targets:
            index = self._scene.index(name)
            x, y = np.moveaxis(np.vstack(self._outlines(poses[index], index)), -1, 0)
            if ((x >= x_min) & (x <= x_max) & (y >= y_min) & (y <= y_max)).all():
                names.append(name)
        return names

    def _overlaps(self, poses: np.ndarray, index: int, rectangle: Rectangle) -> bool:
        """Return whether any part of an item overlaps a rectangle at any of the poses (..., 3)."""
        return any(bool(_overlap(outline, rectangle).any()) for outline in self._outlines(poses, index))

    def _outlines(self, poses: np.ndarray, index: int) -> list[np.ndarray]:
        """Return the convex parts of an item's outline at poses (..., 3), each with shape (..., n, 2)."""
        c, s = np.cos(poses[..., 2, None]), np.sin(poses[..., 2, None])
        outlines = []
        for part in self._scene.items[index].solid.pieces:
            x = poses[..., 0, None] + c * part.bottom[:, 0] - s * part.bottom[:, 1]
            y = poses[..., 1, None] + s * part.bottom[:, 0] + c * part.bottom[:, 1]
            outlines.append(np.stack([x, y], axis=-1))
        return outlines


def _overlap(outlines: np.ndarray, rectangle: Rectangle) -> np.ndarray:
    """Return whether convex outlines (..., n, 2) overlap a rectangle, (...); uses the separating axis theorem."""
    x_min, y_min, x_max, y_max = rectangle
    corners = np.array([(x_min, y_min), (x_min, y_max), (x_max, y_min), (x_max, y_max)])
    sides = np.roll(outlines, -1, axis=-2) - outlines
    across = np.stack([-sides[..., 1], sides[..., 0]], axis=-1)
    axes = np.concatenate([across, np.broadcast_to(np.eye(2), (*outlines.shape[:-2], 2, 2))], axis=-2)
    own = np.einsum("...ni,...ki->...kn", outlines, axes)
    others = np.einsum("ni,...ki->...kn", corners, axes)
    parted = (own.max(axis=-1) <= others.min(axis=-1)) | (others.max(axis=-1) <= own.min(axis=-1))
    return np.asarray(~parted.any(axis=-1))


def reaches_straight(start: np.ndarray, places: np.ndarray, barrier: Rectangle, half: float) -> np.ndarray:
    """Return whether a block can be pushed straight to each of ``places`` (n, 2) past a barrier, (n,)."""
    margin = half + KEEP_OFF
    shares = np.linspace(0.05, 1, 24)
    path = start + shares[:, None, None] * (places - start)  # (24, n, 2)
    x, y = path[..., 0], path[..., 1]
    over = (x > barrier[0] - margin) & (x < barrier[2] + margin)
    over &= (y > barrier[1] - margin) & (y < barrier[3] + margin)
    return np.asarray(~over.any(axis=0))
