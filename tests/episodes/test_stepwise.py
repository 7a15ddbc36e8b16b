from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from assay.episodes import At, Episode, EpisodeSpec, Outcome, Stepwise, rollout, world_of
from assay.episodes.events import at_step
from assay.episodes.world import Env
from assay.errors import PolicyError, StateError
from assay.perturb.senses.robot import ActionDelay, ActionNoise, ProprioceptionNoise
from assay.policies.registry import load_policy
from assay.sim.observation import Observation
from assay.support.streams import stream

SPEC = EpisodeSpec("libero_goal/7", 3, steps=25)


@pytest.fixture(scope="module")
def env() -> Iterator[Env]:
    opened = world_of(SPEC.task).open()
    yield opened
    opened.close()


def same(one: Episode, other: Episode) -> bool:
    told = [
        each.name
        for each in fields(Episode)
        if each.name not in ("trajectory", "decisions", "seconds", "inference")
    ]
    return all(getattr(one, name) == getattr(other, name) for name in told) and all(
        np.array_equal(getattr(one.trajectory, each.name), getattr(other.trajectory, each.name))
        for each in fields(one.trajectory)
    )


class Reeling:
    """Goes where what it observes and its dice lead it, in double precision, two actions at a time."""

    def reset(self, instruction: object, spec: EpisodeSpec) -> None:
        self.rng = stream("reeling", spec.seed)

    def act(self, observation) -> np.ndarray:
        aim = np.append(10 * observation.eef_position, [0.0, 0.0, 0.0, 1.0])
        return np.clip(aim + self.rng.normal(size=(2, 7)), -1.2, 1.2)


@pytest.mark.parametrize(
    "senses", [(), (ActionNoise(0.2), ActionDelay(2), ProprioceptionNoise(0.01))], ids=["plain", "disturbed"]
)
def test_a_foreign_loop_plays_the_same_episode_as_rollout(env: Env, senses: tuple):
    spec, policy = replace(SPEC, perturbations=senses), Reeling()
    expected = rollout(env, policy, spec)
    play = Stepwise(env, spec)
    policy.reset(play.instruction, spec)
    while not play.over:
        for action in policy.act(play.observation):
            if not play.over:
                play.step(action.tolist())
    assert play.truncated and same(play.finish(), expected) and expected.steps == 25
    assert play.finish().decisions == 25 and expected.decisions == 13


def test_an_episode_ends_when_the_goal_holds(env: Env):
    spec = replace(SPEC, steps=None)
    oracle = load_policy("oracle")
    solved = rollout(env, oracle, spec)
    play = Stepwise(env, spec)
    for action in solved.trajectory.actions:
        assert not play.over and play.finish().outcome is Outcome.FAILURE
        play.step(action)
    assert play.succeeded and play.over and not play.truncated
    assert same(play.finish(), solved)
    with pytest.raises(
        StateError, match=rf"the episode is over after {solved.steps} steps; call reset first"
    ):
        play.step(action)


def test_an_invalid_action_is_rejected_and_does_nothing(env: Env):
    for action, reason in (
        ([0.0] * 6, r"has shape \(6,\); expected 7 finite numbers"),
        ([[0.0] * 7], r"has shape \(1, 7\)"),
        ([float("nan")] * 7, "7 finite numbers"),
        (None, r"has shape \(\)"),
        ("forward", "7 numbers, got str"),
    ):
        play = Stepwise(env, SPEC)
        with pytest.raises(PolicyError, match=reason):
            play.step(action)
        assert play.steps == 0
        broken = play.finish("it broke", broken=ValueError("no"))
        assert broken.outcome is Outcome.ERROR and broken.error == "it broke"


class Posed:
    """Says where the end effector is to go, as X-VLA's servers do: 5 cm above where it was first."""

    absolute = True

    def reset(self, instruction: object, spec: EpisodeSpec) -> None:
        self.goal: np.ndarray | None = None

    def act(self, observation: Observation) -> np.ndarray:
        if self.goal is None:
            pose = Rotation.from_quat(observation.eef_quaternion)
            self.goal = np.concatenate(
                [observation.eef_position + [0.0, 0.0, 0.05], pose.as_rotvec(), [-1.0]]
            )
        return self.goal[None]


def test_a_policy_that_gives_poses_is_taken_to_them(env: Env):
    policy = Posed()
    episode = rollout(env, policy, SPEC)
    assert policy.goal is not None and episode.outcome is Outcome.FAILURE
    reached = episode.trajectory.end_effector[-1]
    assert reached == pytest.approx(policy.goal[:3], abs=0.005)
    assert episode.clipped is None, "metres and radians are not clipped"


def test_poses_are_rejected_with_delayed_or_noisy_actuators(env: Env):
    for sense in (ActionDelay(2), ActionNoise(0.1), At(at_step(1), ActionDelay(2))):
        episode = rollout(env, Posed(), replace(SPEC, perturbations=(sense,), steps=4))
        assert (
            episode.outcome is Outcome.ERROR
            and "the action is an absolute pose; perturbations" in episode.error
        )
        seen = rollout(env, Posed(), replace(SPEC, perturbations=(ProprioceptionNoise(0.01),), steps=2))
        assert seen.outcome is Outcome.FAILURE, "what changes no action is fine"
