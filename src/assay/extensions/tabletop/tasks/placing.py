"""Tasks T1 to T5 and T12 to T17: place, rotate, rearrange, sweep, gather and restore."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from assay.errors import PlacementError
from assay.extensions.tabletop.prompts.prompt import original, portrait, scene_picture
from assay.extensions.tabletop.tasks.task import HELD_OUT, Difficulty, Draw, Drawn, Level, task_kind
from assay.extensions.tabletop.world.goals import Put, PutGoal, Rectangle, SweepGoal, reaches_straight
from assay.extensions.tabletop.world.scene import TableItem, Tool, solid
from assay.extensions.tabletop.world.textures import TEXTURES


def into_goal(piece: TableItem, base: TableItem, others: list[TableItem]) -> PutGoal:
    """Return the goal that one piece, and none of the other objects, is in a container."""
    return PutGoal(((Put(piece.name, base.x, base.y, base.yaw),),), names_of(others))


def names_of(items: list[TableItem]) -> tuple[str, ...]:
    """Return the names of the given items."""
    return tuple(item.name for item in items)


def base_and_piece(draw: Draw) -> tuple[TableItem, TableItem]:
    """Sample a container and a piece of a different shape."""
    shape = draw.base()
    base = draw.place("base_obj", shape, draw.one(draw.pools.container_textures), fixed=True)
    texture = draw.one(draw.pools.piece_textures, but=[base.texture])
    return base, draw.place("dragged_obj", draw.one(draw.pools.pieces, but=[shape]), texture, clear=0.12)


@task_kind("T1")
def visual_manipulation(draw: Draw) -> Drawn:
    """Put one object into another."""
    base, piece = base_and_piece(draw)
    count = 6 if draw.distracting else 1
    shapes = draw.pools.pieces if draw.distracting else draw.pools.pieces + draw.pools.containers
    others = draw.others(
        count, shapes, draw.pools.piece_textures + draw.pools.container_textures, but=[base, piece]
    )
    pictures = {"dragged_obj": portrait(piece), "base_obj": portrait(base)}
    return draw.task(original("T1"), pictures, into_goal(piece, base, others))


@task_kind("T2")
def scene_understanding(draw: Draw) -> Drawn:
    """Put an object shown in an image into an object with a given texture."""
    base, piece = base_and_piece(draw)
    textures = draw.pools.piece_textures + draw.pools.container_textures
    others = []
    for number in range(3 if draw.distracting else 1):
        name = f"distractor_{number + 1}"
        if draw.chance():
            shape = draw.one(draw.pools.pieces, but=[piece.shape, base.shape])
            others.append(draw.place(name, shape, piece.texture, clear=0.12))
        else:
            shape = base.shape if number == 0 else draw.one(draw.pools.pieces, but=[piece.shape])
            texture = draw.one(textures, but=[base.texture, piece.texture])
            others.append(draw.place(name, shape, texture, clear=0.12, fixed=shape == base.shape))
    frame = Draw(draw.rng, draw.level, Difficulty.DEFAULT)
    frame.place(piece.name, piece.shape, piece.texture)
    frame.others(3 if draw.distracting else 1, draw.pools.pieces,
                 [texture for texture in textures if texture != piece.texture])  # fmt: skip
    text = original("T2", look=piece.texture, base_look=base.texture)
    return draw.task(text, {"scene": scene_picture(*frame.items)}, into_goal(piece, base, others))


@task_kind("T3")
def rotate(draw: Draw) -> Drawn:
    """Rotate an object by an angle."""
    shape, texture = draw.one(draw.pools.turnable), draw.one(draw.pools.scene_textures)
    piece = draw.place("dragged_obj", shape, texture)
    textures = [other for other in draw.pools.scene_textures if other != texture]
    others = draw.others(8 if draw.distracting else 1, draw.pools.pieces, textures, clear=0.125)
    angles = range(20, 161, 20) if draw.extreme else range(30, 151, 30)
    angle = int(draw.rng.choice(list(angles)))
    put = Put(piece.name, piece.x, piece.y, piece.yaw - math.radians(angle), turned=True)
    text = original("T3", angle=str(angle))
    return draw.task(text, {"dragged_obj": portrait(piece)}, PutGoal(((put,),), names_of(others)))


PIECES = 3


@task_kind("T4")
def rearrange(draw: Draw) -> Drawn:
    """Rearrange the objects on the table as shown in an image."""
    return _rearrange(draw, "T4")


@task_kind("T5")
def rearrange_then_restore(draw: Draw) -> Drawn:
    """Rearrange the objects on the table as shown in an image, then restore their positions."""
    return _rearrange(draw, "T5")


def _rearrange(draw: Draw, kind: str) -> Drawn:
    kinds: set[str] = set()
    starts: list[TableItem] = []
    goals: list[TableItem] = []
    while len(starts) < PIECES:
        shape, texture = draw.one(draw.pools.pieces), draw.one(draw.pools.scene_textures)
        if f"{texture} {shape}" in kinds:
            continue
        kinds.add(f"{texture} {shape}")
        start = draw.place(f"dragged_obj_{len(starts) + 1}", shape, texture, clear=0.12, keep_off=goals)
        starts.append(start)
        goals.append(draw.spot(replace(start, yaw=draw.yaw()), [*draw.items, *goals], clear=0.12))
    others = []
    for number in range(3 if draw.distracting else 2):
        shape = draw.one(draw.pools.pieces)
        texture = draw.one([other for other in draw.pools.scene_textures if f"{other} {shape}" not in kinds])
        other = TableItem(f"distractor_{number + 1}", shape, texture, 0.5, 0.0, draw.yaw())
        if number == 0 and draw.extreme:
            blocked = goals[int(draw.rng.integers(PIECES))]
            others.append(draw.add(other.at(blocked.x, blocked.y)))
        else:
            others.append(draw.add(draw.spot(other, [*draw.items, *goals], clear=0.125)))
    there, back = (
        tuple(Put(item.name, item.x, item.y, item.yaw) for item in items) for items in (goals, starts)
    )
    stages = (there, back) if kind == "T5" else (there,)
    goal = PutGoal(stages, names_of(others), blockers=int(draw.extreme))
    return draw.task(original(kind), {"scene": scene_picture(*goals)}, goal)


_LARGE = (1.8, 1.8, 1.0)
"""Scale factors of a piece that serves as a container for several other pieces."""
_DIRECTIONS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
"""Direction -> change of row and column; north is at the top of the images."""
_NEIGHBOURS = 3
"""Number of bystanders in addition to the two moved objects in a grid of nine cells, as in VIMA-Bench."""


@task_kind("T14", HELD_OUT)
def same_texture(draw: Draw) -> Drawn:
    """Put all objects with the same texture as a container into that container."""
    texture = draw.one(TEXTURES)
    base = _large_base(draw, draw.base(), texture)
    targets = [
        draw.place(f"dragged_obj_{number}", draw.one(draw.pools.pieces), texture, clear=0.13)
        for number in (1, 2)
    ]
    textures = [other for other in TEXTURES if other != texture]
    others = draw.others(5 if draw.distracting else 1, draw.pools.pieces, textures, clear=0.14)
    return _gather(draw, base, targets, others, original("T14"))


@task_kind("T15")
def same_shape(draw: Draw) -> Drawn:
    """Put all objects with the same profile (circle or square) as a container into that container."""
    containers = [shape for shape in draw.pools.containers if solid(shape).profile]
    if draw.extreme:
        containers = [*draw.pools.with_profile("circle"), *draw.pools.with_profile("square")]
    base = _large_base(draw, draw.one(containers), draw.one(draw.pools.container_textures))
    profile = base.solid.profile
    textures = draw.some(draw.pools.piece_textures, 2, but=[base.texture])
    targets = [
        draw.place(f"dragged_obj_{i + 1}", draw.one(draw.pools.with_profile(profile)), texture, clear=0.13)
        for i, texture in enumerate(textures)
    ]
    flat = ["shorter block" if shape == "block" else shape for shape in draw.pools.pieces]
    shapes = [shape for shape in flat if solid(shape).profile != profile]
    unused = [texture for texture in draw.pools.piece_textures if texture not in textures]
    others = draw.others(5 if draw.distracting else 1, shapes, unused, clear=0.14)
    return _gather(draw, base, targets, others, original("T15"))


def _large_base(draw: Draw, shape: str, texture: str) -> TableItem:
    size = (1.0, 1.0, 1.0) if solid(shape).container else _LARGE
    return draw.place("base_obj", shape, texture, fixed=True, size=size)


def _gather(
    draw: Draw, base: TableItem, targets: list[TableItem], others: list[TableItem], text: str
) -> Drawn:
    within = 0.0875 if base.shape == "bowl" else 0.125
    puts = tuple(Put(target.name, base.x, base.y, base.yaw, within) for target in targets)
    return draw.task(text, {"base_obj": portrait(base)}, PutGoal((puts,), names_of(others)))


@task_kind("T16")
def manipulate_old_neighbor(draw: Draw) -> Drawn:
    """Put an object and then its former neighbour into a container."""
    side, step, size = (4, 0.12, (0.8, 0.8, 1.0)) if draw.extreme else (3, 0.15, (1.0, 1.0, 1.0))
    cells = [(row, column) for row in range(side) for column in range(side)]
    target = cells[int(draw.rng.integers(len(cells)))]
    ways = [way for way, (r, c) in _DIRECTIONS.items() if (target[0] + r, target[1] + c) in cells]
    way = draw.one(ways)
    neighbour = (target[0] + _DIRECTIONS[way][0], target[1] + _DIRECTIONS[way][1])
    free = [cell for cell in cells if cell not in (target, neighbour)]
    # At extreme difficulty every cell of the grid is occupied.
    count = len(free) if draw.extreme else _NEIGHBOURS + 2 * draw.distracting
    filled = {free[i] for i in draw.rng.choice(len(free), count, replace=False)} | {target, neighbour}
    words: set[str] = set()
    roles = {target: "dragged_obj", neighbour: "neighbour_obj"}
    for row, column in sorted(filled):
        item = TableItem("", draw.one(draw.pools.pieces), draw.one(draw.pools.piece_textures), 0.5, 0.0)
        while item.words in words:
            item = replace(
                item, shape=draw.one(draw.pools.pieces), texture=draw.one(draw.pools.piece_textures)
            )
        words.add(item.words)
        x, y = 0.5 + (row - (side - 1) / 2) * step, -0.44 + 0.08 * (side == 3) + column * 0.15
        name = roles.get((row, column), f"distractor_{row}{column}")
        draw.add(replace(item, name=name, x=x, y=y, size=size))
    base = draw.add(
        TableItem("base_obj", draw.base(), draw.one(draw.pools.container_textures), 0.5, 0.3, fixed=True)
    )
    piece = next(item for item in draw.items if item.name == "dragged_obj")
    others = [item for item in draw.items if item.name.startswith("distractor")]
    stages = tuple((Put(name, base.x, base.y, base.yaw),) for name in ("dragged_obj", "neighbour_obj"))
    pictures = {"dragged_obj": portrait(piece), "base_obj": portrait(base)}
    return draw.task(original("T16", way=way), pictures, PutGoal(stages, names_of(others), in_order=True))


@task_kind("T17")
def pick_in_order_then_restore(draw: Draw) -> Drawn:
    """Put an object into one container, then into another, then back."""
    kinds = [shape for shape in draw.pools.containers if shape != "pan"]
    common = draw.one(kinds)
    textures = draw.some(draw.pools.container_textures, 6)
    places = [(x, y) for x in (0.375, 0.625) for y in (-0.25, 0.0, 0.25)]
    bases = []
    for number, index in enumerate(draw.rng.permutation(6)):
        shape = draw.one(kinds) if draw.extreme else common
        x, y = places[index]
        bases.append(TableItem(f"base_obj_{number}", shape, textures[number], x, y, fixed=True))
    shape, texture = draw.one(draw.pools.pieces), draw.one(draw.pools.piece_textures, but=textures)
    piece = draw.add(TableItem("dragged_obj", shape, texture, bases[0].x, bases[0].y, z=_rest(bases[0])))
    for base in bases:
        draw.add(base)
    others = []
    for number, base in enumerate(bases[3:] if draw.distracting else []):
        kind, texture = draw.one(draw.pools.pieces, but=[shape]), draw.one(draw.pools.piece_textures)
        item = TableItem(f"distractor_{number + 1}", kind, texture, base.x, base.y, z=_rest(base))
        others.append(draw.add(item))
    stages = tuple(
        (Put("dragged_obj", base.x, base.y, base.yaw, 0.05),) for base in (bases[1], bases[2], bases[0])
    )
    pictures = {item.name: portrait(item) for item in (piece, *bases[1:3])}
    return draw.task(original("T17"), pictures, PutGoal(stages, names_of(others), in_order=True))


def _rest(base: TableItem) -> float:
    """Return the initial height of a piece that starts in a container, in metres."""
    return {"bowl": 0.035, "pallet": 0.023, "container": 0.004}.get(base.shape, 0.0)


_CORNERS = ((0.57, -0.22), (0.58, 0.03))
_COUNT_WORDS = ("one", "two", "three", "four", "five")
_SHAPES = ("cross", "diamond", "triangle", "flower", "heart", "hexagon", "pentagon", "ring", "star")
_SPREAD = 0.16


@task_kind("T12", (Level.L1, Level.L2))
def sweep_without_exceeding(draw: Draw) -> Drawn:
    """Sweep blocks into a rectangle without crossing a line."""
    x = float(draw.rng.uniform(0.3425, 0.437))
    bounds = TableItem("bounds", "three-sided rectangle", "", 0.41, 0.0, size=(0.27, 0.27, 1.0), fixed=True)
    line = TableItem("constraint", "line", "", x, 0.0, size=(0.04, 0.3375, 1.0), fixed=True)
    zone = (x + 0.02 + 0.015, -0.135, 0.56, 0.135)
    return _sweep(draw, bounds, line, zone, (x - 0.02, -0.169, x + 0.02, 0.169), "T12")


@task_kind("T13", HELD_OUT)
def sweep_without_touching(draw: Draw) -> Drawn:
    """Sweep blocks into a rectangle, going around a line in front of it."""
    bounds = TableItem("bounds", "three-sided rectangle", "", 0.39, 0.0, size=(0.172, 0.30, 1.0), fixed=True)
    line = TableItem("constraint", "line", "", 0.496, 0.0, size=(0.04, 0.1875, 1.0), fixed=True)
    zone = (0.304, -0.15, 0.476, 0.15)
    return _sweep(draw, bounds, line, zone, (0.476, -0.094, 0.516, 0.094), "T13")


def _sweep(
    draw: Draw, bounds: TableItem, line: TableItem, zone: Rectangle, barrier: Rectangle, kind: str
) -> Drawn:
    counts, shares = ((3, 4, 5), (0.2, 0.4, 0.4)) if draw.distracting else ((1, 2, 3), (0.5, 0.25, 0.25))
    count = int(draw.rng.choice(counts, p=shares))
    textures = draw.some(draw.pools.scene_textures, 4)
    bounds, line = (
        draw.add(replace(bounds, texture=textures[0])),
        draw.add(replace(line, texture=textures[1])),
    )
    shape = draw.one(_SHAPES) if draw.extreme else "small block"
    scale = draw.rng.uniform(0.4, 0.7, 2) if draw.extreme else np.ones(2)
    size = (float(scale[0]), float(scale[1]), 1.0)
    corners = [_CORNERS[i] for i in draw.rng.permutation(2)]
    groups: list[list[TableItem]] = []
    for role, texture, corner in zip(("swept_obj", "distractor"), textures[2:], corners, strict=True):
        blocks: list[TableItem] = []
        for number in range(1, count + 1):
            item = TableItem(f"{role}_{number}", shape, texture, 0.5, 0.0, draw.yaw(), size=size)
            for _ in range(300):
                x, y = (float(at + draw.rng.uniform(0, _SPREAD)) for at in corner)
                obstacles = [other for other in draw.items if not other.solid.flat]
                if x + item.radius <= 0.75 and all(
                    np.hypot(x - other.x, y - other.y) > item.radius + other.radius + 0.008
                    for other in obstacles
                ):
                    break
            else:
                raise PlacementError(f"no room on the table for another {item.words}")
            blocks.append(draw.add(item.at(x, y)))
        groups.append(blocks)
    targets, others = groups
    # One push is enough for a block if the zone is straight ahead; around the line it takes two.
    pushes = []
    for item in targets:
        x_inside, y_inside = (
            np.linspace(zone[i] + item.radius, zone[i + 2] - item.radius, 13) for i in range(2)
        )
        places = np.stack(np.meshgrid(x_inside, y_inside), axis=-1).reshape(-1, 2)
        half = float(max(item.solid.half_size))
        straight = reaches_straight(np.array([item.x, item.y]), places, barrier, half).any()
        pushes.append(1 if straight else 2)
    pushes.sort()
    word = draw.one(["any", *_COUNT_WORDS[:count], "all"])
    fewest = {"any": 1, "all": count}.get(word) or _COUNT_WORDS.index(word) + 1
    most = count if word == "any" else fewest
    items = {"swept_obj": targets[0], "bounds": bounds, "constraint": line}
    pictures = {name: portrait(item) for name, item in items.items()}
    goal = SweepGoal(names_of(targets), names_of(others), fewest, most, zone, barrier, sum(pushes[:fewest]))
    return draw.task(original(kind, count=word), pictures, goal, Tool.SPATULA)
