from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as Turn

from assay.policies.remote.convention import (
    Rotation,
    controller_state,
    encode_rotation,
)
from assay.policies.remote.serve import vector_to_quaternion
from assay.sim import CompiledScene, Simulation
from assay.support.streams import stream

COMPONENTS = st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4)


def unit(components: list[float]) -> np.ndarray:
    """A unit quaternion; not of next to no turn or a whole one, where the field's formula is unsteady."""
    given = np.array(components)
    assume(np.linalg.norm(given[1:]) > 1e-2 * max(np.linalg.norm(given), 0.1))
    return given / np.linalg.norm(given)


@given(COMPONENTS)
def test_both_rotation_vectors_are_the_same_orientation(components: list[float]):
    given = unit(components)
    turn = Turn.from_quat(given, scalar_first=True)
    for rotation in (Rotation.ROBOSUITE, Rotation.SHORTEST):
        vector = encode_rotation(given, rotation)
        assert (Turn.from_rotvec(vector).inv() * turn).magnitude() < 1e-6
    assert np.linalg.norm(encode_rotation(given, Rotation.SHORTEST)) <= np.pi + 1e-9


@given(COMPONENTS)
def test_robosuites_vector_keeps_the_quaternions_sign(components: list[float]):
    given = unit(components)
    vector = encode_rotation(given, Rotation.ROBOSUITE)
    assert np.abs(vector_to_quaternion(vector) - given).max() < 1e-6
    if given[0] < -1e-6:
        assert np.linalg.norm(vector) > np.pi


def test_quaternions_and_euler_angles_equal_scipys():
    draws = stream(1, "quaternions").normal(size=(50, 4))
    for drawn in draws / np.linalg.norm(draws, axis=1, keepdims=True):
        theirs = Turn.from_quat(drawn[[1, 2, 3, 0]])
        assert np.allclose(encode_rotation(drawn, Rotation.EULER), theirs.as_euler("xyz"))
        assert np.array_equal(encode_rotation(drawn, Rotation.XYZW), drawn[[1, 2, 3, 0]])
        assert np.array_equal(encode_rotation(drawn, Rotation.WXYZ), drawn)


def test_the_controller_state_has_the_grip_sites_orientation(
    compiled: Callable[[str], CompiledScene], world_of: Callable[..., Simulation]
):
    world = world_of(compiled("libero_goal/7"))
    seen = world.reset(world.sample(0))
    site = np.zeros(4)
    mujoco.mju_mat2Quat(site, world.data.site("gripper0_grip_site").xmat)
    assert abs(site @ vector_to_quaternion(controller_state(seen)[3:6])) > 1.0 - 1e-6


def test_no_rotation_is_a_zero_vector():
    for rotation in (Rotation.ROBOSUITE, Rotation.SHORTEST):
        assert np.array_equal(encode_rotation(np.array([1.0, 0, 0, 0]), rotation), np.zeros(3))
    assert np.array_equal(vector_to_quaternion(np.zeros(3)), [1.0, 0, 0, 0])


def test_rotation_vectors_equal_those_of_vla_eval(
    vla_eval_python: Path, peer: Callable[..., str], tmp_path: Path
):
    """Its package holds robosuite's formula, which openpi's client uses, and its own."""
    draws = stream(0, "quaternions").normal(size=(200, 4))
    draws[:100, 1:] *= 0.02  # hands that point down: (x, y, z, w) with x near 1
    draws /= np.linalg.norm(draws, axis=1, keepdims=True)
    np.save(tmp_path / "quaternions.npy", draws)
    peer(
        vla_eval_python,
        "vla_eval_client.py",
        "rotations",
        tmp_path / "quaternions.npy",
        tmp_path / "theirs.npz",
    )
    theirs = np.load(tmp_path / "theirs.npz")
    for rotation in (Rotation.ROBOSUITE, Rotation.SHORTEST):
        ours = [encode_rotation(each[[3, 0, 1, 2]], rotation) for each in draws]
        assert np.abs(theirs[rotation.value] - ours).max() < 2e-6  # theirs are float32
    assert np.abs(theirs["robosuite"] - theirs["shortest"]).max() > np.pi
