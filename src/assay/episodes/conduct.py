"""How an episode went, beyond success: how far each atom of the goal came, what was left behind, and whether it lasts.

The world records it (`Env.record`); the run's file keeps it; measures, the report, the web app and duels read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PLACING = ("reached", "touched", "grasped", "lifted", "carried", "placed", "released")
"""The stages of an atom about where an object is: On, In, Stack and their like."""
LIFTING = ("reached", "touched", "grasped", "lifted", "done")
"""Of an atom that wants an object up."""
TURNING = ("reached", "touched", "moved", "done")
"""Of an atom about a drawer, a door or a knob."""
FIXED = ("reached", "touched", "done")
"""Of an atom about something that can be neither carried nor opened."""
UNTOUCHED = "nothing"
"""The stage before the first."""

Stages = Mapping[str, int | None]
"""Stage -> the control step after which it was first seen, in the order of the stages; None for never.

A number above the episode's steps was seen in its aftermath: an object that was still held when the goal was reached is
let go there.
"""


@dataclass(frozen=True, slots=True)
class SideEffects:
    """What an episode did besides what it was asked for. Small values are left out of the mappings."""

    moved: Mapping[str, float] = field(default_factory=dict)
    """How far objects that the goal does not name were in the end from where they stood at the start, metres."""
    tilted: Mapping[str, float] = field(default_factory=dict)
    """By how much their upright axis was tilted from how it stood at the start, degrees."""
    opened: Mapping[str, float] = field(default_factory=dict)
    """How far drawers, doors and knobs that the goal does not name, and that were not open or on at the start, were
    opened in the end: as a part of the way from the start to where LIBERO calls them open or on; 1 is that, or more
    where they go farther."""
    forces: Mapping[str, float] = field(default_factory=dict)
    """The largest force of one part of the robot (a finger, the hand, the arm) on each object, newton, of those at the
    end of each control step; the table and the floor are called arena."""
    arm: Mapping[str, int] = field(default_factory=dict)
    """In how many control steps the arm (its links, not the gripper) touched each object."""
    path: float = 0.0
    """How far the end effector went, metres."""
    jerk: float = 0.0
    """Of the end effector, metres per second cubed: the root of the mean square."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What became of a reached goal when the hand let go and the arm held still."""

    steps: int
    """Control steps that were simulated on."""
    holds: bool
    """Whether the goal still held then."""
    rest: bool
    """Whether everything was at rest then; otherwise the time was over."""


def furthest(stages: Stages) -> str:
    """The last stage that an atom reached, even if earlier ones were skipped."""
    seen = [stage for stage, step in stages.items() if step is not None]
    return seen[-1] if seen else UNTOUCHED


def atom_progress(stages: Stages) -> float:
    """How far an atom came, 0 to 1: the place of its furthest stage among its stages."""
    names = list(stages)
    stage = furthest(stages)
    return 0.0 if stage == UNTOUCHED else (names.index(stage) + 1) / len(names)
