"""The record of one episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

import numpy as np

Intervals = tuple[tuple[int, int], ...]
"""Half-open intervals [first, last) of control steps during which a condition was true."""

Position = tuple[float, float, float]
"""Position in the world frame, in metres."""


class Happened(TypedDict):
    """Whether and when an event occurred. A step is given as the number of control steps completed before it."""

    event: str
    """Description of the event and its trigger, for example ``world/displace at near(0.12)``."""
    due: int | None
    """Step at which the trigger became true; None if it never did."""
    step: int | None
    """Step at which the event occurred, after ``due`` if it had to be postponed; None if it never occurred."""
    told: str
    """The new instruction given to the policy; empty if the instruction did not change."""


class Outcome(StrEnum):
    """Outcome of an episode."""

    SUCCESS = "success"
    FAILURE = "failure"
    """The episode reached its horizon without success."""
    ERROR = "error"
    """The policy or the simulator raised an error; the episode says nothing about the policy's ability."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """Path of the end effector, and the policy's actions, float32."""

    end_effector: np.ndarray
    """Positions in metres, beginning with the initial position: (steps + 1, 3), or (steps, 3) in imported logs
    that lack the last position. In a world whose actions are complete motions: the end point of each motion.
    """
    gripper: np.ndarray
    """Distance between the fingers for each position of the end effector, in metres."""
    actions: np.ndarray
    """Actions as returned by the policy: (steps, action size)."""


def no_trajectory(action_size: int = 7) -> Trajectory:
    """Return the empty trajectory of an episode that did not start."""
    return Trajectory(*(np.zeros(shape, np.float32) for shape in ((0, 3), (0,), (0, action_size))))


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """The record of one executed spec."""

    outcome: Outcome
    steps: int
    """Number of control steps executed."""
    trajectory: Trajectory
    instruction: str = ""
    """Text of the instruction."""
    seconds: float = 0.0
    """Wall-clock duration of all attempts, in seconds."""
    decisions: int = 0
    """Number of requests to the policy."""
    images: int = 0
    """Number of rendered images."""
    attempts: int = 1
    """Number of attempts; an attempt that ended in an error may have been repeated."""
    touched: str | None = None
    """The first object that the robot touched."""
    moved: str | None = None
    """The first object that moved."""
    truth: dict[str, Intervals] = field(default_factory=dict)
    """Intervals during which each goal atom was true."""
    initial_positions: dict[str, Position] = field(default_factory=dict)
    """Initial positions of the task's objects; empty if unknown."""
    contacts: dict[str, Intervals] | None = None
    """Intervals during which the robot touched each object, ordered by first contact; None if unknown."""
    error: str = ""
    """Error message, if there was an error; otherwise the reason for the failure, if the policy or the world
    reported one.
    """
    transient: bool = False
    """Whether the error may be temporary, in which case a resumed run retries the episode."""
    traceback: str = ""
    """Traceback of an error in user code; empty if there was no such error."""
    clipped: int | None = None
    """Number of actions with a component outside [-1, 1], which is clipped; None if the world does not clip."""
    inference: tuple[float, ...] = ()
    """Duration of each decision in milliseconds, as reported by the policy server; otherwise measured, including
    the time to render the policy's images. Informational only.
    """
    stages: dict[str, dict[str, int | None]] | None = None
    """Control step at which each goal atom that did not hold at the start reached each stage; None if it never did.
    See `conduct`.
    """
    progress: float | None = None
    """Progress from 0 to 1; 1 for a success. None if the world does not record stages, or after an error."""
    side_effects: SideEffects | None = None
    """Unrequested effects; None if the world does not record them."""
    aftermath: Aftermath | None = None
    """Whether the goal still held after the gripper opened; None if it was not achieved or not checked."""
    events: tuple[Happened, ...] = ()
    """The episode's planned events, in order, and whether they occurred."""


PLACING = ("reached", "touched", "grasped", "lifted", "carried", "placed", "released")
"""Stages of a goal atom about an object's location (On, In, Stack and similar predicates)."""
LIFTING = ("reached", "touched", "grasped", "lifted", "done")
"""Stages of a goal atom that requires an object to be lifted."""
TURNING = ("reached", "touched", "moved", "done")
"""Stages of a goal atom about a drawer, a door or a knob."""
FIXED = ("reached", "touched", "done")
"""Stages of a goal atom about an object that can be neither carried nor opened."""
UNTOUCHED = "nothing"
"""Name of an atom's state before its first stage."""

Stages = Mapping[str, int | None]
"""Control step after which each stage was first observed (None if never), in the order of the stages.
A number above the episode's step count means that the stage was observed in the aftermath of a success, in which
an object that is still held is released.
"""


@dataclass(frozen=True, slots=True)
class SideEffects:
    """Unrequested effects of an episode. Small values are omitted from the mappings."""

    moved: Mapping[str, float] = field(default_factory=dict)
    """Final displacement of objects that the goal does not name, in metres."""
    tilted: Mapping[str, float] = field(default_factory=dict)
    """Final tilt, relative to the start, of objects that the goal does not name, in degrees."""
    opened: Mapping[str, float] = field(default_factory=dict)
    """Final displacement of drawers, doors and knobs that the goal does not name and that were neither open nor on
    at the start, as a fraction of the distance from the initial joint value to LIBERO's threshold for open or on;
    1 at or beyond the threshold.
    """
    forces: Mapping[str, float] = field(default_factory=dict)
    """Maximum contact force, in newtons, that any one part of the robot (a finger, the hand, the arm) exerts on
    each object, sampled at the end of each control step; the table and the floor are listed as ``arena``.
    """
    arm: Mapping[str, int] = field(default_factory=dict)
    """Number of control steps in which the arm (its links, not the gripper) touched each object."""
    path: float = 0.0
    """Path length of the end effector, in metres."""
    jerk: float = 0.0
    """Root mean square jerk of the end effector, in metres per second cubed."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """State of an achieved goal after the gripper has opened and the arm has been held still."""

    steps: int
    """Number of additional control steps simulated."""
    holds: bool
    """Whether the goal still held at the end."""
    rest: bool
    """Whether all objects had stopped moving at the end; if not, the time limit was reached."""


def furthest(stages: Stages) -> str:
    """Return the furthest stage that an atom reached, even if earlier stages were skipped."""
    reached = [stage for stage, step in stages.items() if step is not None]
    return reached[-1] if reached else UNTOUCHED


def atom_progress(stages: Stages) -> float:
    """Return the progress of an atom, from 0 to 1: the rank of its furthest stage divided by the number of stages."""
    names = list(stages)
    stage = furthest(stages)
    return 0.0 if stage == UNTOUCHED else (names.index(stage) + 1) / len(names)
