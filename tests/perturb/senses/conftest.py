from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from assay.episodes import Senses
from assay.episodes.senses import Sense
from assay.sim import CompiledScene, Observation, Simulation

TASK = "libero_goal/0"


@pytest.fixture(scope="module")
def world(compiled: Callable[[str], CompiledScene]) -> Iterator[Simulation]:
    world = Simulation(compiled(TASK))
    yield world
    world.close()


@pytest.fixture(scope="module")
def seen(world: Simulation) -> list[Observation]:
    """Four observations of an arm that moves."""
    move = np.array([0.4, 0.6, -0.6, 0.3, 0.0, 0.0, 1.0])
    return [world.reset(world.sample(0)), *(world.step(move) for _ in range(3))]


@pytest.fixture
def senses() -> Callable[..., Senses]:
    """The senses of an episode of the task with these perturbations."""

    def begun(*perturbations: Sense, seed: int = 0) -> Senses:
        return Senses(perturbations, task=TASK, seed=seed)

    return begun
