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
from assay.sim.states import InitialState, stored_state, validate_state
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
    before = world.state().flat()
    with pytest.raises(StateError):
        world.reset(replace(state, vector=np.zeros(3)))
    assert np.array_equal(world.state().flat(), before)


@pytest.mark.parametrize("pack", ["compiled", "compiled_libero"])
def test_stored_states_fit_both_packs_but_no_other_task(
    pack: str, shared: Path, request: pytest.FixtureRequest
):
    compiled, vector = request.getfixturevalue(pack), read_states(shared / FILE)[0]
    state = stored_state(compiled(TASK), vector, FILE)
    assert np.array_equal(state.vector, vector)
    assert np.array_equal(state.fixtures, central_fixtures(compiled(TASK)))
    with pytest.raises(StateError) as caught:
        stored_state(compiled("libero_object/0"), vector, FILE)
    assert str(caught.value).startswith(f"{FILE}: the state has 79 numbers; the scene requires 110")
