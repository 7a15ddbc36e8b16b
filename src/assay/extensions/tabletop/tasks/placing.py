"""T1 to T3: put a thing into another, find it in a picture, turn it."""

from __future__ import annotations

import math

from assay.extensions.tabletop.draw import Draw
from assay.extensions.tabletop.goals import Goal, Put, PutGoal
from assay.extensions.tabletop.originals import original
from assay.extensions.tabletop.pools import Difficulty
from assay.extensions.tabletop.prompt import Prompt, portrait, view
from assay.extensions.tabletop.scene import Item, TableScene

Made = tuple[TableScene, Prompt, Goal]


def into(item: Item, base: Item, *, within: float = 0.10) -> Put:
    """The item at the base's place."""
    return Put(item.name, base.x, base.y, base.yaw, within)


def names(items: list[Item]) -> tuple[str, ...]:
    """The names of items."""
    return tuple(item.name for item in items)


def base_and_piece(draw: Draw) -> tuple[Item, Item]:
    """A container and a piece of different shape."""
    shape = draw.base()
    base = draw.place("base_obj", shape, draw.one(draw.pools.container_looks), fixed=True)
    texture = draw.one(draw.pools.looks, but=[base.texture])
    return base, draw.place("dragged_obj", draw.one(draw.pools.pieces, but=[shape]), texture, clear=0.12)


def t1(draw: Draw) -> Made:
    """Put one thing into another."""
    base, piece = base_and_piece(draw)
    count = 6 if draw.distracting else 1
    shapes = draw.pools.pieces if draw.distracting else draw.pools.pieces + draw.pools.containers
    others = draw.others(count, shapes, draw.pools.looks + draw.pools.container_looks, but=[base, piece])
    prompt = Prompt(
        original("T1"),
        (("dragged_obj", portrait(piece)), ("base_obj", portrait(base))),
    )
    return TableScene(tuple(draw.items)), prompt, PutGoal(((into(piece, base),),), names(others))


def t2(draw: Draw) -> Made:
    """Put a thing that a picture shows into a thing of a texture."""
    base, piece = base_and_piece(draw)
    looks = draw.pools.looks + draw.pools.container_looks
    others = []
    for number in range(3 if draw.distracting else 1):
        name = f"distractor_{number + 1}"
        if draw.chance():
            shape = draw.one(draw.pools.pieces, but=[piece.shape, base.shape])
            others.append(draw.place(name, shape, piece.texture, clear=0.12))
        else:
            shape = base.shape if number == 0 else draw.one(draw.pools.pieces, but=[piece.shape])
            texture = draw.one(looks, but=[base.texture, piece.texture])
            others.append(draw.place(name, shape, texture, clear=0.12, fixed=shape == base.shape))
    frame = Draw(draw.rng, draw.level, Difficulty.DEFAULT)
    frame.place(piece.name, piece.shape, piece.texture)
    frame.others(3 if draw.distracting else 1, draw.pools.pieces,
                 [look for look in looks if look != piece.texture])  # fmt: skip
    text = original("T2", look=piece.texture, base_look=base.texture)
    prompt = Prompt(text, (("scene", view(*frame.items)),))
    return TableScene(tuple(draw.items)), prompt, PutGoal(((into(piece, base),),), names(others))


def t3(draw: Draw) -> Made:
    """Turn a thing by an angle."""
    shape, look = draw.one(draw.pools.turnable), draw.one(draw.pools.any_look)
    piece = draw.place("dragged_obj", shape, look)
    looks = [each for each in draw.pools.any_look if each != look]
    others = draw.others(8 if draw.distracting else 1, draw.pools.pieces, looks, clear=0.125)
    angles = range(20, 161, 20) if draw.extreme else range(30, 151, 30)
    angle = int(draw.rng.choice(list(angles)))
    put = Put(piece.name, piece.x, piece.y, piece.yaw - math.radians(angle), turned=True)
    text = original("T3", angle=str(angle))
    prompt = Prompt(text, (("dragged_obj", portrait(piece)),))
    return TableScene(tuple(draw.items)), prompt, PutGoal(((put,),), names(others))
