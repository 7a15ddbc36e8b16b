"""Perturbations of the robot: inaccurate or delayed actions, and proprioceptive errors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Perturbation, perturbation
from assay.episodes.fields import within
from assay.episodes.senses import Chance, Filter, Key, Sense
from assay.errors import PerturbationError
from assay.sim import Observation
from assay.sim.bare_mujoco import mujoco


@perturbation
@dataclass(frozen=True, slots=True)
class ActionNoise(Sense):
    """The arm is inaccurate: normal errors with these standard deviations, new at every step.

    They are added to the action within its limits; the gripper obeys.
    """

    kind = "senses/action_noise"

    translation: float = within(0.0, 1.0, default=0.0)
    """As a share of the largest command, which is 50 mm."""
    rotation: float = within(0.0, 1.0, default=0.0)
    """As a share of the largest command, which is 0.5 rad."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        if not (self.translation or self.rotation):
            raise PerturbationError(
                f"{self.kind}: nothing is changed; valid: a translation or rotation above 0"
            )

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _Inaccurate(self, key)


@perturbation
@dataclass(frozen=True, slots=True)
class ActionDelay(Sense):
    """Every action comes late; until the first one comes, the robot stays as it is."""

    kind = "senses/action_delay"

    steps: int = within(1, 40)
    """By how many control steps of 50 ms."""

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _Late(self.steps)


class _Inaccurate(Filter):
    def __init__(self, sense: ActionNoise, key: Key) -> None:
        self._scale, self._key = np.repeat([sense.translation, sense.rotation], 3), key

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        done = np.array(action, dtype=np.float64)
        noise = Chance(self._key, step).now().standard_normal(6)
        done[:6] = np.clip(done[:6], -1.0, 1.0) + noise * self._scale
        return done


class _Late(Filter):
    def __init__(self, steps: int) -> None:
        self._coming = deque([np.zeros(7)] * steps)  # a gripper's command of 0 leaves it as it is

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        self._coming.append(np.array(action))
        return self._coming.popleft()


DISTURBANCE = ActionNoise(translation=0.02, rotation=0.02)
"""Actuation noise of 1 mm and 10 mrad a step, under which a scene that can be solved should still be."""


@dataclass(frozen=True, slots=True)
class _Error:
    """By how much the robot's sensing is wrong."""

    position: np.ndarray
    """Metres in the world, (3,)."""
    rotation: np.ndarray
    """A rotation vector in the world, radians, (3,)."""
    joints: np.ndarray
    """Radians, (7,)."""
    gripper: np.ndarray
    """Metres, (2,)."""


@dataclass(frozen=True, slots=True)
class _Misjudged(Sense):
    position: float = within(0.0, 0.5, default=0.0)
    """Of the grip site, metres."""
    rotation: float = within(0.0, math.pi, default=0.0)
    """Of the hand, radians."""
    joints: float = within(0.0, math.pi, default=0.0)
    """Of each of the arm's joints, radians."""
    gripper: float = within(0.0, 0.04, default=0.0)
    """Of each finger, metres."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        if not (self.position or self.rotation or self.joints or self.gripper):
            raise PerturbationError(
                f"{self.kind}: nothing is changed; valid: a position, rotation, joints or gripper above 0"
            )

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _MisjudgedFilter(self, key)

    @abstractmethod
    def error(self, chance: Chance) -> _Error:
        """What is added to the truth."""


@perturbation
@dataclass(frozen=True, slots=True)
class ProprioceptionNoise(_Misjudged):
    """The robot's own sensing is noisy: normal errors, new at every step, with these standard deviations.

    Each quantity is sensed for itself: the noise of the joints is not that of the hand's pose.
    """

    kind = "senses/proprioception_noise"

    def error(self, chance: Chance) -> _Error:
        """Of one step."""
        position, rotation, joints, gripper = np.split(chance.now().standard_normal(15), [3, 6, 13])
        return _Error(
            position * self.position, rotation * self.rotation, joints * self.joints, gripper * self.gripper
        )


@perturbation
@dataclass(frozen=True, slots=True)
class ProprioceptionOffset(_Misjudged):
    """The robot's own sensing is off by exactly this much during an episode, in directions that are drawn.

    The hand seems moved along a line and turned about an axis; each joint seems turned one way or the other;
    both fingers seem further open, or further closed.
    """

    kind = "senses/proprioception_offset"

    def error(self, chance: Chance) -> _Error:
        """Of an episode."""
        rng = chance.lasting()
        line, axis = rng.standard_normal((2, 3))
        signs = np.where(rng.random(8) < 0.5, -1.0, 1.0)
        return _Error(
            line / np.linalg.norm(line) * self.position,
            axis / np.linalg.norm(axis) * self.rotation,
            signs[:7] * self.joints,
            signs[7] * self.gripper * np.array([1.0, -1.0]),
        )


class _MisjudgedFilter(Filter):
    def __init__(self, sense: _Misjudged, key: Key) -> None:
        self._sense, self._key = sense, key

    def observe(self, observation: Observation) -> Observation:
        error = self._sense.error(Chance(self._key, observation.step))
        return replace(
            observation,
            joints=observation.joints + error.joints,
            eef_position=observation.eef_position + error.position,
            eef_quaternion=_rotate(observation.eef_quaternion, error.rotation),
            gripper=observation.gripper + error.gripper,
        )


_NO_TURN = 1e-12
"""Radians: what is less has no axis."""


def _rotate(quaternion: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """An orientation (w, x, y, z) turned by a rotation vector in the world; as it is for none."""
    angle = float(np.linalg.norm(rotation))
    if angle < _NO_TURN:
        return quaternion.copy()
    turn, turned = np.empty(4), np.empty(4)
    mujoco.mju_axisAngle2Quat(turn, rotation / angle, angle)
    mujoco.mju_mulQuat(turned, turn, quaternion)
    return turned
