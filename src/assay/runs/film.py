"""A video of one episode: both cameras side by side, what the policy was told, and how it ended."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.experiments.spec import EpisodeSpec
from assay.policies import Outcome, Rollout
from assay.sim import Observation
from assay.sim.render import CAMERAS
from assay.sim.simulation import CONTROL_HZ
from assay.tasks import Task, short_name
from assay.video import VideoWriter

SIZE = 256
"""Height and width of each camera's picture."""
HOLD = 2 * CONTROL_HZ
"""For how many frames the end is shown."""
MARGIN = 12
HEADER, FOOTER, BADGE = 58, 44, 76
WIDTH, HEIGHT = 3 * MARGIN + 2 * SIZE, HEADER + SIZE + FOOTER
PAPER, INK, FAINT = (252, 252, 250), (32, 32, 36), (110, 110, 116)
TRACK = (224, 224, 220)
COLOURS = {Outcome.SUCCESS: (38, 130, 72), Outcome.FAILURE: (188, 52, 44), Outcome.ERROR: (190, 120, 20)}


class Film:
    """Watches a rollout; becomes a video afterwards, when the outcome is known.

    film = Film(task, spec)
    path = film.develop(folder, rollout(..., watch=film))
    """

    def __init__(self, task: Task, spec: EpisodeSpec) -> None:
        self._task = task
        self._spec = spec
        self._seen: deque[Observation] = deque()

    def __call__(self, observation: Observation) -> None:
        """Remember one moment; nothing is drawn yet."""
        self._seen.append(observation)

    def develop(self, folder: Path, result: Rollout) -> Path:
        """Draw all that was seen, while its world is still open, into an mp4 file; returns its path."""
        path = folder / f"{film_name(self._spec)}_{result.outcome}.mp4"
        with VideoWriter(path, fps=CONTROL_HZ) as video:
            while self._seen:
                observation = self._seen.popleft()  # an observation keeps its pictures; let it go
                ended = result if not self._seen else None
                frame = self._frame(observation, ended)
                for _ in range(HOLD if ended else 1):
                    video.add(frame)
        return path

    def _frame(self, observation: Observation, ended: Rollout | None) -> np.ndarray:
        steps = max(self._spec.horizon, 1)
        frame = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
        pen = ImageDraw.Draw(frame)
        _text(pen, (MARGIN, 10), f"{self._task.id}   seed {self._spec.seed}", FAINT, 13)
        _text(pen, (MARGIN, 28), str(self._task.instruction), INK, 17)
        for index, camera in enumerate(CAMERAS):
            left = MARGIN + index * (SIZE + MARGIN)
            frame.paste(Image.fromarray(observation.image(camera, SIZE)), (left, HEADER))
        colour = COLOURS[ended.outcome] if ended else INK
        top, full = HEADER + SIZE + 8, WIDTH - 2 * MARGIN
        for share, shade in ((1.0, TRACK), (observation.step / steps, colour)):
            pen.rectangle((MARGIN, top, MARGIN + full * share, top + 3), shade)
        said = f"step {observation.step} of {steps}"
        room = full
        if ended:
            badge = (WIDTH - MARGIN - BADGE, top + 9, WIDTH - MARGIN, top + 28)
            pen.rounded_rectangle(badge, 4, colour)
            middle = ((badge[0] + badge[2]) / 2, (badge[1] + badge[3]) / 2)
            pen.text(middle, ended.outcome, PAPER, ImageFont.load_default(13), anchor="mm")
            said, room = ended.error or said, full - BADGE - MARGIN
        _text(pen, (MARGIN, top + 10), said, FAINT, 13, room)
        return np.asarray(frame)


def film_name(spec: EpisodeSpec) -> str:
    """What an episode's film is called, but for its outcome; different specs have different names."""
    plain = EpisodeSpec(spec.task, spec.seed)
    name = f"{short_name(spec.task)}_{spec.seed:03d}"
    return name if spec == plain else f"{name}_{spec.key[:8]}"


def _text(
    pen: ImageDraw.ImageDraw,
    at: tuple[int, int],
    text: str,
    colour: tuple[int, int, int],
    size: int,
    room: int = WIDTH - 2 * MARGIN,
) -> None:
    """One line that is made smaller, and in the end cut, until it fits into ``room`` pixels."""
    font = ImageFont.load_default(size)
    while pen.textlength(text, font) > room:
        if size > 11:
            size -= 1
            font = ImageFont.load_default(size)
        else:
            text = text[:-4] + "..."
    pen.text(at, text, colour, font)
