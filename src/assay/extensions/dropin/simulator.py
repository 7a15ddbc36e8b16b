"""`env.sim`: MuJoCo's model and data by the names that robosuite gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.extensions.dropin.missing import missing
from assay.extensions.dropin.observations import upside_down
from assay.sim.bare_mujoco import mujoco
from assay.sim.render import CAMERAS
from assay.sim.simulation import Simulation

_KINDS = ("body", "joint", "geom", "site", "light", "camera", "actuator", "sensor", "tendon", "mesh")
_OBJECTS = {kind: getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}") for kind in _KINDS}


class MjSimState:
    """Time, joint positions and velocities."""

    def __init__(self, time: float, qpos: np.ndarray, qvel: np.ndarray) -> None:
        self.time, self.qpos, self.qvel = time, qpos, qvel

    def flatten(self) -> np.ndarray:
        """All of it in one vector."""
        return np.concatenate([[self.time], self.qpos, self.qvel])


class _Wrapped:
    """Everything that MuJoCo's own structure has, read and written."""

    _own: Any
    _name = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(self._own, name)
        except AttributeError:
            missing(self._name, name, [each for each in dir(self._own) if not each.startswith("_")])

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._own, name, value)


class MjModel(_Wrapped):
    """The model; ``_model`` is MuJoCo's."""

    _name = "sim.model"

    def __init__(self, model: mujoco.MjModel) -> None:
        self._own = self._model = model

    def get_joint_qpos_addr(self, name: str) -> int | tuple[int, int]:
        """Where a joint's position is in qpos: one number, or first and last of several."""
        return self._address(
            name, self._model.jnt_qposadr, {mujoco.mjtJoint.mjJNT_FREE: 7, mujoco.mjtJoint.mjJNT_BALL: 4}
        )

    def get_joint_qvel_addr(self, name: str) -> int | tuple[int, int]:
        """Where a joint's velocity is in qvel."""
        return self._address(
            name, self._model.jnt_dofadr, {mujoco.mjtJoint.mjJNT_FREE: 6, mujoco.mjtJoint.mjJNT_BALL: 3}
        )

    def _address(self, name: str, addresses: np.ndarray, sizes: dict[Any, int]) -> int | tuple[int, int]:
        joint = id_of(self._model, "joint", name)
        first = int(addresses[joint])
        size = sizes.get(mujoco.mjtJoint(self._model.jnt_type[joint]), 1)
        return first if size == 1 else (first, first + size)


def id_of(model: mujoco.MjModel, kind: str, name: str) -> int:
    """The id of a thing of a model. Raises ValueError, as robosuite does."""
    found = int(mujoco.mj_name2id(model, _OBJECTS[kind], name))
    if found < 0:
        known = [mujoco.mj_id2name(model, _OBJECTS[kind], i) for i in range(getattr(model, _COUNTS[kind]))]
        raise ValueError(f'No "{kind}" with name {name} exists. Available "{kind}" names = {tuple(known)}.')
    return found


_COUNTS = {kind: f"n{kind}" for kind in _KINDS} | {"joint": "njnt", "camera": "ncam", "actuator": "nu"}


def _naming(kind: str) -> None:
    """Give the model ``KIND_name2id``, ``KIND_id2name`` and ``KIND_names``."""

    def name2id(self: MjModel, name: str) -> int:
        return id_of(self._model, kind, name)

    def id2name(self: MjModel, id: int) -> str | None:
        found: str | None = mujoco.mj_id2name(self._model, _OBJECTS[kind], int(id))
        return found

    def names(self: MjModel) -> tuple[str | None, ...]:
        return tuple(id2name(self, each) for each in range(getattr(self._model, _COUNTS[kind])))

    setattr(MjModel, f"{kind}_name2id", name2id)
    setattr(MjModel, f"{kind}_id2name", id2name)
    setattr(MjModel, f"{kind}_names", property(names))


for _kind in _KINDS:
    _naming(_kind)


class MjData(_Wrapped):
    """The data; ``_data`` is MuJoCo's."""

    _name = "sim.data"

    def __init__(self, model: MjModel, data: mujoco.MjData) -> None:
        self._own = self._data = data
        self._of = model

    @property
    def model(self) -> MjModel:
        """The model it belongs to."""
        return self._of

    @property
    def body_xpos(self) -> np.ndarray:
        """Positions of bodies, (nbody, 3)."""
        return np.asarray(self._data.xpos)

    @property
    def body_xquat(self) -> np.ndarray:
        """Orientations of bodies, (w, x, y, z), (nbody, 4)."""
        return np.asarray(self._data.xquat)

    @property
    def body_xmat(self) -> np.ndarray:
        """Orientations of bodies, (nbody, 9)."""
        return np.asarray(self._data.xmat)

    def get_body_xquat(self, name: str) -> np.ndarray:
        """The orientation of a body, (w, x, y, z)."""
        return np.asarray(self._data.xquat[id_of(self._of._model, "body", name)])

    def get_joint_qpos(self, name: str) -> Any:
        """The position of a joint: a number, or several."""
        return self._data.qpos[_slice(self._of.get_joint_qpos_addr(name))]

    def set_joint_qpos(self, name: str, value: Any) -> None:
        """Set it."""
        self._data.qpos[_slice(self._of.get_joint_qpos_addr(name))] = value

    def get_joint_qvel(self, name: str) -> Any:
        """The velocity of a joint: a number, or several."""
        return self._data.qvel[_slice(self._of.get_joint_qvel_addr(name))]

    def set_joint_qvel(self, name: str, value: Any) -> None:
        """Set it."""
        self._data.qvel[_slice(self._of.get_joint_qvel_addr(name))] = value

    def get_sensor(self, name: str) -> float:
        """The first number of a sensor."""
        sensor = id_of(self._of._model, "sensor", name)
        return float(self._data.sensordata[self._of._model.sensor_adr[sensor]])


def _slice(address: int | tuple[int, int]) -> int | slice:
    return slice(*address) if isinstance(address, tuple) else address


def _placing(kind: str, prefix: str) -> None:
    """Give the data ``get_KIND_xpos``, ``get_KIND_xmat``, and Jacobians and velocities where MuJoCo has them."""

    def xpos(self: MjData, name: str) -> np.ndarray:
        return np.asarray(getattr(self._data, f"{prefix}xpos")[id_of(self._of._model, kind, name)])

    def xmat(self: MjData, name: str) -> np.ndarray:
        return np.asarray(getattr(self._data, f"{prefix}xmat")[id_of(self._of._model, kind, name)]).reshape(
            3, 3
        )

    setattr(MjData, f"get_{kind}_xpos", xpos)
    setattr(MjData, f"get_{kind}_xmat", xmat)
    jacobian = getattr(mujoco, f"mj_jac{kind.capitalize()}", None)
    if jacobian is None:
        return

    def jacobians(self: MjData, name: str) -> tuple[np.ndarray, np.ndarray]:
        linear, angular = np.zeros((3, self._of._model.nv)), np.zeros((3, self._of._model.nv))
        jacobian(self._of._model, self._data, linear, angular, id_of(self._of._model, kind, name))
        return linear, angular

    for index, letter in enumerate("pr"):
        setattr(MjData, f"get_{kind}_jac{letter}", lambda self, name, i=index: jacobians(self, name)[i])
        setattr(
            MjData,
            f"get_{kind}_xvel{letter}",
            lambda self, name, i=index: jacobians(self, name)[i] @ self._data.qvel,
        )


for _kind, _prefix in (("body", ""), ("geom", "geom_"), ("site", "site_"), ("camera", "cam_")):
    _placing(_kind, _prefix)


class MjSim:
    """The simulation behind an environment."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.model = MjModel(simulation.model)
        self.data = MjData(self.model, simulation.data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        missing(
            "sim", name, [each for each in dir(type(self)) if not each.startswith("_")] + ["model", "data"]
        )

    def get_state(self) -> MjSimState:
        """Time, joint positions and velocities now."""
        data = self._simulation.data
        return MjSimState(data.time, data.qpos.copy(), data.qvel.copy())

    def set_state(self, value: MjSimState) -> None:
        """Set them; `forward` makes everything else follow."""
        self._simulation.overwrite(np.concatenate([[value.time], value.qpos, value.qvel]))

    def set_state_from_flattened(self, value: np.ndarray) -> None:
        """The same from one vector; what a longer one has besides is left alone."""
        self._simulation.overwrite(
            np.asarray(value, dtype=np.float64)[: self._simulation.compiled.state_size]
        )

    def forward(self) -> None:
        """Compute everything that follows from the state."""
        self._simulation.controller.remember()
        mujoco.mj_forward(self._simulation.model, self._simulation.data)

    def step(self, with_udd: bool = True) -> None:
        """One step of the physics, 2 ms, with the commands that were last set."""
        mujoco.mj_step(self._simulation.model, self._simulation.data)

    def reset(self) -> None:
        """Put everything to the model's own beginning."""
        mujoco.mj_resetData(self._simulation.model, self._simulation.data)

    def render(
        self,
        width: int | None = None,
        height: int | None = None,
        *,
        camera_name: str | None = None,
        depth: bool = False,
        mode: str = "offscreen",
        device_id: int = -1,
        segmentation: bool = False,
    ) -> Any:
        """A picture of now, the bottom row first; with depth, the depth buffer as well; or objects' types and ids."""
        renderer, now = self._simulation.renderer, self._simulation.data
        camera, high, wide = camera_name or CAMERAS[0], height or 256, width or 256
        if segmentation:
            ids = upside_down(renderer.geoms(now, camera, high, wide))
            types = np.where(ids >= 0, int(mujoco.mjtObj.mjOBJ_GEOM), -1)
            picture = np.stack([types, ids], axis=-1).astype(np.int32)
        else:
            picture = upside_down(renderer.colour(now, camera, high, wide))
        return (picture, upside_down(renderer.raw_depth(now, camera, high, wide))) if depth else picture
