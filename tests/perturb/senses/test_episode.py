from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from assay.episodes.senses import Chance
from assay.perturb import Say
from assay.perturb.senses import (
    ActionNoise,
    Brightness,
    DroppedCamera,
    Fog,
    GaussianNoise,
    GlassBlur,
    MotionBlur,
    ProprioceptionNoise,
    Senses,
)
from assay.policies.remote import openpi, vla_eval
from assay.policies.remote.convention import Convention
from assay.sim import Observation, Simulation
from assay.support.images import letterbox, orient

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
@pytest.mark.parametrize("convention", [openpi.CONVENTION, vla_eval.CONVENTION], ids=["openpi", "vla-eval"])
def test_servers_get_what_is_sensed(convention: Convention, seen: list[Observation], senses: Begun):
    changed = senses(Fog(5, cameras=("agentview",)), ProprioceptionNoise(0.05)).observe(seen[1])
    sent, clean = convention.images(changed), convention.images(seen[1])
    for camera, name in convention.cameras:
        expected = orient(changed.image(camera, convention.drawn), convention.orientation)
        assert np.array_equal(sent[name], letterbox(expected, convention.size, convention.size))
        assert np.array_equal(sent[name], clean[name]) == (camera != "agentview")
    assert np.array_equal(convention.state_vector(changed)[:3], changed.eef_position)


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


_HASH = """
import hashlib
import numpy as np
from assay.perturb.senses import Fog, GaussianNoise, GlassBlur, MotionBlur
from assay.episodes.senses import Chance
picture = (np.arange(96 * 96 * 3) % 251).astype(np.uint8).reshape(96, 96, 3)
for sense in (MotionBlur(7), GlassBlur(7), GaussianNoise(7), Fog(7)):
    picture = sense.alter(picture, Chance((3, "senses", "agentview"), 5))
print(hashlib.sha256(picture.tobytes()).hexdigest())
"""


def test_another_process_sees_the_same():
    picture = (np.arange(96 * 96 * 3) % 251).astype(np.uint8).reshape(96, 96, 3)
    for sense in (MotionBlur(7), GlassBlur(7), GaussianNoise(7), Fog(7)):
        picture = sense.alter(picture, Chance((3, "senses", "agentview"), 5))
    said = subprocess.run([sys.executable, "-c", _HASH], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == hashlib.sha256(picture.tobytes()).hexdigest()
