"""Which cameras a picture shows: side by side, those outside first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from assay.extensions.eqa.episode import Camera, Episode
from assay.extensions.eqa.errors import QuestionError

STILL = "a camera that stands still and sees the robot at work"
ON_HAND = "the camera on the robot's hand, which moves and turns with it"
"""Cameras of which no more is known."""
VALID = "exo, exo2, exo3, exo4, ego, both"


@dataclass(frozen=True, slots=True)
class View:
    """So many cameras outside, and the one on the hand or not."""

    outside: int
    hand: bool

    @classmethod
    def parse(cls, name: str) -> View:
        """``exo``, ``exo2`` to ``exo4``, ``ego`` or ``both``."""
        found = re.fullmatch(r"(?P<ego>ego)|(?P<both>both)|exo(?P<count>[1-4]?)", name)
        if not found:
            raise QuestionError(f"there is no view '{name}'; valid: {VALID}")
        if found["ego"]:
            return cls(0, hand=True)
        return cls(int(found["count"] or 1), hand=bool(found["both"]))

    def __str__(self) -> str:
        if self.hand:
            return "both" if self.outside else "ego"
        return "exo" if self.outside == 1 else f"exo{self.outside}"

    def said(self, places: Sequence[str] = (), hand_place: str = "") -> str:
        """What a picture shows, in words; ``places`` are those of the cameras outside, where they are known."""
        known = [*places[: self.outside], *[STILL] * (self.outside - len(places[: self.outside]))]
        cameras = known + ([hand_place or ON_HAND] if self.hand else [])
        if len(cameras) == 1:
            return f"Each picture shows one moment from {cameras[0]}."
        listed = "; ".join(f"({number}) {camera}" for number, camera in enumerate(cameras, 1))
        return f"Each picture shows one moment from {len(cameras)} cameras side by side, from left to right: {listed}."

    def missing(self, episode: Episode) -> str:
        """Which camera an episode lacks; empty if none."""
        if len(episode.exocentric) < self.outside:
            return f"{self.outside} outside, {len(episode.exocentric)} there"
        return "none on the hand" if self.hand and episode.egocentric is None else ""

    def cameras(self, episode: Episode) -> list[Camera]:
        """The cameras, which must be there."""
        hand = [episode.egocentric] if self.hand and episode.egocentric is not None else []
        return [*episode.exocentric[: self.outside], *hand]

    def pictures(self, episode: Episode, frames: Sequence[int]) -> list[np.ndarray]:
        """One picture for each frame, the cameras side by side: uint8, (height, width, 3)."""
        shots = [camera.read(frames) for camera in self.cameras(episode)]
        return [_side_by_side(moment) for moment in zip(*shots, strict=True)]


def all_of(views: Sequence[View]) -> View:
    """Every camera that any of the views needs."""
    return View(max(view.outside for view in views), any(view.hand for view in views))


def _side_by_side(pictures: Sequence[np.ndarray]) -> np.ndarray:
    height = pictures[0].shape[0]
    return np.hstack([_to_height(picture, height) for picture in pictures])


def _to_height(picture: np.ndarray, height: int) -> np.ndarray:
    if picture.shape[0] == height:
        return picture
    width = round(picture.shape[1] * height / picture.shape[0])
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR))
