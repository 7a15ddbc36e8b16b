"""Exports the episodes of a run, including failures, as a LeRobotDataset.

Each frame has LeRobot's ``next.success``, ``next.done`` and ``next.reward``. Images are rendered by replaying the
recorded actions, and rotated as in evaluations.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.episodes import LIBERO, Outcome, world_name, world_of
from assay.errors import RunError
from assay.runs.replay import replay
from assay.runs.store import Store
from assay.support.files import scratch_folder
from assay.support.images import Orientation
from assay.tasks.formats.lerobot import ACTION, STATE, VECTORS, robot_state
from assay.tasks.formats.lerobot_writer import RecordedEpisode, record_images, write_dataset

NEXT_COLUMNS = {"next.reward": pl.Float32(), "next.done": pl.Boolean(), "next.success": pl.Boolean()}
"""Columns that describe the result of each frame's action, with their types."""

DEFAULT_MAX_EPISODES = 50
"""Default number of exported episodes, whose videos take time and disk space."""


def _select_rows(store: Store, episodes: str, most: int | None) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of the selected episodes, evenly spaced if there are too many, and the number omitted.

    ``episodes`` is ``all``, ``failures``, or comma-separated keys; ``most`` is the maximum number.
    Raises RunError if no episode is selected or a key is ambiguous.
    """
    frame = store.frame()
    if episodes == "failures":
        frame = frame.filter(pl.col("outcome") == Outcome.FAILURE)
    elif episodes != "all":
        keys = [key.strip() for key in episodes.split(",") if key.strip()]
        for key in keys:
            if sum(stored.startswith(key) for stored in frame["key"]) != 1:
                raise RunError(
                    f"{store.path}: expected exactly one recorded episode with a key that begins with '{key}'; "
                    "pass all, failures, or keys (assay export RUN --csv - lists them)"
                )
        frame = frame.filter(pl.any_horizontal([pl.col("key").str.starts_with(key) for key in keys]))
    if not len(frame):
        raise RunError(f"{store.path}: no episodes to export (--episodes {episodes})")
    rows = frame.to_dicts()
    count = min(most or DEFAULT_MAX_EPISODES, len(rows))
    return [rows[number * len(rows) // count] for number in range(count)], len(rows) - count


def write_rollouts(store: Store, folder: Path, selection: str, most: int | None, size: int) -> str:
    """Write episodes to a new folder and return a one-line summary.

    Raises RunError if the folder is not empty or the episodes cannot be replayed.
    """
    if size < 16 or size % 2:  # the codec's limits
        raise RunError(f"--size {size}: expected an even number >= 16")
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder}: the folder is not empty; choose a new one")
    if store.meta.get("imported"):
        raise RunError(f"{store.path}: imported runs cannot be replayed to render images")
    rows, left_out = _select_rows(store, selection, most)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent, ".assay-") as scratch:
        episodes = tuple(
            _record(row, trajectory.actions, store, size, Path(scratch) / str(row["id"]))
            for row in rows
            for _, trajectory in store.trajectories([row["id"]])
            if row["steps"]
        )
        if not episodes:
            raise RunError(f"{store.path}: no episode has any steps")
        dataset = Path(scratch) / "dataset"
        pack = str(store.meta["pack"])
        write_dataset(dataset, episodes, pack=pack, size=size, extra_columns=NEXT_COLUMNS)
        if folder.exists():
            folder.rmdir()
        shutil.move(dataset, folder)
    omitted = f" ({left_out} omitted because of --most)" if left_out else ""
    return f"{len(episodes)} episodes written to {folder}{omitted}"


def _record(
    row: Mapping[str, Any], actions: np.ndarray, store: Store, size: int, scratch: Path
) -> RecordedEpisode:
    """Replay the episode of a row and render its images."""
    spec = store.specs([row["id"]])[0]
    if world_name(spec.task) != LIBERO:
        raise RunError(f"{spec.task}: only episodes in LIBERO's world can be exported as a LeRobotDataset")
    scratch.mkdir()
    observations: list[Any] = []
    error = str(row["error"]) if row["outcome"] == Outcome.ERROR else ""
    with closing(world_of(spec.task).open(store.states)) as env:
        again = replay(env, spec, actions, error=error, watch=observations.append)
        if again.steps != row["steps"] or again.outcome != row["outcome"]:
            raise RunError(
                f"{store.path}: the replay of {row['key'][:8]} differs from the record "
                f"({again.outcome} after {again.steps} steps, not {row['outcome']} after {row['steps']})"
            )
        del observations[len(actions) :]
        clips, stats = record_images(observations, size, Orientation.ROTATED, scratch)
    is_last = np.arange(len(actions)) == len(actions) - 1
    succeeds = is_last & (row["outcome"] == Outcome.SUCCESS)
    columns = {
        ACTION: np.clip(actions, -1.0, 1.0),
        STATE: np.array([robot_state(observation) for observation in observations]),
        "next.reward": succeeds.astype(np.float32),
        "next.done": is_last,
        "next.success": succeeds,
    }
    return RecordedEpisode(
        task=spec.task,
        seed=spec.seed,
        instruction=str(row["instruction"]),
        frames=pl.DataFrame(columns, schema={**VECTORS, **NEXT_COLUMNS}),
        clips=clips,
        image_stats=stats,
        labels={name: str(row[name]) for name in ("condition", "outcome", "key")},
    )
