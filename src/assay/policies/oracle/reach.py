"""Whether the arm can bring the hand somewhere: inverse kinematics on a copy of the world."""

from __future__ import annotations

import numpy as np

from assay.policies.oracle.motion import FLIPPED, nearest_turn, turn
from assay.policies.oracle.sight import Sight
from assay.sim.bare_mujoco import mujoco
from assay.sim.compile import EntityIndex
from assay.sim.controller import ARM

ROUNDS = 40
"""How many steps are made towards a pose."""
DAMPING = 1e-3
STRIDE = 0.3
"""How far a joint goes in one of them at most, radians."""
THERE = np.array([0.004, 0.03])
"""When the hand is there: metres and radians."""
WITHIN = np.array([0.015, 0.12])
"""How far off it may remain."""
INTO = 0.004
"""How far the robot may be inside something, metres."""
OPENED = 0.079
"""Between the fingers of the open hand, metres."""
SHUT = 0.0
"""The same of the closed one."""
OUT_OF_REACH = 1.0
"""What a pose costs that the arm does not reach."""
SPARE = 0.15
"""How far from its range's end each joint should be, radians."""
STRAINED = 0.4
"""What it costs to be at the end."""
IN_THE_WAY = 0.3
"""What it costs if it must go through something."""


class Reach:
    """Finds out what poses of the hand cost; the world stays as it is."""

    def __init__(self, sight: Sight, held: EntityIndex) -> None:
        self._sight = sight
        self._held = held
        self._data = mujoco.MjData(sight.model)
        self._rest = sight.data.qpos[:ARM].copy()
        self.asked = 0
        """How many poses have been tried."""

    def cost(self, position: np.ndarray, rotation: np.ndarray, width: float) -> float:
        """Nothing, or more where the arm does not get to a pose, or only through something but what is held.

        ``width`` is that between the fingers, metres.
        """
        self.asked += 1
        off = self._solve(position, rotation, width)
        if np.any(off > WITHIN):
            return OUT_OF_REACH + float(off[0])
        low, high = self._sight.model.jnt_range[:ARM].T
        arm = self._data.qpos[:ARM]
        spare = float(np.minimum(arm - low, high - arm).min())
        strained = STRAINED * max(0.0, 1.0 - spare / SPARE)
        return strained + (IN_THE_WAY if self._is_blocked() else 0.0)

    def easier(self, position: np.ndarray, rotation: np.ndarray, width: float) -> tuple[np.ndarray, float]:
        """A rotation (3, 3) with the fingers exchanged if that is easier, or the only way; and what the pose costs."""
        best = first = nearest_turn(self._sight, rotation)
        least = np.inf
        for each in (first, first @ FLIPPED):
            cost = self.cost(position, each, width)
            if cost < least:
                best, least = each, cost
            if not cost:
                break
        return best, least

    def _solve(self, position: np.ndarray, rotation: np.ndarray, width: float) -> np.ndarray:
        """Bring the copy's hand as near to a pose as it gets; returns what is left in metres and radians."""
        model, data = self._sight.model, self._data
        data.qpos[:] = self._sight.data.qpos
        data.qpos[ARM : ARM + 2] = width / 2, -width / 2
        data.mocap_pos[:], data.mocap_quat[:] = self._sight.data.mocap_pos, self._sight.data.mocap_quat
        site = self._sight.site
        low, high = model.jnt_range[:ARM].T
        jacobian = np.zeros((6, model.nv))
        off = np.full(2, np.inf)
        for _ in range(ROUNDS):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            way = np.concatenate(
                [
                    position - data.site_xpos[site],
                    turn(data.site_xmat[site].reshape(3, 3), rotation),
                ]
            )
            off = np.array([np.linalg.norm(way[:3]), np.linalg.norm(way[3:])])
            if np.all(off < THERE):
                break
            mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], site)
            arm = jacobian[:, :ARM]
            inverse = arm.T @ np.linalg.inv(arm @ arm.T + DAMPING * np.eye(6))
            ease = 0.1 * (self._rest - data.qpos[:ARM])
            step = inverse @ way + ease - inverse @ (arm @ ease)
            step *= min(1.0, STRIDE / float(np.abs(step).max()))
            data.qpos[:ARM] = np.clip(data.qpos[:ARM] + step, low, high)
        return off

    def _is_blocked(self) -> bool:
        """Whether the copy's robot is inside something but what it holds."""
        mujoco.mj_collision(self._sight.model, self._data)
        robot = self._sight.robot_geoms
        contact = self._data.contact
        for (one, other), distance in zip(contact.geom, contact.dist, strict=True):
            others = one not in self._held.geoms and other not in self._held.geoms
            if distance < -INTO and others and (one in robot) != (other in robot):
                return True
        return False
