"""Tasks T6 to T11: the images of the prompt define invented words, motions and orders."""

from __future__ import annotations

import math

import numpy as np

from assay.extensions.tabletop.prompts.prompt import Picture, original, portrait, scene_picture
from assay.extensions.tabletop.tasks.placing import base_and_piece, into_goal, names_of
from assay.extensions.tabletop.tasks.task import HELD_OUT, Draw, Drawn, task_kind
from assay.extensions.tabletop.world.goals import Put, PutGoal
from assay.extensions.tabletop.world.scene import TableItem
from assay.extensions.tabletop.world.textures import DARK, GREY

ADJECTIVES = ("daxer", "blicker", "modier", "kobar")
NOUNS = ("dax", "blicket", "wug", "zup")
EXTREME_ADJECTIVES = ("xachup", "feplicat", "gazip", "duchat")
EXTREME_NOUNS = ("xachupi", "feplicaty", "gazipo", "duchatle")
COMPARISONS = 3
_TALLER = 2.0
"""Difference between the height scale factors of a tall and a short object."""


class _Lesson:
    """The randomly sampled meaning of an invented adjective: a property and one of its two extremes."""

    def __init__(self, draw: Draw) -> None:
        self._tall = draw.chance()  # otherwise the property is darkness
        self.upper = draw.chance()  # whether the adjective means the taller or darker object
        self._short = float(draw.rng.uniform(0.3, 0.4))  # height factor of a short object

    def finish_at(self, texture: str, upper: bool) -> tuple[str, tuple[float, float, float]]:
        """Return the texture and size of an object at an extreme of the property."""
        if self._tall:
            return texture, (1.0, 1.0, self._short + (_TALLER if upper else 0.0))
        return (DARK + texture if upper else texture), (1.0, 1.0, 1.0)


def _examples(draw: Draw, lesson: _Lesson) -> dict[str, Picture]:
    """Sample the objects that the prompt compares, and return their images."""
    pictures = {}
    for number in range(1, COMPARISONS + 1):
        shape = draw.one(draw.pools.pieces, but=["block"])
        texture = draw.one(draw.pools.textures_with_dark_version)
        for role, upper in (("more", lesson.upper), ("less", not lesson.upper)):
            finish, size = lesson.finish_at(texture, upper)
            pictures[f"{role}_{number}"] = portrait(TableItem("demo", shape, finish, 0.5, 0.0, size=size))
    return pictures


def _pair(draw: Draw, lesson: _Lesson, wanted: bool) -> tuple[TableItem, TableItem, TableItem]:
    """Sample a container, a piece at the requested extreme, and its twin at the other extreme."""
    base = draw.place(
        "base_obj", draw.base(but=["block"]), draw.one(draw.pools.container_textures), fixed=True
    )
    shape = draw.one(draw.pools.pieces, but=["block", base.shape])
    texture = draw.one(draw.pools.textures_with_dark_version, but=[base.texture])
    finish, size = lesson.finish_at(texture, wanted)
    piece = draw.place("dragged_obj", shape, finish, size=size, clear=0.12)
    finish, size = lesson.finish_at(texture, not wanted)
    return base, piece, draw.place("twin_obj", shape, finish, size=size, clear=0.12)


def _unrelated_objects(draw: Draw, count: int, *task_items: TableItem) -> list[TableItem]:
    """Add distractors with shapes that are not part of the task."""
    shapes = [
        shape for shape in draw.pools.pieces if shape not in {item.shape for item in task_items} | {"block"}
    ]
    return draw.others(count, shapes, draw.pools.piece_textures)


@task_kind("T6")
def novel_adj(draw: Draw) -> Drawn:
    """Learn an adjective from comparisons, then put the object to which it applies more (or less) into another."""
    lesson, less = _Lesson(draw), draw.chance()
    adjective = draw.one(EXTREME_ADJECTIVES if draw.extreme else ADJECTIVES)
    base, piece, twin = _pair(draw, lesson, lesson.upper != less)
    others = [twin, *_unrelated_objects(draw, 2 if draw.distracting else 0, base, piece)]
    pictures = _examples(draw, lesson) | _shape_pictures(piece, base)
    text = original("T6", adjective=adjective, wanted="less " * less + adjective)
    return draw.task(text, pictures, into_goal(piece, base, others))


@task_kind("T7")
def novel_noun(draw: Draw) -> Drawn:
    """Learn two nouns from images, then put one object into the other."""
    base, piece = base_and_piece(draw)
    others = _unrelated_objects(draw, 3 if draw.distracting else 1, base, piece)
    nouns = draw.some(EXTREME_NOUNS if draw.extreme else NOUNS, 2)
    text = original("T7", form=int(draw.chance()), piece=nouns[0], base=nouns[1])
    return draw.task(text, _shape_pictures(piece, base), into_goal(piece, base, others))


@task_kind("T8", HELD_OUT)
def novel_adj_and_noun(draw: Draw) -> Drawn:
    """Learn nouns and an adjective, then follow a command that consists only of invented words."""
    lesson, less = _Lesson(draw), draw.chance()
    adjective = draw.one(EXTREME_ADJECTIVES if draw.extreme else ADJECTIVES)
    nouns = draw.some(EXTREME_NOUNS if draw.extreme else NOUNS, 2)
    base, piece, twin = _pair(draw, lesson, lesson.upper != less)
    others = [twin, *_unrelated_objects(draw, 4 if draw.distracting else 2, base, piece)]
    text = original(
        "T8", form=int(draw.chance()), piece=nouns[0], base=nouns[1],
        adjective=adjective, wanted="less " * less + adjective,
    )  # fmt: skip
    pictures = _shape_pictures(piece, base) | _examples(draw, lesson)
    return draw.task(text, pictures, into_goal(piece, base, others))


def _shape_pictures(piece: TableItem, base: TableItem) -> dict[str, Picture]:
    """Return images of a piece and a container that show only their shapes."""
    bare = portrait(TableItem(piece.name, piece.shape, GREY, 0.5, 0.0))
    return {"dragged_obj": bare, "base_obj": portrait(base, texture=GREY)}


EXAMPLES = 3
_RADIUS = 0.19
"""Radius of the circle on which an object moves, in metres."""
_MOVES = 2
"""Number of motions shown in the frames."""


@task_kind("T9")
def twist(draw: Draw) -> Drawn:
    """Learn an angle from examples, then rotate every object that has a given texture."""
    total, count = (8 if draw.distracting else 3), int(draw.rng.integers(1, 3))
    texture = draw.one(draw.pools.scene_textures)
    targets = [
        draw.place(f"dragged_obj_{number}", draw.one(draw.pools.turnable), texture, clear=0.1)
        for number in range(1, count + 1)
    ]
    textures = [other for other in draw.pools.scene_textures if other != texture]
    others = draw.others(total - count, draw.pools.turnable, textures, clear=0.1)
    angles = range(20, 161, 20) if draw.extreme else range(30, 331, 30)
    turn = math.radians(int(draw.rng.choice(list(angles))))
    pictures = {}
    for number in range(1, EXAMPLES + 1):
        x, y = 0.5 + draw.rng.uniform(-0.0625, 0.0625), draw.rng.uniform(-0.375, 0.375)
        example = TableItem("demo", draw.one(draw.pools.turnable), draw.one(textures), x, y, draw.yaw())
        pictures[f"before_{number}"] = scene_picture(example)
        pictures[f"after_{number}"] = scene_picture(example.at(x, y, example.yaw - turn))
    puts = tuple(
        Put(target.name, target.x, target.y, target.yaw - turn, 0.05, turned=True) for target in targets
    )
    return draw.task(original("T9", look=texture), pictures, PutGoal((puts,), names_of(others)))


@task_kind("T10", HELD_OUT)
def follow_motion(draw: Draw) -> Drawn:
    """Move an object along the path shown in a sequence of frames."""
    points = 10 if draw.extreme else 5
    shape, texture = draw.one(draw.pools.pieces), draw.one(draw.pools.scene_textures)
    where = [int(draw.rng.integers(points))]
    for _ in range(_MOVES):
        where.append((where[-1] + (1 if draw.chance() else -1)) % points)
    path = [_on_circle(step, points) for step in where]
    piece = draw.add(TableItem("dragged_obj", shape, texture, *path[0]))
    circle = [piece.at(*_on_circle(step, points)) for step in range(points)]
    textures = [other for other in draw.pools.scene_textures if other != texture]
    others: list[TableItem] = []
    extras: list[TableItem] = []
    for number in range(3 if draw.distracting else 1):
        for items, at in ((others, f"distractor_{number + 1}"), (extras, f"other_{number + 1}")):
            item = TableItem(at, draw.one(draw.pools.pieces), draw.one(textures), 0.5, 0.0)
            items.append(item if number == 0 else draw.spot(item, [*circle, *items], clear=0.125))
    for item in others:
        draw.add(item)
    frames = [scene_picture(piece.at(*place), *extras) for place in path]
    pictures = {"dragged_obj": portrait(piece)} | _number_frames(frames)
    stages = tuple((Put(piece.name, *place),) for place in path[1:])
    return draw.task(original("T10"), pictures, PutGoal(stages, names_of(others), in_order=True))


def _on_circle(step: int, points: int) -> tuple[float, float]:
    angle = 2 * np.pi * step / points
    return 0.5 + _RADIUS * float(np.cos(angle)), _RADIUS * float(np.sin(angle))


@task_kind("T11")
def follow_order(draw: Draw) -> Drawn:
    """Stack objects in the order shown in a sequence of frames."""
    count = 5 if draw.extreme else 3
    slots = [
        (0.5, float(y)) for y in (np.arange(count) - (count - 1) / 2) * (1 / 6 if draw.extreme else 0.25)
    ]
    shape = draw.one(draw.pools.pieces)
    row = [
        draw.add(TableItem(f"dragged_obj_{i + 1}", shape, texture, *slots[i]))
        for i, texture in enumerate(draw.some(draw.pools.scene_textures, count))
    ]
    shapes = [piece for piece in draw.pools.pieces if piece != shape] or list(draw.pools.pieces)
    others = draw.others(3 if draw.distracting else 1, shapes, draw.pools.scene_textures, clear=0.125)
    piles = [[item] for item in row]
    frames, stages = [_draw_piles(piles, slots)], []
    for _ in range(_MOVES):
        moves = [(i, j) for i in range(count) for j in range(count) if i != j and piles[i]]
        source, target = moves[int(draw.rng.integers(len(moves)))]
        piles[target].append(piles[source].pop())
        stages.append((Put(piles[target][-1].name, *slots[target]),))
        frames.append(_draw_piles(piles, slots))
    goal = PutGoal(tuple(stages), names_of(others), in_order=True)
    return draw.task(original("T11"), _number_frames(frames), goal)


def _draw_piles(piles: list[list[TableItem]], slots: list[tuple[float, float]]) -> Picture:
    items = []
    for pile, slot in zip(piles, slots, strict=True):
        height = 0.0
        for item in pile:
            items.append(item.at(*slot, z=height))
            height += item.solid.height
    return scene_picture(*items)


def _number_frames(frames: list[Picture]) -> dict[str, Picture]:
    return {f"frame_{number}": frame for number, frame in enumerate(frames)}
