"""Draw a random scene: a room, furniture, and objects distinguished from similar ones by colour, size or position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from assay.errors import PlacementError
from assay.extensions.generate import kit
from assay.extensions.generate.kit import Composition, Furniture, ObjectKind, Opening, Receptacle, Variation
from assay.perturb.world.ground import Ground, Spot, add_entity
from assay.perturb.world.staging import LIFTS
from assay.sim.footprints import footprint
from assay.tasks import Arena, Atom, Entity, Predicate, Rectangle, Region, Scene
from assay.tasks.scene import Finish, Staging

T = TypeVar("T")

JITTER_M = 0.01
"""Variation of object positions between episodes, in metres."""
GRIPPER_GAP_M = 0.03
"""Free space that the gripper needs between objects, in metres."""
X_RANGE_M, Y_RANGE_M = (-0.28, 0.22), (-0.32, 0.32)
"""Range of object positions relative to the centre of the workspace, in metres."""
LOW_FURNITURE_M = 0.1
"""Maximum height, in metres, of furniture that does not occlude objects."""
PLACEMENT_TRIES = 300
MAX_OBJECTS = 8
"""Maximum number of objects in a scene."""
ROW_SPACING_M = 0.11
"""Preferred left-to-right spacing, in metres, of objects that look the same."""


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An entity in the scene, with the words that instructions use to describe it."""

    entity: Entity
    noun: str
    adjectives: tuple[str, ...] = ()
    """Adjectives that distinguish the object from others with the same noun."""
    receptacle: Receptacle | None = None
    furniture: Furniture | None = None

    @property
    def name(self) -> str:
        """Name of the entity."""
        return self.entity.name

    @property
    def description(self) -> str:
        """Appearance of the object in words, such as ``small red bowl``; may apply to several objects."""
        return " ".join((*self.adjectives, self.noun))


@dataclass(frozen=True, slots=True)
class SceneDraft:
    """A scene and its objects."""

    scene: Scene
    objects: tuple[SceneObject, ...]
    ground: Ground

    def spot(self, obj: SceneObject) -> Spot:
        """Return the position of an object."""
        return self.ground.spots[obj.name]


def draw_room(
    rng: np.random.Generator, categories: frozenset[str], composition: Composition
) -> tuple[Arena, tuple[Furniture, ...]]:
    """Draw a room and up to two of the pieces of furniture available in an asset pack."""
    arena = _choice(rng, composition.rooms)
    pieces = [piece for piece in composition.furniture.get(arena, ()) if piece.category in categories]
    most = 1 if arena is Arena.STUDY else 2  # a caddy takes up half of the desk
    return arena, tuple(dict.fromkeys(_some(rng, pieces, 1 + int(rng.integers(most)))))


def draw(
    rng: np.random.Generator,
    arena: Arena,
    furniture: Sequence[Furniture],
    categories: frozenset[str],
    composition: Composition,
) -> SceneDraft:
    """Draw a scene with objects from an asset pack. Raise PlacementError if there is no space for a required object."""
    lift = LIFTS.get(arena, 0.0)
    builder = _Builder(Scene(arena, (), (), (), (), staging=Staging(lift=lift)), rng)
    for piece in furniture:
        builder.furnish(piece)
    receptacles = [receptacle for receptacle in kit.RECEPTACLES.values() if receptacle.category in categories]
    study = arena is Arena.STUDY  # there the furniture has compartments
    chosen = dict.fromkeys(
        _some(rng, [*receptacles, kit.RECEPTACLES["plate"]], int(rng.integers(2)) + (not study))
    )
    for number, receptacle in enumerate(chosen):  # the plate is the smallest: twice as often
        obj = SceneObject(builder.entity(receptacle.category), receptacle.noun, receptacle=receptacle)
        builder.place(obj, needed=number == 0 and not study)
    there = {obj.noun for obj in builder.objects}
    nouns, needed = {"bowl", "mug", "can", "box"}, set[str]()
    if there & {"rack", "cabinet", "shelf"}:
        nouns.add("bottle")
    if "caddy" in there:
        nouns, needed = {"book", "mug"}, {"book"}
    elif "shelf" in there and study:
        nouns, needed = {"book", "mug", "can"}, {"book"}
    if "rack" in there:
        needed.add("bottle")
    elif "bowl drainer" in there:
        needed.add("bowl")
    kinds = [kind for kind in composition.kinds if kind.noun in nouns and kind.category in categories]
    drawn = dict.fromkeys(_some(rng, kinds, len(kinds)))
    first, second = sorted(drawn, key=lambda kind: kind.noun not in needed)[:2]
    for number, obj in enumerate(_distinguishable(builder, first, rng, composition)):
        ranked = not kit.SUPERLATIVES.keys().isdisjoint(obj.adjectives)  # "middle" requires all three sizes
        builder.place(obj, needed=number < 2 or ranked)
    count = _choice(rng, composition.alike)
    name = _choice(rng, list(kit.COLOURS)) if rng.random() < composition.coloured else ""
    for _ in range(count):
        finish = Finish(kit.COLOURS[name]) if name else None
        obj = SceneObject(builder.entity(second.category, finish), second.noun, (name,) if name else ())
        builder.place(obj, beside=rng.random() < 0.5, needed=False)
    if any(obj.noun == "stove" for obj in builder.objects) and "moka_pot" in categories:
        builder.place(SceneObject(builder.entity("moka_pot"), "moka pot"), needed=False)
    others = [
        grocery
        for grocery in kit.GROCERIES
        if grocery in categories and grocery not in (*first.similar_groceries, *second.similar_groceries)
    ]
    wanted = _choice(rng, composition.groceries)
    for category in _some(rng, others, min(wanted, MAX_OBJECTS - len(builder.scene.objects))):
        builder.place(SceneObject(builder.entity(category), kit.GROCERIES[category]), needed=False)
    return SceneDraft(builder.scene, tuple(builder.objects), Ground(builder.scene))


def _distinguishable(
    builder: _Builder, kind: ObjectKind, rng: np.random.Generator, composition: Composition
) -> list[SceneObject]:
    """Return two or three objects of one kind that differ in colour, pattern or size; one of them may be duplicated."""
    names = [str(name) for name in rng.permutation(list(kit.COLOURS))]
    by_size = (Variation.SIZE, Variation.COLOUR_AND_SIZE)
    ways = [way for way in composition.ways if kind.resized or way not in by_size]
    way = _choice(rng, ways)
    looks: list[tuple[tuple[str, ...], Finish, float]]
    plain = Finish(kit.COLOURS[names[0]])
    if way is Variation.COLOUR:
        count = 2 + int(rng.integers(2))
        looks = [((name,), Finish(kit.COLOURS[name]), 1.0) for name in names[:count]]
    elif way is Variation.PATTERN:
        colour = kit.COLOURS[
            next(name for name in names if name != "black")
        ]  # patterns are invisible on black
        looks = [(("plain",), Finish(colour), 1.0)]
        looks += [((word,), Finish(colour, pattern), 1.0) for word, pattern in kit.PATTERNS.items()]
        looks = _some(rng, looks, 2 + int(rng.integers(2)))
    elif way is Variation.SIZE:
        words = (kit.SIZES, kit.SUPERLATIVES)[int(rng.integers(2))]
        looks = [((word,), plain, factor) for word, factor in words.items()]
    else:
        other = Finish(kit.COLOURS[names[1]])
        looks = [((word, names[0]), plain, factor) for word, factor in kit.SIZES.items()]
        looks.append((("small", names[1]), other, kit.SIZES["small"]))
    if way in (Variation.COLOUR, Variation.PATTERN) and rng.random() < composition.doubled:
        looks.append(looks[0])
    return [
        SceneObject(builder.entity(kind.category, finish, size), kind.noun, words)
        for words, finish, size in looks
    ]


class _Builder:
    """A scene under construction."""

    def __init__(self, scene: Scene, rng: np.random.Generator) -> None:
        self.scene = scene
        self.objects: list[SceneObject] = []
        self._rng = rng
        self._reserved: list[Spot] = []
        self._numbers: dict[str, int] = {}

    def entity(self, category: str, finish: Finish | None = None, size: float = 1.0) -> Entity:
        """Create a numbered entity of a category."""
        self._numbers[category] = self._numbers.get(category, 0) + 1
        name = f"{category}_{self._numbers[category]}"
        return Entity(name, category, finish or Finish(), size)

    def furnish(self, piece: Furniture) -> None:
        """Place furniture at one of its poses that is free, unless the scene has a piece with the same noun."""
        if piece.noun in {obj.noun for obj in self.objects}:
            return
        entity = self.entity(piece.category)
        for index in self._rng.permutation(len(piece.stations)):
            x, y, yaw = piece.stations[int(index)]
            place = Region(
                f"{entity.name}_init_region",
                self.scene.arena.workspace,
                (Rectangle(x - JITTER_M, y - JITTER_M, x + JITTER_M, y + JITTER_M),),
                yaw=(yaw, yaw),
            )
            scene = replace(
                self.scene,
                fixtures=(*self.scene.fixtures, entity),
                regions=(*self.scene.regions, place),
                initial=(*self.scene.initial, Atom(Predicate.ON, (entity.name, place.full_name))),
            )
            scene = _with_regions(scene, entity.name, piece.regions)
            ground = Ground(scene)
            spot = ground.spots[entity.name]
            others = [other for name, other in ground.spots.items() if name != entity.name]
            front = spot
            if piece.front:  # the furniture faces the centre of the workspace
                towards = -float(np.sign(y)) * (spot.half_y + piece.front / 2)
                front = replace(spot, y=spot.y + towards, half_y=piece.front / 2)
            if not any(area.overlaps(other, 0.02) for area in (spot, front) for other in others):
                # One part that opens is open, and a switch is on, each with probability 1/2.
                atoms: tuple[Atom, ...] = ()
                if piece.openings and self._rng.random() < 0.5:
                    opening = opening_name(entity, _choice(self._rng, piece.openings))
                    atoms = (Atom(Predicate.OPEN, (opening,)),)
                if piece.switches and self._rng.random() < 0.5:
                    atoms = (Atom(Predicate.TURN_ON, (entity.name,)),)
                self.scene = replace(scene, initial=(*scene.initial, *atoms))
                self.objects.append(SceneObject(entity, piece.noun, furniture=piece))
                self._reserved.append(front)
                if footprint(piece.category).height > LOW_FURNITURE_M:
                    depth = max(spot.x - X_RANGE_M[0], 0.01)  # hidden from the camera, towards the robot
                    self._reserved.append(replace(spot, x=spot.x - depth / 2, half_x=depth / 2))
                return

    def place(self, obj: SceneObject, *, beside: bool = False, needed: bool = True) -> None:
        """Place an object at a position with free space for both the object and the gripper.

        Prefer positions ``beside`` other objects, and clearly left or right of those with the same description.
        If there is no free space, skip an object that is not ``needed``; otherwise raise PlacementError.
        """
        ground = Ground(self.scene)
        half_x, half_y = (half * obj.entity.size for half in footprint(obj.entity.category).half)
        landmarks = list(ground.spots.values()) if beside else []
        doubles = [
            ground.spots[other.name].y for other in self.objects if other.description == obj.description
        ]
        for attempt in range(PLACEMENT_TRIES):
            x, y = float(self._rng.uniform(*X_RANGE_M)), float(self._rng.uniform(*Y_RANGE_M))
            if landmarks and attempt < PLACEMENT_TRIES // 3:
                mark = _choice(self._rng, landmarks)
                dx, dy = _choice(self._rng, ((1, 0), (-1, 0), (0, 1), (0, -1)))
                gap = GRIPPER_GAP_M + JITTER_M * 2 + float(self._rng.uniform(0.0, 0.03))
                x = mark.x + dx * (mark.half_x + half_x + gap)
                y = mark.y + dy * (mark.half_y + half_y + gap)
            room = Spot(x, y, half_x + GRIPPER_GAP_M, half_y + GRIPPER_GAP_M)
            inside = X_RANGE_M[0] <= x <= X_RANGE_M[1] and Y_RANGE_M[0] <= y <= Y_RANGE_M[1]
            if attempt < PLACEMENT_TRIES // 2 and any(abs(y - double) < ROW_SPACING_M for double in doubles):
                continue
            if inside and ground.free(room) and not any(room.overlaps(spot) for spot in self._reserved):
                spot = Spot(round(x, 3), round(y, 3), half_x, half_y)
                self.scene = add_entity(self.scene, obj.entity, spot, JITTER_M)
                if obj.receptacle is not None:
                    self.scene = _with_regions(self.scene, obj.entity.name, obj.receptacle.regions)
                self.objects.append(obj)
                return
        if needed:
            raise PlacementError(f"no room for {obj.entity.category}")


def opening_name(entity: Entity, part: Opening) -> str:
    """Return the name by which goal atoms refer to an opening."""
    return entity.name if part.whole else f"{entity.name}_{part.region}"


def _with_regions(scene: Scene, owner: str, names: tuple[str, ...]) -> Scene:
    return replace(scene, regions=(*scene.regions, *(Region(name, owner) for name in names)))


def _choice(rng: np.random.Generator, options: Sequence[T]) -> T:
    return options[int(rng.integers(len(options)))]


def _some(rng: np.random.Generator, options: Sequence[T], count: int) -> list[T]:
    return [options[int(i)] for i in rng.permutation(len(options))[:count]]
