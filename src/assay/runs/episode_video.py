"""A video of one episode: what its world shows, what the policy was told, and how it ended."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.episodes import Env, Episode, EpisodeSpec, Outcome, horizon, world_of
from assay.tasks import short_name
from assay.video import FPS, VideoWriter

HOLD = 2 * FPS
"""For how many frames the end is shown."""
MARGIN = 12
NARROWEST = 320
"""The least width of what is written above and below an image, pixels."""
HEADER, FOOTER, BADGE = 58, 44, 76
PAPER, INK, FAINT = (252, 252, 250), (32, 32, 36), (110, 110, 116)
TRACK = (224, 224, 220)
COLOURS = {Outcome.SUCCESS: (38, 130, 72), Outcome.FAILURE: (188, 52, 44), Outcome.ERROR: (190, 120, 20)}


class EpisodeVideo:
    """Watches a rollout; becomes a video afterwards, when the outcome is known."""

    def __init__(self, env: Env, spec: EpisodeSpec, *, every: int = 1) -> None:
        """``every``: one image for each so many steps."""
        self._env, self._spec, self._every = env, spec, every
        self._repeat = max(1, round(world_of(spec.task).frame_seconds * FPS))
        self._seen: deque[Any] = deque()
        self._last: Any = None

    @property
    def steps_per_frame(self) -> float:
        """How many steps lie between two frames of the video."""
        return self._every / self._repeat

    def __call__(self, observation: Any) -> None:
        """Remember one moment; nothing is rendered yet."""
        if observation.step % self._every == 0:
            self._seen.append(observation)
        self._last = observation

    def write(self, folder: Path, episode: Episode) -> Path:
        """Render all that was seen, while its environment is still there, into an mp4 file."""
        path = folder / f"{video_name(self._spec)}_{episode.outcome}.mp4"
        if self._seen and self._last is not self._seen[-1]:
            self._seen.append(self._last)
        with VideoWriter(path, fps=FPS) as video:
            while self._seen:
                observation = self._seen.popleft()  # an observation keeps its images; let it go
                ended = episode if not self._seen else None
                frame = self._frame(observation, ended)
                for _ in range(HOLD if ended else self._repeat):
                    video.add(frame)
        return path

    def _frame(self, observation: Any, ended: Episode | None) -> np.ndarray:
        steps = max(horizon(self._spec), 1)
        picture = Image.fromarray(self._env.frame(observation))
        width, height = max(picture.width, NARROWEST) + 2 * MARGIN, HEADER + picture.height + FOOTER
        frame = Image.new("RGB", (width + width % 2, height + height % 2), PAPER)
        pen = ImageDraw.Draw(frame)
        full = width - 2 * MARGIN
        _text(pen, (MARGIN, 10), f"{self._spec.task}   {_numbers(self._spec)}", FAINT, 13, full)
        _text(pen, (MARGIN, 28), self._env.task.instruction.words, INK, 17, full)
        frame.paste(picture, (MARGIN, HEADER))
        colour = COLOURS[ended.outcome] if ended else INK
        top = HEADER + picture.height + 8
        for share, shade in ((1.0, TRACK), (min(observation.step / steps, 1.0), colour)):
            pen.rectangle((MARGIN, top, MARGIN + full * share, top + 3), shade)
        said = f"step {observation.step} of {steps}"
        room = full
        if ended:
            badge = (width - MARGIN - BADGE, top + 9, width - MARGIN, top + 28)
            pen.rounded_rectangle(badge, 4, colour)
            middle = ((badge[0] + badge[2]) / 2, (badge[1] + badge[3]) / 2)
            pen.text(middle, ended.outcome, PAPER, ImageFont.load_default(13), anchor="mm")
            said, room = ended.error or said, full - BADGE - MARGIN
        _text(pen, (MARGIN, top + 10), said, FAINT, 13, room)
        return np.asarray(frame)


def video_name(spec: EpisodeSpec) -> str:
    """What an episode's video is called, but for its outcome; different specs have different names."""
    plain = EpisodeSpec(spec.task, spec.seed)
    name = f"{short_name(spec.task)}_{spec.seed:03d}"
    return name if spec == plain else f"{name}_{spec.key[:8]}"


def _numbers(spec: EpisodeSpec) -> str:
    return f"seed {spec.seed}" if spec.start is None else f"start {spec.start}   policy's seed {spec.seed}"


def _text(
    pen: ImageDraw.ImageDraw,
    at: tuple[int, int],
    text: str,
    colour: tuple[int, int, int],
    size: int,
    room: int,
) -> None:
    """One line that is made smaller, and in the end cut, until it fits into ``room`` pixels."""
    font = ImageFont.load_default(size)
    while size > 11 and pen.textlength(text, font) > room:
        size -= 1
        font = ImageFont.load_default(size)
    whole = text
    while text and pen.textlength(text, font) > room:
        whole = whole[:-1]
        text = f"{whole}..." if whole else ""
    pen.text(at, text, colour, font)
