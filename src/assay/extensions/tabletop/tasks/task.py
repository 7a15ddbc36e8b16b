"""Tasks, the shapes and textures of each level of novelty, and the effects of each difficulty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

import numpy as np

from assay.errors import PlacementError, TaskError, did_you_mean
from assay.extensions.tabletop.prompts.prompt import Picture, Prompt
from assay.extensions.tabletop.world import scene
from assay.extensions.tabletop.world.goals import Goal
from assay.extensions.tabletop.world.scene import TableItem, TableScene, Tool
from assay.extensions.tabletop.world.textures import FIRST_HALF, SECOND_HALF, TEXTURES, TWINNED

T = TypeVar("T", bound=StrEnum)


class Level(StrEnum):
    """Novelty of an episode for a policy trained on the training pools of shapes and textures."""

    L1 = "L1"
    """Placement: shapes and textures from training in new poses."""
    L2 = "L2"
    """Combination: pieces have the textures that containers had in training, and vice versa."""
    L3 = "L3"
    """Objects: shapes and textures held out from training."""
    L4 = "L4"
    """Tasks: kinds of task held out from training."""


class Difficulty(StrEnum):
    """Difficulty of an episode."""

    DEFAULT = "default"
    DISTRACTING = "distracting"
    """Additional irrelevant objects."""
    EXTREME = "extreme"
    """Unusual containers, angles, words and layouts."""
    EXTREMELY_DISTRACTING = "extremely-distracting"

    @property
    def distracting(self) -> bool:
        """Whether there are additional irrelevant objects."""
        return self in (Difficulty.DISTRACTING, Difficulty.EXTREMELY_DISTRACTING)

    @property
    def extreme(self) -> bool:
        """Whether relevant objects or parameters are unusual."""
        return self in (Difficulty.EXTREME, Difficulty.EXTREMELY_DISTRACTING)


def parse_level(kind: type[T], text: str) -> T:
    """Return the level or difficulty with the given name. Raise TaskError with the valid names if it is unknown."""
    if text not in list(kind):
        raise TaskError(f"unknown {kind.__name__.lower()} '{text}': {did_you_mean(text, kind)}")
    return kind(text)


TURNABLE = (*(f"letter {letter}" for letter in "AEGMRTV"), "heart", "L-shaped block")
"""Pieces without rotational symmetry, whose yaw can be recognised."""
HELD_BACK = ("letter R", "diamond", "hexagon", "round", "star")
SEEN_PIECES = (
    "letter A", "letter E", "letter G", "letter M", "letter T", "letter V", "block", "cross", "triangle",
    "flower", "heart", "ring", "pentagon", "L-shaped block",
)  # fmt: skip
SEEN_CONTAINERS, NEW_CONTAINERS = ("bowl", "frame", "container", "square"), ("pallet", "pan")
SET_1 = (
    "red", "green", "yellow", "granite", "polka dot", "tiger", "rainbow",
    "red and yellow stripe", "yellow and green stripe",
    "red and yellow polka dot", "red and green polka dot", "red and blue polka dot",
    "yellow and blue polka dot", "green and blue polka dot",
    "red swirl", "green swirl", "red paisley", "yellow paisley", "green paisley",
)  # fmt: skip
SET_2 = (
    "blue", "purple", "cyan", "olive", "tiles", "wooden", "plastic", "checkerboard",
    "red and blue stripe", "yellow and blue stripe", "red and purple stripe",
    "yellow and purple stripe", "green and purple stripe", "blue and purple stripe",
    "yellow and purple polka dot", "green and purple polka dot", "blue and purple polka dot",
    "purple swirl", "blue swirl", "blue paisley",
)  # fmt: skip
NEW_TEXTURES = tuple(name for name in TEXTURES if name not in SET_1 + SET_2)
"""The ten textures that never occur in training."""


@dataclass(frozen=True, slots=True)
class Pools:
    """Shapes and textures from which the objects of a scene are sampled."""

    pieces: tuple[str, ...]
    containers: tuple[str, ...]
    piece_textures: tuple[str, ...]
    container_textures: tuple[str, ...]
    scene_textures: tuple[str, ...]
    """Textures of all objects in tasks without a container."""

    @property
    def turnable(self) -> tuple[str, ...]:
        """Pieces without rotational symmetry, whose yaw can be recognised in an image."""
        return tuple(name for name in self.pieces if name in TURNABLE)

    @property
    def textures_with_dark_version(self) -> tuple[str, ...]:
        """Textures of pieces that exist in a light and a dark version."""
        return tuple(name for name in self.piece_textures if name in TWINNED)

    def with_profile(self, profile: str) -> tuple[str, ...]:
        """Return the pieces with the given profile; the tall block is replaced with the flat one."""
        names = dict.fromkeys(
            "shorter block" if name == "block" else name for name in (*self.pieces, "block")
        )
        return tuple(name for name in names if scene.solid(name).profile == profile)


POOLS = {
    Level.L1: Pools(SEEN_PIECES, SEEN_CONTAINERS, SET_1, SET_2, SET_1),
    Level.L2: Pools(SEEN_PIECES, SEEN_CONTAINERS, SET_2, SET_1, SET_2),
    Level.L3: Pools(HELD_BACK, NEW_CONTAINERS, NEW_TEXTURES, NEW_TEXTURES, NEW_TEXTURES),
    Level.L4: Pools(
        SEEN_PIECES + HELD_BACK, SEEN_CONTAINERS + NEW_CONTAINERS, FIRST_HALF, SECOND_HALF, TEXTURES
    ),
}
"""Shapes and textures of each level."""
_MAX_TRIES = 200
_GAP = 0.01
"""Minimum gap between any two objects at the start, in metres."""
Drawn = tuple[TableScene, Prompt, Goal]
"""A scene, prompt and goal sampled for a task."""


class Draw:
    """Makes the random choices of one episode and builds its scene."""

    def __init__(self, rng: np.random.Generator, level: Level, difficulty: Difficulty) -> None:
        self.rng = rng
        self.level = level
        self.pools = POOLS[level]
        self.distracting, self.extreme = difficulty.distracting, difficulty.extreme
        self.items: list[TableItem] = []

    def one(self, options: Sequence[str], *, but: Sequence[str] = ()) -> str:
        """Sample one of the options, excluding those in ``but``. Raise PlacementError if none remains."""
        left = [option for option in options if option not in but]
        if not left:
            raise PlacementError("no options are left to choose from")
        return left[int(self.rng.integers(len(left)))]

    def some(self, options: Sequence[str], count: int, *, but: Sequence[str] = ()) -> list[str]:
        """Sample ``count`` distinct options, excluding those in ``but``."""
        left = [option for option in options if option not in but]
        return [left[i] for i in self.rng.choice(len(left), count, replace=False)]

    def chance(self) -> bool:
        """Return True with probability 0.5."""
        return bool(self.rng.random() < 0.5)

    def yaw(self) -> float:
        """Sample a yaw, in radians."""
        return float(self.rng.uniform(0, 2 * np.pi))

    def base(self, *, but: Sequence[str] = ()) -> str:
        """Sample the shape of a container, or of a piece that serves as one at extreme difficulty."""
        return self.one(self.pools.pieces if self.extreme else self.pools.containers, but=but)

    def add(self, item: TableItem) -> TableItem:
        """Add an item to the scene at its own pose."""
        self.items.append(item)
        return item

    def place(
        self, name: str, shape: str, texture: str, *, fixed: bool = False,
        size: tuple[float, float, float] = (1.0, 1.0, 1.0), clear: float = 0.0, keep_off: Sequence[TableItem] = (),
    ) -> TableItem:  # fmt: skip
        """Add an item at a random free pose, at least ``clear`` metres from the origin of any other item."""
        item = TableItem(name, shape, texture, 0.5, 0.0, self.yaw(), size=size, fixed=fixed)
        return self.add(self.spot(item, [*self.items, *keep_off], clear=clear))

    def spot(self, item: TableItem, others: Sequence[TableItem], *, clear: float = 0.0) -> TableItem:
        """Return the item placed at a random position away from the other items.

        Raises PlacementError if there is no room.
        """
        radius = scene.solid(item.shape, item.size).radius
        places = np.array([(other.x, other.y) for other in others]).reshape(-1, 2)
        gaps = np.array([max(other.radius + radius + _GAP, clear) for other in others])
        for _ in range(_MAX_TRIES):
            x = float(self.rng.uniform(scene.X_LOW + radius, scene.X_HIGH - radius))
            y = float(self.rng.uniform(scene.Y_LOW + radius, scene.Y_HIGH - radius))
            if (np.hypot(places[:, 0] - x, places[:, 1] - y) > gaps).all():
                return replace(item, x=x, y=y)
        raise PlacementError(f"no room on the table for a {item.words}")

    def others(
        self, count: int, shapes: Sequence[str], textures: Sequence[str], *, but: Sequence[TableItem] = (),
        clear: float = 0.12,
    ) -> list[TableItem]:  # fmt: skip
        """Add distractors whose descriptions differ from those of the items in ``but``."""
        distractors: list[TableItem] = []
        taken = {item.words for item in but}
        while len(distractors) < count:
            shape, texture = self.one(shapes), self.one(textures)
            if f"{texture} {shape}" in taken:
                continue
            name, fixed = f"distractor_{len(distractors) + 1}", scene.solid(shape).container
            distractors.append(self.place(name, shape, texture, clear=clear, fixed=fixed))
        return distractors

    def task(
        self, text: str, pictures: Mapping[str, Picture], goal: Goal, tool: Tool = Tool.SUCTION
    ) -> Drawn:
        """Return the scene with all added items, a prompt and a goal."""
        return TableScene(tuple(self.items), tool), Prompt(text, tuple(pictures.items())), goal


MAX_ACTIONS = 10
"""Maximum number of actions if mistakes are allowed, unless twice the minimum is larger."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters that determine an episode's task."""

    task: str
    """Task kind, ``T1`` to ``T17``."""
    seed: int
    level: Level = Level.L1
    difficulty: Difficulty = Difficulty.DEFAULT

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise TaskError(f"seed {self.seed!r}: expected an integer >= 0")

    @property
    def id(self) -> str:
        """A stable id of the setting: ``T1/L1/default/0``."""
        return f"{self.task}/{self.level}/{self.difficulty}/{self.seed}"


@dataclass(frozen=True, slots=True)
class TableTask:
    """A scene, a prompt and a goal."""

    setting: Setting
    scene: TableScene
    prompt: Prompt
    goal: Goal
    """The goal by which success is judged."""
    asked: Goal | None
    """The goal that the prompt requests: `goal`, another goal, or None if the prompt specifies no task."""

    @property
    def id(self) -> str:
        """Stable id of the task's kind and level: ``tabletop/T1/L1``."""
        return f"tabletop/{self.setting.task}/{self.setting.level}"

    @property
    def instruction(self) -> Prompt:
        """The prompt, under the attribute name that all worlds share."""
        return self.prompt

    @property
    def best(self) -> int:
        """Minimum number of actions, which is also the maximum if mistakes are not allowed."""
        return self.goal.best

    @property
    def most(self) -> int:
        """Maximum number of actions if mistakes are allowed."""
        return max(MAX_ACTIONS, 2 * self.best)


TRAINED = (Level.L1, Level.L2, Level.L3)
"""Levels of the training tasks."""
HELD_OUT = (Level.L4,)
"""Levels of the tasks held out from training."""
Maker = Callable[[Draw], Drawn]


@dataclass(frozen=True, slots=True)
class TaskKind:
    """One of the seventeen kinds of task."""

    id: str
    """Identifier, ``T1`` to ``T17``."""
    make: Maker
    """Function that samples a task of this kind; its name is that of the task in VIMA-Bench."""
    levels: tuple[Level, ...]
    """Levels of novelty at which the task exists."""

    @property
    def name(self) -> str:
        """The task's name in VIMA-Bench."""
        return self.make.__name__


REGISTERED: list[TaskKind] = []


def task_kind(task_id: str, levels: tuple[Level, ...] = TRAINED) -> Callable[[Maker], Maker]:
    """Return a decorator that registers a function as the maker of a kind of task."""

    def register(make: Maker) -> Maker:
        REGISTERED.append(TaskKind(task_id, make, levels))
        return make

    return register
