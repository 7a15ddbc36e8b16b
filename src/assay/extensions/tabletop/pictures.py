"""Prompts as people look at them."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.observation import shown
from assay.extensions.tabletop.prompt import Picture, Prompt
from assay.extensions.tabletop.render import HEIGHT, WIDTH

PAPER, INK = (250, 250, 248), (25, 25, 30)
LINE, GAP = 22, 6


def prompt_picture(prompt: Prompt, most: int) -> Image.Image:
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
        x += width + GAP
    heights = [max([LINE, *(p.height + GAP for _, p in line if not isinstance(p, str))]) for line in lines]
    block = Image.new("RGB", (most, sum(heights)), PAPER)
    pen = ImageDraw.Draw(block)
    y = 0
    for line, height in zip(lines, heights, strict=True):
        for x, part in line:
            if isinstance(part, str):
                pen.text((x, y + (height - LINE) // 2), part, INK, font)
            else:
                block.paste(part, (x, y + (height - GAP - part.height) // 2))
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
    pair = Image.new("RGB", (cut[0].width + cut[1].width + 2, height), PAPER)
    for x, each in ((0, cut[0]), (cut[0].width + 2, cut[1])):
        pair.paste(each, (x, (height - each.height) // 2))
    return pair
