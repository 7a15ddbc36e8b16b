from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from assay.sim import CompiledScene, Simulation, compile_scene, load_pack
from assay.tasks import Scene, Task


@pytest.fixture(scope="session")
def built() -> Callable[[Task], CompiledScene]:
    """Compiles the scene of a task on primitives; the last few are kept."""

    @lru_cache(maxsize=4)
    def once(scene: Scene) -> CompiledScene:
        return compile_scene(scene, load_pack("primitives"))

    return lambda task: once(task.scene)


@pytest.fixture(scope="session")
def places(built: Callable[[Task], CompiledScene]) -> Callable[[Task], dict[str, np.ndarray]]:
    """Where the things of a task stand once they rest, (3,) each."""

    def found(task: Task) -> dict[str, np.ndarray]:
        world = Simulation(built(task))
        world.reset(world.sample(1))
        there = {entity.name: world.pose(entity.name)[0] for entity in task.scene.entities}
        world.close()
        return there

    return found
