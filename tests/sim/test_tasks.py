"""Every built-in task, compiled once: complete, consistent with LIBERO's stored states, settled and unsolved."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.sim import placement
from assay.sim.compile import CompiledScene
from assay.sim.layout import HOME
from assay.sim.simulation import Simulation
from assay.tasks import Task
from assay.tasks.formats.init_files import read_states

Compiled = Callable[[str], CompiledScene]
SimulationOf = Callable[[CompiledScene], Simulation]

SCENES = [list(group) for _, group in groupby(map(tasks.load, tasks.all_ids()), key=lambda task: task.scene)]
"""The built-in tasks grouped by their scene, which several of a suite may share."""


def check_index(compiled: CompiledScene) -> None:
    scene, model = compiled.scene, compiled.model
    assert list(compiled.entities) == [entity.name for entity in scene.entities]
    # Tasks of libero_goal have regions of a bowl drainer that is absent.
    present = {scene.arena.workspace, *compiled.entities}
    assert set(compiled.regions) == {region.full_name for region in scene.regions if region.target in present}
    names = [model.joint(joint).name for joint in range(9)]
    assert names == [
        *(f"robot0_joint{i}" for i in range(1, 8)),
        *(f"gripper0_finger_joint{i}" for i in (1, 2)),
    ]
    geoms = [geom for entity in compiled.entities.values() for geom in entity.geoms]
    assert len(geoms) == len(set(geoms)) and (model.geom_group[geoms] == 0).all()
    for entity in scene.objects:
        assert model.jnt_type[compiled.entities[entity.name].joints[-1]] == mujoco.mjtJoint.mjJNT_FREE
    for entity in scene.fixtures:
        assert not compiled.entities[entity.name].movable


def object_poses(simulation: Simulation) -> np.ndarray:
    """Positions and quaternions of the movable objects, (objects, 7)."""
    bodies = [entity.body for entity in simulation.compiled.entities.values() if entity.movable]
    return np.hstack([simulation.data.xpos[bodies], simulation.data.xquat[bodies]])


def check_start(simulation: Simulation, together: list[Task], most: float) -> None:
    """Sample a start: nothing overlaps, no goal holds, and everything stays within ``most`` metres for a second."""
    compiled = simulation.compiled
    state = simulation.sample(0)
    assert state.vector.shape == (compiled.state_size,) and state.vector[0] == 0.0
    assert state.vector[1:8] == pytest.approx(HOME) and (state.vector[1 + compiled.model.nq :] == 0.0).all()
    simulation.reset(state)
    assert all(contact.dist >= -2e-3 for contact in simulation.data.contact[: simulation.data.ncon])
    for task in together:
        simulation.predicates.check(task.goal)
        assert not simulation.is_satisfied(task.goal)
    before = object_poses(simulation)
    for _ in range(20):
        simulation.step(np.zeros(7))
    after = object_poses(simulation)
    assert np.linalg.norm((after - before)[:, :3], axis=1).max() < most
    assert np.abs((after * before)[:, 3:].sum(axis=1)).min() > np.cos(np.radians(2) / 2)


@pytest.mark.parametrize("together", SCENES, ids=lambda together: together[0].id)
def test_tasks_compile_fit_the_stored_states_and_start_at_rest(
    together: list[Task], compiled: Compiled, world_of: SimulationOf, shared: Path
):
    scene = compiled(together[0].id)
    check_index(scene)
    for task in together:
        file = tasks.entry(task.id).file
        states = read_states(shared / "libero/init" / task.id.split("/")[0] / f"{file}.pruned_init")
        assert states.shape[1] == scene.state_size
    check_start(world_of(scene), together, most=2e-3)


def test_tasks_start_at_rest_on_liberos_assets(
    compiled_libero: Compiled, world_of: SimulationOf, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(placement, "ATTEMPTS", 2)  # most layouts are valid: do not search for a lucky one
    for task_id in ("libero_spatial/5", "libero_10/3", "libero_goal/0", "libero_object/0"):
        check_start(world_of(compiled_libero(task_id)), [tasks.load(task_id)], most=3e-3)
