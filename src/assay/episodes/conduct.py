"""Details of an episode beyond success: progress of each goal atom, side effects, and stability of the result.

The world records them (`Env.record`) and the run file stores them. Measures, the report, the web app and duels use
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PLACING = ("reached", "touched", "grasped", "lifted", "carried", "placed", "released")
"""Stages of a goal atom about an object's location (On, In, Stack and similar predicates)."""
LIFTING = ("reached", "touched", "grasped", "lifted", "done")
"""Stages of a goal atom that requires an object to be lifted."""
TURNING = ("reached", "touched", "moved", "done")
"""Stages of a goal atom about a drawer, a door or a knob."""
FIXED = ("reached", "touched", "done")
"""Stages of a goal atom about an object that can be neither carried nor opened."""
UNTOUCHED = "nothing"
"""Name of the state before the first stage."""

Stages = Mapping[str, int | None]
"""Stage -> the control step after which it was first observed, or None if it never was, in the order of the stages.
A number above the episode's step count means that the stage was observed in the aftermath, in which an object still
held on success is released.
"""


@dataclass(frozen=True, slots=True)
class SideEffects:
    """Unrequested effects of an episode. Small values are omitted from the mappings."""

    moved: Mapping[str, float] = field(default_factory=dict)
    """Final displacement of objects that the goal does not name, in metres."""
    tilted: Mapping[str, float] = field(default_factory=dict)
    """Final tilt of these objects' upright axes relative to the start, in degrees."""
    opened: Mapping[str, float] = field(default_factory=dict)
    """Final opening of drawers, doors and knobs that the goal does not name and that were not open or on at the
    start, as a fraction of the distance from the start to LIBERO's threshold for open or on; 1 at or beyond the
    threshold.
    """
    forces: Mapping[str, float] = field(default_factory=dict)
    """Maximum contact force, in newtons, of one part of the robot (a finger, the hand, the arm) on each object,
    sampled at the end of each control step; the table and the floor are called arena.
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
    """Whether all objects were at rest at the end; if not, the time limit was reached."""


def furthest(stages: Stages) -> str:
    """Return the furthest stage that an atom reached, even if earlier stages were skipped."""
    reached = [stage for stage, step in stages.items() if step is not None]
    return reached[-1] if reached else UNTOUCHED


def atom_progress(stages: Stages) -> float:
    """Return the progress of an atom, from 0 to 1: the rank of its furthest stage divided by the number of stages."""
    names = list(stages)
    stage = furthest(stages)
    return 0.0 if stage == UNTOUCHED else (names.index(stage) + 1) / len(names)
