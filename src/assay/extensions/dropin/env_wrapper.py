"""OffScreenRenderEnv and related classes, as LIBERO's scripts create and use them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from assay.errors import SpecError, did_you_mean
from assay.extensions.dropin import Partial
from assay.extensions.dropin.domain import ROBOT_PARTS, Domain, get_problem_info
from assay.extensions.dropin.observations import CameraSettings, Observations
from assay.extensions.dropin.recorder import note_language_read
from assay.sim.render import CAMERAS
from assay.sim.simulation import CONTROL_HZ
from assay.tasks import Arena
from assay.tasks.bddl.reader import problem_name

_FIXED_OPTIONS: dict[str, tuple[Any, ...]] = {
    "robots": (["Panda"], ("Panda",), "Panda"),
    "controller": ("OSC_POSE",),
    "gripper_types": ("default", "PandaGripper"),
    "control_freq": (CONTROL_HZ,),
    "has_renderer": (False,),
    "render_collision_mesh": (False,),
    "render_visual_mesh": (True,),
    "renderer": ("mujoco", "default"),
    "env_configuration": ("default",),
}
"""Option with a single supported setting -> accepted spellings of that setting."""
_IGNORED_OPTIONS = (
    "initialization_noise",
    "has_offscreen_renderer",
    "render_camera",
    "render_gpu_device_id",
    "hard_reset",
    "renderer_config",
    "reward_shaping",
    "use_latch",
)
"""Options without effect: images are rendered on access, and every reset is complete."""


def _delegate(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper method that calls a method of the wrapper's domain."""

    @wraps(method)
    def call(self: ControlEnv, *arguments: Any, **named: Any) -> Any:
        return method(self.env, *arguments, **named)

    return call


class ControlEnv(Partial):
    """Environment of one task. Attributes not defined here are forwarded to `env`, its `Domain`."""

    def __init__(
        self,
        bddl_file_name: str | os.PathLike[str],
        *,
        use_camera_obs: bool = True,
        horizon: int = 1000,
        ignore_done: bool = False,
        camera_names: str | Sequence[str] = CAMERAS,
        camera_heights: int | Sequence[int] = 128,
        camera_widths: int | Sequence[int] = 128,
        camera_depths: bool | Sequence[bool] = False,
        camera_segmentations: Any = None,
        use_object_obs: bool = True,
        reward_scale: float | None = 1.0,
        **options: Any,
    ) -> None:
        owner = type(self).__name__
        for option, value in options.items():
            if option not in (*_IGNORED_OPTIONS, *_FIXED_OPTIONS):
                valid = [*_FIXED_OPTIONS, *_IGNORED_OPTIONS, *inspect.signature(ControlEnv).parameters]
                raise TypeError(
                    f"assay libero: {owner} has no option '{option}': {did_you_mean(option, valid)}"
                )
            if option in _FIXED_OPTIONS and value not in _FIXED_OPTIONS[option]:
                raise SpecError(f"{owner}({option}={value!r}): expected {_FIXED_OPTIONS[option][0]!r}")
        if not os.path.exists(bddl_file_name):  # noqa: PTH110 - names as LIBERO takes them
            raise AssertionError(f"[error] {bddl_file_name} does not exist!")
        info = get_problem_info(os.fspath(bddl_file_name))
        self.problem_name, self.domain_name = info["problem_name"], info["domain_name"]
        names = [camera_names] if isinstance(camera_names, str) else list(camera_names)

        def per_camera(value: Any) -> list[Any]:
            return list(value) if isinstance(value, list | tuple) else [value] * len(names)

        kinds = [
            () if kind is None else tuple(kind) if isinstance(kind, list | tuple) else (str(kind),)
            for kind in per_camera(camera_segmentations)
        ]
        sizes = map(per_camera, (camera_heights, camera_widths, camera_depths))
        cameras = [
            CameraSettings(name, int(height), int(width), bool(depth), kind)
            for name, height, width, depth, kind in zip(names, *sizes, kinds, strict=True)
        ]
        self.env = Domain(
            bddl_file_name,
            cameras=cameras if use_camera_obs else [],
            horizon=horizon,
            ignore_done=ignore_done,
            use_object_obs=use_object_obs,
            reward_scale=reward_scale,
        )

    @property
    def language_instruction(self) -> str:
        """Instruction of the current episode, which a mid-episode event may have changed."""
        note_language_read()
        return str(self.env.language_instruction)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "env" or not hasattr(self.env, name):
            return super().__getattr__(name)
        return getattr(self.env, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self.__dict__.get("env"))]

    step = _delegate(Domain.step)
    reset = _delegate(Domain.reset)
    seed = _delegate(Domain.seed)
    check_success = _delegate(Domain.check_success)
    close = _delegate(Domain.close)
    set_init_state = regenerate_obs_from_state = _delegate(Domain.set_init_state)

    def get_sim_state(self) -> np.ndarray:
        """Return time, joint positions and joint velocities in one vector."""
        return self.env.sim.get_state().flatten()

    def set_state(self, mujoco_state: Any) -> None:
        """Set time, joint positions and joint velocities."""
        self.env.sim.set_state_from_flattened(mujoco_state)


class OffScreenRenderEnv(ControlEnv):
    """Environment with offscreen rendering, used for evaluation."""


class DemoRenderEnv(ControlEnv):
    """Environment that LIBERO uses for demonstrations."""


class SegmentationRenderEnv(OffScreenRenderEnv):
    """Environment whose observations include segmentations."""

    def __init__(self, camera_segmentations: Any = "instance", **options: Any) -> None:
        super().__init__(camera_segmentations=camera_segmentations, **options)
        self.segmentation_id_mapping: dict[int, str] = {}
        self.instance_to_id: dict[str, int] = {}
        self.segmentation_robot_id: int | None = None

    def reset(self) -> Observations:
        """Start an episode and number the objects of its scene."""
        observations: Observations = super().reset()
        names = self.env.instance_names
        self.segmentation_robot_id = names.index("Panda0")
        self.segmentation_id_mapping = {i: name for i, name in enumerate(names) if name not in ROBOT_PARTS}
        self.instance_to_id = {name: i + 1 for i, name in self.segmentation_id_mapping.items()}
        return observations

    def get_segmentation_instances(self, segmentation_image: np.ndarray) -> dict[str, np.ndarray]:
        """Return a segmentation image of each object and of the robot, by name."""
        robot = (self.segmentation_robot_id or 0) + 1
        segmentation_image[segmentation_image >= robot] = robot
        instances = {"robot": segmentation_image * (segmentation_image == robot)}
        for number, name in self.segmentation_id_mapping.items():
            instances[name] = segmentation_image * (segmentation_image == number + 1)
        return instances

    def get_segmentation_of_interest(self, segmentation_image: np.ndarray) -> np.ndarray:
        """Return a mask: 1 for the task's objects of interest, -1 for the room, 0 for everything else."""
        interest = np.zeros_like(segmentation_image)
        for name in self.env.obj_of_interest:
            if name in self.instance_to_id:
                interest[segmentation_image == self.instance_to_id[name]] = 1.0
        interest[segmentation_image == 0] = -1.0
        return interest


TASK_MAPPING: dict[str, Callable[..., Any]] = dict.fromkeys(
    (problem_name(arena, "").lower() for arena in Arena),
    lambda bddl_file_name, controller_configs=None, **options: ControlEnv(bddl_file_name, **options).env,
)
"""Functions that create LIBERO's problems, by problem name; the controller is always LIBERO's."""
