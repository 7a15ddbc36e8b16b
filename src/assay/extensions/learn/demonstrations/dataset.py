"""Demonstrations as a folder in the format LeRobotDataset v3.0.

    meta/info.json, stats.json, tasks.parquet          what is in it
    meta/episodes/chunk-000/file-000.parquet           one row for each episode, with its own statistics
    meta/assay.json                                    ours: pack, picture size and orientation, attempts left out
    data/chunk-000/file-000.parquet                    one row for each frame
    videos/{feature}/chunk-000/file-000.mp4            the pictures

The n-th data file and the n-th video of each camera hold the same episodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import nanoarrow  # type: ignore[import-untyped]
import numpy as np
import polars as pl

from assay.episodes.episode import Outcome
from assay.errors import one_line
from assay.extensions.learn.demonstrations.demonstration import Demonstrations, Episode, LeftOut
from assay.extensions.learn.demonstrations.errors import DemonstrationError
from assay.extensions.learn.demonstrations.features import CAMERAS, COUNTERS, FPS, VECTORS, features, scalar
from assay.extensions.learn.demonstrations.recipe import Recipe
from assay.extensions.learn.demonstrations.stats import NAMES, Stats, joined, of_values
from assay.policies.remote.pictures import Orientation
from assay.support.video import Clip, splice
from assay.tasks.formats.lerobot import BROKEN, LerobotFolder

MOST_FRAMES = 20_000
"""The most frames in one file, unless one episode has more.

LeRobot looks pictures up by seconds in single precision, to 0.1 ms: beyond 1024 s it begins to miss.
"""
FILES_IN_CHUNK = 1000
OLD = Orientation.UPRIGHT
"""Which way up pictures lie where a folder of ours does not say it: it is of Assay 0.1."""
INFO, STATS, TASKS, OURS = "meta/info.json", "meta/stats.json", "meta/tasks.parquet", "meta/assay.json"
_FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
EPISODES = f"meta/episodes/{_FILE}.parquet"
DATA = f"data/{_FILE}.parquet"
VIDEO = f"videos/{{video_key}}/{_FILE}.mp4"


def write(
    folder: Path,
    demonstrations: Demonstrations,
    *,
    most_frames: int = MOST_FRAMES,
    more: Mapping[str, pl.DataType] = MappingProxyType({}),
) -> None:
    """Write a dataset into a new folder; without any episode, what was left out alone.

    ``more``: further columns that its frames have, one number each.
    """
    if demonstrations.episodes:
        _write_dataset(folder, demonstrations, most_frames, more)
    ours = {
        "pack": demonstrations.pack,
        "size": demonstrations.size,
        "orientation": demonstrations.orientation.value,
        "recipe": asdict(demonstrations.recipe),
        "left_out": [asdict(attempt) for attempt in demonstrations.left_out],
    }
    _write_json(folder / OURS, ours)


def read(folder: Path) -> Demonstrations:
    """Read what `write` wrote. Raises DemonstrationError for anything else."""
    try:
        ours = json.loads((folder / OURS).read_text())
        left_out = tuple(
            LeftOut(**attempt | {"outcome": Outcome(attempt["outcome"])}) for attempt in ours["left_out"]
        )
        episodes = tuple(_read_episodes(folder)) if (folder / INFO).exists() else ()
        recipe = Recipe(**ours.get("recipe", {}))
        lies = Orientation(ours.get("orientation", OLD))
        return Demonstrations(ours["pack"], ours["size"], episodes, left_out, recipe, lies)
    except BROKEN as error:
        reason = one_line(error)
        raise DemonstrationError(
            f"{folder} is not a dataset that assay collect wrote, or it is damaged ({reason})"
        ) from error


def orientation(data: LerobotFolder, camera: str) -> Orientation:
    """Which way up the pictures of a camera lie, as far as it is known: nearly all of LIBERO's data is rotated."""
    usual = OLD if (data.folder / OURS).is_file() else Orientation.ROTATED
    return Orientation(data.orientation(camera) or usual)


def _write_dataset(
    folder: Path, demonstrations: Demonstrations, most_frames: int, more: Mapping[str, pl.DataType]
) -> None:
    instructions = list(dict.fromkeys(episode.instruction for episode in demonstrations.episodes))
    rows: list[dict[str, Any]] = []
    tables: list[pl.DataFrame] = []
    frames = 0
    for number, group in enumerate(_files(demonstrations.episodes, most_frames)):
        place = {"chunk_index": number // FILES_IN_CHUNK, "file_index": number % FILES_IN_CHUNK}
        first = frames
        for episode in group:
            table = _located(episode, len(rows), frames, instructions.index(episode.instruction))
            rows.append(_row(demonstrations.pack, episode, table, place, frames - first))
            tables.append(table)
            frames += len(table)
        _write_table(folder / DATA.format(**place), pl.concat(tables[-len(group) :]))
        for key in CAMERAS:
            clips = [episode.clips[key] for episode in group]
            splice(clips, folder / VIDEO.format(video_key=key, **place), fps=FPS)
    _write_table(
        folder / EPISODES.format(chunk_index=0, file_index=0), pl.DataFrame(rows, infer_schema_length=None)
    )
    _write_tasks(folder / TASKS, instructions)
    pictures = {
        key: joined([episode.pictures[key] for episode in demonstrations.episodes]) for key in CAMERAS
    }
    stats = _table_stats(pl.concat(tables)) | pictures
    _write_json(folder / STATS, {key: _plain(value) for key, value in stats.items()})
    info = {
        "codebase_version": "v3.0",
        "robot_type": "panda",
        "total_episodes": len(rows),
        "total_frames": frames,
        "total_tasks": len(instructions),
        "chunks_size": FILES_IN_CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": FPS,
        "splits": {"train": f"0:{len(rows)}"},
        "data_path": DATA,
        "video_path": VIDEO,
        "features": features(demonstrations.size, demonstrations.orientation)
        | {name: scalar(kind) for name, kind in more.items()},
    }
    _write_json(folder / INFO, info)


def _files(episodes: Sequence[Episode], most_frames: int) -> Iterator[list[Episode]]:
    """Whole episodes, in groups that fit into one file."""
    group: list[Episode] = []
    for episode in episodes:
        if group and sum(len(each.frames) for each in (*group, episode)) > most_frames:
            yield group
            group = []
        group.append(episode)
    yield group


def _located(episode: Episode, number: int, start: int, task: int) -> pl.DataFrame:
    """An episode's frames with the counters that place them among all frames."""
    frame = pl.int_range(len(episode.frames), dtype=pl.Int64)
    return episode.frames.with_columns(
        timestamp=(frame / FPS).cast(COUNTERS["timestamp"]),
        frame_index=frame,
        episode_index=pl.lit(number, pl.Int64),
        index=start + frame,
        task_index=pl.lit(task, pl.Int64),
    )


def _row(
    pack: str, episode: Episode, table: pl.DataFrame, place: Mapping[str, int], since: int
) -> dict[str, Any]:
    """What is said about an episode that begins ``since`` frames after its file does."""
    start = table["index"][0]
    row: dict[str, Any] = {
        "episode_index": table["episode_index"][0],
        "tasks": [episode.instruction],
        "length": len(table),
        "dataset_from_index": start,
        "dataset_to_index": start + len(table),
        "assay/task": episode.task,
        "assay/seed": episode.seed,
        "assay/pack": pack,
        **{f"assay/{name}": value for name, value in episode.said.items()},
        "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
        **{f"data/{key}": value for key, value in place.items()},
    }
    for camera in CAMERAS:
        row |= {f"videos/{camera}/{key}": value for key, value in place.items()}
        row[f"videos/{camera}/from_timestamp"] = since / FPS
        row[f"videos/{camera}/to_timestamp"] = (since + len(table)) / FPS
    for key, stats in (_table_stats(table) | dict(episode.pictures)).items():
        row |= {f"stats/{key}/{name}": value for name, value in _plain(stats).items()}
    return row


def _read_episodes(folder: Path) -> Iterator[Episode]:
    data = pl.read_parquet(folder / "data/*/*.parquet").sort("index").select(*VECTORS)
    for row in pl.read_parquet(folder / "meta/episodes/*/*.parquet").iter_rows(named=True):
        clips, pictures = {}, {}
        for key in CAMERAS:
            place = {name: row[f"videos/{key}/{name}"] for name in ("chunk_index", "file_index")}
            path = folder / VIDEO.format(video_key=key, **place)
            clips[key] = Clip(path, round(row[f"videos/{key}/from_timestamp"] * FPS), row["length"])
            pictures[key] = {name: np.array(row[f"stats/{key}/{name}"]) for name in NAMES}
        yield Episode(
            task=row["assay/task"],
            seed=row["assay/seed"],
            instruction=row["tasks"][0],
            frames=data.slice(row["dataset_from_index"], row["length"]),
            clips=clips,
            pictures=pictures,
        )


def _table_stats(table: pl.DataFrame) -> dict[str, Stats]:
    return {key: of_values(table[key].to_numpy()) for key in (*VECTORS, *COUNTERS)}


def _plain(stats: Stats) -> dict[str, Any]:
    return {name: stats[name].tolist() for name in NAMES}


def _write_tasks(path: Path, instructions: Sequence[str]) -> None:
    """LeRobot reads this one with pandas, and wants the instructions as the index."""
    table = pl.DataFrame({"task": instructions, "task_index": pl.int_range(len(instructions), eager=True)})
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": None}
        for name, kind, numpy in (("task", "unicode", "object"), ("task_index", "int64", "int64"))
    ]
    pandas = {"index_columns": ["task"], "column_indexes": [], "columns": columns, "pandas_version": "2.0.0"}
    schema = nanoarrow.c_schema(table.schema).modify(metadata={"pandas": json.dumps(pandas)})
    table.write_parquet(path, arrow_schema=schema)


def _write_table(path: Path, table: pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(path)


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")
