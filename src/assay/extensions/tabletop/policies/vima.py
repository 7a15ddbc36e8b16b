"""Adapters between VIMA-Bench and Assay's table, in both directions.

    env = make_vima_table("visual_manipulation", seed=0)    # replaces vima_bench.make: Assay's table
    play_in_vima(vima_env, policy, seed=0)                  # a tabletop policy in VIMA-Bench itself

VIMA-Bench is not on PyPI; only the second adapter needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from assay.episodes import EpisodeSpec, Perturbation, Policy
from assay.errors import ActionError, PolicyError, TaskError, did_you_mean, one_line
from assay.extensions.tabletop.prompts.prompt import PLACEHOLDER, Prompt
from assay.extensions.tabletop.tasks import KINDS, table_entry
from assay.extensions.tabletop.tasks import make as make_task
from assay.extensions.tabletop.tasks.task import Difficulty, Level, Setting, parse_level
from assay.extensions.tabletop.world.env import PACK, TableEnv
from assay.extensions.tabletop.world.model import VIEWS
from assay.extensions.tabletop.world.observation import Photograph, TableObservation, render_picture
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableItem, TableScene, Tool
from assay.extensions.tabletop.world.simulation import ACTION_SIZE
from assay.extensions.tabletop.world.textures import GREY
from assay.perturb import apply_perturbations
from assay.support.plugins import from_python
from assay.support.streams import stream

LOW, HIGH = np.array([X_LOW, Y_LOW], dtype=np.float32), np.array([X_HIGH, Y_HIGH], dtype=np.float32)
_POSES = ("pose0", "pose1")


def vima_observation(observation: TableObservation) -> dict[str, Any]:
    """Return an observation in VIMA-Bench's format; an object's id in ``segm`` is its index in the order, from 1."""
    return {
        "rgb": {view: _channels_first(observation.image(view)) for view in VIEWS},
        "segm": {view: observation.segmentation(view) for view in VIEWS},
        "ee": int(observation.tool is Tool.SPATULA),
    }


def vima_assets(prompt: Prompt) -> dict[str, Any]:
    """Return the assets that a prompt's placeholders stand for, in VIMA-Bench's format."""
    assets = {}
    for name, picture in prompt.pictures:
        views = render_picture(picture)
        objects = [
            {"obj_id": number, "obj_name": item.shape, "obj_color": item.texture}
            for number, item in enumerate(picture.scene.items, start=1)
        ]
        assets[name] = {
            "rgb": {view: _channels_first(views[view][0]) for view in VIEWS},
            "segm": {
                **{view: views[view][1] for view in VIEWS},
                "obj_info": objects[0] if picture.kind == "object" else objects,
            },
            "placeholder_type": picture.kind,
        }
    return assets


def vima_meta_info(observation: TableObservation) -> dict[str, Any]:
    """Return VIMA-Bench's meta information: the number of objects, their ids, and the bounds of poses."""
    return {
        "end_effector_type": str(observation.tool),
        "n_objects": observation.count,
        "views": list(VIEWS),
        "modalities": ["rgb", "segm"],
        "action_bounds": {"low": LOW, "high": HIGH},
        "obj_id_to_info": {number: {} for number in range(1, observation.count + 1)},
        "robot_components": [],
    }


def from_vima_action(action: Mapping[str, Any]) -> np.ndarray:
    """Convert a VIMA action to a tabletop action, (12,). Raise ActionError if it is incomplete."""
    poses = []
    for pose in _POSES:
        try:
            position, rotation = (
                np.asarray(action[f"{pose}_{part}"], dtype=np.float64).ravel()
                for part in ("position", "rotation")
            )
        except (KeyError, TypeError, ValueError):
            raise ActionError(
                f"expected an action with numeric {pose}_position and {pose}_rotation, got {one_line(repr(action))}"
            ) from None
        if len(position) not in (2, 3) or len(rotation) != 4:
            raise ActionError(
                f"{pose}: expected a position of 2 or 3 numbers and a quaternion of 4, got {len(position)} and "
                f"{len(rotation)}"
            )
        x, y, z, w = rotation
        poses += [*position[:2], w, x, y, z]  # the height is ignored, as in VIMA-Bench
    return np.array(poses)


def to_vima_action(action: np.ndarray) -> dict[str, np.ndarray]:
    """Convert a tabletop action (12,) to VIMA-Bench's format."""
    arrays: dict[str, np.ndarray] = {}
    for place, pose in zip((0, ACTION_SIZE // 2), _POSES, strict=True):
        x, y, w, *rest = np.asarray(action, dtype=np.float64)[place : place + 6]
        arrays[f"{pose}_position"] = np.clip(np.array([x, y], dtype=np.float32), LOW, HIGH)
        arrays[f"{pose}_rotation"] = np.clip(np.array([*rest, w], dtype=np.float32), -1.0, 1.0)
    return arrays


def _channels_first(picture: np.ndarray) -> np.ndarray:
    """Return an image with its channels first: (3, height, width)."""
    return np.ascontiguousarray(picture.transpose(2, 0, 1))


class VimaPolicy:
    """A policy written for VIMA-Bench, run on Assay's table: ``vima?policy=module:Class``.

    The class has ``reset(prompt, prompt_assets, meta_info)`` and ``act(obs)``, in VIMA-Bench's conventions.
    """

    def __init__(self, policy: str = "") -> None:
        if not policy:
            raise PolicyError("the policy 'vima' needs a class: --policy 'vima?policy=module:Class'")
        self._policy = from_python(policy, PolicyError)()

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode; the policy receives the prompt with its first observation."""
        self._pending_prompt: Prompt | None = prompt

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12)."""
        if self._pending_prompt is not None:
            self._policy.reset(
                self._pending_prompt.text, vima_assets(self._pending_prompt), vima_meta_info(observation)
            )
            self._pending_prompt = None
        return from_vima_action(self._policy.act(vima_observation(observation)))[None]


MAX_VIMA_ACTIONS = 10
_IGNORED_KEYWORDS = frozenset(
    ["task_kwargs", "modalities", "debug", "display_debug_window", "render_prompt", "record_gui", "record_kwargs",
     "hide_arm_rgb"]
)  # fmt: skip
"""Ignored keywords of ``vima_bench.make``: PyBullet settings, and ``task_kwargs``, which ``level`` replaces."""


def make_vima_table(
    task_name: str,
    *,
    seed: int = 0,
    level: str | None = None,
    difficulty: str = "default",
    perturbations: Sequence[Perturbation] = (),
    **ignored: object,
) -> VimaTable:
    """Return a replacement for ``vima_bench.make``'s environment; other keywords of ``make`` are ignored.

    ``task_name`` is VIMA-Bench's name, with or without its group, or T1 to T17. Raises TaskError with the valid names.
    """
    for keyword in sorted(ignored.keys() - _IGNORED_KEYWORDS):
        valid = {"seed", "level", "difficulty", "perturbations", *_IGNORED_KEYWORDS}
        raise TaskError(f"unknown keyword '{keyword}': {did_you_mean(keyword, valid)}")
    name = task_name.rpartition("/")[2]
    kinds = {kind.name: kind for kind in KINDS.values()} | dict(KINDS)
    if name not in kinds:
        raise TaskError(f"unknown task '{task_name}': {did_you_mean(name, kinds)}")
    kind = kinds[name]
    chosen = parse_level(Level, level) if level else kind.levels[0]
    table_entry(f"{kind.id}/{chosen}")
    setting = Setting(kind.id, seed, chosen, parse_level(Difficulty, difficulty))
    return VimaTable(setting, tuple(perturbations))


class VimaTable:
    """Assay's table in VIMA-Bench's conventions: ``reset``, ``get_prompt_and_assets``, ``step`` with two poses."""

    def __init__(self, setting: Setting, perturbations: tuple[Perturbation, ...] = ()) -> None:
        self._setting, self._perturbations = setting, perturbations
        self._resets = 0
        self.prompt: str | None = None
        self.prompt_assets: dict[str, Any] | None = None
        self.meta_info: dict[str, Any] = {}

    @property
    def task_name(self) -> str:
        """VIMA-Bench's name for the task."""
        return KINDS[self._setting.task].name

    @property
    def action_space(self) -> Any:
        """The action space as in VIMA-Bench. Needs gymnasium."""
        from gymnasium import spaces

        position, rotation = spaces.Box(LOW, HIGH), spaces.Box(-1.0, 1.0, (4,))
        parts = (("position", position), ("rotation", rotation))
        return spaces.Dict({f"{pose}_{part}": space for pose in _POSES for part, space in parts})

    def seed(self, seed: int | None = None) -> None:
        """Set the seed of the next episode, from which those of later episodes are derived."""
        self._setting, self._resets = replace(self._setting, seed=seed or 0), 0

    @property
    def global_seed(self) -> int:
        """The most recently set seed."""
        return self._setting.seed

    @global_seed.setter
    def global_seed(self, seed: int) -> None:
        self.seed(seed)

    def reset(self) -> dict[str, Any]:
        """Draw a new scene and return its first observation.

        The seed determines the first scene, and the seeds of later scenes are derived from it, as in VIMA-Bench.
        ``meta_info["seed"]`` is the seed of the scene.
        """
        later_seed = int(stream(self._setting.seed, "reset", self._resets).integers(2**31))
        setting = replace(self._setting, seed=later_seed) if self._resets else self._setting
        self._resets += 1
        task = apply_perturbations(make_task(setting), self._perturbations, seed=setting.seed)
        self._env = TableEnv(task)
        observation = self._env.reset(EpisodeSpec(task.id, setting.seed, PACK))
        self.prompt, self.prompt_assets = task.prompt.text, vima_assets(task.prompt)
        self.meta_info = vima_meta_info(observation) | {
            "difficulty": str(setting.difficulty),
            "seed": setting.seed,
            "obj_id_to_info": {
                number: {"obj_name": item.shape, "texture_name": item.texture}
                for number, item in enumerate(task.scene.items, start=1)
            },
        }
        return vima_observation(observation)

    def get_prompt_and_assets(self) -> tuple[str | None, dict[str, Any] | None]:
        """Return the prompt's text with placeholders, and the assets that they stand for."""
        return self.prompt, self.prompt_assets

    def step(
        self, action: Mapping[str, Any], **ignored: object
    ) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        """Execute an action; return observation, reward (0), whether the episode is done, and an info dictionary."""
        observation = self._env.step(from_vima_action(action))
        success = self._env.succeeded()
        failure = not success and self._env.mistakes[-1] not in ("", "no_progress")
        info = {"prompt": self.prompt, "success": success, "failure": failure}
        return vima_observation(observation), 0.0, success, info

    def render(self, mode: str = "human") -> None:
        """Do nothing; there is no display."""

    def close(self) -> None:
        """Do nothing; there are no resources to release."""


def _view(rgb: Any, segm: Any, ids: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return an image with its channels last, and labels from 1 in place of the simulator's ids."""
    picture = np.ascontiguousarray(np.asarray(rgb, dtype=np.uint8).transpose(1, 2, 0))
    numbers = np.asarray(segm)
    labels = np.zeros(numbers.shape, dtype=np.uint8)
    for place, number in enumerate(ids, start=1):
        labels[numbers == number] = place
    return picture, labels


def from_vima_prompt(text: str, assets: Mapping[str, Any]) -> Prompt:
    """Convert a VIMA-Bench prompt, keeping its rendered images."""
    pictures = []
    for name in dict.fromkeys(PLACEHOLDER.findall(text)):
        asset = assets[name]
        info = asset["segm"]["obj_info"]
        objects = {entry["obj_id"]: entry for entry in (info if isinstance(info, list) else [info])}
        ids = sorted(objects)
        items = tuple(
            TableItem(f"object_{number}", objects[number]["obj_name"], objects[number]["obj_color"], 0.5, 0.0)
            for number in ids
        )
        views = {view: _view(asset["rgb"][view], asset["segm"][view], ids) for view in VIEWS}
        pictures.append((name, Photograph(asset["placeholder_type"], TableScene(items), views)))
    return Prompt(text, tuple(pictures))


@dataclass(frozen=True, slots=True)
class VimaOutcome:
    """Outcome of an episode in VIMA-Bench."""

    success: bool
    failure: bool
    """Whether VIMA-Bench's task reported a failure."""
    steps: int


def play_in_vima(env: Any, policy: Policy, *, seed: int, most: int = MAX_VIMA_ACTIONS) -> VimaOutcome:
    """Run a tabletop policy for one VIMA-Bench episode, which ends on success, as in CoGeLoT."""
    env.global_seed = seed
    vima_observation = env.reset()
    text, assets = env.get_prompt_and_assets()
    ids = sorted(env.meta_info["obj_id_to_info"])
    items = tuple(TableItem(f"object_{number}", "block", GREY, 0.5, 0.0) for number in ids)
    policy.reset(from_vima_prompt(text, assets), EpisodeSpec(f"vima/{env.task_name}", seed, PACK))
    info: Mapping[str, Any] = {}
    for step in range(most):
        rgb, segm = vima_observation["rgb"], vima_observation["segm"]
        views = {view: _view(rgb[view], segm[view], ids) for view in VIEWS}
        scene = TableScene(items, Tool.SPATULA if vima_observation["ee"] else Tool.SUCTION)
        (action, *_) = policy.act(TableObservation(step, scene, partial(dict, views)))
        vima_observation, _, _, info = env.step(to_vima_action(action))
        if info["success"]:
            return VimaOutcome(True, False, step + 1)
    return VimaOutcome(False, bool(info.get("failure")), most)
