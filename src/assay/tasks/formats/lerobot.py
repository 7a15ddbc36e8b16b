"""LeRobotDataset folders: a reader for v2.1 (one file per episode) and v3.0, and the layout of LIBERO's frames."""

from __future__ import annotations

import json
import os
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import AfterValidator, BaseModel, Field, JsonValue, TypeAdapter, ValidationError

from assay.errors import AssayError, one_line
from assay.tasks.checks import validation_reason
from assay.tasks.formats import ReleaseError
from assay.tasks.formats.parquet import read_parquet

KEYFRAME_INTERVAL = 2
"""Number of frames between key frames; small because training reads single frames in random order."""
ACTION, STATE = "action", "observation.state"
ACTION_NAMES = ("x", "y", "z", "rx", "ry", "rz", "gripper")
STATE_NAMES = (
    *("x", "y", "z"),
    *("axis_angle_x", "axis_angle_y", "axis_angle_z"),
    *("finger_1", "finger_2"),
)
CAMERAS: Mapping[str, str] = {
    "observation.images.image": "agentview",
    "observation.images.image2": "robot0_eye_in_hand",
}
"""Camera for each image feature that Assay writes."""
FEATURE_NAMES: Mapping[str, tuple[str, ...]] = {
    "agentview": ("observation.images.image", "observation.images.agentview", "image"),
    "robot0_eye_in_hand": (
        "observation.images.image2",
        "observation.images.wrist_image",
        "observation.images.robot0_eye_in_hand",
        "wrist_image",
    ),
    "state": ("observation.state", "state"),
    "action": ("action", "actions"),
}
"""Feature names that published LIBERO data sets use for each camera, the state and the action."""
COUNTERS = {
    "timestamp": pl.Float32(),
    "frame_index": pl.Int64(),
    "episode_index": pl.Int64(),
    "index": pl.Int64(),
    "task_index": pl.Int64(),
}
"""Columns for the time (in seconds) and frame number in an episode, and for episode, frame and task indices."""
VECTORS = {
    ACTION: pl.Array(pl.Float32, len(ACTION_NAMES)),
    STATE: pl.Array(pl.Float32, len(STATE_NAMES)),
}


def robot_state(observation: Any) -> np.ndarray:
    """Return the robot's state in an observation, in the layout of policies trained on LIBERO: float32, (8,).

    The state consists of the grip site's position in metres, the end effector's orientation as an axis-angle vector in
    radians, and the two finger joints in metres. Angles are from 0 to 2 pi: the quaternion's sign is kept.
    """
    w, axis = observation.eef_quaternion[0], observation.eef_quaternion[1:]
    sine = float(np.linalg.norm(axis))
    turn = axis * (2.0 * np.arctan2(sine, w) / sine) if sine > 0.0 else np.zeros(3)
    return np.concatenate([observation.eef_position, turn, observation.gripper]).astype(np.float32)


INFO = "meta/info.json"
VERSIONS = ("v2.1", "v2.0", "v3.0")
ORIENTATION = "image.orientation"
"""Metadata key under which Assay's data sets store the image orientation of each camera."""
BROKEN = (
    *(OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError),
    pl.exceptions.PolarsError,
)
"""Exceptions that reading a damaged folder may raise."""
Count = Annotated[int, Field(strict=True, ge=0, le=10**9)]
Named = list[str | int | float | None]
MAX_NAME_BYTES = 255
"""Maximum length of the name of a file or folder on common file systems."""
TEMPLATE_FIELDS = ("chunk_index", "file_index", "episode_chunk", "episode_index", "video_key")
"""Fields of the templates for file names in ``info.json``."""
_FORMAT = re.compile(r"\d{0,4}d?")
"""Pattern for the format of a field; Python allocates the width that a format requests."""


def _check_template(template: str) -> str:
    """Raise ValueError for a template with unknown fields or formats."""
    for _, name, spec, conversion in string.Formatter().parse(template):
        if name is None:
            continue
        if name not in TEMPLATE_FIELDS:
            raise ValueError(f"unknown field '{name[:40]}'; valid fields: {', '.join(TEMPLATE_FIELDS)}")
        if conversion or not _FORMAT.fullmatch(spec or ""):
            raise ValueError(f"the format of '{name}' should be a width of at most four digits, such as 06d")
    return template


Template = Annotated[str, Field(max_length=1000), AfterValidator(_check_template)]


class _Feature(BaseModel, extra="allow"):
    """Description of a column in ``info.json``; its names may be nested in groups."""

    dtype: str
    shape: list[Count] | None = None
    names: Named | dict[str, Named] | None = None
    info: dict[str, JsonValue] | None = None


class _Info(BaseModel, extra="allow"):
    """Fields that are read from ``info.json``."""

    codebase_version: str
    fps: Annotated[float, Field(gt=0, le=1e6)]
    features: dict[str, _Feature]
    chunks_size: Annotated[int, Field(ge=1, le=10**9)] = 1000
    data_path: Template = ""
    video_path: Template | None = None


@dataclass(frozen=True, slots=True)
class LerobotEpisode:
    """Metadata of one episode."""

    number: int
    instruction: str
    table: Path
    first: int | None
    """Index of the episode's first frame in its table; None if the table contains only this episode."""
    length: int
    clips: Mapping[str, tuple[Path, float]]
    """Video file and start time in seconds, by camera."""
    metadata: Mapping[str, Any]
    """All metadata of the episode."""

    def frames(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the given columns for the episode's frames, shape (length, columns).

        Raises ReleaseError if frames are missing.
        """
        whole = _file(self.table, tuple(columns))
        if self.first is not None:
            within = pl.col("index").is_between(self.first, self.first + self.length, closed="left")
            whole = whole.filter(within)
        if len(whole) != self.length:
            raise ReleaseError(
                f"{self.table.name} contains {len(whole)} of the episode's {self.length} frames"
            )
        return whole

    def stills(self, camera: str) -> Sequence[bytes]:
        """Return a camera's images, which are stored in the table as JPEG or PNG files."""
        return [image["bytes"] for image in self.frames((camera,))[camera].to_list()]


class LerobotFolder:
    """A LeRobotDataset on disk. Raises ReleaseError if it is invalid."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.info: dict[str, Any] = json.loads((folder / INFO).read_text(encoding="utf-8"))
            info = _Info.model_validate(self.info)
            self.features: dict[str, dict[str, Any]] = self.info["features"]
        except ValidationError as error:
            raise ReleaseError(f"{folder / INFO}: {validation_reason(error)}") from error
        except BROKEN as error:
            raise ReleaseError(f"{folder / INFO} cannot be read: {one_line(error)}") from error
        self.fps, self.version, self._info = info.fps, info.codebase_version, info
        if self.version not in VERSIONS:
            raise ReleaseError(
                f"{folder}: LeRobotDataset {self.version} is not supported; supported versions: {', '.join(VERSIONS)}"
            )
        self.cameras = {
            key for key, feature in self.features.items() if feature.get("dtype") in ("video", "image")
        }
        self.videos = {key for key in self.cameras if self.features[key].get("dtype") == "video"}
        count = self.info.get("total_episodes")
        self.total = count if isinstance(count, int) else None

    def orientation(self, camera: str) -> str | None:
        """Return the image orientation of a camera, if the data set specifies one."""
        return (self.features[camera].get("info") or {}).get(ORIENTATION)

    def rows(self) -> Iterator[LerobotEpisode]:
        """Yield the episodes of the data set. Raises ReleaseError if the episode list is damaged."""
        try:
            yield from self._rows_3() if self.version == "v3.0" else self._rows_2()
        except (AssayError, *BROKEN) as error:
            reason = one_line(error)
            raise ReleaseError(f"{self.folder}: the list of episodes cannot be read: {reason}") from error

    def _rows_2(self) -> Iterator[LerobotEpisode]:
        for line in (self.folder / "meta/episodes.jsonl").read_text(encoding="utf-8").split("\n"):
            if not line.strip():
                continue
            row = json.loads(line)
            number = _COUNT.validate_python(row["episode_index"])
            place = {"episode_index": number, "episode_chunk": number // self._info.chunks_size}
            clips = {
                key: (self._path(self._info.video_path, video_key=key, **place), 0.0) for key in self.videos
            }
            instruction = str((row.get("tasks") or [""])[0])
            length = _COUNT.validate_python(row["length"])
            table = self._path(self._info.data_path, **place)
            yield LerobotEpisode(number, instruction, table, None, length, clips, row)

    def _rows_3(self) -> Iterator[LerobotEpisode]:
        episodes = read_parquet(self.folder / "meta/episodes/*/*.parquet")
        for row in episodes.select(pl.exclude("^stats/.*$")).iter_rows(named=True):
            data, *videos = (
                {name: row[f"{prefix}/{name}"] for name in ("chunk_index", "file_index")}
                for prefix in ("data", *(f"videos/{key}" for key in self.videos))
            )
            clips = {
                key: (
                    self._path(self._info.video_path, video_key=key, **place),
                    float(row[f"videos/{key}/from_timestamp"]),
                )
                for key, place in zip(self.videos, videos, strict=True)
            }
            yield LerobotEpisode(
                number=_COUNT.validate_python(row["episode_index"]),
                instruction=str(row["tasks"][0]) if row["tasks"] else "",
                table=self._path(self._info.data_path, **data),
                first=_COUNT.validate_python(row["dataset_from_index"]),
                length=_COUNT.validate_python(row["length"]),
                clips=clips,
                metadata=row,
            )

    def _path(self, template: str | None, **place: Any) -> Path:
        """Return the path of a file in the folder. Raises ReleaseError for a path outside it or a name too long."""
        name = (template or "").format(**place)
        if any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in Path(name).parts):
            raise ReleaseError(f"{self.folder} refers to a file whose name is too long: {name[:80]}")
        path = Path(os.path.normpath(self.folder / name))
        if not path.is_relative_to(os.path.normpath(self.folder)):
            raise ReleaseError(f"{self.folder} refers to a file outside the folder: {name[:80]}")
        return path


_COUNT: TypeAdapter[int] = TypeAdapter(Count)


@lru_cache(maxsize=4)
def _file(path: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    return read_parquet(path, ["index", *columns]).sort("index")
