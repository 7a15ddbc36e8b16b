"""Write episodes to a folder in the LeRobotDataset v3.0 format.

    meta/info.json, stats.json, tasks.parquet          description of the data set
    meta/episodes/chunk-000/file-000.parquet           one row per episode, with its statistics
    data/chunk-000/file-000.parquet                    one row per frame
    videos/{feature}/chunk-000/file-000.mp4            the images

The n-th data file and the n-th video of each camera contain the same episodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from assay.support.extras import optional_import
from assay.support.images import Orientation, orient
from assay.support.video import ENCODER, FPS, Clip, VideoWriter, splice
from assay.tasks.formats import lerobot

MAX_FRAMES_PER_FILE = 20_000
"""Maximum number of frames per file. LeRobot looks up images by time in single precision with a tolerance of 0.1 ms,
which fails beyond 1024 s.
"""
FILES_PER_CHUNK = 1000
STATS, TASKS = "meta/stats.json", "meta/tasks.parquet"
_FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
EPISODES = f"meta/episodes/{_FILE}.parquet"
DATA = f"data/{_FILE}.parquet"
VIDEO = f"videos/{{video_key}}/{_FILE}.mp4"
QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
STATISTICS = ("min", "max", "mean", "std", *QUANTILES, "count")

Stats = dict[str, np.ndarray]
"""Statistics by the names in `STATISTICS`; each has the shape of the feature, except ``count``, which is (1,)."""


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """An episode to be written, with its table and its videos."""

    task: str
    """Id of the task."""
    seed: int
    instruction: str
    frames: pl.DataFrame
    """Actions and states, one row per control step."""
    clips: Mapping[str, Clip]
    """Video of each camera, by feature."""
    image_stats: Mapping[str, Stats]
    labels: Mapping[str, str] = field(default_factory=dict)
    """Additional columns of the episode's row, stored as ``assay/NAME``."""


class ImageStats:
    """Running statistics over all pixels of many images; shape (3, 1, 1), values from 0 to 1."""

    def __init__(self) -> None:
        self._images = 0
        self._histogram = np.zeros((3, 256), dtype=np.int64)

    def add(self, image: np.ndarray) -> None:
        """Add the pixels of one image: uint8, shape (height, width, 3)."""
        self._images += 1
        for channel, counts in enumerate(self._histogram):
            counts += np.bincount(image[..., channel].ravel(), minlength=256)

    def result(self) -> Stats:
        """Return the statistics; ``count`` is the number of images."""
        levels = np.arange(256) / 255.0
        fractions = self._histogram / self._histogram.sum(axis=1, keepdims=True)
        mean = fractions @ levels
        below = np.cumsum(self._histogram, axis=1)
        # The smallest level that at least this fraction of the pixels, and at least one, does not exceed.
        stats = {
            name: levels[[np.searchsorted(counts, max(rank * counts[-1], 1)) for counts in below]]
            for name, rank in {"min": 0.0, "max": 1.0, **QUANTILES}.items()
        }
        stats |= {"mean": mean, "std": np.sqrt((fractions * (levels - mean[:, None]) ** 2).sum(axis=1))}
        return {name: value.reshape(3, 1, 1) for name, value in stats.items()} | {
            "count": np.array([self._images])
        }


def describe_values(values: np.ndarray) -> Stats:
    """Return statistics of values over frames, shape (frames,) or (frames, n); scalar features have shape (1,)."""
    table = values.reshape(len(values), -1).astype(np.float64)
    return {
        "min": table.min(axis=0),
        "max": table.max(axis=0),
        "mean": table.mean(axis=0),
        "std": table.std(axis=0),
        **dict(zip(QUANTILES, np.quantile(table, list(QUANTILES.values()), axis=0), strict=True)),
        "count": np.array([len(table)]),
    }


def combine_stats(parts: Sequence[Stats]) -> Stats:
    """Combine the statistics of several episodes; quantiles are averaged, all other statistics are exact."""
    count = np.array([part["count"][0] for part in parts])

    def mean(values: list[np.ndarray]) -> np.ndarray:
        return np.asarray(np.average(values, axis=0, weights=count))

    centre = mean([part["mean"] for part in parts])
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": centre,
        "std": np.sqrt(mean([part["std"] ** 2 + (part["mean"] - centre) ** 2 for part in parts])),
        **{name: mean([part[name] for part in parts]) for name in QUANTILES},
        "count": np.array([count.sum()]),
    }


def record_images(
    observations: Iterable[Any], size: int, orientation: Orientation, folder: Path
) -> tuple[dict[str, Clip], dict[str, Stats]]:
    """Render observations of LIBERO's world to one video per camera, and return clips and statistics by feature."""
    paths = {key: folder / f"{camera}.mp4" for key, camera in lerobot.CAMERAS.items()}
    statistics = {key: ImageStats() for key in lerobot.CAMERAS}
    count = 0
    with ExitStack() as files:
        videos = {
            key: files.enter_context(VideoWriter(path, fps=FPS, keyframes=lerobot.KEYFRAME_INTERVAL))
            for key, path in paths.items()
        }
        for observation in observations:
            count += 1
            for key, camera in lerobot.CAMERAS.items():
                image = orient(observation.image(camera, size), orientation)
                videos[key].add(image)
                statistics[key].add(image)
    clips = {key: Clip(path, 0, count) for key, path in paths.items()}
    return clips, {key: stats.result() for key, stats in statistics.items()}


def write_dataset(
    folder: Path,
    episodes: Sequence[RecordedEpisode],
    *,
    pack: str,
    size: int,
    orientation: Orientation = Orientation.ROTATED,
    max_frames: int = MAX_FRAMES_PER_FILE,
    extra_columns: Mapping[str, pl.DataType] = MappingProxyType({}),
) -> None:
    """Write one or more episodes to a new folder.

    A file contains at most ``max_frames`` frames, unless a single episode has more. ``extra_columns`` are additional
    scalar columns of the frames.
    """
    instructions = list(dict.fromkeys(episode.instruction for episode in episodes))
    groups: list[list[RecordedEpisode]] = [[]]
    for episode in episodes:
        if groups[-1] and sum(len(member.frames) for member in (*groups[-1], episode)) > max_frames:
            groups.append([])
        groups[-1].append(episode)
    rows: list[dict[str, Any]] = []
    tables: list[pl.DataFrame] = []
    frames = 0
    for number, group in enumerate(groups):
        place = {"chunk_index": number // FILES_PER_CHUNK, "file_index": number % FILES_PER_CHUNK}
        first = frames
        for episode in group:
            frame = pl.int_range(len(episode.frames), dtype=pl.Int64)
            table = episode.frames.with_columns(
                timestamp=(frame / FPS).cast(lerobot.COUNTERS["timestamp"]),
                frame_index=frame,
                episode_index=pl.lit(len(rows), pl.Int64),
                index=frames + frame,
                task_index=pl.lit(instructions.index(episode.instruction), pl.Int64),
            )
            rows.append(_episode_row(pack, episode, table, place, frames - first))
            tables.append(table)
            frames += len(table)
        _write_table(folder / DATA.format(**place), pl.concat(tables[-len(group) :]))
        for key in lerobot.CAMERAS:
            clips = [episode.clips[key] for episode in group]
            splice(clips, folder / VIDEO.format(video_key=key, **place), fps=FPS)
    _write_table(
        folder / EPISODES.format(chunk_index=0, file_index=0), pl.DataFrame(rows, infer_schema_length=None)
    )
    _write_tasks(folder / TASKS, instructions)
    images = {
        key: combine_stats([episode.image_stats[key] for episode in episodes]) for key in lerobot.CAMERAS
    }
    stats = _describe_table(pl.concat(tables)) | images
    write_json(folder / STATS, {key: _as_lists(value) for key, value in stats.items()})
    info = {
        "codebase_version": "v3.0",
        "robot_type": "panda",
        "total_episodes": len(rows),
        "total_frames": frames,
        "total_tasks": len(instructions),
        "chunks_size": FILES_PER_CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": FPS,
        "splits": {"train": f"0:{len(rows)}"},
        "data_path": DATA,
        "video_path": VIDEO,
        "features": describe_features(size, orientation, extra_columns),
    }
    write_json(folder / lerobot.INFO, info)


def write_json(path: Path, value: object) -> None:
    """Write an indented JSON file, creating its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def _write_table(path: Path, table: pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(path)


def _episode_row(
    pack: str, episode: RecordedEpisode, table: pl.DataFrame, place: Mapping[str, int], offset: int
) -> dict[str, Any]:
    """Return the row for an episode that starts ``offset`` frames into its file."""
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
        **{f"assay/{name}": value for name, value in episode.labels.items()},
        "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
        **{f"data/{key}": value for key, value in place.items()},
    }
    for camera in lerobot.CAMERAS:
        row |= {f"videos/{camera}/{key}": value for key, value in place.items()}
        row[f"videos/{camera}/from_timestamp"] = offset / FPS
        row[f"videos/{camera}/to_timestamp"] = (offset + len(table)) / FPS
    for key, stats in (_describe_table(table) | dict(episode.image_stats)).items():
        row |= {f"stats/{key}/{name}": value for name, value in _as_lists(stats).items()}
    return row


def _describe_table(table: pl.DataFrame) -> dict[str, Stats]:
    return {key: describe_values(table[key].to_numpy()) for key in (*lerobot.VECTORS, *lerobot.COUNTERS)}


def _as_lists(stats: Stats) -> dict[str, Any]:
    return {name: value.tolist() for name, value in stats.items()}


def _write_tasks(path: Path, instructions: Sequence[str]) -> None:
    """Write the table of instructions; LeRobot reads it with pandas and expects the instructions as the index."""
    table = pl.DataFrame({"task": instructions, "task_index": pl.int_range(len(instructions), eager=True)})
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": None}
        for name, kind, numpy in (("task", "unicode", "object"), ("task_index", "int64", "int64"))
    ]
    pandas = {"index_columns": ["task"], "column_indexes": [], "columns": columns, "pandas_version": "2.0.0"}
    with optional_import("video", "LeRobot data sets need nanoarrow"):
        import nanoarrow  # type: ignore[import-untyped]
    schema = nanoarrow.c_schema(table.schema).modify(metadata={"pandas": json.dumps(pandas)})
    table.write_parquet(path, arrow_schema=schema)


def describe_features(
    size: int, orientation: Orientation, extra_columns: Mapping[str, pl.DataType]
) -> dict[str, dict[str, object]]:
    """Return the features of a data set with images of ``size`` x ``size``, as stored in ``meta/info.json``.

    The orientation is stored with each camera, because LeRobot drops unknown top-level fields of the file.
    """
    video = {
        "video.height": size,
        "video.width": size,
        "video.codec": "h264",
        "video.pix_fmt": "yuv420p",
        "video.fps": FPS,
        "video.channels": 3,
        "video.g": lerobot.KEYFRAME_INTERVAL,
        "video.crf": int(ENCODER["crf"]),
        "is_depth_map": False,
        "has_audio": False,
        lerobot.ORIENTATION: orientation.value,
    }
    axes = ["height", "width", "channels"]
    features: dict[str, dict[str, object]] = {
        key: {"dtype": "float32", "shape": [len(names)], "names": list(names)}
        for key, names in ((lerobot.ACTION, lerobot.ACTION_NAMES), (lerobot.STATE, lerobot.STATE_NAMES))
    }
    for key in lerobot.CAMERAS:
        features[key] = {"dtype": "video", "shape": [size, size, 3], "names": axes, "info": video}
    for key, dtype in {**lerobot.COUNTERS, **extra_columns}.items():
        name = "bool" if dtype == pl.Boolean else str(dtype).lower()
        features[key] = {"dtype": name, "shape": [1], "names": None}
    return features
