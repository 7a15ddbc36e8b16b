"""VIMA-Bench and our table, each for the other's policies.

    env = make("visual_manipulation", seed=0)      # in place of vima_bench.make: our table as VIMA-Bench's environment
    play_there(vima_env, policy, seed=0)           # one of our policies in VIMA-Bench itself

VIMA-Bench is not on PyPI and is not needed for the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from assay.episodes import EpisodeSpec, Perturbation, Policy
from assay.errors import TaskError, did_you_mean
from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.observation import ObjectTokens, Photograph, object_tokens, patches
from assay.extensions.tabletop.policies.vima import HIGH, LOW, assets, meta_info, observed, to_table, to_vima
from assay.extensions.tabletop.pools import Difficulty, Level
from assay.extensions.tabletop.prompt import PLACEHOLDER, Prompt
from assay.extensions.tabletop.scene import Item, TableScene, Tool
from assay.extensions.tabletop.tasks import KINDS, Setting
from assay.extensions.tabletop.tasks import make as make_task
from assay.extensions.tabletop.world import PACK, TableEnv
from assay.perturb import apply_perturbations
from assay.support.streams import stream

MOST_ACTIONS = 10
_THEIRS = frozenset(
    {
        "task_kwargs",
        "modalities",
        "debug",
        "display_debug_window",
        "render_prompt",
        "record_gui",
        "record_kwargs",
        "hide_arm_rgb",
    }
)
"""What ``vima_bench.make`` takes besides: all about PyBullet, or, as ``task_kwargs``, what ``level`` says here."""


def make(
    task_name: str,
    *,
    seed: int = 0,
    level: str | None = None,
    difficulty: str = "default",
    perturbations: Sequence[Perturbation] = (),
    **theirs: object,
) -> VimaTable:
    """Our table as the environment that ``vima_bench.make`` gives. Its other keywords are accepted without effect.

    ``task_name``: VIMA-Bench's, with or without its group, or T1 to T17. Raises TaskError that says what is valid.
    """
    for keyword in sorted(theirs.keys() - _THEIRS):
        valid = {"seed", "level", "difficulty", "perturbations", *_THEIRS}
        raise TaskError(f"make has no keyword '{keyword}': {did_you_mean(keyword, valid)}")
    name = task_name.rpartition("/")[2]
    kinds = {kind.name: kind for kind in KINDS.values()} | dict(KINDS)
    if name not in kinds:
        raise TaskError(f"there is no task '{task_name}': {did_you_mean(name, kinds)}")
    kind = kinds[name]
    if level and level not in map(str, kind.levels):
        raise TaskError(f"{kind.name} has no level '{level}'; valid: {', '.join(map(str, kind.levels))}")
    if difficulty not in map(str, Difficulty):
        raise TaskError(f"there is no difficulty '{difficulty}'; valid: {', '.join(map(str, Difficulty))}")
    chosen = Level(level) if level else kind.levels[0]
    return VimaTable(Setting(kind.id, seed, chosen, Difficulty(difficulty)), tuple(perturbations))


class VimaTable:
    """Our table in VIMA-Bench's conventions: ``reset``, ``get_prompt_and_assets``, ``step`` with two poses."""

    def __init__(self, setting: Setting, perturbations: tuple[Perturbation, ...] = ()) -> None:
        self._given, self._perturbations = setting, perturbations
        self._resets = 0
        self.prompt: str | None = None
        self.prompt_assets: dict[str, Any] | None = None
        self.meta_info: dict[str, Any] = {}

    @property
    def task_name(self) -> str:
        """VIMA-Bench's name of the task."""
        return KINDS[self._given.task].name

    @property
    def action_space(self) -> Any:
        """As VIMA-Bench has it. Needs gymnasium."""
        from gymnasium import spaces

        position, rotation = spaces.Box(LOW, HIGH), spaces.Box(-1.0, 1.0, (4,))
        return spaces.Dict(
            {f"{pose}_{part}": space for pose in ("pose0", "pose1")
             for part, space in (("position", position), ("rotation", rotation))}
        )  # fmt: skip

    def seed(self, seed: int | None = None) -> None:
        """The seed of the next episode, and of those that follow it."""
        self._given, self._resets = replace(self._given, seed=seed or 0), 0

    @property
    def global_seed(self) -> int:
        """The seed that was given last."""
        return self._given.seed

    @global_seed.setter
    def global_seed(self, seed: int) -> None:
        self.seed(seed)

    def reset(self) -> dict[str, Any]:
        """Set the table anew; an observation.

        The first scene is the given seed's own; each later one is drawn from it, as VIMA-Bench goes on with its
        generator. ``meta_info["seed"]`` is the scene's own seed.
        """
        drawn = int(stream(self._given.seed, "reset", self._resets).integers(2**31))
        setting = replace(self._given, seed=drawn) if self._resets else self._given
        self._resets += 1
        task = apply_perturbations(make_task(setting), self._perturbations, seed=setting.seed)
        self._env = TableEnv(task)
        observation = self._env.reset(EpisodeSpec(task.id, setting.seed, PACK))
        self.prompt, self.prompt_assets = task.prompt.text, assets(task.prompt)
        self.meta_info = meta_info(observation) | {
            "difficulty": str(setting.difficulty),
            "seed": setting.seed,
            "obj_id_to_info": {
                number: {"obj_name": item.shape, "texture_name": item.texture}
                for number, item in enumerate(task.scene.items, start=1)
            },
        }
        return observed(observation)

    def get_prompt_and_assets(self) -> tuple[str | None, dict[str, Any] | None]:
        """The text with its placeholders, and what they stand for."""
        return self.prompt, self.prompt_assets

    def step(
        self, action: Mapping[str, Any], **ignored: object
    ) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        """Carry out an action: observation, reward (0), whether the task is done, and what became of it."""
        observation = self._env.step(to_table(action))
        success = self._env.succeeded()
        failure = not success and self._env.mistakes[-1] not in ("", "no_progress")
        return (
            observed(observation),
            0.0,
            success,
            {"prompt": self.prompt, "success": success, "failure": failure},
        )

    def render(self, mode: str = "human") -> None:
        """Nothing is displayed."""

    def close(self) -> None:
        """Nothing is held."""


class VimaObservation:
    """One of VIMA-Bench's observations as our policies read them; see `TableObservation`."""

    def __init__(self, given: Mapping[str, Any], ids: Sequence[int], step: int) -> None:
        self.step = step
        self.tool = Tool.SPATULA if given["ee"] else Tool.SUCTION
        self.count = len(ids)
        self._views = {view: _view(given["rgb"][view], given["segm"][view], ids) for view in VIEWS}

    def image(self, camera: str = "top") -> np.ndarray:
        """A picture: uint8, (height, width, 3)."""
        return self._views[camera][0].copy()

    def segmentation(self, camera: str = "top") -> np.ndarray:
        """Labels: 0 for what is no object, i + 1 for the object i of the order in which they were made."""
        return self._views[camera][1].copy()

    def objects(self, camera: str = "top") -> ObjectTokens:
        """One crop and box for each object."""
        return object_tokens(*self._views[camera], self.count)

    def patches(self, camera: str = "top") -> np.ndarray:
        """The picture cut up."""
        return patches(self._views[camera][0])


def _view(rgb: Any, segm: Any, ids: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """A picture with its colours last, and labels from 1 on in place of the simulator's numbers."""
    picture = np.ascontiguousarray(np.asarray(rgb, dtype=np.uint8).transpose(1, 2, 0))
    numbers = np.asarray(segm)
    labels = np.zeros(numbers.shape, dtype=np.uint8)
    for place, number in enumerate(ids, start=1):
        labels[numbers == number] = place
    return picture, labels


def prompt_of(text: str, given: Mapping[str, Any]) -> Prompt:
    """A prompt of VIMA-Bench as one of ours, with its pictures as they were taken."""
    pictures = []
    for name in dict.fromkeys(PLACEHOLDER.findall(text)):
        asset = given[name]
        about = asset["segm"]["obj_info"]
        about = about if isinstance(about, list) else [about]
        ids = sorted(each["obj_id"] for each in about)
        named = {each["obj_id"]: each for each in about}
        items = tuple(
            Item(f"object_{number}", named[number]["obj_name"], named[number]["obj_color"], 0.5, 0.0)
            for number in ids
        )
        views = {view: _view(asset["rgb"][view], asset["segm"][view], ids) for view in VIEWS}
        kind: Literal["object", "scene"] = "object" if asset["placeholder_type"] == "object" else "scene"
        pictures.append((name, Photograph(kind, TableScene(items), views)))
    return Prompt(text, tuple(pictures))


@dataclass(frozen=True, slots=True)
class PlayedThere:
    """An episode in VIMA-Bench."""

    success: bool
    failure: bool
    """Whether VIMA-Bench's own task declared one."""
    steps: int


def play_there(env: Any, policy: Policy, *, seed: int, most: int = MOST_ACTIONS) -> PlayedThere:
    """Let one of our policies play an episode of a VIMA-Bench environment; success ends it, as in CoGeLoT."""
    env.global_seed = seed
    given = env.reset()
    text, shown_assets = env.get_prompt_and_assets()
    ids = sorted(env.meta_info["obj_id_to_info"])
    policy.reset(prompt_of(text, shown_assets), EpisodeSpec(f"vima/{env.task_name}", seed, PACK))
    info: Mapping[str, Any] = {}
    for step in range(most):
        observation: Any = VimaObservation(given, ids, step)
        (action, *_) = policy.act(observation)
        given, _, _, info = env.step(to_vima(action))
        if info["success"]:
            return PlayedThere(True, False, step + 1)
    return PlayedThere(False, bool(info.get("failure")), most)
