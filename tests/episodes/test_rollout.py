from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay import tasks
from assay.episodes import Episode, EpisodeSpec, Outcome, horizon, rollout
from assay.episodes.rollout import MAX_CHUNK
from assay.policies.registry import load_policy
from assay.policies.simple import STILL
from assay.sim import Observation, Simulation, compile_scene, load_pack
from assay.sim.world import SceneEnv
from assay.tasks import Instruction

TASK = tasks.load("libero_goal/7")
SPEC = EpisodeSpec(TASK.id, 0, "primitives")


class Untouchable:
    """As a tensor on a GPU: it cannot be made an array."""

    def __array__(self, *arguments: object) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


class Attaching:
    """Happens to have a method called attach."""

    def attach(self, env: object) -> None:
        raise ValueError("no")

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None: ...

    def act(self, observation: Observation) -> np.ndarray: ...


class Scripted:
    """Returns what it is told to, and remembers what it was asked."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.seen: list[int] = []
        self.told: list[str] = []

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self.told.append(instruction.text)

    def act(self, observation: Observation) -> np.ndarray:
        self.seen.append(observation.step)
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[return-value]


@pytest.fixture(scope="module")
def world() -> Simulation:
    return Simulation(compile_scene(TASK.scene, load_pack("primitives")))


def run(world: Simulation, policy: Scripted, **options: int) -> Episode:
    return rollout(SceneEnv(world, TASK, world.sample(0)), policy, replace(SPEC, **options))


def test_a_policy_that_breaks_is_an_error_with_its_name_and_the_step(world: Simulation):
    for answer, words in (
        (ValueError("bad\nday"), "ValueError: bad day"),
        (SystemExit(3), "SystemExit: 3"),
        (None, "not an array of numbers"),
        (Untouchable(), "not an array of numbers"),
        (np.full((1, 7), np.nan), "not finite"),
        (np.zeros(7), "shape (7,)"),
        (np.zeros((0, 7)), "shape (0, 7)"),
        (np.zeros((10_000, 7)), f"k from 1 to {MAX_CHUNK}"),
    ):
        result = run(world, Scripted(STILL[None], STILL[None], answer), steps=9)
        assert result.outcome is Outcome.ERROR and result.steps == 2
        assert result.error.startswith("Scripted, step 2: ") and words in result.error
        assert "\n" not in result.error


def test_a_replayed_rollout_is_equal_to_the_last_bit(world: Simulation):
    first = rollout(SceneEnv(world, TASK, world.sample(0)), load_policy("oracle"), SPEC)
    assert first.outcome is Outcome.SUCCESS and first.steps < horizon(SPEC)
    after = world.state().vector
    world.reset(world.sample(0))
    for action in first.trajectory.actions:
        world.step(action)
    assert first.trajectory.actions.dtype == np.float32 and np.array_equal(world.state().vector, after)


def test_a_policy_that_breaks_when_it_is_attached_is_an_error(world: Simulation):
    result = rollout(SceneEnv(world, TASK, world.sample(0)), Attaching(), SPEC)
    assert (result.outcome, result.error) == (Outcome.ERROR, "Attaching, step 0: ValueError: no")


def test_a_simulation_that_breaks_is_an_error(world: Simulation):
    class Wild(Scripted):
        def act(self, observation: Observation) -> np.ndarray:
            world.data.qvel[:] = 1e12
            return STILL[None]

    result = rollout(SceneEnv(world, TASK, world.sample(0)), Wild(), SPEC)
    assert result.outcome is Outcome.ERROR and "unstable" in result.error
