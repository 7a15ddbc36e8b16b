"""A sheet to look at: every task's prompt, its start and what the demonstrator makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.observation import TableObservation
from assay.extensions.tabletop.oracle import TableOracle
from assay.extensions.tabletop.pictures import INK, LINE, PAPER, prompt_picture
from assay.extensions.tabletop.pools import Difficulty
from assay.extensions.tabletop.render import WIDTH
from assay.extensions.tabletop.simulation import Effect, TableSimulation
from assay.extensions.tabletop.tasks import KINDS, Setting, TableTask, make
from assay.extensions.tabletop.world import TABLETOP_WORLD, play
from assay.support.sheets import save_stacked

_GOOD, _BAD = (30, 120, 50), (190, 40, 40)
_MARGIN = 14
_PROMPT = 900
"""Pixels that a prompt may be wide."""


def every_kind(seed: int, difficulty: Difficulty) -> Iterator[tuple[str, TableTask]]:
    """A title and a task of each kind, at the first level it has."""
    for kind in KINDS.values():
        setting = Setting(kind.id, seed, kind.levels[0], difficulty)
        yield f"{setting.id}  {kind.name}", make(setting)


def save_table_sheet(path: Path, titled: Iterable[tuple[str, TableTask]]) -> Path:
    """Write the sheet as a PNG: a row for each task, below its title."""
    return save_stacked(path, (_row(title, task) for title, task in titled), PAPER)


def experiment_sheet(
    path: Path, specs: Sequence[EpisodeSpec], on_condition: Callable[[str], None] = lambda name: None
) -> list[str]:
    """Draw what some episodes look like; returns why some cannot be drawn: none."""

    def titled() -> Iterator[tuple[str, TableTask]]:
        for spec in specs:
            on_condition(f"{spec.task} {spec.condition}")
            yield f"{spec.task}  {spec.condition}", TABLETOP_WORLD.task(spec)

    save_table_sheet(path, titled())
    return []


def _row(title: str, task: TableTask) -> Image.Image:
    start = _both(TableSimulation(task.scene).observe())
    played = play(task, TableOracle())
    end = _both(played.env.simulation.observe())
    prompt = prompt_picture(task.prompt, _PROMPT)
    height = max(prompt.height, start.shape[0]) + 2 * LINE + _MARGIN
    row = Image.new("RGB", (_PROMPT + 2 * WIDTH + 4 * _MARGIN, height), PAPER)
    pen = ImageDraw.Draw(row)
    pen.text((_MARGIN, 4), title, INK, ImageFont.load_default(16))
    said = f"{'solved' if played.success else 'NOT solved'} in {len(played.actions)}, fewest {task.best}"
    if set(played.env.effects) == {Effect.NOTHING}:
        said = "nothing was done"
    left = _PROMPT + 2 * _MARGIN
    pen.text((left, 4), "start: front, top", INK, ImageFont.load_default(13))
    pen.text((left + WIDTH + _MARGIN, 4), said, _GOOD if played.success else _BAD, ImageFont.load_default(13))
    row.paste(prompt, (_MARGIN, 2 * LINE))
    row.paste(Image.fromarray(start), (left, LINE + 4))
    row.paste(Image.fromarray(end), (left + WIDTH + _MARGIN, LINE + 4))
    return row


def _both(observation: TableObservation) -> np.ndarray:
    return np.vstack([observation.image(camera) for camera in VIEWS])
