"""Pictures one below the other, as a sheet to look at."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PIL import Image


def save_stacked(path: Path, rows: Iterable[Image.Image], paper: tuple[int, int, int]) -> Path:
    """Write rows of any width as one PNG; what they leave free is paper. Returns its path."""
    found = list(rows)
    size = (max(row.width for row in found), sum(row.height for row in found))
    sheet = Image.new("RGB", size, paper)
    top = 0
    for row in found:
        sheet.paste(row, (0, top))
        top += row.height
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
    return path
