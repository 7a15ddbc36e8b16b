from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from assay.episodes import Episode, EpisodeSpec, Outcome, rollout
from assay.perturb.world.position import Displace
from assay.policies.registry import load_policy
from assay.sim.world import LIBERO_WORLD, LiberoEnv


@pytest.fixture(scope="module")
def env() -> Iterator[LiberoEnv]:
    env = LIBERO_WORLD.open()
    yield env
    env.close()


Played = Callable[[str, EpisodeSpec], Episode]


@pytest.fixture(scope="module")
def played(env: LiberoEnv) -> Played:
    """Lets a policy play an episode, once."""
    return cache(lambda policy, spec: rollout(env, load_policy(policy), spec))


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("libero_goal/7", "flat_stove_1"),
        ("libero_goal/0", "wooden_cabinet_1"),
        ("libero_goal/8", "akita_black_bowl_1"),
    ],
)
def test_what_is_touched_and_moved_first_is_what_the_task_is_about(played: Played, task: str, first: str):
    episode = played("oracle", EpisodeSpec(task, 0))
    assert episode.outcome is Outcome.SUCCESS
    assert (episode.touched, episode.moved) == (first, first)


def test_the_truth_of_each_atom_is_kept_over_time(played: Played):
    episode = played("oracle", EpisodeSpec("libero_10/2", 0))
    assert set(episode.truth) == {"TurnOn flat_stove_1", "On moka_pot_1 flat_stove_1_cook_region"}
    for intervals in episode.truth.values():
        assert intervals[-1][1] == episode.steps + 1, "true at the end, when the goal was reached"
        assert intervals[0][0] > 0, "false at the start"


def test_a_path_has_one_place_more_than_actions(played: Played):
    episode = played("oracle", EpisodeSpec("libero_goal/7", 0))
    assert episode.trajectory.end_effector.shape == (episode.steps + 1, 3)
    assert episode.trajectory.gripper.shape == (episode.steps + 1,)
    assert episode.trajectory.actions.shape == (episode.steps, 7)
    assert episode.decisions == episode.steps and episode.images == 0
    assert (
        np.ptp(episode.trajectory.end_effector, axis=0).max() > 0.1
        and episode.trajectory.gripper.min() < 0.05
    )


def test_what_is_touched_is_kept_over_time_and_in_its_order(played: Played):
    """The stove is turned on first, then the moka pot is put on it."""
    episode = played("oracle", EpisodeSpec("libero_10/2", 0))
    stove, pot = episode.contacts["flat_stove_1"], episode.contacts["moka_pot_1"]
    assert next(iter(episode.contacts)) == episode.touched == "flat_stove_1"
    assert stove[0][0] < pot[0][0] < pot[-1][1] <= episode.steps + 1
    for spans in episode.contacts.values():
        edges = [edge for span in spans for edge in span]
        assert edges == sorted(set(edges)), "spans neither meet nor overlap"


def test_where_the_objects_of_the_task_stood_is_kept(played: Played):
    """The farther they are displaced, the farther they stand from where they stood."""
    usual = played("idle", EpisodeSpec("libero_goal/1", 0, steps=1))
    moved = played("idle", EpisodeSpec("libero_goal/1", 0, steps=1, perturbations=(Displace(0.1),)))
    assert (usual.contacts, usual.touched, usual.moved) == ({}, None, None)
    assert set(usual.initial_positions) == {"akita_black_bowl_1", "flat_stove_1"}
    apart = {
        name: np.linalg.norm(np.subtract(place, moved.initial_positions[name]))
        for name, place in usual.initial_positions.items()
    }
    assert apart == {"akita_black_bowl_1": pytest.approx(0.1, abs=0.002), "flat_stove_1": 0.0}
