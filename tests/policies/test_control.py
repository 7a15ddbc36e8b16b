from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.errors import AssetError, SpecError, StateError
from assay.perturb.world.position import Displace
from assay.policies.control import control
from assay.sim.packs.locate import STATES_VARIABLE
from assay.sim.world import LiberoEnv

STORED = EpisodeSpec("libero_goal/0", 3, initial="stored")


def test_the_seed_determines_the_start_of_a_control():
    one, same = control(EpisodeSpec("libero_goal/0", 3)), control(EpisodeSpec("libero_goal/0", 3))
    other = control(EpisodeSpec("libero_goal/0", 4))
    assert np.array_equal(one.state.vector, same.state.vector)
    assert not np.array_equal(one.state.vector, other.state.vector)


def test_the_seed_is_the_index_of_a_stored_state(shared: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(STATES_VARIABLE, str(shared / "libero" / "init"))
    states = [control(EpisodeSpec("libero_goal/0", seed, initial="stored")).state for seed in (0, 49)]
    assert not np.array_equal(states[0].vector, states[1].vector)
    with pytest.raises(StateError, match="stored states 0 to 49, not 50"):
        control(EpisodeSpec("libero_goal/0", 50, initial="stored"))


def test_missing_stored_states_are_reported(no_assets: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(STATES_VARIABLE, raising=False)
    with pytest.raises(AssetError, match=STATES_VARIABLE):
        control(STORED)
    monkeypatch.setenv(STATES_VARIABLE, "/no/such/folder")
    with pytest.raises(AssetError, match="does not exist"):
        control(STORED)


def test_a_task_file_uses_the_stored_states_next_to_it(shared: Path):
    level = tasks.resolve(str(shared / "libero_x" / "bddl" / "LEVEL1"))
    task = next(each for each in level if tasks.states_file(each.id))
    states = [control(EpisodeSpec(task.id, seed, initial="stored")).state for seed in (0, 1)]
    assert not np.array_equal(states[0].vector, states[1].vector)
    moved = EpisodeSpec(task.id, 0, initial="stored", perturbations=(Displace(0.1),))
    with pytest.raises(SpecError, match="cannot start from a stored state"):
        LiberoEnv().reset(moved)
    assert np.array_equal(control(moved).state.vector, states[0].vector), "its control can"
