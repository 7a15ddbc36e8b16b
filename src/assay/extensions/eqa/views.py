"""Camera views (combinations of cameras side by side in one image, static cameras first), and question texts.

All questions of one kind and view have the same text except for the action they name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from assay.extensions.eqa.actions import ActionLevel, Turning, format_amount
from assay.extensions.eqa.episode import Camera, SourceEpisode
from assay.extensions.eqa.question import PICTURES, QuestionError, QuestionKind

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
        """Describe an image of this view; ``places`` describes the positions of the static cameras, if known."""
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
        """Return one image per frame, cameras side by side, as high as the first: uint8, (height, width, 3)."""
        shots = [camera.read(frames) for camera in self.cameras(episode)]

        def resize(image: np.ndarray, height: int) -> np.ndarray:
            width = round(image.shape[1] * height / image.shape[0])
            return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR))

        return [
            np.hstack([resize(image, moment[0].shape[0]) for image in moment])
            for moment in zip(*shots, strict=True)
        ]


FRAME = (
    "Directions are those of the robot's base: X points forward, away from the base over the workspace, "
    "Y to the robot's left, Z up."
)
TURNS = (
    "Clockwise about X is as seen looking along X; downward about Y lowers the front; "
    "counterclockwise about Z is as seen from above."
)
FIGURES = {
    "wrapped": (
        "An action is [x, y, z, roll, pitch, yaw, gripper]: how far the hand moved, in metres; by how much "
        "its turns about X, Y and Z changed, in degrees; and by how much the gripper opened, from -1 (fully "
        "closing) to +1."
    ),
    "exact": (
        "An action is [x, y, z, rx, ry, rz, gripper]: how far the hand moved, in metres; the axis it turned "
        "about times the angle, one rotation vector along X, Y and Z, in degrees; and by how much the "
        "gripper opened, from -1 (fully closing) to +1."
    ),
}
ABOUT_ONE_AXIS = "Turns about X, Y and Z are the parts of one turn: its axis times its angle."


def write_text(
    kind: QuestionKind,
    view: CameraView,
    action: str = "",
    thresholds: Sequence[float] = (),
    turning: Turning = "exact",
    places: Sequence[str] = (),
    hand_place: str = "",
) -> str:
    """Return the text of a question; ``action`` is the action whose outcome the question asks for."""
    if kind.predicts:
        asked = "Carry out the instruction" if kind.level is ActionLevel.HIGH else "Now the robot acts"
        task = (
            f"The first picture shows a robot. {asked}: {action}. "
            "Which of the pictures A, B, C and D shows the state afterwards?"
        )
    else:
        what = (
            "Which instruction was carried out"
            if kind.level is ActionLevel.HIGH
            else "What did the robot's hand do"
        )
        task = f"The first picture shows a robot before, the second after an action. {what}?"
    if kind.level is ActionLevel.HIGH:  # instructions do not refer to X, Y and Z
        return f"{view.describe()} {task}"
    conventions = [TURNS]
    if kind.level is ActionLevel.LOW:
        conventions.append(FIGURES[turning])
    elif thresholds:
        limits = dict.fromkeys(
            format_amount(dimension, threshold) for dimension, threshold in enumerate(thresholds)
        )
        bounds = ", ".join(limits).replace("its", "the gripper's")
        conventions += [ABOUT_ONE_AXIS] if turning == "exact" else []
        conventions.append(f"What is named changes by more than {bounds}; what is not named changes by less.")
    return " ".join([FRAME, view.describe(places, hand_place), *conventions, task])


def action_of(text: str) -> str:
    """Return the action that a question's text names; empty if the answer is an action."""
    match = re.search(r"(?:Carry out the instruction|Now the robot acts): (.*)\. Which of the pictures", text)
    return match[1] if match else ""


def save_image(folder: Path, image: np.ndarray) -> str:
    """Write an image to a folder of questions and return its relative name: an uninformative hash of its pixels."""
    digest = hashlib.sha256(repr(image.shape).encode() + image.tobytes()).hexdigest()[:24]
    path = folder / PICTURES / f"{digest}.png"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path, compress_level=1)
    return f"{PICTURES}/{path.name}"
