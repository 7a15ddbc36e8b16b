"""What every world keeps to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.episodes import WORLDS, EpisodeSpec, Traits, horizon, rollout, task_of, world_name
from assay.errors import WorldError
from assay.extensions.tabletop.simulation import TableSimulation
from assay.policies.registry import load_policy
from assay.sim import Simulation

SPECS = {
    "libero": EpisodeSpec("libero_goal/7", 0, steps=2),
    "tabletop": EpisodeSpec("tabletop/T1/L1", 0, "tabletop", steps=2),
}
SIMULATIONS = {"libero": Simulation, "tabletop": TableSimulation}
WORLD = pytest.mark.parametrize("world", SPECS)


@WORLD
def test_a_simulation_is_reset_once_an_episode(world: str, monkeypatch: pytest.MonkeyPatch):
    resets: list[int] = []
    simulation: Any = SIMULATIONS[world]
    reset = simulation.reset

    def counted(self: Any, *arguments: Any) -> Any:
        resets.append(1)
        return reset(self, *arguments)

    monkeypatch.setattr(simulation, "reset", counted)
    env = WORLDS[world].open()
    for number in range(1, 4):
        rollout(env, load_policy("random", world), SPECS[world])
        assert len(resets) == number
    env.close()


@WORLD
def test_every_observation_is_shown_to_the_watcher_the_first_before_the_policy_acts(world: str):
    watched: list[int] = []
    env = WORLDS[world].open()
    rollout(
        env,
        load_policy("random", world),
        SPECS[world],
        watch=lambda observation: watched.append(observation.step),
    )
    env.close()
    assert watched == [0, 1, 2]


@WORLD
def test_an_episode_keeps_one_place_more_than_actions(world: str):
    env = WORLDS[world].open()
    episode = rollout(env, load_policy("random", world), SPECS[world])
    env.close()
    assert (episode.steps, episode.decisions) == (2, 2)
    assert episode.trajectory.actions.shape == (2, WORLDS[world].action_size)
    assert episode.trajectory.actions.dtype == np.float32
    assert episode.trajectory.end_effector.shape == (3, 3) and episode.trajectory.gripper.shape == (3,)


@WORLD
@pytest.mark.usefixtures("drawing")
def test_a_frame_is_an_image_for_people(world: str):
    env = WORLDS[world].open()
    frame = env.frame(env.reset(SPECS[world]))
    env.close()
    assert frame.dtype == np.uint8 and frame.ndim == 3 and frame.shape[2] == 3


@WORLD
def test_a_task_id_names_its_world(world: str):
    spec = SPECS[world]
    assert world_name(spec.task) == world == WORLDS[world].traits.name
    assert task_of(spec).id == spec.task and task_of(spec).instruction.words
    assert horizon(spec) == 2 < horizon(replace(spec, steps=None))


@WORLD
def test_traits_survive_json(world: str):
    traits = WORLDS[world].traits
    assert Traits.from_json(traits.as_json()) == traits


def test_a_world_that_there_is_not_is_answered_with_the_nearest():
    with pytest.raises(WorldError, match=r"did you mean 'tabletop'\?"):
        WORLDS["tabeltop"]


def test_a_task_file_is_liberos_whatever_its_folder_is_called():
    assert world_name("tabletop/T1/L1") == "tabletop" and world_name("libero_goal/3") == "libero"
    assert world_name("tabletop/stove.bddl@0123456789ab") == world_name("tabletop/mine.json") == "libero"
