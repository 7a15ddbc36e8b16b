from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from assay.episodes import Senses
from assay.perturb.senses.robot import ActionDelay, ActionNoise, ProprioceptionNoise, ProprioceptionOffset
from assay.sim import Observation

Begun = Callable[..., Senses]


PARTS = {"position": "eef_position", "rotation": "eef_quaternion", "joints": "joints", "gripper": "gripper"}


MISJUDGED = [ProprioceptionNoise, ProprioceptionOffset]


def turn(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The rotation vector in the world from one orientation to another, (3,)."""
    back, between, vector = np.empty(4), np.empty(4), np.empty(3)
    mujoco.mju_negQuat(back, one)
    mujoco.mju_mulQuat(between, other, back)
    mujoco.mju_quat2Vel(vector, between, 1.0)
    return vector


def misjudged(seen: Observation, changed: Observation) -> dict[str, np.ndarray]:
    return {
        "position": changed.eef_position - seen.eef_position,
        "rotation": turn(seen.eef_quaternion, changed.eef_quaternion),
        "joints": changed.joints - seen.joints,
        "gripper": changed.gripper - seen.gripper,
    }


@pytest.mark.parametrize("sense", MISJUDGED)
@pytest.mark.parametrize("part", PARTS)
def test_it_changes_what_it_says_and_nothing_else(
    sense: type[ProprioceptionNoise], part: str, seen: list[Observation], senses: Begun
):
    before = {each: getattr(seen[1], each).copy() for each in PARTS.values()}
    changed = senses(sense(**{part: 0.03})).observe(seen[1])
    for name, each in PARTS.items():
        assert np.array_equal(getattr(changed, each), before[each]) == (name != part), name
        assert np.array_equal(getattr(seen[1], each), before[each]), "the truth stays"
        assert not np.shares_memory(getattr(changed, each), getattr(seen[1], each))
    assert changed.moment is seen[1].moment and changed.step == seen[1].step
    assert np.linalg.norm(changed.eef_quaternion) == pytest.approx(1, abs=1e-12)


def test_noise_has_its_deviations_and_no_bias(seen: list[Observation], senses: Begun):
    sizes = {"position": 0.02, "rotation": 0.05, "joints": 0.1, "gripper": 0.005}
    episode = senses(ProprioceptionNoise(**sizes))
    steps = [replace(seen[1], step=step) for step in range(1500)]
    errors = [misjudged(each, episode.observe(each)) for each in steps]
    for part, size in sizes.items():
        values = np.array([each[part] for each in errors])
        assert values.std(axis=0) == pytest.approx(size, rel=0.1), part
        assert np.abs(values.mean(axis=0)).max() < 0.1 * size, part


def test_noise_is_the_same_for_the_same_step_and_new_for_the_next(seen: list[Observation], senses: Begun):
    sense = ProprioceptionNoise(0.02)
    one, other = senses(sense), senses(sense)
    forwards = [one.observe(each).eef_position for each in seen]
    backwards = [other.observe(each).eef_position for each in reversed(seen)][::-1]
    assert np.array_equal(forwards, backwards)
    noises = {tuple(a - b.eef_position) for a, b in zip(forwards, seen, strict=True)}
    assert len(noises) == len(seen)
    assert not np.array_equal(senses(sense, seed=1).observe(seen[0]).eef_position, forwards[0])


def test_an_offset_is_exact_and_lasts(seen: list[Observation], senses: Begun):
    lines = []
    for seed in range(8):
        episode = senses(ProprioceptionOffset(0.05, 0.3, 0.1, 0.01), seed=seed)
        errors = [misjudged(each, episode.observe(each)) for each in seen]
        for part in PARTS:
            assert np.allclose([each[part] for each in errors], errors[0][part], atol=1e-12)
        assert np.linalg.norm(errors[0]["position"]) == pytest.approx(0.05)
        assert np.linalg.norm(errors[0]["rotation"]) == pytest.approx(0.3)
        assert np.abs(errors[0]["joints"]) == pytest.approx(0.1)
        assert np.abs(errors[0]["gripper"]) == pytest.approx(0.01)
        assert errors[0]["gripper"].sum() == pytest.approx(0), "both fingers, further open or closed"
        lines.append(errors[0]["position"] / 0.05)
    assert np.linalg.norm(np.mean(lines, axis=0)) < 0.8, "in directions that are drawn"


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


def test_noise_has_its_deviations_and_leaves_the_gripper(senses: Begun):
    actions = np.tile(np.array([0.1, -0.2, 0.3, 0.0, 0.1, 0.2, 1.0]), (2000, 1))
    noise = done(senses(ActionNoise(0.2, 0.05)), actions) - actions
    assert noise[:, :3].std(axis=0) == pytest.approx(0.2, rel=0.1)
    assert noise[:, 3:6].std(axis=0) == pytest.approx(0.05, rel=0.1)
    assert np.abs(noise.mean(axis=0)).max() < 0.02
    assert not noise[:, 6].any()


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
