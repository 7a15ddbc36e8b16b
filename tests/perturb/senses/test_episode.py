from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, Senses, from_json, rollout
from assay.episodes.senses import Chance
from assay.errors import PerturbationError
from assay.perturb import Say
from assay.perturb.senses.images import Brightness, DroppedCamera, Fog, GaussianNoise, GlassBlur, MotionBlur
from assay.perturb.senses.robot import ActionDelay, ActionNoise, ProprioceptionNoise, ProprioceptionOffset
from assay.sim import Observation, Simulation
from assay.sim.world import SceneEnv
from assay.tasks import Instruction


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"kind": "senses/fog"}, "severity: field required"),
        ({"kind": "senses/fog", "severity": 11}, "severity is 11; expected integers 1 to 10"),
        ({"kind": "senses/fog", "severity": 3, "thickness": 1}, "has no field 'thickness'"),
        ({"kind": "senses/fog", "severity": 3, "cameras": ["agentvew"]}, "did you mean 'agentview'?"),
        ({"kind": "senses/proprioception_noise"}, "nothing is changed"),
        ({"kind": "senses/action_noise", "translation": 0}, "nothing is changed"),
        ({"kind": "senses/patch", "size": 0.5, "x": -0.1}, "x is -0.1; expected 0 to 1"),
    ],
)
def test_invalid_json_is_rejected(value: dict[str, object], words: str):
    with pytest.raises(PerturbationError) as caught:
        from_json(value)
    assert words in str(caught.value)


Begun = Callable[..., Senses]


@pytest.mark.usefixtures("drawing")
def test_perturbations_apply_in_their_order(seen: list[Observation], senses: Begun):
    one = senses(Brightness(0.2), GaussianNoise(5)).observe(seen[0]).image("agentview", 32)
    other = senses(GaussianNoise(5), Brightness(0.2)).observe(seen[0]).image("agentview", 32)
    assert other.std() < one.std()
    assert not np.array_equal(one, other)


@pytest.mark.usefixtures("drawing")
def test_another_perturbation_leaves_the_draws_of_this_one_as_they_were(
    seen: list[Observation], senses: Begun
):
    dropped = DroppedCamera(cameras=("sideview",))
    alone = senses(GaussianNoise(5)).observe(seen[1]).image("agentview", 32)
    beside = senses(Say("a"), ActionNoise(0.1), dropped, GaussianNoise(5)).observe(seen[1])
    assert np.array_equal(beside.image("agentview", 32), alone)


def test_two_of_a_kind_draw_apart(seen: list[Observation], senses: Begun):
    noise = ProprioceptionNoise(0.02)
    once = senses(noise).observe(seen[0]).eef_position - seen[0].eef_position
    twice = senses(noise, noise).observe(seen[0]).eef_position - seen[0].eef_position
    assert not np.allclose(twice, 2 * once) and not np.allclose(twice, once)


@pytest.mark.usefixtures("drawing")
def test_looking_does_not_change_the_physics(world: Simulation, senses: Begun):
    moves = np.random.default_rng(1).uniform(-1, 1, (6, 7))
    ends = []
    for perturbations in ((), (Fog(9), MotionBlur(9), ProprioceptionNoise(0.1), DroppedCamera())):
        episode = senses(*perturbations)
        episode.observe(world.reset(world.sample(4))).image("agentview", 32)
        for move in moves:
            episode.observe(world.step(episode.act(move, world.steps))).image("agentview", 32)
        ends.append(world.state().vector)
    assert np.array_equal(*ends)


def print_altered_picture() -> None:
    picture = (np.arange(96 * 96 * 3) % 251).astype(np.uint8).reshape(96, 96, 3)
    for sense in (MotionBlur(7), GlassBlur(7), GaussianNoise(7), Fog(7)):
        picture = sense.alter(picture, Chance((3, "senses", "agentview"), 5))
    print(hashlib.sha256(picture.tobytes()).hexdigest())


def test_another_process_draws_the_same(capsys: pytest.CaptureFixture[str]):
    print_altered_picture()
    code = f"from {__name__} import print_altered_picture; print_altered_picture()"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout == capsys.readouterr().out


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
