"""Perturbations of the robot: inaccurate or delayed actions, and proprioceptive errors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from assay.episodes import perturbation, within
from assay.episodes.senses import Chance, Filter, Key, Sense
from assay.sim import Observation
from assay.sim.bare_mujoco import mujoco


@perturbation
class ActionNoise(Sense):
    """Adds normally distributed errors to the arm's actions, sampled anew at every step.

    Actions remain within their limits; gripper commands are unchanged.
    """

    kind = "senses/action_noise"
    neutral = MappingProxyType({"translation": 0.0, "rotation": 0.0})

    translation: float = within(0.0, 1.0, default=0.0)
    """Standard deviation of the translation, as a fraction of the largest command (50 mm)."""
    rotation: float = within(0.0, 1.0, default=0.0)
    """Standard deviation of the rotation, as a fraction of the largest command (0.5 rad)."""

    def begin(self, key: Key) -> Filter:
        """Return the filter for an episode."""
        return _ActionNoiseFilter(self, key)


@perturbation
class ActionDelay(Sense):
    """Delays every action; until the first one arrives, the robot does not move."""

    kind = "senses/action_delay"

    steps: int = within(1, 40)
    """Delay in control steps of 50 ms."""

    def begin(self, key: Key) -> Filter:
        """Return the filter for an episode."""
        return _DelayFilter(self.steps)


class _ActionNoiseFilter(Filter):
    def __init__(self, sense: ActionNoise, key: Key) -> None:
        self._scale, self._key = np.repeat([sense.translation, sense.rotation], 3), key

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        noisy = np.array(action, dtype=np.float64)
        noise = Chance(self._key, step).now().standard_normal(6)
        noisy[:6] = np.clip(noisy[:6], -1.0, 1.0) + noise * self._scale
        return noisy


class _DelayFilter(Filter):
    def __init__(self, steps: int) -> None:
        self._pending = deque([np.zeros(7)] * steps)  # a gripper command of 0 leaves the gripper unchanged

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        self._pending.append(np.array(action))
        return self._pending.popleft()


MIN_ANGLE_RAD = 1e-12
"""Minimum angle of a rotation with a defined axis, in radians."""
DISTURBANCE = ActionNoise(translation=0.02, rotation=0.02)
"""Actuation noise of 1 mm and 10 mrad per step, under which a solvable scene should remain solvable."""


@dataclass(frozen=True, slots=True)
class _InaccurateProprioception(Sense):
    neutral = MappingProxyType({"position": 0.0, "rotation": 0.0, "joints": 0.0, "gripper": 0.0})

    position: float = within(0.0, 0.5, default=0.0)
    """Position error of the grip site, in metres."""
    rotation: float = within(0.0, math.pi, default=0.0)
    """Rotation error of the end effector, in radians."""
    joints: float = within(0.0, math.pi, default=0.0)
    """Error of each arm joint, in radians."""
    gripper: float = within(0.0, 0.04, default=0.0)
    """Error of each finger, in metres."""

    def begin(self, key: Key) -> Filter:
        """Return the filter for an episode."""
        return _ProprioceptionFilter(self, key)

    @abstractmethod
    def error(self, chance: Chance) -> np.ndarray:
        """Return the error to add to the true values, of shape (15,).

        It holds position and rotation vector (world frame, 3 + 3), joint angles (7) and finger positions (2).
        """


@perturbation
class ProprioceptionNoise(_InaccurateProprioception):
    """Adds normally distributed errors to the proprioception, sampled anew at every step.

    The errors are independent: joint errors do not affect the sensed pose of the end effector.
    """

    kind = "senses/proprioception_noise"

    def error(self, chance: Chance) -> np.ndarray:
        """Sample the error for one step."""
        deviations = (self.position, self.rotation, self.joints, self.gripper)
        error: np.ndarray = chance.now().standard_normal(15) * np.repeat(deviations, (3, 3, 7, 2))
        return error


@perturbation
class ProprioceptionOffset(_InaccurateProprioception):
    """Adds constant errors of exactly the given sizes to the proprioception, in random directions.

    The end effector appears translated along a line and rotated about an axis; each joint appears rotated in one
    direction or the other; both fingers appear more open or more closed.
    """

    kind = "senses/proprioception_offset"

    def error(self, chance: Chance) -> np.ndarray:
        """Sample the error for an episode."""
        rng = chance.lasting()
        line, axis = rng.standard_normal((2, 3))
        signs = np.where(rng.random(8) < 0.5, -1.0, 1.0)
        return np.concatenate(
            (
                line / np.linalg.norm(line) * self.position,
                axis / np.linalg.norm(axis) * self.rotation,
                signs[:7] * self.joints,
                signs[7] * self.gripper * np.array([1.0, -1.0]),
            )
        )


class _ProprioceptionFilter(Filter):
    def __init__(self, sense: _InaccurateProprioception, key: Key) -> None:
        self._sense, self._key = sense, key

    def observe(self, observation: Observation) -> Observation:
        error = self._sense.error(Chance(self._key, observation.step))
        position, rotation, joints, gripper = np.split(error, (3, 6, 13))
        angle, quaternion = float(np.linalg.norm(rotation)), observation.eef_quaternion.copy()
        if angle >= MIN_ANGLE_RAD:
            turn = np.empty(4)
            mujoco.mju_axisAngle2Quat(turn, rotation / angle, angle)
            mujoco.mju_mulQuat(quaternion, turn, observation.eef_quaternion)
        return replace(
            observation,
            joints=observation.joints + joints,
            eef_position=observation.eef_position + position,
            eef_quaternion=quaternion,
            gripper=observation.gripper + gripper,
        )
