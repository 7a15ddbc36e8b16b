"""T9 to T11: do what frames show."""

from __future__ import annotations

import math

import numpy as np

from assay.extensions.tabletop.draw import Draw
from assay.extensions.tabletop.goals import Put, PutGoal
from assay.extensions.tabletop.originals import original
from assay.extensions.tabletop.prompt import Picture, Prompt, view
from assay.extensions.tabletop.prompt import portrait as portrait_of
from assay.extensions.tabletop.scene import Item, TableScene
from assay.extensions.tabletop.tasks.placing import Made, names

EXAMPLES = 3
_RADIUS = 0.19
_MOVES = 2


def t9(draw: Draw) -> Made:
    """An angle by examples, then: turn everything of a texture."""
    total, count = (8 if draw.distracting else 3), int(draw.rng.integers(1, 3))
    look = draw.one(draw.pools.any_look)
    targets = []
    for number in range(1, count + 1):
        targets.append(draw.place(f"dragged_obj_{number}", draw.one(draw.pools.turnable), look, clear=0.1))
    looks = [each for each in draw.pools.any_look if each != look]
    others = draw.others(total - count, draw.pools.turnable, looks, clear=0.1)
    angles = range(20, 161, 20) if draw.extreme else range(30, 331, 30)
    turn = math.radians(int(draw.rng.choice(list(angles))))
    pictures = []
    for number in range(1, EXAMPLES + 1):
        x, y = 0.5 + draw.rng.uniform(-0.0625, 0.0625), draw.rng.uniform(-0.375, 0.375)
        shown = Item(
            "demo", draw.one(draw.pools.turnable), draw.one(looks), x, y, draw.rng.uniform(0, 2 * np.pi)
        )
        pictures += [
            (f"before_{number}", view(shown)),
            (f"after_{number}", view(shown.at(x, y, shown.yaw - turn))),
        ]
    text = original("T9", look=look)
    puts = tuple(Put(each.name, each.x, each.y, each.yaw - turn, 0.05, turned=True) for each in targets)
    return TableScene(tuple(draw.items)), Prompt(text, tuple(pictures)), PutGoal((puts,), names(others))


def t10(draw: Draw) -> Made:
    """Move a thing as frames show it moving."""
    points = 10 if draw.extreme else 5
    shape, look = draw.one(draw.pools.pieces), draw.one(draw.pools.any_look)
    where = [int(draw.rng.integers(points))]
    for _ in range(_MOVES):
        where.append((where[-1] + (1 if draw.chance() else -1)) % points)
    path = [_on_circle(step, points) for step in where]
    piece = draw.put(Item("dragged_obj", shape, look, *path[0]))
    circle = [piece.at(*_on_circle(step, points)) for step in range(points)]
    looks = [each for each in draw.pools.any_look if each != look]
    others: list[Item] = []
    extras: list[Item] = []
    for number in range(3 if draw.distracting else 1):
        for items, at in ((others, f"distractor_{number + 1}"), (extras, f"other_{number + 1}")):
            item = Item(at, draw.one(draw.pools.pieces), draw.one(looks), 0.5, 0.0)
            items.append(item if number == 0 else draw.spot(item, [*circle, *items], clear=0.125))
    for item in others:
        draw.put(item)
    frames = [view(piece.at(*place), *extras) for place in path]
    prompt = Prompt(original("T10"), (("dragged_obj", portrait_of(piece)), *_numbered(frames)))
    stages = tuple((Put(piece.name, *place),) for place in path[1:])
    return TableScene(tuple(draw.items)), prompt, PutGoal(stages, names(others), in_order=True)


def _on_circle(step: int, points: int) -> tuple[float, float]:
    angle = 2 * np.pi * step / points
    return 0.5 + _RADIUS * float(np.cos(angle)), _RADIUS * float(np.sin(angle))


def t11(draw: Draw) -> Made:
    """Stack things as frames show it."""
    count = 5 if draw.extreme else 3
    slots = [
        (0.5, float(y)) for y in (np.arange(count) - (count - 1) / 2) * (1 / 6 if draw.extreme else 0.25)
    ]
    shape = draw.one(draw.pools.pieces)
    row = [
        draw.put(Item(f"dragged_obj_{i + 1}", shape, look, *slots[i]))
        for i, look in enumerate(draw.some(draw.pools.any_look, count))
    ]
    shapes = [each for each in draw.pools.pieces if each != shape] or list(draw.pools.pieces)
    others = draw.others(3 if draw.distracting else 1, shapes, draw.pools.any_look, clear=0.125)
    piles = [[item] for item in row]
    frames, stages = [_piled(piles, slots)], []
    for _ in range(_MOVES):
        moves = [(i, j) for i in range(count) for j in range(count) if i != j and piles[i]]
        source, target = moves[int(draw.rng.integers(len(moves)))]
        piles[target].append(piles[source].pop())
        stages.append((Put(piles[target][-1].name, *slots[target]),))
        frames.append(_piled(piles, slots))
    prompt = Prompt(original("T11"), tuple(_numbered(frames)))
    return TableScene(tuple(draw.items)), prompt, PutGoal(tuple(stages), names(others), in_order=True)


def _piled(piles: list[list[Item]], slots: list[tuple[float, float]]) -> Picture:
    items = []
    for pile, slot in zip(piles, slots, strict=True):
        height = 0.0
        for item in pile:
            items.append(item.at(*slot, z=height))
            height += item.solid.height
    return view(*items)


def _numbered(frames: list[Picture]) -> list[tuple[str, Picture]]:
    return [(f"frame_{number}", frame) for number, frame in enumerate(frames)]
