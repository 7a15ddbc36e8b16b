"""A robot episode from any data set, cameras that read its recorded images, and a tally of skipped data."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from assay.errors import AssayError
from assay.extensions.eqa.actions import SIZE, ActionLevel
from assay.extensions.eqa.question import UnreadableError
from assay.support.images import Orientation, orient
from assay.support.video import stills

EPISODES_FOUND = "episodes found"
"""Tally entry under which sources count every episode, usable or not."""
MAX_EXAMPLES = 5
"""Maximum number of examples that a tally stores for each reason."""


class Camera(Protocol):
    """Images of one episode, read or rendered on demand."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """Read frames in the given order: uint8, (height, width, 3), or (height, width) if grey.

        Raises UnreadableError for a missing frame.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SourceEpisode:
    """States, instruction and cameras of one episode."""

    id: str
    """Id of the episode, unique in its data set."""
    instruction: str
    """Language instruction; empty if the data set has none."""
    states: np.ndarray
    """States of the end effector, (frames, 7); see `assay.extensions.eqa.actions`."""
    exocentric: tuple[Camera, ...]
    """Static cameras, best first."""
    egocentric: Camera | None = None
    """The wrist camera."""
    scene: str = ""
    """Name of the scene, shared by episodes with the same initial state; empty if unknown."""
    achieved: frozenset[str] = frozenset()
    """Instructions of the scene whose goals are achieved in the last frame."""
    hand_seen: tuple[np.ndarray, ...] = ()
    """For each static camera, whether both fingertips are in view, (frames,); empty if unknown."""
    places: tuple[str, ...] = ()
    """Description of each static camera's position; empty if unknown."""
    hand_place: str = ""
    """Description of the wrist camera's mounting; empty if unknown."""


@dataclass(frozen=True, slots=True)
class QualityRules:
    """Requirements that a data set's frames and pairs of frames must meet."""

    thresholds: tuple[float, float, float, float, float, float, float]
    """Smallest visible change in each dimension, in metres, degrees and fractions of the gripper's range."""
    levels: tuple[ActionLevel, ...] = (ActionLevel.HIGH, ActionLevel.MID, ActionLevel.LOW)
    """Meaningful action levels: only the high level for robots with a moving base."""
    sharpness: float = 40.0
    """Minimum variance of the Laplacian of a greyscale image."""
    light: tuple[float, float] = (25.0, 230.0)
    """Permitted range of the mean of a greyscale image."""
    change: float = 0.004
    """Minimum fraction of 4 x 4 pixel blocks that differ between the images of a pair.

    If the fraction is smaller, the gripper moved outside the camera's view.
    """


class Tally:
    """Counts of occurrences by reason, with a few examples of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """Number of occurrences by reason."""
        self.places: defaultdict[str, list[str]] = defaultdict(list)
        """Examples by reason, at most `MAX_EXAMPLES`."""

    def add(self, reason: str, place: str = "", count: int = 1) -> None:
        """Count occurrences of a reason; ``place``, where one of them was found, is stored as an example."""
        if count:
            self.counts[reason] += count
            if place and len(self.places[reason]) < MAX_EXAMPLES:
                self.places[reason].append(place)

    def merge(self, counts: Mapping[str, int], places: Mapping[str, Sequence[str]]) -> None:
        """Add the counts and examples of another tally."""
        self.counts.update(counts)
        for reason, examples in places.items():
            self.places[reason] = [*self.places[reason], *examples][:MAX_EXAMPLES]

    def summary(self, most: int = 4) -> str:
        """Describe the most frequent reasons, each with an example."""
        return ", ".join(
            f"{count} x {reason}" + "".join(f" ({place})" for place in self.places[reason][:1])
            for reason, count in self.counts.most_common(most)
        )

    def as_json(self) -> dict[str, dict[str, object]]:
        """Return counts and examples by reason, most frequent first."""
        return {
            reason: {"count": count, "examples": self.places.get(reason, [])}
            for reason, count in self.counts.most_common()
        }


class EpisodeSource(Protocol):
    """A data set, run or simulator that yields episodes."""

    name: str
    """Name of the data set."""
    rules: QualityRules

    @property
    def total(self) -> int | None:
        """Number of episodes, usable or not; None if unknown."""
        ...

    def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
        """Yield the usable episodes; count all episodes in ``tally``, and skipped episodes by reason."""
        ...


def state_fault(states: np.ndarray) -> str:
    """Return the reason why states (frames, 7) are unusable; empty if they are usable."""
    if states.ndim != 2 or states.shape[1] != SIZE:
        return "states do not have seven numbers each"
    if len(states) < 2:
        return "fewer than two frames"
    if not np.isfinite(states).all():
        return "non-finite states"
    if states[:, 6].min() < -0.1 or states[:, 6].max() > 1.1:
        return "gripper values outside the data set's range"
    return ""


@dataclass(frozen=True, slots=True)
class VideoCamera:
    """A section of a video file."""

    path: Path
    start: float
    """Start of the section, in seconds."""
    fps: float
    orientation: Orientation = Orientation.UPRIGHT
    """Orientation of the stored images; `Camera` methods return them upright."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """Read frames; see `Camera`."""
        images: dict[int, np.ndarray] = {}
        try:
            for frame, picture in stills(self.path, frames, start=self.start, fps=self.fps):
                pixels = picture.to_ndarray(format="gray" if grey else "rgb24")
                images[frame] = orient(pixels, self.orientation)
        except AssayError as error:
            raise UnreadableError(str(error)) from error
        return [images[frame] for frame in frames]


@dataclass(frozen=True, slots=True)
class StillsCamera:
    """Images encoded separately as JPEG or PNG."""

    load: Callable[[], Sequence[bytes]]
    """Function that returns every encoded image of the episode."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """Read frames; see `Camera`."""
        files = self.load()
        pictures = []
        for frame in frames:
            try:
                with Image.open(io.BytesIO(files[frame])) as picture:
                    if grey:
                        picture.draft("L", None)  # skips the decoding of a JPEG's colours
                    pictures.append(np.asarray(picture.convert("L" if grey else "RGB")))
            except (OSError, SyntaxError, IndexError, ValueError, Image.DecompressionBombError) as error:
                raise UnreadableError(f"frame {frame} is not an image: {error}") from error
        return pictures
