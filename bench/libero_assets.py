"""Every built-in task on LIBERO's own assets: compiled, begun from its first stored state, stepped and drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec, world_of
from assay.errors import AssayError, AssetError
from assay.policies.simple import STILL
from assay.sim.packs.locate import locate_states
from assay.sim.packs.registry import load_pack
from assay.sim.render import CAMERAS
from bench.figure import Figure

STEPS, SIZE = 5, 64
FLAT = 5.0
"""Standard deviation of an image, of 255, below which nothing is to be seen in it."""


def measure(names: Sequence[str] = ()) -> list[Figure]:
    what = "LIBERO's assets: built-in tasks that cannot be played from a stored state"
    names = names or tasks.built_in_ids()
    try:
        load_pack("libero")
        locate_states()
    except AssetError as error:
        return [Figure(what, None, "tasks", 0, note=str(error))]
    wrong = [reason for name in names if (reason := _reason(name))]
    note = wrong[0] if wrong else f"of {len(names)}"
    return [Figure(what, len(wrong), "tasks", 0, note=note)]


def _reason(name: str) -> str:
    """Why a task cannot be played; empty if it can."""
    env = world_of(name).open()
    try:
        observation = env.reset(EpisodeSpec(name, 0, "libero", initial="stored"))
        if env.succeeded():
            return f"{name}: done before it begins"
        for _ in range(STEPS):
            observation = env.step(STILL)
        flat = [camera for camera in CAMERAS if np.std(observation.image(camera, SIZE)) < FLAT]
        return f"{name}: nothing to be seen by {flat[0]}" if flat else ""
    except AssayError as error:
        return f"{name}: {error}"
    finally:
        env.close()
