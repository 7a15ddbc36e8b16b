from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from assay.episodes import Outcome
from assay.episodes.episode import Episode, Happened, Intervals, Trajectory, no_trajectory
from assay.episodes.spec import CONTROL, EpisodeSpec, Label
from assay.perturb import Perturbation, Say
from assay.runs.store import Store

TASK = "libero_goal/1"
GOAL = "On akita_black_bowl_1 flat_stove_1_cook_region"


@dataclass
class Made:
    """Synthetic episode."""

    success: bool | None
    """None for an error."""
    task: str = TASK
    seed: int = 0
    condition: str = CONTROL
    labels: dict[str, Label] = field(default_factory=dict)
    hand: np.ndarray | None = None
    actions: np.ndarray | None = None
    """Actions, (steps, size); by default all 0."""
    steps: int = 100
    touched: str | None = "akita_black_bowl_1"
    moved: str | None = "akita_black_bowl_1"
    truth: dict[str, Intervals] | None = None
    stands: dict[str, tuple[float, float, float]] | None = None
    """Initial positions of objects; None if they were not recorded."""
    words: str | None = None
    experiment: str = "made"
    decisions: int = 10
    change: Perturbation | None = None
    """Perturbation; by default, a changed instruction."""
    changes: tuple[Perturbation, ...] = ()
    """Perturbations, if there are several."""
    events: tuple[Happened, ...] = ()
    """Planned events."""
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields of the episode."""
    repeat: int = 0
    """Number of the repetition of a control."""

    @property
    def said(self) -> str:
        return self.words or f"{self.condition} {sorted(self.labels.items())}"

    @property
    def spec(self) -> EpisodeSpec:
        changes = () if self.condition == CONTROL else self.changes or (self.change or Say(self.said),)
        return EpisodeSpec(
            self.task,
            self.seed,
            experiment=self.experiment,
            condition=self.condition,
            perturbations=changes,
            labels=self.labels,
        ).repeat(self.repeat)

    @property
    def episode(self) -> Episode:
        path, steps = no_trajectory(), self.steps
        if self.hand is not None:
            hand = np.asarray(self.hand, np.float32)
            actions = np.zeros((len(hand) - 1, 7)) if self.actions is None else self.actions
            path = Trajectory(hand, hand[:, 0].copy(), actions.astype(np.float32))
            steps = len(hand) - 1
        outcome = (
            Outcome.ERROR if self.success is None else Outcome.SUCCESS if self.success else Outcome.FAILURE
        )
        truth = {GOAL: ((99, 100),) if self.success else ()} if self.truth is None else self.truth
        return Episode(
            outcome,
            steps,
            path,
            self.said,
            decisions=self.decisions,
            touched=self.touched,
            moved=self.moved,
            truth=truth,
            initial_positions=self.stands or {},
            error="broke" if self.success is None else "",
            events=self.events,
            **self.more,
        )


@pytest.fixture
def run() -> Iterator[Callable[..., Store]]:
    """Return a function that records synthetic episodes in a temporary run."""
    opened = ExitStack()

    def made(episodes: Iterable[Made], **meta: object) -> Store:
        store = opened.enter_context(Store.scratch())
        store.describe(**meta)
        wanted = list(episodes)
        store.plan(each.spec for each in wanted)
        numbers = {waiting.key: waiting.number for waiting in store.todo()}
        assert len(numbers) == len(wanted), "two made-up episodes have the same spec"
        for each in wanted:
            store.append(numbers[each.spec.key], each.episode)
        return store

    with opened:
        yield made


@pytest.fixture
def made() -> type[Made]:
    """Return the class of synthetic episodes."""
    return Made


def dtw(one: np.ndarray, other: np.ndarray) -> float:
    """Dynamic time warping with Euclidean cost, normalised by the length, as its definition says."""
    cost = np.linalg.norm(one[:, None] - other[None], axis=2)
    best = np.full((len(one) + 1, len(other) + 1), np.inf)
    best[0, 0] = 0.0
    for i in range(len(one)):
        for j in range(len(other)):
            best[i + 1, j + 1] = cost[i, j] + min(best[i, j], best[i + 1, j], best[i, j + 1])
    return float(best[-1, -1] / len(one))
