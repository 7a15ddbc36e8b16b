"""Simulation of the table: pick-and-place and push actions, each given by two poses, with contact physics."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from assay.errors import ActionError, one_line
from assay.extensions.tabletop.world.model import BLADE, SOLID_GROUP, build
from assay.extensions.tabletop.world.observation import TableObservation, TableRenderer
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableScene, Tool
from assay.sim.bare_mujoco import mujoco

ACTION_SIZE = 12
"""Size of an action: two poses, each x and y in metres and a quaternion (w, x, y, z); only its yaw is used."""

CRUISE = 0.32
"""Height at which the tool carries objects, in metres."""
_HOVER = 0.16
"""Height of the blade's centre between pushes, well above the blocks, in metres."""
_FREE_SPEED, _LOWERING_SPEED, _PUSHING_SPEED = 2.5, 0.4, 0.35
"""Speeds of the tool, in metres per second: in free space, while descending to the table, and while pushing."""
_SLOW_BELOW = 0.10
"""Height below which a carried object is lowered slowly, in metres."""
BEHIND, SHORT = 0.02, 0.05
"""Distances, in metres, by which a push starts behind its first pose and ends before its second."""
_MAX_LOWERING_STEPS = 40
"""Maximum number of steps for lowering the blade, which lags behind the tool and may meet an object."""
_REST_SPEED = 0.005
"""Speed below which an item counts as stationary, in metres per second."""
_MAX_SETTLING_STEPS = 400
"""Maximum number of steps to wait for all items to become stationary."""
_TRAIL_INTERVAL = 10
"""Number of simulation steps between two consecutive poses recorded during an action."""


@dataclass(frozen=True, slots=True, eq=False)
class ActionReport:
    """Result of an action."""

    held: int
    """Index of the carried item; -1 if none was carried: the pick missed, or the tool is the spatula."""
    trail: np.ndarray
    """Poses of all items (x, y, yaw), recorded every few steps until they were stationary, (times, items, 3)."""


def action(pick: tuple[float, float], place: tuple[float, float], turn: float = 0.0) -> np.ndarray:
    """Return the action, (12,), that moves from one position to another and rotates by ``turn`` radians."""
    return np.array([*pick, 1.0, 0, 0, 0, *place, np.cos(turn / 2), 0, 0, np.sin(turn / 2)])


class TableSimulation:
    """Physics simulation of one scene."""

    def __init__(self, scene: TableScene) -> None:
        self.scene = scene
        self._built = build(scene)
        self._model = self._built.model
        self._data = mujoco.MjData(self._model)
        self._trail: list[np.ndarray] = []
        self._clock = 0
        self.actions = 0
        """Number of executed actions."""
        self.reset()

    def reset(self) -> None:
        """Reset all items to their poses in the scene, and let them settle."""
        mujoco.mj_resetData(self._model, self._data)
        self.actions = self._clock = 0
        self._settle()

    def poses(self) -> np.ndarray:
        """Return the poses of the items: x, y in metres, yaw in radians, (items, 3)."""
        bodies = self._built.bodies
        turns = self._data.xmat[bodies]
        return np.column_stack([self._data.xpos[bodies, :2], np.arctan2(turns[:, 3], turns[:, 0])])

    def heights(self) -> np.ndarray:
        """Return the heights of the items' origins, in metres, (items,)."""
        return np.array(self._data.xpos[self._built.bodies, 2])

    def below(self, x: float, y: float) -> tuple[int, float]:
        """Return the index of the item that a descending tip would touch (-1: table), and its height in metres."""
        groups = np.zeros(6, dtype=np.uint8)
        groups[SOLID_GROUP] = 1
        geom = np.array([-1], dtype=np.int32)
        start, down = np.array([x, y, CRUISE]), np.array([0.0, 0.0, -1.0])
        distance = mujoco.mj_ray(self._model, self._data, start, down, groups, 1, -1, geom)
        return (-1, 0.0) if distance < 0 else (int(self._built.owner[geom[0]]), CRUISE - float(distance))

    def step(self, requested: np.ndarray) -> ActionReport:
        """Execute one action. Raise ActionError for a wrong shape or a value that is not finite."""
        try:
            values = np.asarray(requested, dtype=np.float64)
        except (TypeError, ValueError):
            raise ActionError(
                one_line(f"expected an action of {ACTION_SIZE} numbers, got {requested!r}")
            ) from None
        if values.shape != (ACTION_SIZE,):
            raise ActionError(
                f"expected an action of shape ({ACTION_SIZE},), two poses, each x, y and a quaternion (w, x, y, z), "
                f"got {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ActionError(
                f"the action has a non-finite value at index {int(np.argmin(np.isfinite(values)))}"
            )
        ends = values.reshape(2, 6)[:, :2]
        first, second = np.clip(ends, (X_LOW, Y_LOW), (X_HIGH, Y_HIGH))
        turn = float(2 * (np.arctan2(values[11], values[8]) - np.arctan2(values[5], values[2])))
        self._trail = []
        self.actions += 1
        if np.allclose(first, second) and np.isclose(np.cos(turn), 1.0):
            return ActionReport(-1, self.poses()[None])
        held = -1
        if self.scene.tool is Tool.SUCTION:
            held = self._pick_and_place(first, second, turn)
        else:
            self._push(first, second)
        self._settle()
        self._trail.append(self.poses())
        return ActionReport(held, np.array(self._trail))

    def predict(self, requested: np.ndarray) -> np.ndarray:
        """Return the trail that an action would produce, (times, items, 3), without changing the table."""
        real = self._data, self._clock, self.actions
        self._data = copy.copy(self._data)
        try:
            return self.step(requested).trail
        finally:
            self._data, self._clock, self.actions = real

    def observe(self) -> TableObservation:
        """Return the current observation for a policy."""
        render = partial(TableRenderer.shared().draw, self._built, self._data.qpos.copy())
        return TableObservation(self.actions, self.scene, cache(render))

    def _pick_and_place(self, first: np.ndarray, second: np.ndarray, turn: float) -> int:
        item, top = self.below(*first)
        if item < 0 or self._built.welds[item] < 0:
            return -1
        # Weld the item to the tool, which is upright, at its current pose.
        model, data, weld, body = self._model, self._data, self._built.welds[item], self._built.bodies[item]
        data.mocap_pos[0] = (*first, top)
        data.mocap_quat[0] = (1.0, 0.0, 0.0, 0.0)
        model.eq_data[weld, 0:3] = 0.0
        model.eq_data[weld, 3:6] = data.xpos[body] - data.mocap_pos[0]
        model.eq_data[weld, 6:10] = data.xquat[body]
        model.eq_data[weld, 10] = 1.0
        data.eq_active[weld] = 1
        self._move((*first, CRUISE), 0.0, _FREE_SPEED)
        self._move((*second, CRUISE), turn, _FREE_SPEED)
        self._move((*second, top + _SLOW_BELOW), turn, _FREE_SPEED, until_touch=item)
        self._move((*second, 0.0), turn, _LOWERING_SPEED, until_touch=item)
        self._steps(4)
        data.eq_active[weld] = 0
        return item

    def _push(self, first: np.ndarray, second: np.ndarray) -> None:
        """Push from one position to another, if they are far enough apart for a push."""
        way = second - first
        length = float(np.linalg.norm(way))
        if length < 1e-9:
            return
        way = way / length
        start, end = first - BEHIND * way, second - SHORT * way
        yaw = float(np.arctan2(way[1], way[0]))
        height, data = 0.005 + BLADE[2], self._data
        # The free blade is teleported above the table, where it cannot collide.
        data.mocap_pos[0] = (*start, _HOVER)
        data.mocap_quat[0] = (np.cos(yaw / 2), 0, 0, np.sin(yaw / 2))
        data.qpos[-7:] = (*data.mocap_pos[0], *data.mocap_quat[0])
        data.qvel[-6:] = 0.0
        self._move((*start, height), yaw, _FREE_SPEED)
        for _ in range(_MAX_LOWERING_STEPS):
            if data.qpos[-5] < height + 0.002:
                break
            self._steps(1)
        if (end - start) @ way > 0:
            self._move((*end, height), yaw, _PUSHING_SPEED)
            self._steps(4)
        self._move((*data.mocap_pos[0, :2], _HOVER), yaw, _FREE_SPEED)

    def _move(self, goal: tuple[float, ...], yaw: float, speed: float, *, until_touch: int = -1) -> None:
        """Move the tool in a straight line while rotating, until it arrives or its load makes contact."""
        data = self._data
        start, end = data.mocap_pos[0].copy(), np.array(goal)
        start_yaw = 2 * np.arctan2(data.mocap_quat[0, 3], data.mocap_quat[0, 0])
        turn = (yaw - start_yaw + np.pi) % (2 * np.pi) - np.pi
        distance = max(float(np.linalg.norm(end - start)), 0.1 * abs(turn))
        count = int(np.ceil(distance / (speed * self._model.opt.timestep)))
        for number in range(1, count + 1):
            fraction = number / count
            half = (start_yaw + fraction * turn) / 2
            data.mocap_pos[0] = start + fraction * (end - start)
            data.mocap_quat[0] = (np.cos(half), 0.0, 0.0, np.sin(half))
            self._steps(1)
            if until_touch >= 0 and len(data.contact.dist):
                mine = self._built.owner[data.contact.geom] == until_touch
                if (mine[:, 0] != mine[:, 1]).any():
                    return

    def _steps(self, count: int) -> None:
        for _ in range(count):
            mujoco.mj_step(self._model, self._data)
            self._clock += 1
            if self._clock % _TRAIL_INTERVAL == 0:
                self._trail.append(self.poses())

    def _settle(self) -> None:
        """Simulate until all items are stationary."""
        moving = self._built.velocities
        for _ in range(_MAX_SETTLING_STEPS // 5 if len(moving) else 0):
            self._steps(5)
            if np.abs(self._data.qvel[moving]).max() < _REST_SPEED:
                break
        mujoco.mj_forward(self._model, self._data)
