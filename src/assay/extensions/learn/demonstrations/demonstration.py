"""Recorded episodes, wherever their tables and videos lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import polars as pl

from assay import tasks
from assay.episodes.episode import Outcome
from assay.extensions.learn.demonstrations.recipe import PLAIN, Recipe
from assay.extensions.learn.demonstrations.stats import Stats
from assay.policies.remote.pictures import Orientation
from assay.support.video import Clip

T = TypeVar("T", "Episode", "LeftOut")


@dataclass(frozen=True, slots=True)
class Episode:
    """A recorded episode; of demonstrations, a successful one."""

    task: str
    """The task's id."""
    seed: int
    instruction: str
    frames: pl.DataFrame
    """Action and state, one row for each control step."""
    clips: Mapping[str, Clip]
    """The pictures of each camera, by feature."""
    pictures: Mapping[str, Stats]
    """Their statistics."""
    said: Mapping[str, str] = field(default_factory=dict)
    """What else the dataset says of it, by name."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An attempt that is not recorded."""

    task: str
    """The task's id."""
    seed: int
    outcome: Outcome
    steps: int
    reason: str


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """Episodes of one asset pack with pictures of one size and orientation, in the order of tasks and seeds."""

    pack: str
    """Name of the asset pack."""
    size: int
    """Height and width of the pictures."""
    episodes: tuple[Episode, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    recipe: Recipe = PLAIN
    """How they are varied."""
    orientation: Orientation = Orientation.ROTATED
    """Which way up the pictures lie."""

    def seeds(self, task: str) -> frozenset[int]:
        """From which seeds a task was demonstrated."""
        return frozenset(episode.seed for episode in self.episodes if episode.task == task)

    def tried(self, task: str) -> frozenset[int]:
        """From which seeds a task was tried."""
        return self.seeds(task) | {attempt.seed for attempt in self.left_out if attempt.task == task}

    def and_also(self, others: Iterable[Demonstrations]) -> Demonstrations:
        """These and others, each attempt once. They must be of the same kind."""
        parts = (self, *others)
        return Demonstrations(
            self.pack,
            self.size,
            _in_order(episode for part in parts for episode in part.episodes),
            _in_order(attempt for part in parts for attempt in part.left_out),
            self.recipe,
            self.orientation,
        )


def _in_order(attempts: Iterable[T]) -> tuple[T, ...]:
    place = {task: number for number, task in enumerate(tasks.built_in_ids())}
    last = len(place)
    once = {(place.get(attempt.task, last), attempt.task, attempt.seed): attempt for attempt in attempts}
    return tuple(once[key] for key in sorted(once))
