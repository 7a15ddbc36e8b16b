"""OffScreenRenderEnv and its kin, as LIBERO's scripts make and use them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.errors import SpecError, did_you_mean
from assay.extensions.dropin.bddl_utils import get_problem_info
from assay.extensions.dropin.domain import ROBOT_PARTS, Domain
from assay.extensions.dropin.missing import Partial
from assay.extensions.dropin.observations import Cameras, Observations
from assay.extensions.dropin.recorder import language_was_read
from assay.sim.render import CAMERAS
from assay.sim.simulation import CONTROL_HZ

_ONLY: dict[str, tuple[Any, ...]] = {
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
"""Options that take one value here."""
_FREE = (
    "initialization_noise",
    "has_offscreen_renderer",
    "render_camera",
    "render_gpu_device_id",
    "hard_reset",
    "renderer_config",
    "reward_shaping",
    "use_latch",
)
"""Options that change nothing here: images are rendered when they are touched, every reset is a whole one."""


class ControlEnv(Partial):
    """A task that is reset and stepped."""

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
        _check(type(self).__name__, options)
        if not os.path.exists(bddl_file_name):  # noqa: PTH110 - names as LIBERO takes them
            raise AssertionError(f"[error] {bddl_file_name} does not exist!")
        info = get_problem_info(os.fspath(bddl_file_name))
        self.problem_name, self.domain_name = info["problem_name"], info["domain_name"]
        self._language = info["language_instruction"]
        names = [camera_names] if isinstance(camera_names, str) else list(camera_names)
        self.env = Domain(
            bddl_file_name,
            cameras=_cameras(
                names if use_camera_obs else [],
                camera_heights,
                camera_widths,
                camera_depths,
                camera_segmentations,
            ),
            horizon=horizon,
            ignore_done=ignore_done,
            use_object_obs=use_object_obs,
            reward_scale=reward_scale,
        )
        self._told_first = self.env.language_instruction

    @property
    def language_instruction(self) -> str:
        """What the task file says; what was said since, where an event has changed it."""
        language_was_read()
        now = self.env.language_instruction
        return self._language if now == self._told_first else now

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env" or not hasattr(self.env, name):
            return super().__getattr__(name)
        return getattr(self.env, name)  # LIBERO's wrapper lacks some that scripts expect of it all the same

    @property
    def obj_of_interest(self) -> list[str]:
        """The things that the task is about."""
        found: list[str] = self.env.obj_of_interest
        return found

    @property
    def robots(self) -> Any:
        """The arm, in a list."""
        return self.env.robots

    @property
    def sim(self) -> Any:
        """The simulation."""
        return self.env.sim

    @property
    def _visualizations(self) -> set[str]:
        return self.env._visualizations

    def step(self, action: Any) -> tuple[Observations, float, bool, dict[str, Any]]:
        """One control step: observations, reward, whether the goal is reached, nothing more."""
        return self.env.step(action)

    def reset(self) -> Observations:
        """Begin an episode."""
        return self.env.reset()

    def seed(self, seed: int | None = None) -> None:
        """Decide what resets draw."""
        self.env.seed(seed)

    def check_success(self) -> bool:
        """Whether the goal is reached."""
        return self.env._check_success()

    def get_sim_state(self) -> np.ndarray:
        """Time, joint positions and velocities in one vector."""
        found: np.ndarray = self.env.sim.get_state().flatten()
        return found

    def set_state(self, mujoco_state: Any) -> None:
        """Set them."""
        self.env.sim.set_state_from_flattened(mujoco_state)

    def set_init_state(self, init_state: Any) -> Observations:
        """Begin from a stored state."""
        return self.env.set_init_state(init_state)

    def regenerate_obs_from_state(self, mujoco_state: Any) -> Observations:
        """What is observed in a state."""
        return self.env.set_init_state(mujoco_state)

    def _post_process(self) -> None:
        self.env._post_process()

    def _update_observables(self, force: bool = False) -> None:
        self.env._update_observables(force=force)

    def _get_observations(self, force_update: bool = False) -> Observations:
        return self.env._get_observations(force_update)

    def close(self) -> None:
        """End, and give back what it holds."""
        self.env.close()


class OffScreenRenderEnv(ControlEnv):
    """The one that evaluations use."""


class DemoRenderEnv(ControlEnv):
    """The one that LIBERO collects demonstrations with."""


class SegmentationRenderEnv(OffScreenRenderEnv):
    """One whose observations say which thing each pixel shows."""

    def __init__(self, camera_segmentations: Any = "instance", **options: Any) -> None:
        super().__init__(camera_segmentations=camera_segmentations, **options)
        self.segmentation_id_mapping: dict[int, str] = {}
        self.instance_to_id: dict[str, int] = {}
        self.segmentation_robot_id: int | None = None

    def reset(self) -> Observations:
        """Begin an episode, and number the things of its scene."""
        seen = super().reset()
        names = self.env.instance_names
        self.segmentation_robot_id = names.index("Panda0")
        self.segmentation_id_mapping = {i: name for i, name in enumerate(names) if name not in ROBOT_PARTS}
        self.instance_to_id = {name: i + 1 for i, name in self.segmentation_id_mapping.items()}
        return seen

    def get_segmentation_instances(self, segmentation_image: np.ndarray) -> dict[str, np.ndarray]:
        """The segmentation of each thing, and of the robot, by itself."""
        robot = (self.segmentation_robot_id or 0) + 1
        segmentation_image[segmentation_image >= robot] = robot
        found = {"robot": segmentation_image * (segmentation_image == robot)}
        for number, name in self.segmentation_id_mapping.items():
            found[name] = segmentation_image * (segmentation_image == number + 1)
        return found

    def get_segmentation_of_interest(self, segmentation_image: np.ndarray) -> np.ndarray:
        """1 for what the task is about, -1 for the room, 0 for everything else."""
        found = np.zeros_like(segmentation_image)
        for name in self.obj_of_interest:
            if name in self.instance_to_id:
                found[segmentation_image == self.instance_to_id[name]] = 1.0
        found[segmentation_image == 0] = -1.0
        return found


def _check(owner: str, options: dict[str, Any]) -> None:
    """Raise TypeError for an option that is not known, SpecError for a value that is not offered."""
    known = [*_ONLY, *_FREE, *_NAMED]
    for name, value in options.items():
        if name in _FREE:
            continue
        if name not in _ONLY:
            raise TypeError(f"assay libero: {owner} has no option '{name}': {did_you_mean(name, known)}")
        if value not in _ONLY[name]:
            raise SpecError(f"{owner}({name}={value!r}): valid here: {_ONLY[name][0]!r}")


_NAMED = (
    "bddl_file_name",
    "use_camera_obs",
    "horizon",
    "ignore_done",
    "camera_names",
    "camera_heights",
    "camera_widths",
    "camera_depths",
    "camera_segmentations",
    "use_object_obs",
    "reward_scale",
)


def _cameras(
    names: Sequence[str],
    heights: int | Sequence[int],
    widths: int | Sequence[int],
    depths: bool | Sequence[bool],
    segmentations: Any,
) -> list[Cameras]:
    """What is shown of each camera; one value stands for all cameras."""

    def each(given: Any) -> list[Any]:
        return list(given) if isinstance(given, list | tuple) else [given] * len(names)

    kinds = [
        () if kind is None else tuple(kind) if isinstance(kind, list | tuple) else (str(kind),)
        for kind in each(segmentations)
    ]
    found = zip(names, each(heights), each(widths), each(depths), kinds, strict=True)
    return [
        Cameras(name, int(height), int(width), bool(depth), kind)
        for name, height, width, depth, kind in found
    ]
