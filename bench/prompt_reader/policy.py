"""Match a request to the objects on the table, and plan which objects to carry where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.tasks.task import Level, Setting, TableTask
from assay.extensions.tabletop.world.env import PACK, TableEnv
from assay.extensions.tabletop.world.goals import SweepGoal
from assay.extensions.tabletop.world.model import VIEWS
from assay.extensions.tabletop.world.observation import TableObservation, Views, render_picture
from assay.extensions.tabletop.world.oracle import TableOracle, idle
from assay.extensions.tabletop.world.scene import TableItem, TableScene, Tool, solid
from assay.extensions.tabletop.world.simulation import action
from assay.extensions.tabletop.world.textures import GREY
from bench.prompt_reader.perception import (
    LINES,
    SeenObject,
    histogram_difference,
    may_have_texture,
    nearest_texture,
    see_objects,
    shape_similarity,
    texture_difference,
    turn_between,
)
from bench.prompt_reader.reading import (
    COUNTS,
    MarkedPrompt,
    NamedObject,
    PromptRequest,
    parse_request,
)

_WAYS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
_ASIDE = 0.06
"""Maximum distance of a neighbour from the straight line, metres."""
_WHITE = 250
_SMALL = 0.12
"""Size between blocks, which are smaller, and rectangles and lines, which are larger, metres."""
_SAME = 0.2
"""Maximum difference between the histograms of objects with the same texture."""


class PromptImage:
    """An image of a prompt, identified by its pixels."""

    def __init__(self, views: Views) -> None:
        self.views = views
        self.things = see_objects(views)
        picture, labels = views["top"]
        self.scene = bool((picture[labels == 0] < _WHITE).any(axis=-1).mean() > 0.5)
        self._key = b"".join(views[camera][0].tobytes() for camera in VIEWS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PromptImage) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@dataclass(slots=True)
class CarryStep:
    """One object to be carried to a position."""

    thing: SeenObject
    start: np.ndarray
    """Assumed position of the object before the step, metres, (2,)."""
    goal: np.ndarray
    """Goal position of the object's centre, metres, (2,)."""
    turn: float = 0.0
    """Rotation, radians, counter-clockwise."""
    attempts: int = 0


def is_small(thing: SeenObject) -> bool:
    """Return whether an object is one of the blocks to be swept."""
    return max(thing.box[2] - thing.box[0], thing.box[3] - thing.box[1]) < _SMALL


def split_by_texture(
    reference: object, blocks: list[SeenObject]
) -> tuple[list[SeenObject], list[SeenObject]]:
    """Split blocks into those with the texture that is shown or named and the rest."""

    def unlike_it(block: SeenObject) -> float:
        if isinstance(reference, NamedObject) and reference.look is not None:
            return texture_difference(block, reference.look)
        return (
            histogram_difference(block.colours, reference.things[0].colours)
            if isinstance(reference, PromptImage)
            else 1.0
        )

    nearest = min(blocks, key=unlike_it)
    away = [histogram_difference(block.colours, nearest.colours) for block in blocks]
    limit = max(max(away) / 2, _SAME)
    targets = [block for block, far in zip(blocks, away, strict=True) if far <= limit]
    return targets, [block for block, far in zip(blocks, away, strict=True) if far > limit]


class Planner:
    """Matches a request to the objects on the table and plans its steps."""

    def __init__(self, slots: list[object], things: list[SeenObject]) -> None:
        self._slots, self._things = slots, things

    def plan(self, request: PromptRequest) -> list[CarryStep]:
        """Return the steps of a request in order; empty if an object is not found."""
        if not self._things:
            return []
        ways: Mapping[str, Callable[[PromptRequest], list[CarryStep]]] = {
            "put": self._plan_put, "find": self._find, "rotate": self._rotate, "rearrange": self._rearrange,
            "restore": self._restore, "twist": self._twist, "motion": self._motion, "order": self._order,
            "texture": self._texture, "profile": self._profile, "neighbour": self._neighbour, "round": self._round,
        }  # fmt: skip
        return ways[request.kind](request)

    def _match(self, slot: int, but: list[SeenObject] | None = None) -> SeenObject:
        """Return the object that a slot shows or names."""
        reference = self._slots[slot]
        left = [thing for thing in self._things if not any(thing is other for other in but or [])]
        return min(left, key=lambda each: _mismatch(reference, each))

    def _plan_put(self, request: PromptRequest) -> list[CarryStep]:
        piece, base = request.things
        if request.pairs:
            return self._plan_comparison(request)
        thing = self._match(piece)
        return [self._into(thing, self._match(base, [thing]))]

    def _plan_comparison(self, request: PromptRequest) -> list[CarryStep]:
        """Plan to put one of two objects of a shape, chosen by a comparison such as taller or darker."""
        pairs = [(self._shown_object(more), self._shown_object(less)) for more, less in request.pairs]
        height = np.mean([more.tall - less.tall for more, less in pairs])
        light = np.mean([more.light - less.light for more, less in pairs])
        by_height = bool(abs(height) > 4)
        wanted = (height if by_height else light) * (-1 if request.less else 1)
        piece, base = (self._slots[slot] for slot in request.things)
        alike = sorted(self._things, key=lambda each: _mismatch(piece, each))[:2]
        chosen = max(alike, key=lambda each: np.sign(wanted) * (each.tall if by_height else each.light))
        rest = [thing for thing in self._things if not any(thing is other for other in alike)]
        return [self._into(chosen, min(rest, key=lambda each: _mismatch(base, each)))]

    def _find(self, request: PromptRequest) -> list[CarryStep]:
        """Plan to put an object of one texture from an image into a container of another texture."""
        first, second = request.looks
        pictured = self._slots[request.things[0]]
        assert isinstance(pictured, PromptImage)
        shown_thing = min(pictured.things, key=lambda each: texture_difference(each, first))
        thing = min(self._things, key=lambda each: _apart(shown_thing, each))
        rest = [other for other in self._things if other is not thing]
        return [self._into(thing, min(rest, key=lambda each: texture_difference(each, second)))]

    def _rotate(self, request: PromptRequest) -> list[CarryStep]:
        thing = self._match(request.things[0])
        return [CarryStep(thing, thing.centre, thing.centre, -float(np.radians(request.angle)))]

    def _rearrange(self, request: PromptRequest) -> list[CarryStep]:
        pictured = self._slots[request.things[0]]
        assert isinstance(pictured, PromptImage)
        steps, left = [], list(self._things)
        for goal in pictured.things:
            thing = min(left, key=lambda each: _apart(goal, each))
            left = [other for other in left if other is not thing]
            steps.append(CarryStep(thing, thing.centre, goal.centre))
        return steps

    def _restore(self, request: PromptRequest) -> list[CarryStep]:
        there = self._rearrange(request)
        return [*there, *(CarryStep(step.thing, step.goal, step.start) for step in there)]

    def _twist(self, request: PromptRequest) -> list[CarryStep]:
        pairs = [(self._shown_object(before), self._shown_object(after)) for before, after in request.pairs]
        turn = turn_between(pairs)
        (wanted,) = request.looks
        targets = [thing for thing in self._things if may_have_texture(thing, wanted)]
        targets = targets or [min(self._things, key=lambda each: texture_difference(each, wanted))]
        return [CarryStep(target, target.centre, target.centre, turn) for target in targets]

    def _motion(self, request: PromptRequest) -> list[CarryStep]:
        thing = self._match(request.things[0])
        frames = [self._slots[slot] for slot in request.things[1:]]
        path = []
        for frame in frames:
            assert isinstance(frame, PromptImage)
            path.append(min(frame.things, key=lambda each: _apart(thing, each)).centre)
        return [CarryStep(thing, start, goal) for start, goal in pairwise(path)]

    def _order(self, request: PromptRequest) -> list[CarryStep]:
        """Plan the moves from frame to frame; objects below others are assumed not to have moved."""
        frames = [self._slots[slot] for slot in request.things]
        first = frames[0]
        assert isinstance(first, PromptImage)
        row = [min(self._things, key=lambda each: _apart(shown_thing, each)) for shown_thing in first.things]
        where = [seen.centre for seen in row]
        steps = []
        for frame in frames[1:]:
            assert isinstance(frame, PromptImage)
            moves = []
            for thing in frame.things:
                neighbour = min(
                    range(len(row)), key=lambda index: histogram_difference(row[index].colours, thing.colours)
                )
                moves.append(
                    (float(np.linalg.norm(thing.centre - where[neighbour])), neighbour, thing.centre)
                )
            _, moved, goal = max(moves, key=lambda move: move[0])
            steps.append(CarryStep(row[moved], where[moved], goal))
            where[moved] = goal
        return steps

    def _texture(self, request: PromptRequest) -> list[CarryStep]:
        base = self._match(request.things[0])
        rest = [
            thing for thing in self._things if thing is not base and not solid(thing.shape()[0]).container
        ]
        reference = self._slots[request.things[0]]
        texture_name = reference.look if isinstance(reference, NamedObject) else nearest_texture(base)
        assert texture_name is not None
        targets = [piece for piece in rest if may_have_texture(piece, texture_name)]
        return [self._into(target, base) for target in targets]

    def _profile(self, request: PromptRequest) -> list[CarryStep]:
        base = self._match(request.things[0])
        profile = solid(base.shape()[0]).profile
        rest = [thing for thing in self._things if thing is not base]
        return [self._into(piece, base) for piece in rest if solid(piece.shape()[0]).profile == profile]

    def _neighbour(self, request: PromptRequest) -> list[CarryStep]:
        dragged = self._match(request.things[0])
        base = self._match(request.things[1], [dragged])
        way = np.array(_WAYS[request.way])
        beside = []
        for thing in self._things:
            if thing is dragged or thing is base:
                continue
            away = thing.middle - dragged.middle
            along, aside = float(away @ way), abs(float(away @ way[::-1]))
            if along > 0.03 and aside < _ASIDE:
                beside.append((along, thing))
        if not beside:
            return []
        return [self._into(dragged, base), self._into(min(beside, key=lambda each: each[0])[1], base)]

    def _round(self, request: PromptRequest) -> list[CarryStep]:
        dragged = self._match(request.things[0])
        rest = [thing for thing in self._things if thing is not dragged]
        home = min(rest, key=lambda each: float(np.linalg.norm(each.middle - dragged.centre)))
        first = self._match(request.things[1], [dragged, home])
        second = self._match(request.things[2], [dragged, home, first])
        offset = dragged.centre - _origin(dragged)
        stops = [_origin(container, base=True) + offset for container in (first, second, home)]
        starts = [dragged.centre, *stops[:-1]]
        return [CarryStep(dragged, start, goal) for start, goal in zip(starts, stops, strict=True)]

    def _into(self, thing: SeenObject, base: SeenObject) -> CarryStep:
        return CarryStep(thing, thing.centre, _origin(base, base=True) + thing.centre - _origin(thing))

    def _shown_object(self, slot: int) -> SeenObject:
        pictured = self._slots[slot]
        assert isinstance(pictured, PromptImage)
        return pictured.things[0]


def _origin(thing: SeenObject, *, base: bool = False) -> np.ndarray:
    """Return the position of an object's origin, metres; for a container other than a pan, its box's centre."""
    if base and thing.shape()[0] != "pan":
        return thing.middle
    return thing.shape()[1]


def _apart(one: SeenObject, other: SeenObject) -> float:
    """Return the difference between two objects in texture and shape."""
    return histogram_difference(one.colours, other.colours) + 1.5 * (1 - shape_similarity(one, other))


def _mismatch(reference: object, thing: SeenObject) -> float:
    """Return the difference between an object and the image or name that refers to it."""
    if isinstance(reference, NamedObject):
        colour = 0.0 if reference.look is None else texture_difference(thing, reference.look)
        if reference.shape in LINES:
            return colour
        return colour + 1.5 * (1 - thing.like(reference.shape))
    assert isinstance(reference, PromptImage)
    pictured = reference.things[0]
    # What is shown in grey is meant by its shape alone.
    grey = nearest_texture(pictured) == GREY
    return 1.5 * (1 - shape_similarity(pictured, thing)) if grey else _apart(pictured, thing)


_MARGIN = 0.004
"""Margin for the resolution of the image, metres."""
_OPEN = 0.015
"""Distance that a rectangle extends beyond its open side, metres."""


def next_push(
    targets: list[SeenObject],
    others: list[SeenObject],
    rectangle: SeenObject,
    line: SeenObject,
    count: str,
    *,
    touching: bool,
    step: int,
) -> np.ndarray:
    """Return an action (12,) that brings the targets closer to the rectangle without crossing the line."""
    if not targets:
        return idle()
    x_min, y_min, x_max, y_max = rectangle.box
    barrier = (line.box[0] - _MARGIN, line.box[1] - _MARGIN, line.box[2] + _MARGIN, line.box[3] + _MARGIN)
    near = x_min if touching else line.box[2] + _OPEN
    far = x_max if touching else x_max + _OPEN
    zone = (near + _MARGIN, y_min + _MARGIN, far - _MARGIN, y_max - _MARGIN)
    fewest = {"any": 1, "all": len(targets)}.get(count) or COUNTS.index(count) + 1
    if fewest > len(targets):
        return idle()
    items = [
        TableItem(f"{role}_{number}", "small block", "red", float(x), float(y), piece.shape()[2])
        for role, things in (("target", targets), ("other", others))
        for number, piece in enumerate(things)
        for x, y in [piece.middle]
    ]
    scene = TableScene(tuple(items), Tool.SPATULA)
    names = [item.name for item in items]
    most = len(targets) if count == "any" else fewest
    goal = SweepGoal(
        tuple(names[: len(targets)]), tuple(names[len(targets) :]), fewest, most, zone, barrier, fewest
    )
    setting = Setting("T12", step, Level.L1)
    env = TableEnv(TableTask(setting, scene, Prompt("sweep"), goal, asked=goal))
    spec = EpisodeSpec("tabletop/T12/L1", step, PACK)
    observation = env.reset(spec)
    planner = TableOracle()
    planner.attach(env)
    planner.reset(Prompt("sweep"), spec)
    return np.asarray(planner.act(observation)[0])


_THERE = 0.045
"""Maximum distance from its goal at which an object counts as placed, metres."""
_ATTEMPTS = 4


class PromptReader:
    """Follows prompts as far as it can parse their words and recognise their images; otherwise does nothing.

    It receives the same inputs as any policy. Its success shows that prompts and images suffice; its failure without
    them shows that they are needed.
    """

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Read the prompt."""
        segments = [
            segment if isinstance(segment, str) else PromptImage(render_picture(segment))
            for segment in prompt.segments
        ]
        self._told: MarkedPrompt = MarkedPrompt.of(segments, scene=_is_scene)
        scenes = frozenset(i for i, slot in enumerate(self._told.slots) if _is_scene(slot))
        self._request: PromptRequest | None = parse_request(self._told, scenes)
        self._plan: list[CarryStep] | None = None

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12)."""
        request = self._request
        if request is None:
            return idle()[None]
        things = see_objects(
            {camera: (observation.image(camera), observation.segmentation(camera)) for camera in VIEWS}
        )
        if request.kind == "sweep":
            return self._sweep(request, things, observation.step)[None]
        if self._plan is None:
            self._plan = Planner(self._told.slots, things).plan(request)
        return self._next(self._plan, things)[None]

    def _next(self, plan: list[CarryStep], things: list[SeenObject]) -> np.ndarray:
        while plan:
            step = plan[0]
            places = (step.start, step.goal) if step.attempts else (step.start,)
            thing = min(
                things,
                key=lambda each: (
                    min(float(np.linalg.norm(each.centre - at)) for at in places)
                    + 0.3 * histogram_difference(each.colours, step.thing.colours)
                ),
            )
            gone = float(np.linalg.norm(thing.centre - step.start))
            there = float(np.linalg.norm(thing.centre - step.goal)) < _THERE
            carried = (
                bool(step.turn) or gone > _THERE or float(np.linalg.norm(step.goal - step.start)) < _THERE
            )
            if (step.attempts and there and carried) or step.attempts >= _ATTEMPTS:
                plan.pop(0)
                continue
            grip = thing.grip(step.attempts)
            c, s = np.cos(step.turn), np.sin(step.turn)
            arm = grip - thing.centre
            place = step.goal + np.array([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]])
            step.attempts += 1
            return action((grip[0], grip[1]), (place[0], place[1]), step.turn)
        return idle()

    def _sweep(self, request: PromptRequest, things: list[SeenObject], step: int) -> np.ndarray:
        blocks = [thing for thing in things if is_small(thing)]
        marks = [thing for thing in things if not is_small(thing)]
        if not blocks or len(marks) < 2:
            return idle()
        rectangle, line = sorted(marks, key=lambda each: each.box[0] - each.box[2])[:2]
        targets, others = split_by_texture(self._told.slots[request.things[0]], blocks)
        return next_push(
            targets, others, rectangle, line, request.count, touching=request.touching, step=step
        )


def _is_scene(thing: object) -> bool:
    return isinstance(thing, PromptImage) and thing.scene
