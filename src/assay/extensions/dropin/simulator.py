"""`env.sim`, `env.robots[0]` and `env.objects_dict`: the simulation under robosuite's and LIBERO's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.extensions.dropin import Partial, raise_missing
from assay.extensions.dropin.observations import flip_rows
from assay.sim.bare_mujoco import mujoco
from assay.sim.compile import EntityIndex
from assay.sim.controller import ARM, KD, KP, SCALE
from assay.sim.render import CAMERAS
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ, Simulation
from assay.tasks import Atom, Predicate

_KINDS = ("body", "joint", "geom", "site", "light", "camera", "actuator", "sensor", "tendon", "mesh")
_OBJECTS = {kind: getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}") for kind in _KINDS}


@dataclass(eq=False)
class MjSimState:
    """Time, joint positions and joint velocities."""

    time: float
    qpos: np.ndarray
    qvel: np.ndarray

    def flatten(self) -> np.ndarray:
        """Return time, joint positions and joint velocities in one vector."""
        return np.concatenate([[self.time], self.qpos, self.qvel])


class _MujocoWrapper:
    """Wrapper of a MuJoCo structure, to which it forwards attributes."""

    _own: Any
    _name = ""
    _aliases: ClassVar[Mapping[str, str]] = {}
    """Robosuite's names for MuJoCo's attributes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(self._own, self._aliases.get(name, name))
        except AttributeError:
            raise_missing(self._name, name, [other for other in dir(self._own) if other[0] != "_"])

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._own, name, value)


class MjModel(_MujocoWrapper):
    """MuJoCo's model with robosuite's methods."""

    _name = "sim.model"

    def __init__(self, model: mujoco.MjModel) -> None:
        self._own = self._model = model


def find_id(model: mujoco.MjModel, kind: str, name: str) -> int:
    """Return the id of a named element of a model. Raises ValueError, as robosuite does."""
    number = int(mujoco.mj_name2id(model, _OBJECTS[kind], name))
    if number < 0:
        names = [mujoco.mj_id2name(model, _OBJECTS[kind], i) for i in range(getattr(model, _COUNTS[kind]))]
        raise ValueError(f'No "{kind}" with name {name} exists. Available "{kind}" names = {tuple(names)}.')
    return number


_COUNTS = {kind: f"n{kind}" for kind in _KINDS} | {"joint": "njnt", "camera": "ncam", "actuator": "nu"}


def _add_name_methods(kind: str) -> None:
    """Add ``KIND_name2id``, ``KIND_id2name`` and ``KIND_names`` to the model."""

    def name2id(self: MjModel, name: str) -> int:
        return find_id(self._model, kind, name)

    def id2name(self: MjModel, id: int) -> str | None:
        name: str | None = mujoco.mj_id2name(self._model, _OBJECTS[kind], int(id))
        return name

    def names(self: MjModel) -> tuple[str | None, ...]:
        return tuple(id2name(self, number) for number in range(getattr(self._model, _COUNTS[kind])))

    setattr(MjModel, f"{kind}_name2id", name2id)
    setattr(MjModel, f"{kind}_id2name", id2name)
    setattr(MjModel, f"{kind}_names", property(names))


for _kind in _KINDS:
    _add_name_methods(_kind)


class MjData(_MujocoWrapper):
    """MuJoCo's data with robosuite's methods."""

    _name = "sim.data"
    _aliases: ClassVar[Mapping[str, str]] = {"body_xpos": "xpos", "body_xquat": "xquat", "body_xmat": "xmat"}

    def __init__(self, model: MjModel, data: mujoco.MjData) -> None:
        self._own = self._data = data
        self._owner = model

    @property
    def model(self) -> MjModel:
        """Model to which this data belongs."""
        return self._owner

    def get_body_xquat(self, name: str) -> np.ndarray:
        """Return the orientation of a body, (w, x, y, z)."""
        return np.asarray(self._data.xquat[find_id(self._owner._model, "body", name)])


def _add_joint_methods(vector: str, addresses: str, sizes: Mapping[Any, int]) -> None:
    """Add ``get_joint_qpos_addr``, ``get_joint_qpos`` and ``set_joint_qpos``, and their qvel counterparts."""

    def address(self: MjModel, name: str) -> int | tuple[int, int]:
        joint = find_id(self._model, "joint", name)
        first = int(getattr(self._model, addresses)[joint])
        size = sizes.get(mujoco.mjtJoint(self._model.jnt_type[joint]), 1)
        return first if size == 1 else (first, first + size)

    def place(self: MjData, name: str) -> int | slice:
        at = address(self._owner, name)
        return slice(*at) if isinstance(at, tuple) else at

    def get(self: MjData, name: str) -> Any:
        return getattr(self._data, vector)[place(self, name)]

    def set_(self: MjData, name: str, value: Any) -> None:
        getattr(self._data, vector)[place(self, name)] = value

    setattr(MjModel, f"get_joint_{vector}_addr", address)
    setattr(MjData, f"get_joint_{vector}", get)
    setattr(MjData, f"set_joint_{vector}", set_)


_FREE, _BALL = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL
_add_joint_methods("qpos", "jnt_qposadr", {_FREE: 7, _BALL: 4})
_add_joint_methods("qvel", "jnt_dofadr", {_FREE: 6, _BALL: 3})


def _add_pose_methods(kind: str, prefix: str) -> None:
    """Add ``get_KIND_xpos``, ``get_KIND_xmat`` and, where MuJoCo has them, Jacobians and velocities to the data."""

    def xpos(self: MjData, name: str) -> np.ndarray:
        return np.asarray(getattr(self._data, f"{prefix}xpos")[find_id(self._owner._model, kind, name)])

    def xmat(self: MjData, name: str) -> np.ndarray:
        return np.asarray(
            getattr(self._data, f"{prefix}xmat")[find_id(self._owner._model, kind, name)]
        ).reshape(3, 3)

    setattr(MjData, f"get_{kind}_xpos", xpos)
    setattr(MjData, f"get_{kind}_xmat", xmat)
    jacobian = getattr(mujoco, f"mj_jac{kind.capitalize()}", None)
    if jacobian is None:
        return

    def jacobians(self: MjData, name: str) -> tuple[np.ndarray, np.ndarray]:
        linear, angular = np.zeros((3, self._owner._model.nv)), np.zeros((3, self._owner._model.nv))
        jacobian(self._owner._model, self._data, linear, angular, find_id(self._owner._model, kind, name))
        return linear, angular

    for index, letter in enumerate("pr"):
        setattr(MjData, f"get_{kind}_jac{letter}", lambda self, name, i=index: jacobians(self, name)[i])
        setattr(
            MjData,
            f"get_{kind}_xvel{letter}",
            lambda self, name, i=index: jacobians(self, name)[i] @ self._data.qvel,
        )


for _kind, _prefix in (("body", ""), ("geom", "geom_"), ("site", "site_"), ("camera", "cam_")):
    _add_pose_methods(_kind, _prefix)


class MjSim(Partial):
    """The simulation of an environment, with robosuite's methods."""

    original_name = "sim"

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.model = MjModel(simulation.model)
        self.data = MjData(self.model, simulation.data)

    def get_state(self) -> MjSimState:
        """Return the current time, joint positions and joint velocities."""
        data = self._simulation.data
        return MjSimState(data.time, data.qpos.copy(), data.qvel.copy())

    def set_state(self, value: MjSimState) -> None:
        """Set time, joint positions and joint velocities; call `forward` afterwards."""
        self._simulation.overwrite(np.concatenate([[value.time], value.qpos, value.qvel]))

    def set_state_from_flattened(self, value: np.ndarray) -> None:
        """Set time, joint positions and joint velocities from one vector; additional values are ignored."""
        self._simulation.overwrite(
            np.asarray(value, dtype=np.float64)[: self._simulation.compiled.state_size]
        )

    def forward(self) -> None:
        """Compute all quantities that depend on the state (``mj_forward``)."""
        self._simulation.controller.freeze()
        mujoco.mj_forward(self._simulation.model, self._simulation.data)

    def step(self, with_udd: bool = True) -> None:
        """Execute one physics step of 2 ms with the current commands."""
        mujoco.mj_step(self._simulation.model, self._simulation.data)

    def reset(self) -> None:
        """Reset to the model's default state."""
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
        """Render the current state, bottom row first, optionally with the depth buffer or as geom types and ids."""
        renderer, now = self._simulation.renderer, self._simulation.data
        camera, high, wide = camera_name or CAMERAS[0], height or 256, width or 256
        if segmentation:
            ids = flip_rows(renderer.geoms(now, camera, high, wide))
            types = np.where(ids >= 0, int(mujoco.mjtObj.mjOBJ_GEOM), -1)
            picture = np.stack([types, ids], axis=-1).astype(np.int32)
        else:
            picture = flip_rows(renderer.colour(now, camera, high, wide))
        return (picture, flip_rows(renderer.raw_depth(now, camera, high, wide))) if depth else picture


class RobotController(Partial):
    """The operational-space controller, with robosuite's attributes."""

    original_name = "robots[0].controller"

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.use_delta = True
        """Whether actions are relative; absolute actions are a position in metres and a rotation vector in the
        world frame.
        """
        self.use_ori = True
        self.name = "OSC_POSE"
        self.control_dim = 6
        self.control_freq = CONTROL_HZ
        self.impedance_mode = "fixed"
        self.input_max, self.input_min = np.ones(6), -np.ones(6)
        self.output_max, self.output_min = SCALE.copy(), -SCALE
        self.kp, self.kd = np.full(6, KP), np.full(6, KD)
        self.position_limits = self.orientation_limits = None
        self.control_limits = self.input_min, self.input_max
        self.initial_joint = np.array(simulation.compiled.home)
        """Joint angles, in radians, towards which the null-space term pulls the arm, (7,)."""

    ee_pos = property(lambda self: self._simulation.controller.last_pose[0])
    """Position of the grip site at the controller's last update, in metres, (3,)."""
    ee_ori_mat = property(lambda self: self._simulation.controller.last_pose[1])
    """Rotation matrix of the grip site at the controller's last update, (3, 3)."""
    goal_pos = property(lambda self: self._simulation.controller.drive().goal_position)
    """Target position in metres, (3,)."""
    goal_ori = property(lambda self: self._simulation.controller.drive().goal_rotation)
    """Target rotation matrix, (3, 3)."""
    joint_pos = property(lambda self: np.array(self._simulation.data.qpos[:ARM]))
    """Joint angles of the arm in radians, (7,)."""
    joint_vel = property(lambda self: np.array(self._simulation.data.qvel[:ARM]))
    """Joint velocities of the arm in rad/s, (7,)."""

    def update(self, force: bool = False) -> None:
        """Update the controller from the current pose of the arm."""
        self._simulation.controller.update()

    def reset_goal(self) -> None:
        """Set the target to the current pose of the arm."""
        self._simulation.controller.hold()


class RobotModel(Partial):
    """Names of the robot model and its parts."""

    original_name = "robots[0].robot_model"
    naming_prefix = "robot0_"
    eef_name = "robot0_right_hand"
    name = "Panda0"
    root_body = "robot0_base"


class Robot(Partial):
    """The robot arm, with robosuite's attributes."""

    original_name = "robots[0]"

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.controller = RobotController(simulation)
        self.robot_model = RobotModel()
        self.name = "Panda"
        self.idn = 0
        self.has_gripper = True
        self.action_dim = self.dof = ACTION_SIZE
        self.action_limits = -np.ones(ACTION_SIZE), np.ones(ACTION_SIZE)
        self.eef_site_id = simulation.model.site("gripper0_grip_site").id
        self.init_qpos = np.array(simulation.compiled.home)

    sim = property(lambda self: MjSim(self._simulation))
    """Simulation of the robot."""
    _joint_positions = property(lambda self: self.controller.joint_pos)
    _joint_velocities = property(lambda self: self.controller.joint_vel)


class SceneObject(Partial):
    """An object or a fixture, with robosuite's attributes."""

    original_name = "objects_dict[...]"

    def __init__(self, simulation: Simulation, index: EntityIndex) -> None:
        model = simulation.model
        self.name = index.name
        self.category_name = index.category
        self.root_body = model.body(index.body).name
        self.joints = [model.joint(joint).name for joint in index.joints]
        self.contact_geoms = [model.geom(geom).name for geom in sorted(index.geoms)]


def _tests(predicate: Predicate, *, swapped: bool = False) -> Callable[..., bool]:
    """Return a method that tests a predicate of this object (for a relation, of this and another object)."""

    def holds(self: ObjectState, *others: ObjectState) -> bool:
        names = (self.object_name, *(other.object_name for other in others))
        return self._simulation.holds(Atom(predicate, names[::-1] if swapped else names))

    return holds


class ObjectState(Partial):
    """Pose and predicates of an object, fixture or region."""

    original_name = "object_states_dict[...]"

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation = simulation
        self.object_name = name

    def get_geom_state(self) -> dict[str, np.ndarray]:
        """Return the position in metres and the orientation (w, x, y, z)."""
        index = self._simulation.compiled.entities.get(self.object_name)
        position = self._simulation.pose(self.object_name)[0]
        quaternion = (
            self._simulation.data.xquat[index.body].copy() if index else np.array([1.0, 0.0, 0.0, 0.0])
        )
        return {"pos": position, "quat": quaternion}

    def get_joint_state(self) -> list[np.ndarray]:
        """Return the joint positions of doors, drawers and knobs."""
        index = self._simulation.compiled.entities[self.object_name]
        addresses = self._simulation.model.jnt_qposadr
        return [np.array([self._simulation.data.qpos[addresses[joint]]]) for joint in index.inner_joints]

    is_open, is_close = _tests(Predicate.OPEN), _tests(Predicate.CLOSE)
    turn_on, turn_off = _tests(Predicate.TURN_ON), _tests(Predicate.TURN_OFF)
    check_contact = _tests(Predicate.IN_CONTACT)
    check_contain = _tests(Predicate.IN, swapped=True)
    """Return whether the object or region contains another object."""
    check_ontop = _tests(Predicate.ON, swapped=True)
    """Return whether another object is on top of this one."""
