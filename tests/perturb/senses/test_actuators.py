from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.perturb.senses import ActionDelay, ActionNoise, Senses
from assay.sim import Observation, Simulation

Begun = Callable[..., Senses]


@pytest.fixture
def actions() -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (12, 7)).astype(np.float32)


def done(episode: Senses, actions: np.ndarray) -> np.ndarray:
    return np.array([episode.act(action, step) for step, action in enumerate(actions)])


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_a_delayed_action_comes_late_and_unchanged(steps: int, actions: np.ndarray, senses: Begun):
    executed = done(senses(ActionDelay(steps)), actions)
    assert not executed[:steps].any()
    assert np.array_equal(executed[steps:], actions[:-steps])


def test_the_robot_stays_as_it_is_until_the_first_action_comes(
    world: Simulation, actions: np.ndarray, senses: Begun
):
    episode, state = senses(ActionDelay(2)), world.sample(0)
    world.reset(state)
    for action in actions:
        world.step(episode.act(action, world.steps))
    late = world.state().vector
    world.reset(state)
    for action in [*np.zeros((2, 7)), *actions[:-2]]:
        world.step(action)
    assert np.array_equal(world.state().vector, late)


def test_noise_has_its_deviations_and_leaves_the_gripper(senses: Begun):
    actions = np.tile(np.array([0.1, -0.2, 0.3, 0.0, 0.1, 0.2, 1.0]), (2000, 1))
    noise = done(senses(ActionNoise(0.2, 0.05)), actions) - actions
    assert noise[:, :3].std(axis=0) == pytest.approx(0.2, rel=0.1)
    assert noise[:, 3:6].std(axis=0) == pytest.approx(0.05, rel=0.1)
    assert np.abs(noise.mean(axis=0)).max() < 0.02
    assert not noise[:, 6].any()


def test_a_command_beyond_its_limit_does_not_drown_the_noise(senses: Begun):
    huge = np.array([50.0, 0, 0, 0, 0, 0, -1.0])
    assert abs(senses(ActionNoise(0.2)).act(huge, 0)[0] - 1) < 1


def test_noise_is_the_same_for_the_same_step_and_seed(actions: np.ndarray, senses: Begun):
    sense = ActionNoise(0.2, 0.2)
    one, other = done(senses(sense), actions), done(senses(sense), actions)
    assert np.array_equal(one, other)
    assert not np.array_equal(done(senses(sense, seed=1), actions), one)
    repeated = done(senses(sense), np.zeros((2, 7)))
    assert not np.array_equal(*repeated)


@pytest.mark.parametrize("sense", [ActionNoise(0.2, 0.2), ActionDelay(1)], ids=repr)
def test_neither_the_policys_action_nor_what_it_sees_is_touched(
    sense: ActionNoise, actions: np.ndarray, seen: list[Observation], senses: Begun
):
    before, episode = actions.copy(), senses(sense)
    done(episode, actions)
    assert np.array_equal(actions, before)
    assert episode.observe(seen[0]) is seen[0]


def test_what_a_policy_does_to_its_action_later_changes_nothing(senses: Begun):
    episode, action = senses(ActionDelay(1)), np.ones(7)
    episode.act(action, 0)
    action[:] = 0
    assert np.array_equal(episode.act(action, 1), np.ones(7))
