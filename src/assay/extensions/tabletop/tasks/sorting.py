"""T14 to T17: things that are alike, that lie beside each other, that go round."""

from __future__ import annotations

from dataclasses import replace

from assay.extensions.tabletop.draw import Draw
from assay.extensions.tabletop.goals import Put, PutGoal
from assay.extensions.tabletop.originals import original
from assay.extensions.tabletop.prompt import Prompt, portrait
from assay.extensions.tabletop.scene import Item, TableScene
from assay.extensions.tabletop.shapes import SOLIDS
from assay.extensions.tabletop.tasks.placing import Made, into, names
from assay.extensions.tabletop.textures import TEXTURES

_LARGE = (1.8, 1.8, 1.0)
"""A piece that serves as a container for several others."""
_DIRECTIONS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
"""Steps of row and column; north is at the top of the pictures."""
_NEIGHBOURS = 3
"""Bystanders beside the two that are moved, in a grid of nine cells: as many as in VIMA-Bench."""


def t14(draw: Draw) -> Made:
    """Everything of a container's texture into it."""
    look = draw.one(TEXTURES)
    base = _large_base(draw, draw.base(), look)
    targets = [
        draw.place(f"dragged_obj_{number}", draw.one(draw.pools.pieces), look, clear=0.13)
        for number in (1, 2)
    ]
    looks = [each for each in TEXTURES if each != look]
    others = draw.others(5 if draw.distracting else 1, draw.pools.pieces, looks, clear=0.14)
    return _gathered(draw, base, targets, others, original("T14"))


def t15(draw: Draw) -> Made:
    """Everything of a container's profile into it."""
    containers = [shape for shape in draw.pools.containers if SOLIDS[shape].profile]
    if draw.extreme:
        containers = [*draw.pools.with_profile("circle"), *draw.pools.with_profile("square")]
    base = _large_base(draw, draw.one(containers), draw.one(draw.pools.container_looks))
    profile = SOLIDS[base.shape].profile
    looks = draw.some(draw.pools.looks, 2, but=[base.texture])
    targets = [
        draw.place(f"dragged_obj_{i + 1}", draw.one(draw.pools.with_profile(profile)), look, clear=0.13)
        for i, look in enumerate(looks)
    ]
    flat = ["shorter block" if shape == "block" else shape for shape in draw.pools.pieces]
    shapes = [shape for shape in flat if SOLIDS[shape].profile != profile]
    unused = [look for look in draw.pools.looks if look not in looks]
    others = draw.others(5 if draw.distracting else 1, shapes, unused, clear=0.14)
    return _gathered(draw, base, targets, others, original("T15"))


def _large_base(draw: Draw, shape: str, look: str) -> Item:
    size = (1.0, 1.0, 1.0) if SOLIDS[shape].container else _LARGE
    return draw.place("base_obj", shape, look, fixed=True, size=size)


def _gathered(draw: Draw, base: Item, targets: list[Item], others: list[Item], text: str) -> Made:
    within = 0.0875 if base.shape == "bowl" else 0.125
    goal = PutGoal((tuple(into(each, base, within=within) for each in targets),), names(others))
    return TableScene(tuple(draw.items)), Prompt(text, (("base_obj", portrait(base)),)), goal


def t16(draw: Draw) -> Made:
    """A thing and then its former neighbour into a container."""
    side, step, size = (4, 0.12, (0.8, 0.8, 1.0)) if draw.extreme else (3, 0.15, (1.0, 1.0, 1.0))
    cells = [(row, column) for row in range(side) for column in range(side)]
    target = cells[int(draw.rng.integers(len(cells)))]
    ways = [way for way, (r, c) in _DIRECTIONS.items() if (target[0] + r, target[1] + c) in cells]
    way = draw.one(ways)
    neighbour = (target[0] + _DIRECTIONS[way][0], target[1] + _DIRECTIONS[way][1])
    free = [cell for cell in cells if cell not in (target, neighbour)]
    # An extreme grid is dense: there is something in every cell.
    count = len(free) if draw.extreme else _NEIGHBOURS + 2 * draw.distracting
    filled = {free[i] for i in draw.rng.choice(len(free), count, replace=False)} | {target, neighbour}
    words: set[str] = set()
    roles = {target: "dragged_obj", neighbour: "neighbour_obj"}
    for row, column in sorted(filled):
        item = _unlike(draw, words)
        x, y = 0.5 + (row - (side - 1) / 2) * step, -0.44 + 0.08 * (side == 3) + column * 0.15
        name = roles.get((row, column), f"distractor_{row}{column}")
        draw.put(replace(item, name=name, x=x, y=y, size=size))
    base = draw.put(Item("base_obj", draw.base(), draw.one(draw.pools.container_looks), 0.5, 0.3, fixed=True))
    piece = next(item for item in draw.items if item.name == "dragged_obj")
    others = [item for item in draw.items if item.name.startswith("distractor")]
    stages = tuple((Put(name, base.x, base.y, base.yaw),) for name in ("dragged_obj", "neighbour_obj"))
    prompt = Prompt(
        original("T16", way=way), (("dragged_obj", portrait(piece)), ("base_obj", portrait(base)))
    )
    return TableScene(tuple(draw.items)), prompt, PutGoal(stages, names(others), in_order=True)


def _unlike(draw: Draw, words: set[str]) -> Item:
    """A piece unlike any before."""
    while True:
        item = Item("", draw.one(draw.pools.pieces), draw.one(draw.pools.looks), 0.5, 0.0)
        if item.words not in words:
            words.add(item.words)
            return item


def t17(draw: Draw) -> Made:
    """A thing into one container, into another and back."""
    kinds = [shape for shape in draw.pools.containers if shape != "pan"]
    common = draw.one(kinds)
    looks = draw.some(draw.pools.container_looks, 6)
    places = [(x, y) for x in (0.375, 0.625) for y in (-0.25, 0.0, 0.25)]
    bases = []
    for number, index in enumerate(draw.rng.permutation(6)):
        shape = draw.one(kinds) if draw.extreme else common
        x, y = places[index]
        bases.append(Item(f"base_obj_{number}", shape, looks[number], x, y, fixed=True))
    shape, look = draw.one(draw.pools.pieces), draw.one(draw.pools.looks, but=looks)
    piece = draw.put(Item("dragged_obj", shape, look, bases[0].x, bases[0].y, z=_rest(bases[0])))
    for base in bases:
        draw.put(base)
    others = []
    for number, base in enumerate(bases[3:] if draw.distracting else []):
        item = Item(
            f"distractor_{number + 1}",
            draw.one(draw.pools.pieces, but=[shape]),
            draw.one(draw.pools.looks),
            base.x,
            base.y,
            z=_rest(base),
        )
        others.append(draw.put(item))
    stages = tuple(
        (Put("dragged_obj", base.x, base.y, base.yaw, 0.05),) for base in (bases[1], bases[2], bases[0])
    )
    shown = [("dragged_obj", portrait(piece)), *((base.name, portrait(base)) for base in bases[1:3])]
    return (
        TableScene(tuple(draw.items)),
        Prompt(original("T17"), tuple(shown)),
        PutGoal(stages, names(others), in_order=True),
    )


def _rest(base: Item) -> float:
    """A height from which a piece falls into a container, metres."""
    return {"bowl": 0.035, "pallet": 0.023, "container": 0.004}.get(base.shape, 0.0)
