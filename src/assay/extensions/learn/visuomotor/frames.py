"""Demonstrations as arrays: a LeRobotDataset, its images scaled down once and kept in memory maps."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image

from assay.errors import AssayError, one_line
from assay.extensions.learn.demonstrations.dataset import orientation as recorded_orientation
from assay.extensions.learn.demonstrations.errors import DemonstrationError
from assay.policies.remote.pictures import Orientation, turned
from assay.support.files import cache_folder, making
from assay.support.video import stills
from assay.tasks.formats.lerobot import BROKEN, INFO, LerobotFolder, Row

CAMERAS = ("agentview", "robot0_eye_in_hand")
NAMES: Mapping[str, tuple[str, ...]] = {
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
"""What data sets of LIBERO's robot call what a network needs."""
WIDTHS = {"state": 8, "action": 7}
"""Numbers of a state (position, axis times angle, two fingers) and of an action."""
_FORMAT = 1
"""Of what is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Every frame of a data set, one episode after the other."""

    images: Mapping[str, np.ndarray]
    """By camera: uint8, (frames, pixels, pixels, 3), upright."""
    states: np.ndarray
    """float32, (frames, 8)."""
    actions: np.ndarray
    """float32, (frames, 7), in [-1, 1]; above 0 the gripper closes."""
    episodes: np.ndarray
    """The episode of each frame, int64, (frames,)."""
    instructions: tuple[str, ...]
    """Of each episode."""
    tasks: tuple[str, ...]
    """The id of each episode's task, where Assay recorded it; else empty."""
    size: int
    """Height and width in which the data set has its images, pixels."""

    def __len__(self) -> int:
        return len(self.actions)

    def first(self, count: int) -> Frames:
        """The first ``count`` episodes of each instruction; images are copied into memory."""
        seen: Counter[str] = Counter()
        kept = []
        for number, text in enumerate(self.instructions):
            seen[text] += 1
            kept += [number] if seen[text] <= count else []
        places = np.flatnonzero(np.isin(self.episodes, kept))
        return Frames(
            images={camera: images[places] for camera, images in self.images.items()},
            states=self.states[places],
            actions=self.actions[places],
            episodes=np.searchsorted(kept, self.episodes[places]),
            instructions=tuple(self.instructions[number] for number in kept),
            tasks=tuple(self.tasks[number] for number in kept),
            size=self.size,
        )


def read(folder: Path, pixels: int, orientation: Orientation | None = None) -> Frames:
    """Read a data set; its images are scaled down once and kept in the user's cache.

    ``orientation`` says which way up they lie; None for what Assay's own data sets say of themselves, and rotated
    in others, as nearly all of LIBERO's are. Raises DemonstrationError.
    """
    if not (folder / INFO).is_file():
        raise DemonstrationError(
            f"{folder}: cannot be learnt from: it is no LeRobotDataset, which has {INFO}; record one: "
            f"assay collect --out {folder}"
        )
    try:
        data = LerobotFolder(folder)
        names = {what: _named(data, what) for what in NAMES}
        orientation = orientation or recorded_orientation(data, names["agentview"])
        rows = sorted(data.rows(), key=lambda row: row.number)
        tables = [_numbers(row, names) for row in rows]
        lengths = [row.length for row in rows]
        images = _kept(
            _key(folder, pixels, orientation),
            {camera: partial(_images, data, rows, names[camera], pixels, orientation) for camera in CAMERAS},
            (sum(lengths), pixels, pixels, 3),
        )
    except DemonstrationError:
        raise
    except (AssayError, *BROKEN) as error:
        reason = one_line(str(error) if isinstance(error, AssayError) else error)
        raise DemonstrationError(f"{folder}: cannot be learnt from: {reason}") from error
    if not rows:
        raise DemonstrationError(
            f"{folder} holds no demonstrations; record some: assay collect --out {folder}"
        )
    return Frames(
        images=images,
        states=np.concatenate([states for states, _ in tables]),
        actions=np.concatenate([actions for _, actions in tables]),
        episodes=np.repeat(np.arange(len(rows)), lengths),
        instructions=tuple(row.instruction for row in rows),
        tasks=tuple(str(row.said.get("assay/task") or "") for row in rows),
        size=int(data.features[names["agentview"]]["shape"][0]),
    )


def _named(data: LerobotFolder, what: str) -> str:
    """What a data set calls something. Raises DemonstrationError if it has nothing of the kind."""
    for name in NAMES[what]:
        feature = data.features.get(name)
        if feature is not None and (what not in WIDTHS or list(feature["shape"]) == [WIDTHS[what]]):
            return name
    numbers = f" with {WIDTHS[what]} numbers" if what in WIDTHS else ""
    raise DemonstrationError(
        f"{data.folder} has no {what}{numbers}: looked for {', '.join(NAMES[what])}; "
        f"there are {', '.join(sorted(data.features))}"
    )


def _numbers(row: Row, names: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """The states and actions of an episode."""
    table = row.frames((names["state"], names["action"]))
    states, actions = (_matrix(table[names[what]]) for what in ("state", "action"))
    if not (np.isfinite(states).all() and np.isfinite(actions).all()):
        raise DemonstrationError(f"episode {row.number} has states or actions that are not finite")
    return states, actions


def _matrix(column: pl.Series) -> np.ndarray:
    return np.array(column.to_list(), dtype=np.float32)


def _images(
    data: LerobotFolder, rows: Sequence[Row], name: str, pixels: int, orientation: Orientation
) -> Iterator[np.ndarray]:
    """The images of a camera, upright, (pixels, pixels, 3), frame by frame."""
    for row in rows:
        for picture in _recorded(data, row, name):
            yield scaled(turned(picture, orientation), pixels)


def _recorded(data: LerobotFolder, row: Row, name: str) -> Iterator[np.ndarray]:
    if name in data.videos:
        path, start = row.clips[name]
        for _, picture in stills(path, range(row.length), start=start, fps=data.fps):
            yield picture.to_ndarray(format="rgb24")
        return
    for content in row.stills(name):
        with Image.open(io.BytesIO(content)) as image:
            yield np.asarray(image.convert("RGB"))


def scaled(picture: np.ndarray, pixels: int) -> np.ndarray:
    """An image (h, w, 3) as (pixels, pixels, 3), each pixel the mean of what it covers."""
    if picture.shape[:2] == (pixels, pixels):
        return picture
    return np.asarray(Image.fromarray(picture).resize((pixels, pixels), Image.Resampling.BOX))


def _key(folder: Path, pixels: int, orientation: Orientation) -> str:
    """Stands for a data set's images: where its files are, how large and how old."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".parquet", ".mp4", ".json"))
    stats = [(str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    said = json.dumps([_FORMAT, str(folder.resolve()), pixels, orientation, stats])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _kept(
    key: str, made: Mapping[str, Callable[[], Iterator[np.ndarray]]], shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Memory maps of images, made if they are not there."""
    folder = cache_folder() / "frames" / key
    files = [f"{name}.npy" for name in made]
    if not folder.is_dir():
        with making(folder, ours=files) as unfinished:
            for name, pictures in made.items():
                path = unfinished / f"{name}.npy"
                array = np.lib.format.open_memmap(path, "w+", np.uint8, shape)
                count = 0
                for count, picture in enumerate(pictures(), start=1):
                    array[count - 1] = picture
                if count != shape[0]:
                    raise DemonstrationError(f"{count} images of {name} for {shape[0]} frames")
                array.flush()
    return {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in made}
