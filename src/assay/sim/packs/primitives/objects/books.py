"""Books that stand on their lower edge, the spine towards +y."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.decals import Place, disc, patch, plane
from assay.sim.packs.primitives.objects.meshes import Mesh, Point, cuboid, quads
from assay.sim.packs.primitives.objects.sculpture import Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba

_BOARD = 2.0
"""Thickness of a cover."""
_WAVE_PIECES = 12


@dataclass(frozen=True, slots=True)
class Book:
    """A bound book. Millimetres."""

    facts: Facts
    lo: Point
    """Its least corner relative to the frame of the object."""
    hi: Point
    """Its greatest corner."""
    cover: Rgba
    print: Rgba
    """The title on cover and spine, or the pattern."""
    bars: int = 0
    """Upright bars over the cover."""
    lines: int = 0
    """Level bars over the cover."""
    waves: int = 0
    """Wavy level bars over the cover."""
    specks: int = 0
    """Rows of dots over the cover."""

    @property
    def patterned(self) -> bool:
        """Whether a pattern takes the place of the title."""
        return bool(self.bars or self.lines or self.waves or self.specks)


def build(category: str, book: Book) -> Element:
    """The document of a book."""
    thing = Sculpture(category, book.facts)
    (x0, y0, z0), (x1, y1, z1) = book.lo, book.hi
    thing.block(book.lo, book.hi)
    boards = (
        cuboid((x0, y0, z0), (x0 + _BOARD, y1, z1)),
        cuboid((x1 - _BOARD, y0, z0), (x1, y1, z1)),
        cuboid((x0, y1 - _BOARD, z0), (x1, y1, z1)),
    )
    thing.draw(book.cover, *boards)
    pages = cuboid((x0 + _BOARD, y0 + 3.0, z0 + 2.5), (x1 - _BOARD, y1 - _BOARD, z1 - 2.5))
    thing.draw(p.PAPER, pages)
    width, thick, height = (y1 - y0) / 2, (x1 - x0) / 2, (z1 - z0) / 2
    middle_x, middle_y, middle_z = (x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2
    covers = (
        plane((x1, middle_y, middle_z), (0, 1, 0), (0, 0, 1)),
        plane((x0, middle_y, middle_z), (0, -1, 0), (0, 0, 1)),
    )
    spine = plane((middle_x, y1, middle_z), (-1, 0, 0), (0, 0, 1))
    if book.patterned:
        for face, half in (*((cover, width) for cover in covers), (spine, thick)):
            _pattern(thing, book, face, half, height, share=half / width)
        return thing.document()
    for cover in covers:
        thing.draw(book.print, patch(cover, (-0.5 * width, 0.5 * width), (0.45 * height, 0.58 * height)))
        thing.draw(book.print, patch(cover, (-0.35 * width, 0.35 * width), (0.28 * height, 0.34 * height)))
    thing.draw(book.print, patch(spine, (-thick, thick), (0.55 * height, 0.7 * height)))
    thing.draw(book.print, patch(spine, (-thick, thick), (-0.7 * height, -0.55 * height)))
    return thing.document()


def _pattern(thing: Sculpture, book: Book, face: Place, width: float, height: float, *, share: float) -> None:
    """The pattern on a face; ``width`` and ``height`` are its half-lengths, ``share`` its width beside a cover's."""
    for u in _lanes(round(max(book.bars * share, min(book.bars, 2)))):
        thick = u.half * (0.3 if book.lines else 0.5)
        edges = (u.middle - thick) * width, (u.middle + thick) * width
        thing.draw(book.print, patch(face, edges, (-height, height)))
    for v in _lanes(book.lines):
        edges = (v.middle - 0.3 * v.half) * height, (v.middle + 0.3 * v.half) * height
        thing.draw(book.print, patch(face, (-width, width), edges))
    for v in _lanes(book.waves):
        thing.draw(book.print, _wave(face, v.middle * height, width, v.half * height, share))
    for u, v in product(_lanes(max(round(book.specks * share), min(book.specks, 1))), _lanes(book.specks)):
        radius = 0.4 * v.half * height
        thing.draw(book.print, disc(face, radius, radius, (u.middle * width, v.middle * height), sides=6))


class _Lane(NamedTuple):
    """One of several equal parts of a face, whose edges are at -1 and 1."""

    middle: float
    half: float


def _lanes(count: int) -> list[_Lane]:
    return [_Lane((2 * i + 1) / count - 1, 1 / count) for i in range(count)]


def _wave(face: Place, middle: float, width: float, room: float, share: float) -> Mesh:
    """A bar that swings about ``middle``; ``width`` and ``room`` are half of its length and of its lane."""
    cuts = np.linspace(-1.0, 1.0, max(round(_WAVE_PIECES * share), 6) + 1)
    swings = max(share, 0.5)
    line = [
        (cut * width, middle + 0.4 * room * math.sin(2 * math.pi * swings * cut)) for cut in cuts.tolist()
    ]
    thick = 0.35 * room
    return quads(
        [
            (face(a, v - thick), face(b, w - thick), face(b, w + thick), face(a, v + thick))
            for (a, v), (b, w) in pairwise(line)
        ]
    )


_BLACK = Book(Facts(42.5), (-14.8, -67.3, 2.2), (13.9, 43.0, 136.6), p.BLACK, p.GREY)
_YELLOW = Book(Facts(28.1), (-10.1, -48.8, 2.0), (13.4, 48.9, 124.2), p.YELLOW, p.BROWN)

_PATTERNED = replace(_BLACK, cover=p.WHITE, print=p.BLACK)

_BOOKS: Mapping[str, Book] = {
    "black_book": _BLACK,
    "yellow_book": _YELLOW,
    "red_book": replace(_BLACK, cover=p.RED, print=p.WHITE),
    "red_book_interference_light_red": replace(_BLACK, cover=p.LIGHT_RED, print=p.WHITE),
    "green_book": replace(_BLACK, cover=p.GREEN, print=p.WHITE),
    "orange_book": replace(_BLACK, cover=p.ORANGE, print=p.WHITE),
    "striped_book": replace(_PATTERNED, bars=5),
    "cyan_grid_book": replace(_PATTERNED, cover=p.CYAN, print=p.WHITE, bars=5, lines=6),
}
_BLANKS: Mapping[str, Book] = {
    "wavy_book": replace(_PATTERNED, waves=5),
    "speckle_book": replace(_PATTERNED, specks=6),
}

BUILDERS: Mapping[str, Callable[[], Element]] = {
    category: partial(build, category, book) for category, book in _BOOKS.items()
}
"""From category to document."""
BLANKS: Mapping[str, Callable[[], Element]] = {
    name: partial(build, name, book) for name, book in _BLANKS.items()
}
"""Bases of variants that are no categories themselves."""
