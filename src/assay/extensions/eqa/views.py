"""Camera views: combinations of cameras shown side by side in one image, static cameras first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from assay.extensions.eqa.episode import Camera, SourceEpisode
from assay.extensions.eqa.question import QuestionError

STATIC_CAMERA = "a camera that stands still and sees the robot at work"
WRIST_CAMERA = "the camera on the robot's hand, which moves and turns with it"
"""Descriptions of cameras whose position is unknown; part of question texts, which are hashed."""
VALID_VIEWS = "exo, exo2, exo3, exo4, ego, both"


@dataclass(frozen=True, slots=True)
class CameraView:
    """A number of static cameras, with or without the wrist camera."""

    outside: int
    hand: bool

    @classmethod
    def parse(cls, name: str) -> CameraView:
        """Parse ``exo``, ``exo2`` to ``exo4``, ``ego`` or ``both``."""
        match = re.fullmatch(r"(?P<ego>ego)|(?P<both>both)|exo(?P<count>[1-4]?)", name)
        if not match:
            raise QuestionError(f"unknown view '{name}'; choose from {VALID_VIEWS}")
        if match["ego"]:
            return cls(0, hand=True)
        return cls(int(match["count"] or 1), hand=bool(match["both"]))

    def __str__(self) -> str:
        if self.hand:
            return "both" if self.outside else "ego"
        return "exo" if self.outside == 1 else f"exo{self.outside}"

    def describe(self, places: Sequence[str] = (), hand_place: str = "") -> str:
        """Describe an image of this view; ``places`` are the known positions of the static cameras."""
        static = [*places[: self.outside], *[STATIC_CAMERA] * (self.outside - len(places[: self.outside]))]
        cameras = static + ([hand_place or WRIST_CAMERA] if self.hand else [])
        if len(cameras) == 1:
            return f"Each picture shows one moment from {cameras[0]}."
        listed = "; ".join(f"({number}) {camera}" for number, camera in enumerate(cameras, 1))
        return f"Each picture shows one moment from {len(cameras)} cameras side by side, from left to right: {listed}."

    def cameras(self, episode: SourceEpisode) -> list[Camera]:
        """Return the cameras of this view; the episode must have them all."""
        wrist = [episode.egocentric] if self.hand and episode.egocentric is not None else []
        return [*episode.exocentric[: self.outside], *wrist]

    def images(self, episode: SourceEpisode, frames: Sequence[int]) -> list[np.ndarray]:
        """Return one image per frame, cameras side by side at the height of the first: uint8, (height, width, 3)."""
        shots = [camera.read(frames) for camera in self.cameras(episode)]

        def resize(image: np.ndarray, height: int) -> np.ndarray:
            width = round(image.shape[1] * height / image.shape[0])
            return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR))

        return [
            np.hstack([resize(image, moment[0].shape[0]) for image in moment])
            for moment in zip(*shots, strict=True)
        ]
