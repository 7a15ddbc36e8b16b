"""The world: its tasks, its environment, its perturbations and an experiment in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

import assay
from assay.episodes import (
    Change,
    Effect,
    EpisodeSpec,
    Instruction,
    Record,
    Traits,
    Trajectory,
    apply_perturbations,
)
from assay.episodes.fields import within
from assay.errors import AssetError, TaskError, did_you_mean
from assay.support.streams import stream

NAME = "point"
PLACES = {"north": (0.0, 4.0), "east": (4.0, 0.0), "south": (0.0, -4.0), "west": (-4.0, 0.0)}
"""Where the named places are."""
NEAR = 0.5
"""How near the point must come."""
HORIZON = 20
SIDE = 64
"""Of a frame, pixels."""


@dataclass(frozen=True, slots=True)
class PointTask:
    """Go from a start to a place."""

    place: str
    start: tuple[float, float]
    instruction: Instruction

    @property
    def id(self) -> str:
        """``point/north``."""
        return f"{NAME}/{self.place}"


@dataclass(frozen=True, slots=True, eq=False)
class PointObservation:
    """Where the point is."""

    step: int
    position: np.ndarray
    """(2,)"""


class PointEnv:
    """Plays episodes."""

    @property
    def world(self) -> PointWorld:
        """The world it belongs to."""
        return POINT_WORLD

    def reset(self, spec: EpisodeSpec) -> PointObservation:
        """Put the point at its start."""
        self.task = POINT_WORLD.task(spec)
        self.simulation = self
        self.path = [np.array(self.task.start)]
        return PointObservation(0, self.path[0])

    @property
    def steps(self) -> int:
        """Steps since the reset."""
        return len(self.path) - 1

    @property
    def images(self) -> int:
        """None are rendered."""
        return 0

    def step(self, action: np.ndarray) -> PointObservation:
        """Move by an action, (2,), each part within [-1, 1]."""
        self.path.append(self.path[-1] + np.clip(action, -1.0, 1.0))
        return PointObservation(self.steps, self.path[-1])

    def succeeded(self) -> bool:
        """Whether the point is near its place."""
        return bool(np.linalg.norm(self.path[-1] - PLACES[self.task.place]) < NEAR)

    def record(self) -> Record:
        """The way it went."""
        flat = np.column_stack([self.path, np.zeros(len(self.path))]).astype(np.float32)
        actions = np.zeros((0, POINT_WORLD.action_size), np.float32)
        return Record(Trajectory(flat, np.zeros(len(flat), np.float32), actions))

    def frame(self, observation: PointObservation) -> np.ndarray:
        """The sheet of paper with the point on it, (SIDE, SIDE, 3)."""
        image = np.full((SIDE, SIDE, 3), 255, np.uint8)
        column, row = np.clip((observation.position + 8) / 16 * SIDE, 0, SIDE - 1).astype(int)
        image[SIDE - 1 - row, column] = (200, 0, 0)
        return image

    def close(self) -> None:
        """Nothing is held."""


class PointWorld:
    """Four places to go to."""

    traits = Traits(NAME, demonstrator="guide")
    action_size = 2
    cameras = ()
    frame_seconds = 0.1
    policies: ClassVar[Mapping[str, str]] = {
        "guide": "assay_example.point.policies:Guide",
        "reader": "assay_example.point.policies:Reader",
        "lost": "assay_example.point.policies:Lost",
    }
    servers: ClassVar[Mapping[str, str]] = {}
    packs = ("none",)
    stored_states = None
    sheet = None
    disturbance = None

    def select(self, selection: str) -> Sequence[PointTask]:
        """``all``, or places with commas: ``north,point/east``."""
        names = [part.strip().removeprefix(f"{NAME}/") for part in selection.split(",")]
        for name in names:
            if name not in (*PLACES, "all"):
                raise TaskError(f"there is no place '{name}': {did_you_mean(name, (*PLACES, 'all'))}")
        return [self._task(name) for name in PLACES if name in names or "all" in names]

    def task(self, spec: EpisodeSpec) -> PointTask:
        """The task of an episode: the seed draws the start."""
        start = stream(spec.world_seed, "start", spec.task).uniform(-0.2, 0.2, 2)
        usual = replace(self._task(spec.task.partition("/")[2]), start=(float(start[0]), float(start[1])))
        return apply_perturbations(usual, spec.perturbations, seed=spec.world_seed)

    def horizon(self, spec: EpisodeSpec) -> int:
        """The most steps."""
        return HORIZON if spec.steps is None else spec.steps

    def pack_source(self, pack: str) -> None:
        """There are no assets."""
        if pack not in self.packs:
            raise AssetError(f"--assets {pack}: the world '{NAME}' has none")

    def digest(self, pack: str) -> str:
        """There are no assets."""
        return ""

    def open(self, states: Path | None = None) -> PointEnv:
        """An environment."""
        return PointEnv()

    def _task(self, place: str) -> PointTask:
        if place not in PLACES:
            raise TaskError(f"there is no place '{place}': {did_you_mean(place, PLACES)}")
        return PointTask(place, (0.0, 0.0), Instruction(f"go to the {place}"))


POINT_WORLD = PointWorld()
assay.register("world", NAME)(POINT_WORLD)


@assay.perturbation
@dataclass(frozen=True, slots=True)
class Shift(assay.Perturbation):
    """The point starts elsewhere, in a direction that the seed draws."""

    kind = "world/shift"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION
    world = NAME

    distance: float = within(0.0, 5.0, default=2.0)

    def apply(self, task: PointTask, rng: np.random.Generator) -> PointTask:
        """The task from another start."""
        angle = rng.uniform(0, 2 * np.pi)
        x, y = np.array(task.start) + self.distance * np.array([np.cos(angle), np.sin(angle)])
        return replace(task, start=(float(x), float(y)))


@assay.perturbation
@dataclass(frozen=True, slots=True)
class Mumble(assay.Perturbation):
    """The instruction says nothing."""

    kind = "words/mumble"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False
    world = NAME

    def apply(self, task: PointTask, rng: np.random.Generator) -> PointTask:
        """The task with words that mean nothing."""
        return replace(task, instruction=Instruction("mhm mhm"))


@assay.register("experiment", "points")
def points(distance: float = 2.0) -> assay.Experiment:
    """Starts that are moved by ``distance``, and instructions that say nothing."""

    def variants(task: PointTask) -> Iterator[assay.Variant]:
        yield assay.Variant("points/shift", (Shift(distance),))
        yield assay.Variant("points/mumble", (Mumble(),))

    return assay.Experiment(
        "points", "Does the point look, and does it listen?", variants, certified=True, world=NAME
    )
