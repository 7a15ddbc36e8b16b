"""T6 to T8: words that nobody knows, explained by pictures."""

from __future__ import annotations

from dataclasses import dataclass

from assay.extensions.tabletop.draw import Draw
from assay.extensions.tabletop.goals import PutGoal
from assay.extensions.tabletop.originals import original
from assay.extensions.tabletop.pools import dark
from assay.extensions.tabletop.prompt import Picture, Prompt, portrait
from assay.extensions.tabletop.scene import Item, TableScene
from assay.extensions.tabletop.tasks.placing import Made, base_and_piece, into, names
from assay.extensions.tabletop.textures import GREY

ADJECTIVES = ("daxer", "blicker", "modier", "kobar")
NOUNS = ("dax", "blicket", "wug", "zup")
STRANGE_ADJECTIVES = ("xachup", "feplicat", "gazip", "duchat")
STRANGE_NOUNS = ("xachupi", "feplicaty", "gazipo", "duchatle")
COMPARISONS = 3
_TALLER = 2.0


@dataclass(frozen=True, slots=True)
class _Lesson:
    """A property with two poles, and which of them the word means."""

    tall: bool
    """Height; else how dark it is."""
    upper: bool
    """Whether the word means the taller or darker one."""
    short: float
    """The factor of what is short."""

    def made(self, texture: str, upper: bool) -> tuple[str, tuple[float, float, float]]:
        """Texture and size of a thing at a pole."""
        if self.tall:
            return texture, (1.0, 1.0, self.short + (_TALLER if upper else 0.0))
        return (dark(texture) if upper else texture), (1.0, 1.0, 1.0)


def _lesson(draw: Draw) -> _Lesson:
    return _Lesson(draw.chance(), draw.chance(), float(draw.rng.uniform(0.3, 0.4)))


def _examples(draw: Draw, lesson: _Lesson) -> list[tuple[str, Picture]]:
    """Pictures to compare."""
    pictures = []
    for number in range(1, COMPARISONS + 1):
        shape = draw.one(draw.pools.pieces, but=["block"])
        texture = draw.one(draw.pools.twinned)
        for role, upper in (("more", lesson.upper), ("less", not lesson.upper)):
            look, size = lesson.made(texture, upper)
            shown = portrait(Item("demo", shape, look, 0.5, 0.0, size=size))
            pictures.append((f"{role}_{number}", shown))
    return pictures


def _pair(draw: Draw, lesson: _Lesson, wanted: bool) -> tuple[Item, Item, Item]:
    """The container, the piece at the wanted pole and its twin at the other."""
    base = draw.place("base_obj", draw.base(but=["block"]), draw.one(draw.pools.container_looks), fixed=True)
    shape = draw.one(draw.pools.pieces, but=["block", base.shape])
    texture = draw.one(draw.pools.twinned, but=[base.texture])
    look, size = lesson.made(texture, wanted)
    piece = draw.place("dragged_obj", shape, look, size=size, clear=0.12)
    look, size = lesson.made(texture, not wanted)
    return base, piece, draw.place("twin_obj", shape, look, size=size, clear=0.12)


def _strangers(draw: Draw, count: int, *known: Item) -> list[Item]:
    """Distractors of shapes that play no part."""
    shapes = [shape for shape in draw.pools.pieces if shape not in {item.shape for item in known} | {"block"}]
    return draw.others(count, shapes, draw.pools.looks)


def t6(draw: Draw) -> Made:
    """An adjective by comparisons, then: put the more (or less) such thing into another."""
    lesson, less = _lesson(draw), draw.chance()
    adjective = draw.one(STRANGE_ADJECTIVES if draw.extreme else ADJECTIVES)
    base, piece, twin = _pair(draw, lesson, lesson.upper != less)
    others = [twin, *_strangers(draw, 2 if draw.distracting else 0, base, piece)]
    pictures = (*_examples(draw, lesson), *_outlines(piece, base))
    text = original("T6", adjective=adjective, wanted="less " * less + adjective)
    goal = PutGoal(((into(piece, base),),), names(others))
    return TableScene(tuple(draw.items)), Prompt(text, pictures), goal


def t7(draw: Draw) -> Made:
    """Two nouns by pictures, then: put one into the other."""
    base, piece = base_and_piece(draw)
    others = _strangers(draw, 3 if draw.distracting else 1, base, piece)
    nouns = draw.some(STRANGE_NOUNS if draw.extreme else NOUNS, 2)
    text = original("T7", form=int(draw.chance()), piece=nouns[0], base=nouns[1])
    goal = PutGoal(((into(piece, base),),), names(others))
    return TableScene(tuple(draw.items)), Prompt(text, _outlines(piece, base)), goal


def t8(draw: Draw) -> Made:
    """Nouns and an adjective, then a command of invented words only."""
    lesson, less = _lesson(draw), draw.chance()
    adjective = draw.one(STRANGE_ADJECTIVES if draw.extreme else ADJECTIVES)
    nouns = draw.some(STRANGE_NOUNS if draw.extreme else NOUNS, 2)
    base, piece, twin = _pair(draw, lesson, lesson.upper != less)
    others = [twin, *_strangers(draw, 4 if draw.distracting else 2, base, piece)]
    text = original(
        "T8", form=int(draw.chance()), piece=nouns[0], base=nouns[1],
        adjective=adjective, wanted="less " * less + adjective,
    )  # fmt: skip
    goal = PutGoal(((into(piece, base),),), names(others))
    prompt = Prompt(text, (*_outlines(piece, base), *_examples(draw, lesson)))
    return TableScene(tuple(draw.items)), prompt, goal


def _outlines(piece: Item, base: Item) -> tuple[tuple[str, Picture], ...]:
    """A piece and a container as pictures that tell their shapes and nothing else."""
    bare = portrait(Item(piece.name, piece.shape, GREY, 0.5, 0.0))
    return ("dragged_obj", bare), ("base_obj", portrait(base, texture=GREY))
