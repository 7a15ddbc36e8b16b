"""The point world: tasks, environment, perturbations and an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.plugin import (
    Change,
    Effect,
    Env,
    EpisodeSpec,
    Experiment,
    Instruction,
    Perturbation,
    Record,
    Traits,
    Trajectory,
    Variant,
    World,
    apply_perturbations,
    perturbation,
    provide,
    register,
    stream,
    within,
)

NAME = "point"
PLACES = {"north": (0.0, 4.0), "east": (4.0, 0.0), "south": (0.0, -4.0), "west": (-4.0, 0.0)}
"""Coordinates of the named positions."""
NEAR = 0.5
"""Distance from the target that counts as success."""
SIDE = 64
"""Height and width of a frame, pixels."""


@dataclass(frozen=True, slots=True)
class PointTask:
    """Move from a start to a named position."""

    place: str
    start: tuple[float, float]
    instruction: Instruction

    @property
    def id(self) -> str:
        """Task id, such as ``point/north``."""
        return f"{NAME}/{self.place}"


@dataclass(frozen=True, slots=True, eq=False)
class PointObservation:
    """Position of the point."""

    step: int
    position: np.ndarray
    """(2,)"""


class PointEnv(Env):
    """Moves the point."""

    task: PointTask

    def reset(self, spec: EpisodeSpec) -> PointObservation:
        """Move the point to its start."""
        self.task = self.world.task(spec)
        self.path = [np.array(self.task.start)]
        return self._observe()

    def step(self, action: np.ndarray) -> PointObservation:
        """Move by an action, (2,), each component clipped to [-1, 1]."""
        self.path.append(self.path[-1] + np.clip(action, -1.0, 1.0))
        return self._observe()

    def succeeded(self) -> bool:
        """Return whether the point has reached its target."""
        return bool(np.linalg.norm(self.path[-1] - PLACES[self.task.place]) < NEAR)

    def record(self) -> Record:
        """Return the recorded path as (steps + 1, 3) positions."""
        flat = np.column_stack([self.path, np.zeros(len(self.path))]).astype(np.float32)
        actions = np.zeros((0, self.world.action_size), np.float32)
        return Record(Trajectory(flat, np.zeros(len(flat), np.float32), actions))

    def frame(self, observation: PointObservation) -> np.ndarray:
        """Return an image of the point, red on white, (SIDE, SIDE, 3)."""
        image = np.full((SIDE, SIDE, 3), 255, np.uint8)
        column, row = np.clip((observation.position + 8) / 16 * SIDE, 0, SIDE - 1).astype(int)
        image[SIDE - 1 - row, column] = (200, 0, 0)
        return image

    def _observe(self) -> PointObservation:
        return PointObservation(len(self.path) - 1, self.path[-1])


class PointWorld(World):
    """A world with four tasks, one per named position."""

    traits = Traits(NAME, demonstrator="guide")
    action_size = 2
    max_steps = 20

    def tasks(self) -> list[PointTask]:
        """Return one task per named position."""
        return [PointTask(place, (0.0, 0.0), Instruction(f"go to the {place}")) for place in PLACES]

    def task(self, spec: EpisodeSpec) -> PointTask:
        """Return the task of an episode; the seed determines the start."""
        (task,) = self.select(spec.task)
        start = stream(spec.world_seed, "start", spec.task).uniform(-0.2, 0.2, 2)
        task = replace(task, start=(float(start[0]), float(start[1])))
        return apply_perturbations(task, spec.perturbations, seed=spec.world_seed)

    def open(self, states: Path | None = None) -> PointEnv:
        """Return a new environment."""
        return PointEnv(self)


POINT_WORLD = PointWorld()
register("world", NAME)(POINT_WORLD)
provide(
    "policy",
    {
        f"{NAME}/guide": "assay_example.point.policies:Guide",
        f"{NAME}/reader": "assay_example.point.policies:Reader",
        f"{NAME}/lost": "assay_example.point.policies:Lost",
    },
)


@perturbation
class Shift(Perturbation):
    """Start from another position, in a direction determined by the seed."""

    kind = "world/shift"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION
    world = NAME

    distance: float = within(0.0, 5.0, default=2.0)

    def apply(self, task: PointTask, rng: np.random.Generator) -> PointTask:
        """Return the task from another start."""
        angle = rng.uniform(0, 2 * np.pi)
        x, y = np.array(task.start) + self.distance * np.array([np.cos(angle), np.sin(angle)])
        return replace(task, start=(float(x), float(y)))


@perturbation
class Mumble(Perturbation):
    """Replace the instruction with one that has no meaning."""

    kind = "words/mumble"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False
    world = NAME

    def apply(self, task: PointTask, rng: np.random.Generator) -> PointTask:
        """Return the task with a meaningless instruction."""
        return replace(task, instruction=Instruction("mhm mhm"))


@register("experiment", "points")
def points(distance: float = 2.0) -> Experiment:
    """Experiment with starts displaced by ``distance``, and with meaningless instructions."""

    def variants(task: PointTask) -> Iterator[Variant]:
        yield Variant("points/shift", (Shift(distance),))
        yield Variant("points/mumble", (Mumble(),))

    return Experiment(
        "points", "Does the policy use observations and instructions?", variants, certified=True, world=NAME
    )
