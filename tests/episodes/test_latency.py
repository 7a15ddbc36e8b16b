from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay import tasks
from assay.episodes import Episode, EpisodeSpec, Outcome, rollout
from assay.episodes.latency import Timeline
from assay.errors import SpecError
from assay.policies.simple import STILL
from assay.sim import Observation, Simulation, compile_scene, load_pack
from assay.sim.world import LIBERO_WORLD, SceneEnv
from assay.tasks import Instruction

TASK = tasks.load("libero_goal/7")
SPEC = EpisodeSpec(TASK.id, 0, "primitives")
CHUNK = 5


@pytest.fixture(scope="module")
def world() -> Simulation:
    return Simulation(compile_scene(TASK.scene, load_pack("primitives")))


class Counting:
    """Action k of its n-th chunk has 10 n + k hundredths as its first number; odd chunks close the gripper."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self.asked = []

    def act(self, observation: Observation) -> np.ndarray:
        self.asked.append(observation.step)
        turn = len(self.asked)
        chunk = np.zeros((CHUNK, 7))
        chunk[:, 0] = (10 * turn + np.arange(CHUNK)) / 100
        chunk[:, 6] = 1.0 if turn % 2 else -1.0
        return chunk


class Far(Counting):
    """The same; it wants two of its five actions executed."""

    def act(self, observation: Observation) -> np.ndarray:
        return super().act(observation)[:2]

    def foresee(self, observation: Observation) -> tuple[np.ndarray, int]:
        return super().act(observation), 2


class Settling(Counting):
    """It waits for three steps first, as clients of servers do."""

    waiting = 3

    def act(self, observation: Observation) -> np.ndarray:
        return np.tile(STILL, (3 - observation.step, 1)) if observation.step < 3 else super().act(observation)


def play(world: Simulation, policy: Counting, **fields: object) -> Episode:
    return rollout(SceneEnv(world, TASK, world.sample(0)), policy, replace(SPEC, **fields))  # type: ignore[arg-type]


def done(episode: Episode) -> list[int]:
    """The first number of each action, in hundredths: 23 is action 3 of the second chunk, 0 holds."""
    return [round(100 * float(each)) for each in episode.trajectory.actions[:, 0]]


def test_decisions_take_effect_after_the_latency(world: Simulation):
    for fields, expected, asked in (
        ({"replan": 2}, [10, 11, 20, 21, 30, 31, 40, 41, 50, 51], [0, 2, 4, 6, 8]),
        ({"replan": 2, "latency": 2}, [0, 0, 10, 11, 12, 13, 20, 21, 22, 23], [0, 4, 8]),
        ({"replan": 2, "latency": 4}, [0, 0, 0, 0, 10, 11, 12, 13, 14, 0, 20, 21], [0, 6]),
        ({"replan": 2, "latency": 2, "while_waiting": "hold"}, [0, 0, 10, 11, 0, 0, 20, 21, 0, 0], [0, 4, 8]),
        (
            {"replan": 2, "latency": 2, "while_waiting": "align"},
            [0, 0, 10, 11, 12, 13, 22, 23, 24, 0],
            [0, 4, 8],
        ),
        ({"latency": 3}, [0, 0, 0, 10, 11, 12, 13, 14, 0, 0, 0, 20], [0, 8]),
    ):
        policy = Counting()
        episode = play(world, policy, steps=len(expected), **fields)
        assert (done(episode), policy.asked) == (expected, asked)
        assert (
            episode.decisions == len(asked) == len(episode.inference) and episode.outcome is Outcome.FAILURE
        )


def test_predicted_actions_continue_while_the_next_chunk_is_awaited(world: Simulation):
    assert done(play(world, Far(), steps=8, latency=2)) == [0, 0, 10, 11, 12, 13, 20, 21]
    assert done(play(world, Far(), steps=4)) == [10, 11, 20, 21]
    assert done(play(world, Far(), steps=4, replan=1)) == [10, 20, 30, 40]


def test_a_dropped_chunk_is_not_continued_by_an_older_one():
    """Dropped while it is waited for, and when its first action is done."""
    for dropped_after in (1, 3):
        first, second = (np.full((5, 7), number, np.float32) for number in (1, 2))
        timeline = Timeline(LIBERO_WORLD, 2, "play")
        assert len(list(timeline.actions(first, 1, absolute=False, late=2))) == 3
        dropped = timeline.actions(second, 2, absolute=False, late=2)
        assert [next(dropped)[0][0] for _ in range(dropped_after)] == [1, 1, 2][:dropped_after]
        waiting = timeline.actions(second, 1, absolute=False, late=2)
        assert [float(next(waiting)[0][0]) for _ in range(3)] == [0, 0, 2]


def test_waiting_steps_need_no_decision(world: Simulation):
    episode = play(world, Settling(), steps=6, latency=2)
    assert done(episode) == [0, 0, 0, 0, 0, 10, 11, 12, 13] and len(episode.inference) == 1


def test_a_late_episode_has_a_key_of_its_own_and_survives_json():
    late = replace(SPEC, latency=4)
    holding = replace(late, while_waiting="hold")
    assert len({SPEC.key, late.key, holding.key}) == 3
    assert [EpisodeSpec.from_json(each.to_json()) for each in (SPEC, late, holding)] == [SPEC, late, holding]
    assert "latency" not in SPEC.to_json() and "while_waiting" not in late.to_json()
    assert holding.control() == holding


def test_an_invalid_latency_is_rejected(world: Simulation):
    for latency in (-1, 10**6, True):
        with pytest.raises(SpecError, match="expected 0 to"):
            play(world, Counting(), latency=latency)
