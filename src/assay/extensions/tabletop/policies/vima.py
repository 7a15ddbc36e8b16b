"""VIMA-Bench's conventions: what its policies are given and what they give, from and to Assay's.

A VIMA policy sees ``{"rgb": {view: (3, 128, 256)}, "segm": {view: (128, 256)}, "ee": 0 or 1}``, is told a text with
placeholders and a dictionary of assets, and answers with two poses, quaternions as (x, y, z, w).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import ActionError, PolicyError
from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.observation import TableObservation, shown
from assay.extensions.tabletop.prompt import Picture, Prompt
from assay.extensions.tabletop.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, Tool
from assay.extensions.tabletop.simulation import ACTION_SIZE

LOW, HIGH = np.array([X_LOW, Y_LOW], dtype=np.float32), np.array([X_HIGH, Y_HIGH], dtype=np.float32)
_POSES = ("pose0", "pose1")


def observed(observation: TableObservation) -> dict[str, Any]:
    """An observation as VIMA-Bench gives it; an object's number in ``segm`` is its place in the order, from 1 on."""
    return {
        "rgb": {view: _first(observation.image(view)) for view in VIEWS},
        "segm": {view: observation.segmentation(view) for view in VIEWS},
        "ee": int(observation.tool is Tool.SPATULA),
    }


def assets(prompt: Prompt) -> dict[str, Any]:
    """What the placeholders of a prompt stand for, as VIMA-Bench gives it."""
    return {name: _asset(picture) for name, picture in prompt.pictures}


def _asset(picture: Picture) -> dict[str, Any]:
    views = shown(picture)
    about = [
        {"obj_id": number, "obj_name": item.shape, "obj_color": item.texture}
        for number, item in enumerate(picture.scene.items, start=1)
    ]
    segm: dict[str, Any] = {view: views[view][1] for view in VIEWS}
    segm["obj_info"] = about[0] if picture.kind == "object" else about
    return {
        "rgb": {view: _first(views[view][0]) for view in VIEWS},
        "segm": segm,
        "placeholder_type": picture.kind,
    }


def meta_info(observation: TableObservation) -> dict[str, Any]:
    """What VIMA-Bench tells besides: how many objects there are, their numbers, where poses may lie."""
    tool = observation.tool
    return {
        "end_effector_type": str(tool),
        "n_objects": observation.count,
        "views": list(VIEWS),
        "modalities": ["rgb", "segm"],
        "action_bounds": {"low": LOW, "high": HIGH},
        "obj_id_to_info": {number: {} for number in range(1, observation.count + 1)},
        "robot_components": [],
    }


def to_table(given: Mapping[str, Any]) -> np.ndarray:
    """A VIMA action as one of ours, (12,). Raises ActionError for what it has not got."""
    poses = []
    for pose in _POSES:
        try:
            position, rotation = (
                np.asarray(given[f"{pose}_{part}"], dtype=np.float64).ravel()
                for part in ("position", "rotation")
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ActionError(f"a VIMA action has {pose}_position and {pose}_rotation: {error}") from None
        if len(position) not in (2, 3) or len(rotation) != 4:
            raise ActionError(f"{pose} has {len(position)} and {len(rotation)} numbers; valid: 2 or 3, and 4")
        x, y, z, w = rotation
        poses += [*position[:2], w, x, y, z]  # a height is dropped, as VIMA-Bench drops it
    return np.array(poses)


def to_vima(action: np.ndarray) -> dict[str, np.ndarray]:
    """One of our actions (12,) as VIMA-Bench takes it."""
    made: dict[str, np.ndarray] = {}
    for place, pose in zip((0, ACTION_SIZE // 2), _POSES, strict=True):
        x, y, w, *rest = np.asarray(action, dtype=np.float64)[place : place + 6]
        made[f"{pose}_position"] = np.clip(np.array([x, y], dtype=np.float32), LOW, HIGH)
        made[f"{pose}_rotation"] = np.clip(np.array([*rest, w], dtype=np.float32), -1.0, 1.0)
    return made


def _first(picture: np.ndarray) -> np.ndarray:
    """A picture with its colours first: (3, height, width)."""
    return np.ascontiguousarray(picture.transpose(2, 0, 1))


class VimaPolicy:
    """A policy that was written for VIMA-Bench, at our table: ``vima?policy=module:Class``.

    The class has ``reset(prompt, prompt_assets, meta_info)`` and ``act(obs)``, in VIMA-Bench's conventions.
    """

    def __init__(self, policy: str = "") -> None:
        module, _, name = policy.partition(":")
        if not module or not name:
            raise PolicyError("a VIMA policy needs its class: vima?policy=module:Class")
        try:
            made = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise PolicyError(f"vima?policy={policy}: {error}") from None
        self._policy = made()

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode; the policy is told with its first observation."""
        self._told: Prompt | None = prompt

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12)."""
        if self._told is not None:
            self._policy.reset(self._told.text, assets(self._told), meta_info(observation))
            self._told = None
        return to_table(self._policy.act(observed(observation)))[None]
