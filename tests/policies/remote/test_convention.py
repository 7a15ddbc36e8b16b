from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.policies.remote import openpi, vla_eval
from assay.policies.remote.convention import Rotation, check_actions
from assay.sim import CompiledScene, InitialState, Observation, Simulation
from assay.sim.parity import _fixtures
from assay.support.images import Orientation


def robosuite_vector(quaternion: np.ndarray) -> np.ndarray:
    """Axis-angle of (x, y, z, w) as robosuite has it: the sign is not touched."""
    angle = 2.0 * np.arccos(quaternion[3])
    return quaternion[:3] / np.sqrt(1.0 - quaternion[3] ** 2) * angle


def test_the_state_equals_liberos(
    reference: Path, compiled_libero: Callable[[str], CompiledScene], world_of: Callable[..., Simulation]
):
    file = reference / "trajectories" / "libero_goal_00_00_traj.npz"
    record = np.load(file)
    world = world_of(compiled_libero("libero_goal/0"))
    world.reset(InitialState(record["states"][0], _fixtures(dict(record), world.compiled, file)))
    signs = set()
    for step in range(30):
        observation = world.step(record["actions"][step])
        quaternion = record["eef_quat_xyzw"][step]
        signs.add(bool(quaternion[3] > 0))
        theirs = np.concatenate(
            [record["eef_pos"][step], robosuite_vector(quaternion), record["gripper_qpos"][step]]
        )
        assert np.abs(openpi.CONVENTION.state_vector(observation) - theirs).max() < 1e-5
        shortest = vla_eval.CONVENTION.state_vector(observation)
        assert np.linalg.norm(shortest[3:6]) <= np.pi
    assert signs == {True, False}, "both signs of the scalar part were met"


def test_our_robot_has_liberos_quaternion_sign(
    reference: Path, compiled: Callable[[str], CompiledScene], world_of: Callable[..., Simulation]
):
    record = np.load(reference / "trajectories" / "libero_goal_00_00_traj.npz")
    world = world_of(compiled("libero_goal/0"))
    initial = world.sample(0)
    for step in range(0, 60, 6):
        vector = initial.vector.copy()
        vector[1:8] = record["states"][step + 1][1:8]
        quaternion = world.reset(InitialState(vector, initial.fixtures)).eef_quaternion[[1, 2, 3, 0]]
        assert np.abs(quaternion - record["eef_quat_xyzw"][step]).max() < 0.01


def test_images_are_sent_in_the_orientation_and_size_of_the_convention(observation: Observation):
    for convention in (openpi.CONVENTION, vla_eval.CONVENTION):
        pictures = convention.images(observation)
        assert list(pictures) == [wire for _, wire in convention.cameras]
        assert all(
            each.shape == (convention.size, convention.size, 3) and each.dtype == np.uint8
            for each in pictures.values()
        )
        mirrored = convention.adjusted({"size": 256}).images(observation)
        for camera, wire in convention.cameras:
            upright = observation.image(camera, 256)
            assert np.array_equal(mirrored[wire], upright[:, ::-1])
            assert not np.array_equal(mirrored[wire], upright)
        raw = convention.adjusted({"size": 256, "orientation": Orientation.RAW}).images(observation)
        for picture, rotated in zip(raw.values(), mirrored.values(), strict=True):
            assert np.array_equal(np.rot90(picture, 2), rotated)


def test_the_gripper_sign_follows_the_convention():
    action = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.25], [0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, -0.5]])
    assert np.array_equal(openpi.CONVENTION.decode_actions(action), action)
    assert vla_eval.CONVENTION.decode_actions(action)[:, 6].tolist() == [1.0, 1.0, -1.0]
    turned = openpi.CONVENTION.adjusted({"closes": -1})
    assert turned.decode_actions(action)[:, 6].tolist() == [-0.25, 0.0, 0.5]
    assert np.array_equal(turned.decode_actions(turned.encode_actions(action)), action)


def test_declared_observations_are_adopted():
    def declared(**wanted: bool):
        return vla_eval.adopt_parameters(vla_eval.CONVENTION, wanted)

    assert [wire for _, wire in declared(send_state=True).cameras] == ["agentview"]
    assert declared(send_wrist_image=True).state is None
    both = declared(send_state=True, send_wrist_image=True, quat_no_antipodal=True)
    assert both == vla_eval.CONVENTION.adjusted({"rotation": Rotation.ROBOSUITE})


def test_invalid_actions_are_reported():
    for given, words in (
        ("left", "not an array of numbers"),
        ({"a": 1}, "not an array of numbers"),
        ([[1.0, 2.0], [3.0]], "not an array of numbers"),
        ([], "shape (0,)"),
        (3.0, "shape ()"),
        (np.zeros((2, 6)), "shape (2, 6)"),
        (np.zeros((0, 7)), "shape (0, 7)"),
        (np.zeros((1, 5, 7)), "shape (1, 5, 7)"),
        (np.zeros((1001, 7)), "k from 1 to 1000"),
        (np.full((1, 7), np.nan), "not finite"),
        (np.full(7, np.inf), "not finite"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            check_actions(given)
