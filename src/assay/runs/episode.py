"""What happened in one episode."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.policies.rollout import Outcome

Intervals = tuple[tuple[int, int], ...]
"""Control steps [first, last) during which something was true."""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Where the hand went and what it was told, float32."""

    hand: np.ndarray
    """Position of the grip site, metres, from before the first step on: (steps + 1, 3). On the table: where
    each action let go."""
    gripper: np.ndarray
    """Distance between the fingers, metres, likewise: (steps + 1,)."""
    actions: np.ndarray
    """(steps, 7); on the table (steps, 12)."""


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """One executed spec."""

    outcome: Outcome
    steps: int
    """Control steps done; on the table, actions."""
    path: Path
    instruction: str = ""
    """What the policy was told."""
    seconds: float = 0.0
    """Of the clock, all attempts together."""
    decisions: int = 0
    """How often the policy was asked."""
    pictures: int = 0
    """How many were drawn."""
    attempts: int = 1
    """How often it was tried until nothing broke."""
    touched: str | None = None
    """What the robot touched first."""
    moved: str | None = None
    """What moved first."""
    truth: dict[str, Intervals] = field(default_factory=dict)
    """When each atom of the goal was true."""
    error: str = ""
    """What broke, where something did; why it failed, where the policy says so."""
    passing: bool = False
    """Whether what broke may be well again later by itself: a resumed run tries again."""


def nothing_happened() -> Path:
    """The path of an episode that never began."""
    return Path(*(np.zeros(shape, np.float32) for shape in ((0, 3), (0,), (0, 7))))
