"""A new scene: a room, furniture, and things that a colour, a size or a place tells from their doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import PlacementError
from assay.extensions.generate.kit import (
    COLOURS,
    DRAINER,
    GROCERIES,
    PATTERNS,
    PLATE,
    RECEPTACLES,
    SIZES,
    STOVE,
    SUPERLATIVES,
    Composition,
    Furniture,
    Kind,
    Opening,
    Receptacle,
    Way,
)
from assay.perturb.world.ground import Ground, Spot, added
from assay.perturb.world.staging import LIFTS
from assay.sim.footprints import footprint
from assay.tasks import Arena, Atom, Entity, Predicate, Rectangle, Region, Scene
from assay.tasks.scene import Finish, Staging

JITTER = 0.01
"""How far from its place a thing may stand in an episode, metres."""
APART = 0.03
"""Air that a hand needs between things, metres."""
X, Y = (-0.28, 0.22), (-0.32, 0.32)
"""Where things are put, metres from the workspace's centre."""
LOW = 0.1
"""The height up to which furniture hides nothing, metres."""
TRIES = 300
MOST = 8
"""How many things a scene has at most."""
IN_ORDER = 0.11
"""How far apart, from left to right, things that look the same are put if there is room, metres."""


@dataclass(frozen=True, slots=True)
class Thing:
    """An entity and the words for it."""

    entity: Entity
    noun: str
    adjectives: tuple[str, ...] = ()
    """What tells it from others of its noun."""
    receptacle: Receptacle | None = None
    furniture: Furniture | None = None

    @property
    def name(self) -> str:
        """The entity's."""
        return self.entity.name

    @property
    def called(self) -> str:
        """What it looks like, in words: ``small red bowl``. Several things may be called so."""
        return " ".join((*self.adjectives, self.noun))


@dataclass(frozen=True, slots=True)
class Cast:
    """A scene and who is in it."""

    scene: Scene
    things: tuple[Thing, ...]
    ground: Ground

    def spot(self, thing: Thing) -> Spot:
        """Where a thing stands."""
        return self.ground.spots[thing.name]


def draw_room(
    rng: np.random.Generator, categories: frozenset[str], composition: Composition
) -> tuple[Arena, tuple[Furniture, ...]]:
    """A room, and up to two pieces of furniture that an asset pack offers for it."""
    arena = composition.rooms[int(rng.integers(len(composition.rooms)))]
    offered = [each for each in composition.furniture.get(arena, ()) if each.category in categories]
    most = 1 if arena is Arena.STUDY else 2  # a caddy takes half of its desk
    return arena, tuple(dict.fromkeys(_some(rng, offered, 1 + int(rng.integers(most)))))


def draw(
    rng: np.random.Generator,
    arena: Arena,
    furniture: Sequence[Furniture],
    categories: frozenset[str],
    composition: Composition,
) -> Cast:
    """A scene of what an asset pack offers. Raises PlacementError where what it needs finds no room."""
    lift = LIFTS.get(arena, 0.0)
    builder = _Builder(Scene(arena, (), (), (), (), staging=Staging(lift=lift)), rng)
    for piece in furniture:
        builder.furnish(piece)
    receptacles = [receptacle for receptacle in RECEPTACLES if receptacle.category in categories]
    study = arena is Arena.STUDY  # there the furniture has compartments
    chosen = dict.fromkeys(_some(rng, [*receptacles, PLATE], int(rng.integers(2)) + (not study)))
    for number, each in enumerate(chosen):  # the plate is the smallest: twice as often
        thing = Thing(builder.entity(each.category), each.noun, receptacle=each)
        builder.put(thing, needed=number == 0 and not study)
    nouns, needed = _wanted(arena, builder.things)
    kinds = [kind for kind in composition.kinds if kind.noun in nouns and kind.category in categories]
    drawn = dict.fromkeys(_some(rng, kinds, len(kinds)))
    first, second = sorted(drawn, key=lambda kind: kind.noun not in needed)[:2]
    for number, thing in enumerate(_told_apart(builder, first, rng, composition)):
        alike = [each for each in builder.things if each.called == thing.called]
        ranked = not SUPERLATIVES.keys().isdisjoint(thing.adjectives)  # no middle without all three
        builder.put(thing, needed=number < 2 or ranked, apart=alike)
    count = _choice(rng, composition.alike)
    name = list(COLOURS)[int(rng.integers(len(COLOURS)))] if rng.random() < composition.coloured else ""
    for _ in range(count):
        finish = Finish(COLOURS[name]) if name else None
        thing = Thing(builder.entity(second.category, finish), second.noun, (name,) if name else ())
        alike = [each for each in builder.things if each.called == thing.called]
        builder.put(thing, beside=rng.random() < 0.5, needed=False, apart=alike)
    if any(thing.furniture is STOVE for thing in builder.things) and "moka_pot" in categories:
        builder.put(Thing(builder.entity("moka_pot"), "moka pot"), needed=False)
    others = [
        grocery
        for grocery in GROCERIES
        if grocery in categories and grocery not in (*first.like, *second.like)
    ]
    wanted = _choice(rng, composition.groceries)
    for category in _some(rng, others, min(wanted, MOST - len(builder.scene.objects))):
        builder.put(Thing(builder.entity(category), GROCERIES[category]), needed=False)
    return Cast(builder.scene, tuple(builder.things), Ground(builder.scene))


def _wanted(arena: Arena, things: list[Thing]) -> tuple[set[str], set[str]]:
    """The nouns that have something to do beside some furniture, and those without which it has nothing."""
    there = {thing.noun for thing in things}
    if "caddy" in there:
        return {"book", "mug"}, {"book"}
    nouns, needed = {"bowl", "mug", "can", "box"}, set[str]()
    if there & {"rack", "cabinet", "shelf"}:
        nouns.add("bottle")
    if "shelf" in there and arena is Arena.STUDY:
        nouns, needed = {"book", "mug", "can"}, {"book"}
    if "rack" in there:
        needed.add("bottle")
    elif DRAINER.noun in there:
        needed.add("bowl")
    return nouns, needed


def _told_apart(
    builder: _Builder, kind: Kind, rng: np.random.Generator, composition: Composition
) -> list[Thing]:
    """Two or three things of one kind that differ in a way; one of them may have a double."""
    names = [str(name) for name in rng.permutation(list(COLOURS))]
    ways = [way for way in composition.ways if kind.resized or way not in (Way.SIZE, Way.COLOUR_AND_SIZE)]
    way = ways[int(rng.integers(len(ways)))]
    looks: list[tuple[tuple[str, ...], Finish, float]]
    plain = Finish(COLOURS[names[0]])
    if way is Way.COLOUR:
        count = 2 + int(rng.integers(2))
        looks = [((name,), Finish(COLOURS[name]), 1.0) for name in names[:count]]
    elif way is Way.PATTERN:
        colour = COLOURS[next(name for name in names if name != "black")]  # nothing is seen on black
        looks = [(("plain",), Finish(colour), 1.0)]
        looks += [((word,), Finish(colour, pattern), 1.0) for word, pattern in PATTERNS.items()]
        looks = _some(rng, looks, 2 + int(rng.integers(2)))
    elif way is Way.SIZE:
        words = (SIZES, SUPERLATIVES)[int(rng.integers(2))]
        looks = [((word,), plain, factor) for word, factor in words.items()]
    else:
        other = Finish(COLOURS[names[1]])
        looks = [((word, names[0]), plain, factor) for word, factor in SIZES.items()]
        looks.append((("small", names[1]), other, SIZES["small"]))
    if way in (Way.COLOUR, Way.PATTERN) and rng.random() < composition.doubled:
        looks.append(looks[0])
    return [
        Thing(builder.entity(kind.category, finish, size), kind.noun, words) for words, finish, size in looks
    ]


class _Builder:
    """A scene that grows."""

    def __init__(self, scene: Scene, rng: np.random.Generator) -> None:
        self.scene = scene
        self.things: list[Thing] = []
        self._rng = rng
        self._kept_free: list[Spot] = []
        self._numbers: dict[str, int] = {}

    def entity(self, category: str, finish: Finish | None = None, size: float = 1.0) -> Entity:
        """A new entity of a category, with a number of its own."""
        self._numbers[category] = self._numbers.get(category, 0) + 1
        name = f"{category}_{self._numbers[category]}"
        return Entity(name, category, finish or Finish(), size)

    def furnish(self, piece: Furniture) -> None:
        """Put a piece of furniture at one of its stations, if there is room and no other of its noun."""
        if piece.noun in {thing.noun for thing in self.things}:
            return
        entity = self.entity(piece.category)
        for index in self._rng.permutation(len(piece.stations)):
            x, y, yaw = piece.stations[int(index)]
            scene = self._with_fixture(entity, piece, x, y, yaw)
            ground = Ground(scene)
            spot = ground.spots[entity.name]
            others = [other for name, other in ground.spots.items() if name != entity.name]
            front = _before(spot, y, piece.front)
            if not any(each.overlaps(other, 0.02) for each in (spot, front) for other in others):
                self.scene = self._in_a_state(scene, entity, piece)
                self.things.append(Thing(entity, piece.noun, furniture=piece))
                self._kept_free += (
                    [front, _behind(spot)] if footprint(piece.category).height > LOW else [front]
                )
                return

    def put(
        self, thing: Thing, *, beside: bool = False, needed: bool = True, apart: Sequence[Thing] = ()
    ) -> None:
        """Put a thing where there is room for it and a hand.

        If that works, ``beside`` something, and further left or right than each of ``apart``. Where there is
        no room, what is not ``needed`` is left out.
        """
        ground = Ground(self.scene)
        half_x, half_y = (half * thing.entity.size for half in footprint(thing.entity.category).half)
        landmarks = list(ground.spots.values()) if beside else []
        doubles = [ground.spots[each.name].y for each in apart]
        for attempt in range(TRIES):
            x, y = float(self._rng.uniform(*X)), float(self._rng.uniform(*Y))
            if landmarks and attempt < TRIES // 3:
                mark = landmarks[int(self._rng.integers(len(landmarks)))]
                dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[int(self._rng.integers(4))]
                gap = APART + JITTER * 2 + float(self._rng.uniform(0.0, 0.03))
                x, y = (
                    mark.x + dx * (mark.half_x + half_x + gap),
                    mark.y + dy * (mark.half_y + half_y + gap),
                )
            room = Spot(x, y, half_x + APART, half_y + APART)
            inside = X[0] <= x <= X[1] and Y[0] <= y <= Y[1]
            if attempt < TRIES // 2 and any(abs(y - double) < IN_ORDER for double in doubles):
                continue
            if inside and ground.free(room) and not any(room.overlaps(each) for each in self._kept_free):
                spot = Spot(round(x, 3), round(y, 3), half_x, half_y)
                self.scene = added(self.scene, thing.entity, spot, JITTER)
                if thing.receptacle is not None:
                    self.scene = _with_regions(self.scene, thing.entity.name, thing.receptacle.regions)
                self.things.append(thing)
                return
        if needed:
            raise PlacementError(f"no room for {thing.entity.category}")

    def _with_fixture(self, entity: Entity, piece: Furniture, x: float, y: float, yaw: float) -> Scene:
        place = Region(
            f"{entity.name}_init_region",
            self.scene.arena.workspace,
            (Rectangle(x - JITTER, y - JITTER, x + JITTER, y + JITTER),),
            yaw=(yaw, yaw),
        )
        scene = replace(
            self.scene,
            fixtures=(*self.scene.fixtures, entity),
            regions=(*self.scene.regions, place),
            initial=(*self.scene.initial, Atom(Predicate.ON, (entity.name, place.full_name))),
        )
        return _with_regions(scene, entity.name, piece.regions)

    def _in_a_state(self, scene: Scene, entity: Entity, piece: Furniture) -> Scene:
        """Half of what opens has something open, half of what switches is on."""
        atoms: tuple[Atom, ...] = ()
        if piece.openings and self._rng.random() < 0.5:
            part = piece.openings[int(self._rng.integers(len(piece.openings)))]
            atoms = (Atom(Predicate.OPEN, (opened(entity, part),)),)
        if piece.switches and self._rng.random() < 0.5:
            atoms = (Atom(Predicate.TURN_ON, (entity.name,)),)
        return replace(scene, initial=(*scene.initial, *atoms))


def opened(entity: Entity, part: Opening) -> str:
    """What an atom says is open or closed."""
    return entity.name if part.whole else f"{entity.name}_{part.region}"


def _before(spot: Spot, y: float, depth: float) -> Spot:
    """The room in front of furniture that stands at ``y``: it faces the middle of the workspace."""
    towards = -np.sign(y) * (spot.half_y + depth / 2)
    return replace(spot, y=spot.y + float(towards), half_y=depth / 2) if depth else spot


def _behind(spot: Spot) -> Spot:
    """The room that high furniture hides from the camera: that between it and the robot's side."""
    depth = max(spot.x - X[0], 0.01)
    return replace(spot, x=spot.x - depth / 2, half_x=depth / 2)


def _with_regions(scene: Scene, owner: str, names: tuple[str, ...]) -> Scene:
    return replace(scene, regions=(*scene.regions, *(Region(name, owner) for name in names)))


def _choice(rng: np.random.Generator, options: Sequence[int]) -> int:
    return options[int(rng.integers(len(options)))]


def _some(rng: np.random.Generator, options: list, count: int) -> list:  # type: ignore[type-arg]
    return [options[int(i)] for i in rng.permutation(len(options))[:count]]
