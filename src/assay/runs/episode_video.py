"""A video of one episode: what its world shows, what the policy was told, and how it ended.

It plays in real time whatever its rate: the picture of step s stands at s times the world's ``frame_seconds``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.episodes import Env, Episode, EpisodeSpec, Outcome, horizon, world_of
from assay.tasks import short_name

HOLD = 2
"""For how many seconds the end is shown."""
KEYFRAMES = 10
"""Of so many pictures one stands on its own: any step is reached quickly."""
RUN_SECONDS = 0.5
"""A run draws one picture for so much simulated time, seconds: more would take longer than the episodes themselves."""
MARGIN = 12
NARROWEST = 320
"""The least width of what is written above and below an image, pixels."""
HEADER, FOOTER, BADGE = 58, 44, 76
PAPER, INK, FAINT = (252, 252, 250), (32, 32, 36), (110, 110, 116)
TRACK = (224, 224, 220)
COLOURS = {Outcome.SUCCESS: (38, 130, 72), Outcome.FAILURE: (188, 52, 44), Outcome.ERROR: (190, 120, 20)}


class EpisodeVideo:
    """Watches a rollout; becomes a video afterwards, when the outcome is known."""

    def __init__(self, env: Env, spec: EpisodeSpec, *, seconds: float = 0.0) -> None:
        """``seconds``: one picture for so much simulated time, or for each step where that is longer."""
        self._env, self._spec = env, spec
        self._every = self._steps(seconds)
        self._seen: list[Any] = []
        self._last: Any = None
        # Optional of an Env: a picture for people that is quicker to draw than what policies see.
        self._picture = getattr(env, "video_frame", env.frame)
        self._blank: Image.Image | None = None

    def __call__(self, observation: Any) -> None:
        """Remember one moment; nothing is rendered yet."""
        if observation.step % self._every == 0:
            self._seen.append(observation)
        self._last = observation

    def write(
        self,
        path: Path,
        episode: Episode,
        *,
        seconds: float = 0.0,
        before_each: Callable[[], None] = lambda: None,
    ) -> None:
        """Render what was seen, while its environment is still there, into an mp4 file.

        ``seconds``: one picture for so much simulated time, where fewer are wanted than were remembered.
        ``before_each`` picture is called; where it raises, there is no file.
        """
        every = max(self._every, self._steps(seconds))
        shown = [each for each in self._seen if each.step % every == 0 and each is not self._last]
        fps = Fraction(1 / world_of(self._spec.task).frame_seconds).limit_denominator(1000) / every
        from assay.support.video import (
            VideoWriter,  # most runs make no videos, and codecs take long to import
        )

        with VideoWriter(path, fps=fps, keyframes=KEYFRAMES, quick=True) as video:
            for observation in shown:
                before_each()
                video.add(self._frame(observation, None))
            if self._last is not None:
                final = self._frame(self._last, episode)
                for _ in range(math.ceil(HOLD * fps) + 1):
                    video.add(final)

    def picture(self, step: int) -> np.ndarray:
        """What the world showed at a step, or the last moment before it that was remembered."""
        known = [each for each in self._seen if each.step <= step] or self._seen
        return np.asarray(self._picture(self._last if step >= self._last.step else known[-1]))

    def _steps(self, seconds: float) -> int:
        return max(1, round(seconds / world_of(self._spec.task).frame_seconds))

    def _frame(self, observation: Any, ended: Episode | None) -> np.ndarray:
        steps = max(horizon(self._spec), 1)
        picture = Image.fromarray(self._picture(observation))
        frame = self._paper(picture.width, picture.height).copy()
        frame.paste(picture, (MARGIN, HEADER))
        pen = ImageDraw.Draw(frame)
        width = max(picture.width, NARROWEST) + 2 * MARGIN
        full = width - 2 * MARGIN
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
            pen.text(middle, ended.outcome, PAPER, _font(13), anchor="mm")
            said, room = ended.error or said, full - BADGE - MARGIN
        _text(pen, (MARGIN, top + 10), said, FAINT, 13, room)
        return np.asarray(frame)

    def _paper(self, wide: int, high: int) -> Image.Image:
        """What all frames share: the task and what the policy was told, above room for a picture."""
        if self._blank is None:
            width, height = max(wide, NARROWEST) + 2 * MARGIN, HEADER + high + FOOTER
            self._blank = Image.new("RGB", (width + width % 2, height + height % 2), PAPER)
            pen, full = ImageDraw.Draw(self._blank), width - 2 * MARGIN
            _text(pen, (MARGIN, 10), f"{self._spec.task}   {_numbers(self._spec)}", FAINT, 13, full)
            _text(pen, (MARGIN, 28), self._env.task.instruction.words, INK, 17, full)
        return self._blank


def video_file(folder: Path, spec: EpisodeSpec, outcome: str) -> Path:
    """Where the video of an episode is among those of its run."""
    return folder / f"{video_name(spec)}_{outcome}.mp4"


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
    font = _font(size)
    while size > 11 and pen.textlength(text, font) > room:
        size -= 1
        font = _font(size)
    whole = text
    while text and pen.textlength(text, font) > room:
        whole = whole[:-1]
        text = f"{whole}..." if whole else ""
    pen.text(at, text, colour, font)


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
