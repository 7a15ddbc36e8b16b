"""Plays a recorded episode on the table again and films it: the prompt, and the table after each action."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.experiments.spec import EpisodeSpec
from assay.tabletop import Progress, TableObservation, TableSimulation
from assay.tabletop.build import VIEWS
from assay.tabletop.sheet import prompt_picture
from assay.video import FPS, VideoWriter

STRIDE = 1 / FPS
"""Actions between pictures: each is shown for a second."""
WIDTH = 512
"""Of each view, pixels."""
MARGIN, LINE = 12, 24
PAPER, INK = (252, 252, 250), (32, 32, 36)


def table_film(spec: EpisodeSpec, actions: np.ndarray, outcome: str, out: Path) -> str:
    """Carry out ``actions`` (n, 12) from the start of an episode that ended in ``outcome``, and film it.

    Returns a sentence if it did not end as it is recorded.
    """
    task = spec.realised_table()
    world, progress = TableSimulation(task.scene), Progress(task.goal, task.scene)
    prompt = prompt_picture(task.prompt, WIDTH)
    mistakes: list[str] = []
    with VideoWriter(out) as video:
        for done in range(len(actions) + 1):
            if done:
                mistakes.append(progress.update(world.step(actions[done - 1]).trail).mistake)
            frame = _frame(prompt, world.observe(), mistakes, len(actions))
            for _ in range(FPS):
                video.add(frame)
    ended = "success" if progress.verdict.success else "failure"
    if outcome in (ended, "error"):
        return ""
    return (
        f"Played again it ends in {ended}; the record says {outcome}: "
        "MuJoCo, or Assay itself, is not the one that it was recorded with."
    )


def _frame(
    prompt: Image.Image, observation: TableObservation, mistakes: Sequence[str], actions: int
) -> np.ndarray:
    views = [Image.fromarray(observation.image(camera)) for camera in VIEWS]
    views = [each.resize((WIDTH, WIDTH * each.height // each.width)) for each in views]
    height = prompt.height + sum(each.height + MARGIN for each in views) + LINE + 2 * MARGIN
    frame = Image.new("RGB", (WIDTH + 2 * MARGIN, height), PAPER)
    top = MARGIN
    for each in (prompt, *views):
        frame.paste(each, (MARGIN, top))
        top += each.height + MARGIN
    said = f"after {len(mistakes)} of {actions} actions" if mistakes else "at the start"
    said += f": {mistakes[-1]}" if mistakes and mistakes[-1] else ""
    ImageDraw.Draw(frame).text((MARGIN, top), said[:80], INK, ImageFont.load_default(13))
    return np.asarray(frame)
