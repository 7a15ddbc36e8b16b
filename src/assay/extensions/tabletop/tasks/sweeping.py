"""T12 and T13: sweep blocks into a rectangle with a spatula, minding a line."""

from __future__ import annotations

import numpy as np

from assay.errors import PlacementError
from assay.extensions.tabletop.draw import Draw
from assay.extensions.tabletop.goals import Rectangle, SweepGoal, straight
from assay.extensions.tabletop.originals import original
from assay.extensions.tabletop.prompt import Prompt, portrait
from assay.extensions.tabletop.scene import Item, TableScene, Tool
from assay.extensions.tabletop.tasks.placing import Made, names

_CORNERS = ((0.57, -0.22), (0.58, 0.03))
_COUNT_WORDS = ("one", "two", "three", "four", "five")
_SHAPES = ("cross", "diamond", "triangle", "flower", "heart", "hexagon", "pentagon", "ring", "star")
_SPREAD = 0.16


def t12(draw: Draw) -> Made:
    """Sweep blocks into a rectangle, but not as far as a line."""
    x = float(draw.rng.uniform(0.3425, 0.437))
    bounds = Item("bounds", "three-sided rectangle", "", 0.41, 0.0, size=(0.27, 0.27, 1.0), fixed=True)
    line = Item("constraint", "line", "", x, 0.0, size=(0.04, 0.3375, 1.0), fixed=True)
    zone = (x + 0.02 + 0.015, -0.135, 0.56, 0.135)
    return _swept(draw, bounds, line, zone, (x - 0.02, -0.169, x + 0.02, 0.169), "T12")


def t13(draw: Draw) -> Made:
    """Sweep blocks into a rectangle around a line that stands before it."""
    bounds = Item("bounds", "three-sided rectangle", "", 0.39, 0.0, size=(0.172, 0.30, 1.0), fixed=True)
    line = Item("constraint", "line", "", 0.496, 0.0, size=(0.04, 0.1875, 1.0), fixed=True)
    zone = (0.304, -0.15, 0.476, 0.15)
    return _swept(draw, bounds, line, zone, (0.476, -0.094, 0.516, 0.094), "T13")


def _swept(draw: Draw, bounds: Item, line: Item, zone: Rectangle, barrier: Rectangle, kind: str) -> Made:
    counts, shares = ((3, 4, 5), (0.2, 0.4, 0.4)) if draw.distracting else ((1, 2, 3), (0.5, 0.25, 0.25))
    count = int(draw.rng.choice(counts, p=shares))
    looks = draw.some(draw.pools.any_look, 4)
    bounds = draw.put(
        Item(bounds.name, bounds.shape, looks[0], bounds.x, bounds.y, size=bounds.size, fixed=True)
    )
    line = draw.put(Item(line.name, line.shape, looks[1], line.x, line.y, size=line.size, fixed=True))
    shape = draw.one(_SHAPES) if draw.extreme else "small block"
    scale = draw.rng.uniform(0.4, 0.7, 2) if draw.extreme else np.ones(2)
    size = (float(scale[0]), float(scale[1]), 1.0)
    corners = [_CORNERS[i] for i in draw.rng.permutation(2)]
    groups: list[list[Item]] = []
    for role, look, corner in zip(("swept_obj", "distractor"), looks[2:], corners, strict=True):
        made: list[Item] = []
        for number in range(1, count + 1):
            item = Item(
                f"{role}_{number}", shape, look, 0.5, 0.0, float(draw.rng.uniform(0, 2 * np.pi)), size=size
            )
            made.append(_near(draw, item, corner))
        groups.append(made)
    targets, others = groups
    pushes = sorted(_pushes(item, zone, barrier) for item in targets)
    wording = ["any", *_COUNT_WORDS[:count], "all"]
    word = draw.one(wording)
    fewest = {"any": 1, "all": count}.get(word) or _COUNT_WORDS.index(word) + 1
    most = count if word == "any" else fewest
    text = original(kind, count=word)
    pictures = (
        ("swept_obj", portrait(targets[0])),
        ("bounds", portrait(bounds)),
        ("constraint", portrait(line)),
    )
    goal = SweepGoal(names(targets), names(others), fewest, most, zone, barrier, sum(pushes[:fewest]))
    return TableScene(tuple(draw.items), Tool.SPATULA), Prompt(text, pictures), goal


def _pushes(item: Item, zone: Rectangle, barrier: Rectangle) -> int:
    """How many pushes it takes: one where the zone lies straight ahead, two around the line."""
    x, y = (np.linspace(zone[i] + item.radius, zone[i + 2] - item.radius, 13) for i in range(2))
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    half = float(max(item.solid.half_size))
    return 1 if straight(np.array([item.x, item.y]), places, barrier, half).any() else 2


def _near(draw: Draw, item: Item, corner: tuple[float, float]) -> Item:
    """The item somewhere beside a corner, clear of what is there."""
    for _ in range(300):
        x, y = (float(at + draw.rng.uniform(0, _SPREAD)) for at in corner)
        solid = [other for other in draw.items if not other.solid.flat]
        if x + item.radius > 0.75:
            continue
        if all(np.hypot(x - other.x, y - other.y) > item.radius + other.radius + 0.008 for other in solid):
            return draw.put(item.at(x, y))
    raise PlacementError(f"there is no room for another {item.words}")
