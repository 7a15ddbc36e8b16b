from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as Turn

from assay.policies.remote import openpi, vla_eval
from assay.policies.remote.convention import Rotation, controller_state, encode_rotation
from assay.sim import CompiledScene, InitialState, Observation, Simulation
from assay.sim.parity import _open
from assay.support.images import Orientation, letterbox, orient
from assay.support.streams import stream


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
    _, _, fixtures = _open(file, lambda id: world)
    world.reset(InitialState(record["states"][0], fixtures))
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


COMPONENTS = st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4)


def unit(components: list[float]) -> np.ndarray:
    """A unit quaternion; not of next to no turn or a whole one, where the field's formula is unsteady."""
    given = np.array(components)
    assume(np.linalg.norm(given[1:]) > 1e-2 * max(np.linalg.norm(given), 0.1))
    return given / np.linalg.norm(given)


@given(COMPONENTS)
def test_both_rotation_vectors_are_the_same_orientation_and_robosuites_keeps_the_sign(
    components: list[float],
):
    given = unit(components)
    shortest, signed = (encode_rotation(given, kind) for kind in (Rotation.SHORTEST, Rotation.ROBOSUITE))
    turn = Turn.from_quat(given, scalar_first=True)
    assert (Turn.from_rotvec(shortest).inv() * turn).magnitude() < 1e-6
    assert np.linalg.norm(shortest) <= np.pi + 1e-9
    assert np.abs(Turn.from_rotvec(signed).as_quat(scalar_first=True) - given).max() < 1e-6
    assert given[0] >= -1e-6 or np.linalg.norm(signed) > np.pi


def test_quaternions_and_euler_angles_equal_scipys():
    draws = stream(1, "quaternions").normal(size=(50, 4))
    for drawn in draws / np.linalg.norm(draws, axis=1, keepdims=True):
        theirs = Turn.from_quat(drawn[[1, 2, 3, 0]])
        assert np.allclose(encode_rotation(drawn, Rotation.EULER), theirs.as_euler("xyz"))
        assert np.array_equal(encode_rotation(drawn, Rotation.XYZW), drawn[[1, 2, 3, 0]])
        assert np.array_equal(encode_rotation(drawn, Rotation.WXYZ), drawn)
    for rotation in (Rotation.ROBOSUITE, Rotation.SHORTEST):
        assert np.array_equal(encode_rotation(np.array([1.0, 0, 0, 0]), rotation), np.zeros(3)), "no rotation"


def test_the_controller_state_has_the_grip_sites_orientation(
    compiled: Callable[[str], CompiledScene], world_of: Callable[..., Simulation]
):
    world = world_of(compiled("libero_goal/7"))
    seen = world.reset(world.sample(0))
    site = np.zeros(4)
    mujoco.mju_mat2Quat(site, world.data.site("gripper0_grip_site").xmat)
    sent = Turn.from_rotvec(controller_state(seen)[3:6]).as_quat(scalar_first=True)
    assert abs(site @ sent) > 1.0 - 1e-6


def test_rotation_vectors_equal_those_of_vla_eval(
    vla_eval_python: Path, peer: Callable[..., str], tmp_path: Path
):
    """Its package holds robosuite's formula, which openpi's client uses, and its own."""
    draws = stream(0, "quaternions").normal(size=(200, 4))
    draws[:100, 1:] *= 0.02  # hands that point down: (x, y, z, w) with x near 1
    draws /= np.linalg.norm(draws, axis=1, keepdims=True)
    np.save(tmp_path / "quaternions.npy", draws)
    files = tmp_path / "quaternions.npy", tmp_path / "theirs.npz"
    peer(vla_eval_python, "vla_eval_client.py", "rotations", *files)
    theirs = np.load(tmp_path / "theirs.npz")
    for rotation in (Rotation.ROBOSUITE, Rotation.SHORTEST):
        ours = [encode_rotation(each[[3, 0, 1, 2]], rotation) for each in draws]
        assert np.abs(theirs[rotation.value] - ours).max() < 2e-6  # theirs are float32
    assert np.abs(theirs["robosuite"] - theirs["shortest"]).max() > np.pi


def test_a_server_sees_the_pixels_that_the_real_openpi_client_would_send(
    openpi_python: Path, peer: Callable[..., str], tmp_path: Path
):
    draws = stream(0, "pictures")
    sizes = ((256, 256), (224, 224), (128, 128), (480, 640), (90, 31))
    raw = {f"p{h}x{w}": draws.integers(0, 256, (h, w, 3), dtype=np.uint8) for h, w in sizes}
    np.savez(tmp_path / "raw.npz", **raw)
    peer(openpi_python, "openpi_peer.py", "resize", tmp_path / "raw.npz", tmp_path / "theirs.npz", "224")
    theirs = np.load(tmp_path / "theirs.npz")
    for name, picture in raw.items():
        ours = letterbox(orient(picture[::-1], Orientation.ROTATED), 224, 224)
        assert theirs[name].shape == (224, 224, 3) and np.array_equal(theirs[name], ours)


def test_scaling_keeps_the_aspect_ratio():
    framed = letterbox(np.full((50, 100, 3), 200, dtype=np.uint8), 80, 80)
    assert framed.shape == (80, 80, 3)
    assert (framed[20:60] == 200).all() and (framed[:20] == 0).all() and (framed[60:] == 0).all()
