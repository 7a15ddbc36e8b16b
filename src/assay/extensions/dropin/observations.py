"""Observations with LIBERO's keys: a dict whose images are rendered, and expensive values computed, on access."""

from __future__ import annotations

import multiprocessing
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from assay.sim import CompiledScene, Observation
from assay.sim.controller import single_precision_matrix

PROPRIOCEPTION = "robot0_proprio-state"
OBJECTS = "object-state"


class _LazyValue(NamedTuple):
    """A value that is computed on access."""

    compute: Callable[[], np.ndarray]


class Observations(OrderedDict[str, Any]):
    """A dict of lazy values, all of which are computed when the dict is copied or sent to another process."""

    # These methods of the abstract classes access values through `__getitem__`, unlike those of dict.
    get, items, values = Mapping.get, Mapping.items, Mapping.values  # type: ignore[assignment]
    pop, __eq__ = MutableMapping.pop, Mapping.__eq__  # type: ignore[assignment]

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, _LazyValue):
            value = value.compute()
            self[key] = value
        return value

    def __reduce__(self) -> Any:
        return OrderedDict, (list(self.items()),)


class CameraSettings(NamedTuple):
    """Resolution and image types (colour, depth, segmentations) of one camera."""

    name: str
    height: int
    width: int
    depth: bool
    segmentations: tuple[str, ...]


class Sensors:
    """Converts Assay's observations to LIBERO's: keys, orientations and types."""

    def __init__(
        self,
        compiled: CompiledScene,
        cameras: Iterable[CameraSettings],
        segment: Callable[[Observation, CameraSettings, str], np.ndarray],
        objects: bool = True,
    ) -> None:
        self._cameras = tuple(cameras)
        self._segment = segment
        model = compiled.model
        self._objects = {
            obj.name: int(model.jnt_qposadr[compiled.entities[obj.name].joints[-1]])
            for obj in compiled.scene.objects
            if objects
        }

    def read(self, observation: Observation) -> Observations:
        """Convert an observation. Images are rendered on access, except in a child process of `multiprocessing`.

        A child process sends its observations to its parent, possibly through a queue, which pickles them in another
        thread, where the GL context cannot render.
        """
        quaternion = observation.eef_quaternion[[1, 2, 3, 0]]
        proprioception = {
            "robot0_joint_pos": observation.joints.copy(),
            "robot0_joint_pos_cos": np.cos(observation.joints),
            "robot0_joint_pos_sin": np.sin(observation.joints),
            "robot0_joint_vel": observation.joint_velocities.copy(),
            "robot0_eef_pos": observation.eef_position.copy(),
            "robot0_eef_quat": quaternion,
            "robot0_gripper_qpos": observation.gripper.copy(),
            "robot0_gripper_qvel": observation.gripper_velocities.copy(),
        }
        observations = Observations(proprioception)
        for camera in self._cameras:
            observations.update(self._images(observation, camera))

        @cache
        def poses(name: str) -> tuple[np.ndarray, ...]:
            """Return an object's position and quaternion in the world, and both relative to the end effector."""
            address = self._objects[name]
            qpos = observation.moment.qpos[address : address + 7]
            position, rotation = qpos[:3].copy(), (qpos[3:] / np.linalg.norm(qpos[3:]))[[1, 2, 3, 0]]
            effector = _pose_matrix(observation.eef_position, observation.eef_quaternion[[1, 2, 3, 0]])
            inverse = np.eye(4)
            inverse[:3, :3] = effector[:3, :3].T
            inverse[:3, 3] = -inverse[:3, :3] @ effector[:3, 3]
            relative = inverse @ _pose_matrix(position, rotation)
            return position, rotation, relative[:3, 3].copy(), _quaternion(relative[:3, :3])

        def pose(name: str, index: int) -> np.ndarray:
            return poses(name)[index].copy()

        for name in self._objects:
            for index, ending in enumerate(ENDINGS):
                observations[f"{name}{ending}"] = _LazyValue(partial(pose, name, index))
        observations[PROPRIOCEPTION] = np.concatenate(list(proprioception.values()))
        if self._objects:
            observations[OBJECTS] = _LazyValue(
                lambda: np.concatenate([part for name in self._objects for part in poses(name)])
            )
        if multiprocessing.parent_process() is not None:
            list(observations.values())
        return observations

    def _images(self, observation: Observation, camera: CameraSettings) -> Iterator[tuple[str, Any]]:
        name, height, width = camera.name, camera.height, camera.width
        yield f"{name}_image", _LazyValue(lambda: flip_rows(observation.image(name, height, width)))
        if camera.depth:
            raw = _LazyValue(
                lambda: flip_rows(observation.picture("raw_depth", name, height, width))[..., None]
            )
            yield f"{name}_depth", raw
        for kind in camera.segmentations:
            yield (
                f"{name}_segmentation_{kind}",
                _LazyValue(partial(self._segment, observation, camera, kind)),
            )


ENDINGS = ("_pos", "_quat", "_to_robot0_eef_pos", "_to_robot0_eef_quat")


def _pose_matrix(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """Return the homogeneous matrix (4, 4) for a position and a quaternion (x, y, z, w), in single precision."""
    pose = np.eye(4, dtype=np.float32)
    pose[:3, :3] = single_precision_matrix(quaternion[[3, 0, 1, 2]])
    pose[:3, 3] = position
    return pose


def _quaternion(matrix: np.ndarray) -> np.ndarray:
    """Return the quaternion (x, y, z, w), with w >= 0, of a rotation matrix (3, 3).

    It is the principal eigenvector of a 4 x 4 matrix, computed in single precision as in robosuite, so that
    observations are equal to LIBERO's.
    """
    m = matrix.astype(np.float32)
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0.0, 0.0, 0.0],
            [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0.0, 0.0],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0.0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
        ],
        dtype=np.float32,
    )
    values, vectors = np.linalg.eigh(k / np.float32(3.0))
    q = np.asarray(vectors[:, np.argmax(values)])
    return -q if q[3] < 0.0 else q


def flip_rows(image: np.ndarray) -> np.ndarray:
    """Flip an image vertically: LIBERO's images start with the bottom row."""
    return np.ascontiguousarray(image[::-1])
