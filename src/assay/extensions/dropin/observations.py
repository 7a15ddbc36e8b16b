"""Observations with LIBERO's keys: a dict whose images are rendered, and dear numbers computed, when touched."""

from __future__ import annotations

import multiprocessing
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.extensions.dropin.transforms import inverse, pose_of, quaternion_of
from assay.sim.compile import CompiledScene
from assay.sim.observation import Observation

PROPRIOCEPTION = "robot0_proprio-state"
OBJECTS = "object-state"


class _Pending(NamedTuple):
    """A value that is made when somebody touches it."""

    make: Callable[[], np.ndarray]


class Observations(OrderedDict[str, Any]):
    """A dict like any other; copies of it, and what is sent to other processes, have everything made."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, _Pending):
            value = value.make()
            super().__setitem__(key, value)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        """As a dict's."""
        return self[key] if key in self else default  # noqa: SIM401 - this is it

    def make(self) -> None:
        """Make what is not made yet."""
        for key in self:
            self[key]

    def items(self) -> Any:
        """Everything, made."""
        return self._made().items()

    def values(self) -> Any:
        """Everything, made."""
        return self._made().values()

    def pop(self, key: str, *default: Any) -> Any:
        """As a dict's."""
        if key in self:
            self[key]
        return super().pop(key, *default)

    def copy(self) -> Observations:
        """Another one; what is not made yet is made for each by itself."""
        return Observations((key, OrderedDict.__getitem__(self, key)) for key in self)

    __copy__ = copy

    def __or__(self, other: Any) -> Any:
        return self._made() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._made()

    def __eq__(self, other: object) -> bool:
        return self._made() == other

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return OrderedDict, (list(self._made().items()),)

    def __repr__(self) -> str:
        return f"Observations({', '.join(self)})"

    def _made(self) -> OrderedDict[str, Any]:
        return OrderedDict((key, self[key]) for key in self)


class Cameras(NamedTuple):
    """What an environment shows of one camera."""

    name: str
    height: int
    width: int
    depth: bool
    segmentations: tuple[str, ...]


class Sensors:
    """Makes LIBERO's observations of Assay's: keys, orientations and types as its scripts expect them."""

    def __init__(
        self,
        compiled: CompiledScene,
        cameras: Iterable[Cameras],
        segmented: Callable[[Observation, Cameras, str], np.ndarray],
        objects: bool = True,
    ) -> None:
        self._cameras = tuple(cameras)
        self._segmented = segmented
        model = compiled.model
        self._objects = {
            obj.name: int(model.jnt_qposadr[compiled.entities[obj.name].joints[-1]])
            for obj in compiled.scene.objects
            if objects
        }

    def read(self, seen: Observation) -> Observations:
        """What LIBERO gives of an observation. Nothing is rendered yet, but in a process of `multiprocessing`.

        Such a process sends its observations to another one, perhaps through a queue, which pickles them in a thread
        of its own: there GL cannot draw.
        """
        quaternion = seen.eef_quaternion[[1, 2, 3, 0]]
        proprioception = {
            "robot0_joint_pos": seen.joints.copy(),
            "robot0_joint_pos_cos": np.cos(seen.joints),
            "robot0_joint_pos_sin": np.sin(seen.joints),
            "robot0_joint_vel": seen.joint_velocities.copy(),
            "robot0_eef_pos": seen.eef_position.copy(),
            "robot0_eef_quat": quaternion,
            "robot0_gripper_qpos": seen.gripper.copy(),
            "robot0_gripper_qvel": seen.gripper_velocities.copy(),
        }
        found = Observations(proprioception)
        for camera in self._cameras:
            found.update(self._images(seen, camera))
        poses = _Poses(seen, self._objects)
        for name in self._objects:
            found.update({f"{name}{ending}": _Pending(partial(poses.of, name, ending)) for ending in ENDINGS})
        state = np.concatenate(list(proprioception.values()))
        found[PROPRIOCEPTION] = state
        if self._objects:
            found[OBJECTS] = _Pending(poses.state)
        if multiprocessing.parent_process() is not None:
            found.make()
        return found

    def _images(self, seen: Observation, camera: Cameras) -> Iterator[tuple[str, Any]]:
        name, height, width = camera.name, camera.height, camera.width
        yield f"{name}_image", _Pending(lambda: upside_down(seen.image(name, height, width)))
        if camera.depth:
            raw = _Pending(lambda: upside_down(seen.picture("raw_depth", name, height, width))[..., None])
            yield f"{name}_depth", raw
        for kind in camera.segmentations:
            yield (
                f"{name}_segmentation_{kind}",
                _Pending(partial(self._segmented, seen, camera, kind)),
            )


ENDINGS = ("_pos", "_quat", "_to_robot0_eef_pos", "_to_robot0_eef_quat")


class _Poses:
    """Where the objects of a moment were, in the world and as the hand sees them."""

    def __init__(self, seen: Observation, addresses: dict[str, int]) -> None:
        self._seen, self._addresses = seen, addresses
        self._found: dict[str, tuple[np.ndarray, ...]] = {}

    def of(self, name: str, ending: str) -> np.ndarray:
        if name not in self._found:
            self._found[name] = self._poses(name)
        return self._found[name][ENDINGS.index(ending)].copy()

    def state(self) -> np.ndarray:
        return np.concatenate([self.of(name, ending) for name in self._addresses for ending in ENDINGS])

    def _poses(self, name: str) -> tuple[np.ndarray, ...]:
        at = self._addresses[name]
        seen = self._seen
        position, turn = seen.moment.qpos[at : at + 3].copy(), seen.moment.qpos[at + 3 : at + 7]
        quaternion = (turn / np.linalg.norm(turn))[[1, 2, 3, 0]]
        world_in_hand = inverse(pose_of(seen.eef_position, seen.eef_quaternion[[1, 2, 3, 0]]))
        relative = world_in_hand @ pose_of(position, quaternion)
        return position, quaternion, relative[:3, 3].copy(), quaternion_of(relative[:3, :3])


def upside_down(picture: np.ndarray) -> np.ndarray:
    """A picture with the bottom row first, as LIBERO has them, or such a one with the top row first."""
    return np.ascontiguousarray(picture[::-1])
