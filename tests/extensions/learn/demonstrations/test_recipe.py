from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, rollout
from assay.errors import DemonstrationError
from assay.extensions.learn.demonstrations import Recipe, dataset
from assay.extensions.learn.demonstrations.collect import Demonstrator
from assay.extensions.learn.demonstrations.dataset import Demonstrations
from assay.extensions.learn.demonstrations.folder import DemonstrationFolder
from assay.sim import Simulation
from assay.sim.compile import CompiledScene
from assay.sim.world import SceneEnv

TASK = tasks.load("libero_goal/7")


def test_starts_limits_the_number_of_initial_states():
    few, own = Recipe(noise=0.1, starts=3), Recipe()
    assert [few.spec(TASK.id, seed, "primitives", 1000).world_seed for seed in range(1000, 1007)] == [
        1000, 1001, 1002, 1000, 1001, 1002, 1000
    ]  # fmt: skip
    assert own.spec(TASK.id, 7, "primitives", 0) == EpisodeSpec(TASK.id, 7)


def test_relocation_changes_only_object_positions():
    recipe = Recipe(relocate=0.5)
    first, again, other = (
        recipe.task(TASK, recipe.spec(TASK.id, seed, "primitives", 0)) for seed in (1, 1, 2)
    )
    assert first == again and first.scene != TASK.scene != other.scene != first.scene
    assert (first.goal, first.instruction) == (TASK.goal, TASK.instruction)
    assert Recipe().task(TASK, EpisodeSpec(TASK.id, 1)) == TASK


def test_the_undisturbed_action_is_recorded(
    compiled: Callable[[str], CompiledScene], world_of: Callable[[CompiledScene], Simulation]
):
    world = world_of(compiled(TASK.id))
    done, wanted = [], []
    for noise, seed in ((0.0, 0), (0.3, 0), (0.3, 0), (0.3, 1)):
        oracle = Demonstrator(noise)
        spec = EpisodeSpec(TASK.id, seed, steps=12, start=5)
        done.append(rollout(SceneEnv(world, TASK, world.sample(5)), oracle, spec).trajectory.actions)
        wanted.append(np.array(oracle.undisturbed, np.float32))
    assert np.array_equal(done[0], wanted[0]) and np.array_equal(done[1], done[2])
    assert not np.array_equal(done[1], done[3]) and np.array_equal(wanted[1][0], wanted[0][0])
    pushes = done[1] - np.clip(wanted[1], -1, 1)
    assert np.abs(pushes[:, :6]).max() > 0.1 and not pushes[:, 6].any()


def test_invalid_recipes_are_rejected_and_a_folder_holds_one_recipe(tmp_path: Path):
    for wrong, words in (
        ({"noise": 1.5}, "--noise 1.5: valid: 0 to 1"),
        ({"relocate": 0.01}, "--relocate 0.01: valid: 0, or 0.05 to 2"),
        ({"starts": 3}, "differ by noise only"),
    ):
        with pytest.raises(DemonstrationError, match=words):
            Recipe(**wrong)
    dataset.write(tmp_path, Demonstrations("primitives", 32, recipe=Recipe(noise=0.2)))
    assert DemonstrationFolder(tmp_path, "primitives", 32, Recipe(noise=0.2)).demonstrations.recipe == Recipe(
        noise=0.2
    )
    with pytest.raises(DemonstrationError, match=r"with --noise 0\.2; name another folder for no variation"):
        DemonstrationFolder(tmp_path, "primitives", 32)
