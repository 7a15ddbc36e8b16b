"""What a served policy sees: an observation made of what came over the wire, and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import numpy as np

from assay.errors import PolicyError, did_you_mean
from assay.policies.remote import codec
from assay.policies.remote.convention import STATE_SIZE, Convention
from assay.policies.remote.rotations import quaternion
from assay.support.images import letterbox, orient


class Received:
    """Stands in for an Observation; what the wire does not carry is a PolicyError."""

    def __init__(
        self, convention: Convention, pictures: Mapping[str, object], state: object, step: int
    ) -> None:
        self.step = step
        """Observations received in this episode before this one."""
        self._convention = convention
        self._pictures = pictures
        self._state = _state(state)

    @property
    def eef_position(self) -> np.ndarray:
        """The grip site in the world, metres, (3,)."""
        return self._sensed()[:3]

    @property
    def eef_quaternion(self) -> np.ndarray:
        """The hand's orientation in the world, (w, x, y, z), (4,)."""
        return quaternion(self._sensed()[3:6])

    @property
    def gripper(self) -> np.ndarray:
        """The two finger joints, metres, (2,)."""
        return self._sensed()[6:]

    @property
    def joints(self) -> NoReturn:
        """Not on the wire."""
        raise _absent("the arm's joint angles")

    @property
    def moment(self) -> NoReturn:
        """Not on the wire."""
        raise _absent("the simulator's state")

    def image(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> np.ndarray:
        """The picture that came, turned upright: uint8, (height, width, 3); scaled if it has another size."""
        names = dict(self._convention.cameras)
        if camera not in names:
            raise PolicyError(f"there is no camera '{camera}' on the wire: {did_you_mean(camera, names)}")
        if names[camera] not in self._pictures:
            raise _absent(f"the picture '{names[camera]}'")
        try:
            picture = codec.picture(self._pictures[names[camera]])
        except codec.CodecError as error:
            raise PolicyError(f"'{names[camera]}': {error}") from None
        return letterbox(
            orient(picture, self._convention.orientation), height, height if width is None else width
        )

    def depth(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> NoReturn:
        """Not on the wire."""
        raise _absent("depth")

    def segmentation(
        self, camera: str = "agentview", height: int = 256, width: int | None = None
    ) -> NoReturn:
        """Not on the wire."""
        raise _absent("segmentation")

    def _sensed(self) -> np.ndarray:
        if self._state is None:
            raise _absent(f"the state '{self._convention.state}'")
        return self._state.copy()


def _state(given: object) -> np.ndarray | None:
    if given is None:
        return None
    state = np.asarray(given) if isinstance(given, list | np.ndarray) else np.empty(0, dtype=object)
    if state.dtype.kind not in "biuf" or state.shape != (STATE_SIZE,) or not np.isfinite(state).all():
        raise PolicyError(f"the state should be ({STATE_SIZE},) finite numbers, not {codec.brief(given)}")
    return state.astype(np.float64)


def _absent(what: str) -> PolicyError:
    return PolicyError(
        f"{what} did not come over the wire: a served policy sees what the client sends, no more"
    )
