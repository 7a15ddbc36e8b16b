"""A sheet of an asset pack's things as the main camera sees them, to look at: plain, or in every pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.sim.categories import VARIANTS
from assay.sim.packs.pack import AssetPack
from assay.sim.portraits import portrait
from assay.support.sheets import save_stacked
from assay.tasks.scene import Colour, Entity, Finish, Pattern

PAPER = (244, 243, 240)
INK = (40, 40, 40)
TABLE = np.array([0.72, 0.66, 0.58])
"""The colour that things stand on."""
LARGER = 3
"""How much larger than in a picture of 256 x 256 pixels things are shown."""
CELL = 72
"""Height and width of a cell, in the picture's pixels; what is larger than that is shown smaller."""
COLUMNS = 7
COLOUR: Colour = (0.80, 0.12, 0.12)
"""What patterns are shown in."""
_LINE = 18


def asset_sheet(
    path: Path,
    pack: AssetPack,
    *,
    patterns: bool = False,
    on_category: Callable[[str], None] = lambda name: None,
) -> Path:
    """Write the sheet as a PNG: every category, or every shape of a movable one in every pattern."""
    names = _shapes(pack) if patterns else sorted(pack.categories)
    return save_stacked(path, _rows(names, pack, patterns, on_category), PAPER)


def _shapes(pack: AssetPack) -> list[str]:
    """The first of the movable categories of each outline; colours do not count."""
    found: dict[bytes, str] = {}
    for name in sorted(pack.categories - pack.fixtures - VARIANTS.keys()):
        found.setdefault(portrait(Entity("thing", name), pack).cover.tobytes(), name)
    return list(found.values())


def _rows(
    names: Sequence[str], pack: AssetPack, patterns: bool, on_category: Callable[[str], None]
) -> Iterator[Image.Image]:
    finishes = [Finish(), Finish(COLOUR), *(Finish(COLOUR, each) for each in Pattern)]
    count = 1 if patterns else COLUMNS
    for start in range(0, len(names), count):
        cells = []
        for name in names[start : start + count]:
            on_category(name)
            for finish in finishes if patterns else finishes[:1]:
                drawn = _cell(Entity("thing", name, finish), pack)
                cells.append((drawn, finish.pattern or ("plain" if finish.colour else name)))
        yield _row(cells)


def _row(cells: Sequence[tuple[np.ndarray, str]]) -> Image.Image:
    side = LARGER * CELL
    row = Image.new("RGB", (len(cells) * (side + 6), side + _LINE), PAPER)
    pen, font = ImageDraw.Draw(row), ImageFont.load_default(12)
    for number, (picture, name) in enumerate(cells):
        left = number * (side + 6)
        row.paste(Image.fromarray(picture).resize((side, side), Image.Resampling.NEAREST), (left, 0))
        while pen.textlength(name, font) > side:
            name = name[:-2] + "…"
        pen.text((left + 2, side + 1), name, INK, font)
    return row


def _cell(entity: Entity, pack: AssetPack) -> np.ndarray:
    """A thing in the middle of a cell, uint8, (CELL, CELL, 3)."""
    found = portrait(entity, pack)
    ground = np.broadcast_to(TABLE, found.colour.shape) * (1.0 - found.cover[..., None])
    picture = Image.fromarray((255 * np.clip(ground + found.colour, 0.0, 1.0)).astype(np.uint8))
    picture.thumbnail((CELL, CELL))
    cell = Image.new("RGB", (CELL, CELL), tuple(int(255 * part) for part in TABLE))
    cell.paste(picture, ((CELL - picture.width) // 2, (CELL - picture.height) // 2))
    return np.asarray(cell)
