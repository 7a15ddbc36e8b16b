from __future__ import annotations

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, rollout
from assay.perturb.senses import ActionDelay, ActionNoise, ProprioceptionOffset
from assay.sim import Observation, Simulation
from assay.sim.world import SceneEnv
from assay.tasks import Instruction

TASK = "libero_goal/0"
MOVE = np.array([0.5, -0.3, 0.4, 0.2, 0.0, 0.0, -1.0], np.float32)


class Watchful:
    """Always does the same, and remembers what it was shown."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self.seen: list[Observation] = []

    def act(self, observation: Observation) -> np.ndarray:
        self.seen.append(observation)
        return MOVE[None]


def test_a_policy_gets_what_is_sensed_and_a_watcher_what_is_there(world: Simulation):
    watched: list[Observation] = []
    spec = EpisodeSpec(TASK, 0, perturbations=(ProprioceptionOffset(0.05),), steps=4)
    policy = Watchful()
    rollout(SceneEnv(world, tasks.load(TASK), world.sample(0)), policy, spec, watch=watched.append)
    errors = [
        one.eef_position - other.eef_position for one, other in zip(policy.seen, watched[:-1], strict=True)
    ]
    assert [each.step for each in policy.seen] == [0, 1, 2, 3]
    assert np.allclose(errors, errors[0]) and np.linalg.norm(errors[0]) == pytest.approx(0.05)


@pytest.mark.parametrize("fault", [ActionDelay(2), ActionNoise(0.3, 0.3)], ids=repr)
def test_faults_change_what_happens_not_what_the_policy_did(fault: ActionDelay, world: Simulation):
    ends = {}
    for name, perturbations in (("control", ()), ("fault", (fault,)), ("again", (fault,))):
        spec = EpisodeSpec(TASK, 0, perturbations=perturbations, steps=6)
        done = rollout(SceneEnv(world, tasks.load(TASK), world.sample(0)), Watchful(), spec)
        assert np.array_equal(done.trajectory.actions, np.tile(MOVE, (6, 1)))
        ends[name] = world.state().vector
    assert np.array_equal(ends["fault"], ends["again"])
    assert not np.array_equal(ends["fault"], ends["control"])
