"""Replays of actions, and videos of episodes; the same spec, assets and MuJoCo version reproduce a rollout.

A video plays in real time at any frame rate: the frame for step s is shown at s times the world's
``frame_seconds``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.episodes import Env, Episode, EpisodeSpec, Instruction, Outcome, horizon, rollout, world_of
from assay.errors import PolicyError
from assay.tasks import short_name

HOLD_S = 2
"""Time, in seconds, for which the last frame is shown."""
KEYFRAME_INTERVAL = 10
"""Number of frames from one key frame to the next; it is small, so that a viewer can seek quickly."""
RUN_FRAME_S = 0.5
"""Simulated time per frame in videos of runs, in seconds; rendering more frames would take longer than the episodes."""
MARGIN = 12
MIN_WIDTH = 320
"""Minimum width of the header and footer, in pixels."""
HEADER, FOOTER, BADGE = 58, 44, 76
PAPER, INK, FAINT = (252, 252, 250), (32, 32, 36), (110, 110, 116)
TRACK = (224, 224, 220)
COLOURS = {Outcome.SUCCESS: (38, 130, 72), Outcome.FAILURE: (188, 52, 44), Outcome.ERROR: (190, 120, 20)}


class EpisodeVideo:
    """Observes a rollout, and writes a video afterwards, when the outcome is known."""

    def __init__(self, env: Env, spec: EpisodeSpec, *, seconds: float = 0.0) -> None:
        """``seconds``: simulated time per frame; it is at least one control step."""
        self._env, self._spec = env, spec
        self._frame_seconds = world_of(spec.task).frame_seconds
        self._every = max(1, round(seconds / self._frame_seconds))
        self._observations: list[Any] = []
        self.last: Any = None
        """The latest observation."""
        self._blank: Image.Image | None = None

    def __call__(self, observation: Any) -> None:
        """Store an observation; nothing is rendered yet."""
        if observation.step % self._every == 0:
            self._observations.append(observation)
        self.last = observation

    def write(self, path: Path, episode: Episode) -> None:
        """Render the stored observations into an mp4 file, while their environment is open."""
        fps = Fraction(1 / self._frame_seconds).limit_denominator(1000) / self._every
        from assay.support.video import VideoWriter  # codecs take long to import

        with VideoWriter(path, fps=fps, keyframes=KEYFRAME_INTERVAL, quick=True) as video:
            for observation in self._observations:
                if observation is not self.last:
                    video.add(self._frame(observation, None))
            if self.last is not None:
                final = self._frame(self.last, episode)
                for _ in range(math.ceil(HOLD_S * fps) + 1):
                    video.add(final)

    def _frame(self, observation: Any, ended: Episode | None) -> np.ndarray:
        steps = max(horizon(self._spec), 1)
        picture = Image.fromarray(self._env.frame(observation))
        frame = self._paper(picture.width, picture.height).copy()
        frame.paste(picture, (MARGIN, HEADER))
        pen = ImageDraw.Draw(frame)
        width = max(picture.width, MIN_WIDTH) + 2 * MARGIN
        full = width - 2 * MARGIN
        colour = COLOURS[ended.outcome] if ended else INK
        top = HEADER + picture.height + 8
        for share, shade in ((1.0, TRACK), (min(observation.step / steps, 1.0), colour)):
            pen.rectangle((MARGIN, top, MARGIN + full * share, top + 3), shade)
        text = f"step {observation.step} of {steps}"
        room = full
        if ended:
            badge = (width - MARGIN - BADGE, top + 9, width - MARGIN, top + 28)
            pen.rounded_rectangle(badge, 4, colour)
            middle = ((badge[0] + badge[2]) / 2, (badge[1] + badge[3]) / 2)
            pen.text(middle, ended.outcome, PAPER, _font(13), anchor="mm")
            text, room = ended.error or text, full - BADGE - MARGIN
        _text(pen, (MARGIN, top + 10), text, FAINT, 13, room)
        return np.asarray(frame)

    def _paper(self, wide: int, high: int) -> Image.Image:
        """Return the background of all frames: task and instruction, with space for an image below."""
        if self._blank is None:
            width, height = max(wide, MIN_WIDTH) + 2 * MARGIN, HEADER + high + FOOTER
            self._blank = Image.new("RGB", (width + width % 2, height + height % 2), PAPER)
            pen, full = ImageDraw.Draw(self._blank), width - 2 * MARGIN
            spec = self._spec
            seed = (
                f"seed {spec.seed}" if spec.start is None else f"start {spec.start}   policy seed {spec.seed}"
            )
            _text(pen, (MARGIN, 10), f"{spec.task}   {seed}", FAINT, 13, full)
            _text(pen, (MARGIN, 28), self._env.task.instruction.words, INK, 17, full)
        return self._blank


def video_file(folder: Path, spec: EpisodeSpec, outcome: str) -> Path:
    """Return the path of an episode's video in the folder of its run."""
    return folder / f"{video_name(spec)}_{outcome}.mp4"


def video_name(spec: EpisodeSpec) -> str:
    """Return the name of an episode's video without the outcome; it is unique per spec."""
    plain = EpisodeSpec(spec.task, spec.seed)
    name = f"{short_name(spec.task)}_{spec.seed:03d}"
    return name if spec == plain else f"{name}_{spec.key[:8]}"


def _text(
    pen: ImageDraw.ImageDraw,
    at: tuple[int, int],
    text: str,
    colour: tuple[int, int, int],
    size: int,
    room: int,
) -> None:
    """Draw one line of text, in a smaller font or shortened if it does not fit into ``room`` pixels."""
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


class RecordedActions:
    """A policy that repeats recorded actions."""

    def __init__(self, actions: np.ndarray, error: str, horizon: int) -> None:
        """``actions``: shape (steps, action size). ``error``: the recorded error, if any."""
        self._actions, self._error = actions, error
        self.waiting = max(len(actions) - horizon, 0)
        """Number of additional steps, beyond the horizon, that a policy may spend waiting."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Do nothing: recorded actions need no preparation."""

    def act(self, observation: Any) -> np.ndarray:
        """Return the next recorded action."""
        if observation.step >= len(self._actions):
            raise PolicyError(self._error or "there are no more recorded actions")
        return self._actions[observation.step : observation.step + 1]


def replay(
    env: Env,
    spec: EpisodeSpec,
    actions: np.ndarray,
    *,
    error: str = "",
    watch: Callable[[Any], None] = lambda observation: None,
) -> Episode:
    """Execute recorded ``actions`` (steps, action size) from the start of their episode."""
    at_once = replace(spec, latency=0)  # actions executed during inference are in the record
    return rollout(
        env, RecordedActions(actions, error, world_of(spec.task).horizon(spec)), at_once, watch=watch
    )
