"""LeRobotDataset folders, v2.1 (a file for each episode) and v3.0 (files of many episodes)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import AssayError, one_line
from assay.formats.release import ReleaseError

INFO = "meta/info.json"
VERSIONS = ("v2.1", "v2.0", "v3.0")
ORIENTATION = "image.orientation"
"""Where Assay's data sets say, for each camera, which way up its pictures lie."""
BROKEN = (OSError, ValueError, KeyError, TypeError, IndexError, pl.exceptions.PolarsError)
"""What reading a damaged folder may end in."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the folder says about one episode."""

    number: int
    instruction: str
    table: Path
    first: int | None
    """The frame's index at which it begins in its table; None if the table is its own."""
    length: int
    clips: Mapping[str, tuple[Path, float]]
    """Video and beginning, seconds, by camera."""
    said: Mapping[str, Any]
    """All that is said about it."""

    def frames(self, columns: Sequence[str]) -> pl.DataFrame:
        """Some columns of its frames, (length, columns). Raises ReleaseError if frames are missing."""
        whole = _file(self.table, tuple(columns))
        if self.first is not None:
            within = pl.col("index").is_between(self.first, self.first + self.length, closed="left")
            whole = whole.filter(within)
        if len(whole) != self.length:
            raise ReleaseError(f"{len(whole)} of {self.length} frames in {self.table.name}")
        return whole

    def stills(self, camera: str) -> Sequence[bytes]:
        """The images of a camera that are files of their own, JPEG or PNG, in the table."""
        return [each["bytes"] for each in self.frames((camera,))[camera].to_list()]


class LerobotFolder:
    """A LeRobotDataset on disk. Raises ReleaseError that says why it is none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.info: dict[str, Any] = json.loads((folder / INFO).read_text())
            self.features: dict[str, dict[str, Any]] = self.info["features"]
            self.fps = float(self.info["fps"])
            self.version = str(self.info["codebase_version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ReleaseError(f"{folder / INFO}: cannot be read: {error}") from error
        if self.version not in VERSIONS:
            raise ReleaseError(f"{folder}: LeRobotDataset {self.version}; valid: {', '.join(VERSIONS)}")
        self.cameras = {key for key, each in self.features.items() if each.get("dtype") in ("video", "image")}
        self.films = {key for key in self.cameras if self.features[key].get("dtype") == "video"}
        count = self.info.get("total_episodes")
        self.total = count if isinstance(count, int) else None

    def orientation(self, camera: str) -> str | None:
        """Which way up the pictures of a camera lie, where the folder says so."""
        return (self.features[camera].get("info") or {}).get(ORIENTATION)

    def rows(self) -> Iterator[Row]:
        """Its episodes. Raises ReleaseError where the list of them is damaged."""
        try:
            yield from self._rows_3() if self.version == "v3.0" else self._rows_2()
        except (AssayError, *BROKEN) as error:
            reason = one_line(error)
            raise ReleaseError(f"{self.folder}: its list of episodes cannot be read: {reason}") from error

    def _rows_2(self) -> Iterator[Row]:
        data, video = self.info["data_path"], self.info.get("video_path") or ""
        for line in (self.folder / "meta/episodes.jsonl").read_text(encoding="utf-8").split("\n"):
            if not line.strip():
                continue
            row = json.loads(line)
            number = int(row["episode_index"])
            place = {"episode_index": number, "episode_chunk": number // int(self.info["chunks_size"])}
            clips = {key: (self.folder / video.format(video_key=key, **place), 0.0) for key in self.films}
            told = (row.get("tasks") or [""])[0]
            table = self.folder / data.format(**place)
            yield Row(number, told, table, None, int(row["length"]), clips, row)

    def _rows_3(self) -> Iterator[Row]:
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
            yield Row(
                number=row["episode_index"],
                instruction=row["tasks"][0] if row["tasks"] else "",
                table=self.folder / data.format(**place("data")),
                first=row["dataset_from_index"],
                length=row["length"],
                clips=clips,
                said=row,
            )


@lru_cache(maxsize=4)
def _file(path: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    return pl.read_parquet(path, columns=["index", *columns]).sort("index")
