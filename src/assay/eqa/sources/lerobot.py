"""LeRobotDataset folders, v2.1 (a file for each episode) and v3.0 (files of many episodes)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay import tasks
from assay.eqa.episode import FOUND, Camera, Episode, Tally, fault_of
from assay.eqa.errors import QuestionError, UnreadableError
from assay.eqa.sources.schema import LEROBOT, Feature, schema_for
from assay.eqa.sources.video import StillsCamera, VideoCamera
from assay.errors import AssayError, one_line

INFO = "meta/info.json"
VERSIONS = ("v2.1", "v2.0", "v3.0")
_BROKEN = (OSError, ValueError, KeyError, TypeError, IndexError, pl.exceptions.PolarsError)
"""What reading a damaged folder may end in."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What the folder says about one episode."""

    number: int
    instruction: str
    table: Path
    first: int | None
    """The frame's index at which it begins in its table; None if the table is its own."""
    length: int
    clips: Mapping[str, tuple[Path, float]]
    """Video and beginning, seconds, by camera."""
    scene: str = ""


class LerobotSource:
    """A LeRobotDataset on disk."""

    threads = 2

    def __init__(self, folder: Path, schema: str = "", gripper: tuple[float, float] | None = None) -> None:
        self.folder = folder
        try:
            self.info: dict[str, Any] = json.loads((folder / INFO).read_text())
            features: dict[str, dict[str, Any]] = self.info["features"]
            self.fps = float(self.info["fps"])
            version = str(self.info["codebase_version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise QuestionError(f"{folder / INFO}: cannot be read: {error}") from error
        if version not in VERSIONS:
            raise QuestionError(f"{folder}: LeRobotDataset {version}; valid: {', '.join(VERSIONS)}")
        told = {key: _feature(each) for key, each in features.items()}
        self.schema = schema_for(LEROBOT, told, str(folder), schema)
        if gripper is not None:
            self.schema = replace(self.schema, closed=gripper[0], opened=gripper[1])
        self.cameras = {key for key, each in features.items() if each.get("dtype") in ("video", "image")}
        self.films = {key for key in self.cameras if features[key].get("dtype") == "video"}
        self.name = folder.name
        self.rules = self.schema.rules
        count = self.info.get("total_episodes")
        self.total = count if isinstance(count, int) else None
        self._rows = self._rows_3 if version == "v3.0" else self._rows_2

    def episodes(self, tally: Tally) -> Iterator[Episode]:
        """See `Source`."""
        for row in self._listed(tally):
            tally.add(FOUND)
            name = f"episode {row.number}"
            try:
                table = _table(row, (*self.schema.numbers,))
                states = self.schema.states(
                    {key: np.array(table[key].to_list()) for key in self.schema.numbers}
                )
            except (
                AssayError,
                OSError,
                ValueError,
                TypeError,
                IndexError,
                pl.exceptions.PolarsError,
            ) as error:
                tally.add("episode: cannot be read", f"{name}: {one_line(str(error))}")
                continue
            fault = fault_of(states)
            if fault:
                tally.add(f"episode: {fault}", name)
                continue
            outside = (self._camera(row, key) for key in self.schema.exocentric)
            yield Episode(
                id=name,
                instruction=row.instruction,
                states=states,
                exocentric=tuple(camera for camera in outside if camera is not None),
                egocentric=self._camera(row, self.schema.egocentric),
                scene=row.scene,
            )

    def _camera(self, row: _Row, key: str) -> Camera | None:
        if key in row.clips and row.clips[key][0].is_file():
            path, start = row.clips[key]
            return VideoCamera(path, start, self.fps)
        if key in self.cameras - self.films:
            return StillsCamera(partial(_stills, row, key))
        return None

    def _listed(self, tally: Tally) -> Iterator[_Row]:
        try:
            yield from self._rows(tally)
        except (AssayError, *_BROKEN) as error:
            reason = one_line(error)
            raise QuestionError(f"{self.folder}: its list of episodes cannot be read: {reason}") from error

    def _rows_2(self, tally: Tally) -> Iterator[_Row]:
        data, video = self.info["data_path"], self.info.get("video_path") or ""
        for line in (self.folder / "meta/episodes.jsonl").read_text(encoding="utf-8").split("\n"):
            if not line.strip():
                continue
            row = json.loads(line)
            number = int(row["episode_index"])
            place = {"episode_index": number, "episode_chunk": number // int(self.info["chunks_size"])}
            clips = {key: (self.folder / video.format(video_key=key, **place), 0.0) for key in self.films}
            told = (row.get("tasks") or [""])[0]
            yield _Row(number, told, self.folder / data.format(**place), None, int(row["length"]), clips)

    def _rows_3(self, tally: Tally) -> Iterator[_Row]:
        data, video = self.info["data_path"], self.info.get("video_path") or ""
        episodes = pl.scan_parquet(self.folder / "meta/episodes/*/*.parquet")
        wanted = [name for name in episodes.collect_schema().names() if not name.startswith("stats/")]
        for row in episodes.select(wanted).collect().iter_rows(named=True):

            def place(prefix: str, row: Mapping[str, Any] = row) -> dict[str, int]:
                return {name: row[f"{prefix}/{name}"] for name in ("chunk_index", "file_index")}

            clips = {
                key: (
                    self.folder / video.format(video_key=key, **place(f"videos/{key}")),
                    float(row[f"videos/{key}/from_timestamp"]),
                )
                for key in self.films
            }
            yield _Row(
                number=row["episode_index"],
                instruction=row["tasks"][0] if row["tasks"] else "",
                table=self.folder / data.format(**place("data")),
                first=row["dataset_from_index"],
                length=row["length"],
                clips=clips,
                scene=_scene(row, tally),
            )


def _feature(told: Mapping[str, Any]) -> Feature:
    """What ``info.json`` says about a feature; names may lie in a group of their own."""
    if told.get("dtype") in ("video", "image"):
        return Feature()
    shape, names = told.get("shape") or (), told.get("names") or ()
    if isinstance(names, Mapping):
        names = next(iter(names.values()), ())
    return Feature(int(np.prod(shape)) if shape else None, tuple(map(str, names)))


def _scene(row: Mapping[str, Any], tally: Tally) -> str:
    """Which scene and seed one of our own demonstrations began from; empty for others."""
    task = row.get("assay/task")
    if not task:
        return ""
    try:
        return f"{row['assay/pack']} {_first_of_scene(task)} {row['assay/seed']}"
    except AssayError as error:  # a task file that is elsewhere now
        tally.add("scene: its task cannot be loaded", f"{task}: {error}")
        return ""


@cache
def _first_of_scene(task_id: str) -> str:
    """The first task of a suite that has this task's scene."""
    scene = tasks.load(task_id).scene
    try:
        suite = tasks.resolve(task_id.split("/")[0])
    except AssayError:  # a task file: no suite has it
        return task_id
    return next((each.id for each in suite if each.scene == scene), task_id)


def _table(row: _Row, columns: Sequence[str]) -> pl.DataFrame:
    """An episode's frames."""
    whole = _file(row.table, tuple(columns))
    if row.first is not None:
        whole = whole.filter(pl.col("index").is_between(row.first, row.first + row.length, closed="left"))
    if len(whole) != row.length:
        raise UnreadableError(f"{len(whole)} of {row.length} frames in {row.table.name}")
    return whole


@lru_cache(maxsize=4)
def _file(path: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    return pl.read_parquet(path, columns=["index", *columns]).sort("index")


def _stills(row: _Row, key: str) -> Sequence[bytes]:
    return [each["bytes"] for each in _table(row, (key,))[key].to_list()]
