"""One episode of any data set, and what was left out on the way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assay.extensions.eqa.actions import SIZE, Level

FOUND = "episodes found"
"""What sources count every episode as, be it good or not."""
EXAMPLES = 5
"""How many places are named for each reason."""


class Camera(Protocol):
    """Pictures of one episode that are read, or drawn, when somebody asks for them."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """Pictures of frames, in their order: uint8, (height, width, 3), or (height, width) if grey.

        Raises UnreadableError for a frame that is not there.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """What a robot did and what was to be seen of it."""

    id: str
    """Unique in its data set."""
    instruction: str
    """Empty where the data set has none."""
    states: np.ndarray
    """(frames, 7), see `assay.extensions.eqa.actions`."""
    exocentric: tuple[Camera, ...]
    """Cameras that stand still beside the robot, the best first."""
    egocentric: Camera | None = None
    """The camera on the hand."""
    scene: str = ""
    """Episodes of the same scene began alike; empty where that is not known."""
    achieved: frozenset[str] = frozenset()
    """Instructions, of those heard in the scene, that are fulfilled at the end."""
    hand_seen: tuple[np.ndarray, ...] = ()
    """For each camera outside, whether both fingertips are inside its picture, (frames,); empty where that is not
    known."""
    places: tuple[str, ...] = ()
    """Where each camera outside stands, in words; empty where that is not known."""
    hand_place: str = ""
    """How the camera on the hand is mounted, in words; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as a good pair of frames in a data set."""

    thresholds: tuple[float, float, float, float, float, float, float]
    """What a dimension must exceed to have changed: metres, degrees, share of the gripper's opening."""
    levels: tuple[Level, ...] = (Level.HIGH, Level.MID, Level.LOW)
    """Levels of action that make sense: on a moving base, the high one alone."""
    sharpness: float = 40.0
    """The least variance of the Laplacian of a grey picture."""
    light: tuple[float, float] = (25.0, 230.0)
    """Bounds of a grey picture's mean."""
    change: float = 0.004
    """The least share of blocks of 4 x 4 pixels that differ between a pair's pictures from the first camera
    outside: else the hand that moved is out of its sight."""


class Tally:
    """What was left out and why, with a few places by name."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """How often anything was counted, by reason."""
        self.places: defaultdict[str, list[str]] = defaultdict(list)
        """A few examples of each reason."""

    def add(self, reason: str, place: str = "", count: int = 1) -> None:
        """Count something."""
        if count:
            self.counts[reason] += count
            if place and len(self.places[reason]) < EXAMPLES:
                self.places[reason].append(place)

    def add_all(self, other: Tally) -> None:
        """Add what another tally counted."""
        for reason, count in other.counts.items():
            self.add(reason, count=count)
            room = EXAMPLES - len(self.places[reason])
            self.places[reason] += other.places[reason][:room]

    def as_json(self) -> dict[str, dict[str, object]]:
        """Reasons with counts and examples, the most frequent first."""
        return {
            reason: {"count": count, "examples": self.places.get(reason, [])}
            for reason, count in self.counts.most_common()
        }


class Source(Protocol):
    """Where episodes come from."""

    name: str
    """The data set's."""
    rules: Rules
    threads: int
    """How many episodes may be read at once."""

    @property
    def total(self) -> int | None:
        """How many episodes there are, good or not, where that is known."""
        ...

    def episodes(self, tally: Tally) -> Iterator[Episode]:
        """The episodes that can be used; others are counted."""
        ...


def fault_of(states: np.ndarray) -> str:
    """Why states (frames, 7) cannot be used; empty if they can."""
    if states.ndim != 2 or states.shape[1] != SIZE:
        return "states that are not seven numbers each"
    if len(states) < 2:
        return "an episode of fewer than two frames"
    if not np.isfinite(states).all():
        return "states that are not finite"
    if states[:, 6].min() < -0.1 or states[:, 6].max() > 1.1:
        return "a gripper on another scale than its data set's"
    return ""
