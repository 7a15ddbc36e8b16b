"""Exports the episodes of a run, including failures, as a LeRobotDataset.

Each frame has LeRobot's ``next.success``, ``next.done`` and ``next.reward``. Images are rendered by replaying the
recorded actions, and rotated as in evaluations.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl

from assay.episodes import LIBERO, Outcome, world_name
from assay.errors import RunError
from assay.extensions.interop.exporting.exporters import (
    ExportedEpisode,
    read_episodes,
    replaying,
    report_written,
    select_rows,
)
from assay.runs.store import Store
from assay.support.files import scratch_folder
from assay.support.images import Orientation
from assay.tasks.formats.lerobot_features import ACTION, STATE, VECTORS, robot_state
from assay.tasks.formats.lerobot_writer import RecordedEpisode, record_images, write_dataset

NEXT_COLUMNS = {"next.reward": pl.Float32(), "next.done": pl.Boolean(), "next.success": pl.Boolean()}
"""Columns that describe the result of each frame's action, with their types."""


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
    rows, left_out = select_rows(store, selection, most)
    rows = [row for row in rows if row["steps"]]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent, ".assay-") as scratch:
        episodes = tuple(
            _record(episode, store, size, Path(scratch) / str(number))
            for number, episode in enumerate(read_episodes(store, rows))
        )
        if not episodes:
            raise RunError(f"{store.path}: no episode has any steps")
        dataset = Path(scratch) / "dataset"
        pack = str(store.meta["pack"])
        write_dataset(dataset, episodes, pack=pack, size=size, extra_columns=NEXT_COLUMNS)
        if folder.exists():
            folder.rmdir()
        shutil.move(dataset, folder)
    return report_written(folder, len(episodes), left_out)


def _record(episode: ExportedEpisode, store: Store, size: int, scratch: Path) -> RecordedEpisode:
    """Replay an episode and render its images."""
    row, spec, actions = episode.row, episode.spec, episode.trajectory.actions
    if world_name(spec.task) != LIBERO:
        raise RunError(f"{spec.task}: only episodes in LIBERO's world can be exported as a LeRobotDataset")
    scratch.mkdir()
    with replaying(episode, store) as (_, again, observations):
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
