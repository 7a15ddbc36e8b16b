"""A sheet to look at: every task's prompt, its start and what the demonstrator makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.sheets import save_stacked
from assay.tabletop.build import VIEWS
from assay.tabletop.episode import play
from assay.tabletop.observation import TableObservation, shown
from assay.tabletop.oracle import TableOracle
from assay.tabletop.pools import Difficulty
from assay.tabletop.prompt import Picture, Prompt
from assay.tabletop.simulation import Effect, TableSimulation
from assay.tabletop.studio import HEIGHT, WIDTH
from assay.tabletop.tasks import KINDS, Setting, TableTask, make

_PAPER, _INK, _GOOD, _BAD = (250, 250, 248), (25, 25, 30), (30, 120, 50), (190, 40, 40)
_MARGIN, _LINE, _GAP = 14, 22, 6
_PROMPT = 900
"""Pixels that a prompt may be wide."""


def every_kind(seed: int, difficulty: Difficulty) -> Iterator[tuple[str, TableTask]]:
    """A title and a task of each kind, at the first level it has."""
    for kind in KINDS.values():
        setting = Setting(kind.id, seed, kind.levels[0], difficulty)
        yield f"{setting.id}  {kind.name}", make(setting)


def save_table_sheet(path: Path, titled: Iterable[tuple[str, TableTask]]) -> Path:
    """Write the sheet as a PNG: a row for each task, below its title."""
    return save_stacked(path, (_row(title, task) for title, task in titled), _PAPER)


def _row(title: str, task: TableTask) -> Image.Image:
    world = TableSimulation(task.scene)
    start = _both(world.observe())
    played = play(task, TableOracle(), world=world)
    end = _both(world.observe())
    prompt = prompt_picture(task.prompt)
    height = max(prompt.height, start.shape[0]) + 2 * _LINE + _MARGIN
    row = Image.new("RGB", (_PROMPT + 2 * WIDTH + 4 * _MARGIN, height), _PAPER)
    pen = ImageDraw.Draw(row)
    pen.text((_MARGIN, 4), title, _INK, ImageFont.load_default(16))
    said = f"{'solved' if played.success else 'NOT solved'} in {len(played.actions)}, fewest {task.best}"
    if set(played.effects) == {Effect.NOTHING}:
        said = "nothing was done"
    left = _PROMPT + 2 * _MARGIN
    pen.text((left, 4), "start: front, top", _INK, ImageFont.load_default(13))
    pen.text((left + WIDTH + _MARGIN, 4), said, _GOOD if played.success else _BAD, ImageFont.load_default(13))
    row.paste(prompt, (_MARGIN, 2 * _LINE))
    row.paste(Image.fromarray(start), (left, _LINE + 4))
    row.paste(Image.fromarray(end), (left + WIDTH + _MARGIN, _LINE + 4))
    return row


def _both(observation: TableObservation) -> np.ndarray:
    return np.vstack([observation.image(camera) for camera in VIEWS])


def prompt_picture(prompt: Prompt, most: int = _PROMPT) -> Image.Image:
    """Words and pictures in the order they are read, in as many lines as it takes, ``most`` pixels wide."""
    font = ImageFont.load_default(15)
    parts: list[str | Image.Image] = []
    for segment in prompt.segments:
        parts += segment.split() if isinstance(segment, str) else [_shown(segment)]
    lines: list[list[tuple[int, str | Image.Image]]] = [[]]
    x = 0
    for part in parts:
        width = int(font.getlength(part)) if isinstance(part, str) else part.width
        if x + width > most and lines[-1]:
            lines.append([])
            x = 0
        lines[-1].append((x, part))
        x += width + _GAP
    heights = [max([_LINE, *(p.height + _GAP for _, p in line if not isinstance(p, str))]) for line in lines]
    block = Image.new("RGB", (most, sum(heights)), _PAPER)
    pen = ImageDraw.Draw(block)
    y = 0
    for line, height in zip(lines, heights, strict=True):
        for x, part in line:
            if isinstance(part, str):
                pen.text((x, y + (height - _LINE) // 2), part, _INK, font)
            else:
                block.paste(part, (x, y + (height - _GAP - part.height) // 2))
        y += height
    return block


def _shown(picture: Picture) -> Image.Image:
    """An object cut out, from the front and from above; a table likewise, whole."""
    views = shown(picture)
    if picture.kind == "scene":
        both = Image.fromarray(np.vstack([views[camera][0] for camera in VIEWS]))
        return both.resize((int(0.7 * both.width), int(0.7 * both.height)), Image.Resampling.LANCZOS)
    cut = []
    for camera in VIEWS:
        colour, labels = views[camera]
        rows, columns = np.nonzero(labels)
        middle = int(columns.min() + columns.max()) // 2 if len(columns) else WIDTH // 2
        half = max(20, int(np.ptp(columns)) // 2 + 4) if len(columns) else 20
        low, high = (max(0, rows.min() - 4), min(HEIGHT, rows.max() + 5)) if len(rows) else (0, 40)
        cut.append(Image.fromarray(colour[low:high, max(0, middle - half) : middle + half]))
    height = max(each.height for each in cut)
    pair = Image.new("RGB", (cut[0].width + cut[1].width + 2, height), _PAPER)
    for x, each in ((0, cut[0]), (cut[0].width + 2, cut[1])):
        pair.paste(each, (x, (height - each.height) // 2))
    return pair
