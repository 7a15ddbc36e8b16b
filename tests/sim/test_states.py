from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.errors import StateError
from assay.sim.compile import CompiledScene
from assay.sim.placement import central_fixtures
from assay.sim.simulation import Simulation
from assay.sim.states import InitialState, stored_states, validate_state
from assay.tasks.formats.init_files import read_states

Compiled = Callable[[str], CompiledScene]
SimulationOf = Callable[[CompiledScene], Simulation]

TASK = "libero_goal/0"
FILE = "libero/init/libero_goal/open_the_middle_drawer_of_the_cabinet.pruned_init"


@pytest.fixture
def scene(compiled: Compiled) -> CompiledScene:
    return compiled(TASK)


@pytest.fixture
def state(scene: CompiledScene) -> InitialState:
    """A state that fits, whatever it means."""
    return InitialState(np.zeros(scene.state_size), np.zeros((len(scene.scene.fixtures), 7)))


def test_states_are_equal_if_everything_is(state: InitialState):
    assert state == InitialState(state.vector.copy(), state.fixtures.copy())
    for name in ("vector", "fixtures"):
        other = getattr(state, name).copy()
        other.flat[-1] += 1e-300
        assert state != replace(state, **{name: other})
    assert state != "state"


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        *(
            ("vector", np.zeros(size), rf"{size} numbers.* requires 79 .*primitives.*other assets")
            for size in (0, 78, 92)
        ),
        *(("fixtures", np.zeros(shape), r"\(3, 7\)") for shape in ((0, 7), (4, 7), (3, 6), (21,))),
        *(("vector", np.full(79, value), "not finite") for value in (np.nan, np.inf, -np.inf)),
        *(("fixtures", np.full((3, 7), value), "not finite") for value in (np.nan, -np.inf)),
    ],
)
def test_a_state_that_does_not_fit_is_refused_in_one_line(
    scene: CompiledScene, state: InitialState, name: str, values: np.ndarray, message: str
):
    with pytest.raises(StateError, match=message) as caught:
        validate_state(scene, replace(state, **{name: values}))
    assert "\n" not in str(caught.value)


def test_a_world_refuses_what_does_not_fit_and_stays_as_it_was(
    scene: CompiledScene, state: InitialState, world_of: SimulationOf
):
    world = world_of(scene)
    world.reset(world.sample(0))
    before = world.state()
    with pytest.raises(StateError):
        world.reset(replace(state, vector=np.zeros(3)))
    assert world.state() == before


@pytest.mark.parametrize("pack", ["compiled", "compiled_libero"])
def test_stored_states_load_on_both_packs(pack: str, shared: Path, request: pytest.FixtureRequest):
    scene = request.getfixturevalue(pack)(TASK)
    states = stored_states(scene, shared / FILE)
    assert len(states) == 50
    assert np.array_equal([state.vector for state in states], read_states(shared / FILE))
    assert all(np.array_equal(state.fixtures, central_fixtures(scene)) for state in states)


def test_stored_states_settle_on_primitives(scene: CompiledScene, shared: Path, world_of: SimulationOf):
    # LIBERO's states begin with things in the air: they fall, and come to rest where LIBERO's do.
    world = world_of(scene)
    state = stored_states(scene, shared / FILE)[0]
    world.reset(state)
    for _ in range(40):
        world.step(np.zeros(7))
    assert np.abs(world.data.qvel[9:]).max() < 0.02
    for name, entity in scene.entities.items():
        if entity.movable:
            first = 1 + int(scene.model.jnt_qposadr[entity.joints[-1]])
            assert (
                np.linalg.norm(world.data.xpos[entity.body][:2] - state.vector[first : first + 2]) < 0.02
            ), name
            assert world.data.xpos[entity.body][2] > 0.89, name


def test_states_stored_for_another_task_are_refused_with_the_file(compiled: Compiled, shared: Path):
    with pytest.raises(StateError) as caught:
        stored_states(compiled("libero_object/0"), shared / FILE)
    message = str(caught.value)
    assert str(shared / FILE) in message and "79 numbers" in message and "requires 110" in message


@pytest.mark.parametrize("content", [None, b"nonsense"])
def test_a_file_that_cannot_be_read_is_named_once(
    scene: CompiledScene, tmp_path: Path, content: bytes | None
):
    file = tmp_path / "x.init"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StateError) as caught:
        stored_states(scene, str(file))
    assert str(caught.value).count(str(file)) == 1
