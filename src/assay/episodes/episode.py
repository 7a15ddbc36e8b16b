"""What happened in one episode."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

import numpy as np

from assay.episodes.conduct import Aftermath, SideEffects

Intervals = tuple[tuple[int, int], ...]
"""Control steps [first, last) during which something was true."""

Position = tuple[float, float, float]
"""Metres, in the frame of the world."""


class Happened(TypedDict):
    """Whether and when an event of an episode came to pass; steps are control steps done before."""

    event: str
    """What, and when it was to be: ``world/displace at near(0.12)``."""
    due: int | None
    """When its trigger came true; None where it did not."""
    step: int | None
    """When it happened; later where it had to wait for what it moves to be free, None where it did not happen."""
    told: str
    """The instruction given to the policy then; empty if it did not change."""


class Outcome(StrEnum):
    """How an episode ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    """It ran to its horizon."""
    ERROR = "error"
    """The policy or the simulator broke; this says nothing about what the policy knows."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """The path of the end effector and the actions, float32."""

    end_effector: np.ndarray
    """Its position, metres, from before the first step on: (steps + 1, 3); (steps, 3) in imported logs that
    leave out the last. In a world whose actions are whole motions, where each of them ended."""
    gripper: np.ndarray
    """Distance between the fingers, metres, at the same times."""
    actions: np.ndarray
    """As the policy gave them: (steps, action size)."""


def no_trajectory(action_size: int = 7) -> Trajectory:
    """The trajectory of an episode that never began."""
    return Trajectory(*(np.zeros(shape, np.float32) for shape in ((0, 3), (0,), (0, action_size))))


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """One executed spec."""

    outcome: Outcome
    steps: int
    """Control steps done."""
    trajectory: Trajectory
    instruction: str = ""
    """The instruction in words."""
    seconds: float = 0.0
    """Of the clock, all attempts together."""
    decisions: int = 0
    """How often the policy was asked."""
    images: int = 0
    """How many were rendered."""
    attempts: int = 1
    """How often it was tried until nothing broke."""
    touched: str | None = None
    """What the robot touched first."""
    moved: str | None = None
    """What moved first."""
    truth: dict[str, Intervals] = field(default_factory=dict)
    """When each atom of the goal was true."""
    initial_positions: dict[str, Position] = field(default_factory=dict)
    """Where the objects that the task is about stood at the start; empty where that is not known."""
    contacts: dict[str, Intervals] | None = None
    """When the robot touched each object, in the order of the first touches; None where that is not known."""
    error: str = ""
    """What broke, where something did; why it failed, where the policy or the world says so."""
    transient: bool = False
    """Whether what broke may be well again later by itself: a resumed run tries again."""
    traceback: str = ""
    """Traceback of an error in user code; empty without an error, or if it is not in user code."""
    clipped: int | None = None
    """How many actions had a part outside [-1, 1], which was cut; None where the world cuts nothing."""
    inference: tuple[float, ...] = ()
    """Milliseconds that each decision took: reported by the policy server, or else measured, including the images
    rendered for it. Informational only."""
    stages: dict[str, dict[str, int | None]] | None = None
    """When each atom of the goal that did not hold at the start came to each stage, None for never: see `conduct`."""
    progress: float | None = None
    """How far it came, 0 to 1; 1 for a success. None where the world does not know stages, or it broke."""
    side_effects: SideEffects | None = None
    """What was done besides what was asked for; None where the world does not know."""
    aftermath: Aftermath | None = None
    """Whether the goal still held after the gripper let go; None if it was not reached or not checked."""
    events: tuple[Happened, ...] = ()
    """What was to happen during the episode, in order, and whether it did."""
