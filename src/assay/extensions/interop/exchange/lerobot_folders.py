"""Episodes of a run as a LeRobotDataset, failures too: each frame says whether the next one has the goal.

``next.success``, ``next.done`` and ``next.reward`` are LeRobot's own names. Pictures are drawn by playing the recorded
actions again, as policies are evaluated with them: rotated.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.episodes import LIBERO, Outcome, world_name, world_of
from assay.errors import RunError
from assay.extensions.interop.exchange.selection import SIZE, Kept, chosen, kept
from assay.runs.replay import replay
from assay.runs.store import Store
from assay.support.files import scratch_folder
from assay.support.images import Orientation
from assay.tasks.formats.lerobot_features import ACTION, STATE, VECTORS, robot_state
from assay.tasks.formats.lerobot_writer import RecordedEpisode, record_images, write_dataset

NEXT = {"next.reward": pl.Float32(), "next.done": pl.Boolean(), "next.success": pl.Boolean()}
"""What each frame says of the moment after its action."""


def write(
    store: Store, folder: Path, *, which: str = "all", most: int | None = None, size: int = SIZE
) -> tuple[int, int]:
    """Write episodes into a new folder; returns how many, and how many were left out.

    Raises RunError where the folder holds something, or the episodes cannot be played again.
    """
    if size < 16 or size % 2:  # the codec's
        raise RunError(f"--size {size}: valid: an even number of pixels, 16 or more")
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder}: holds files already; valid: a new folder")
    if store.meta.get("imported"):
        raise RunError(f"{store.path}: was imported, and cannot be played again to be drawn")
    rows, left = chosen(store, which, most)
    rows = [row for row in rows if row["steps"]]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent, ".assay-") as scratch:
        episodes = tuple(
            _episode(each, store, size, Path(scratch) / str(number))
            for number, each in enumerate(kept(store, rows))
        )
        if not episodes:
            raise RunError(f"{store.path}: no episode has a step")
        whole = Path(scratch) / "whole"
        write_dataset(whole, episodes, pack=str(store.meta["pack"]), size=size, extra_columns=NEXT)
        if folder.exists():
            folder.rmdir()
        shutil.move(whole, folder)
    return len(episodes), left


def _episode(kept: Kept, store: Store, size: int, scratch: Path) -> RecordedEpisode:
    """An episode played again, and drawn."""
    spec, actions = kept.spec, kept.trajectory.actions
    if world_name(spec.task) != LIBERO:
        raise RunError(f"{spec.task}: only episodes of LIBERO's world become a LeRobotDataset")
    scratch.mkdir()
    env = world_of(spec.task).open(store.states)
    seen: list[Any] = []
    try:
        error = str(kept.row["error"]) if kept.row["outcome"] == Outcome.ERROR else ""
        again = replay(env, spec, actions, error=error, watch=seen.append)
        if again.steps != kept.row["steps"] or again.outcome != kept.row["outcome"]:
            raise RunError(
                f"{store.path}: {kept.row['key'][:8]} does not play again as it was recorded "
                f"({again.outcome} after {again.steps} steps, not {kept.row['outcome']} after {kept.row['steps']})"
            )
        clips, stats = record_images(seen[: len(actions)], size, Orientation.ROTATED, scratch)
    finally:
        env.close()
    done = np.arange(len(actions)) == len(actions) - 1
    won = done & (kept.row["outcome"] == Outcome.SUCCESS)
    vectors = {
        ACTION: np.clip(actions, -1.0, 1.0),
        STATE: np.array([robot_state(observation) for observation in seen[: len(actions)]]),
        "next.reward": won.astype(np.float32),
        "next.done": done,
        "next.success": won,
    }
    return RecordedEpisode(
        task=spec.task,
        seed=spec.seed,
        instruction=str(kept.row["instruction"]),
        frames=pl.DataFrame(vectors, schema={**VECTORS, **NEXT}),
        clips=clips,
        image_stats=stats,
        labels={name: str(kept.row[name]) for name in ("condition", "outcome", "key")},
    )
