"""Inputs of a network: its settings, the encoding of instructions and proprioception, and demonstrations as arrays.

Demonstrations are a LeRobotDataset whose images are scaled down once and cached as memory maps.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field
from scipy.spatial.transform import Rotation

from assay import tasks
from assay.errors import AssayError, DemonstrationError, one_line
from assay.perturb.words.distance.encoder import WIDTH, Encoder
from assay.perturb.words.distance.models import minilm_files
from assay.perturb.words.grid.generate import paraphrases
from assay.support.files import cache_folder, making
from assay.support.images import Orientation, orient
from assay.support.video import stills
from assay.tasks.formats.lerobot import BROKEN, FEATURE_NAMES, INFO, LerobotEpisode, LerobotFolder

PROPRIOCEPTION_WIDTH = 11


class Head(StrEnum):
    """Action head of a network."""

    REGRESSION = "regression"
    """Predict a chunk with an L1 loss, as ACT and OpenVLA-OFT do."""
    BINS = "bins"
    """Predict each action component as one of 256 bins, as OpenVLA does."""
    FLOW = "flow"
    """Integrate a learned velocity from noise to a chunk, as pi0 does."""


class Input(StrEnum):
    """Inputs that can be withheld from a network."""

    WORDS = "words"
    IMAGES = "images"
    STATE = "state"
    """Proprioception: end-effector pose and finger positions."""


class NetworkSettings(BaseModel):
    """Shape and inputs of a network."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    head: Head = Head.REGRESSION
    without: tuple[Input, ...] = ()
    """Inputs that are withheld."""
    pixels: int = Field(default=64, ge=32, le=128, multiple_of=16)
    """Height and width of the input images, in pixels."""
    chunk: int = Field(default=16, ge=1, le=64)
    """Number of actions predicted at once."""
    width: int = Field(default=256, ge=16, le=2048)
    """Width of the hidden layers."""


def proprioception(states: np.ndarray) -> np.ndarray:
    """Convert states (n, 8), with axis-angle rotations, to float32 (n, 11), with two rotation-matrix columns.

    The gripper points down, half a turn from the world's axes, where the axis-angle vector is discontinuous and the
    matrix is not.
    """
    columns = Rotation.from_rotvec(states[:, 3:6]).as_matrix()[:, :, :2].reshape(len(states), 6)
    return np.concatenate([states[:, :3], columns, states[:, 6:]], axis=1).astype(np.float32)


PARAPHRASES_SEED = 1_000_000
"""Seed of the training paraphrases; the experiment ``para`` uses seed 0, so that its wordings are different."""


@lru_cache(maxsize=4096)
def embed(text: str) -> np.ndarray:
    """Return the unit-length embedding of an instruction, float32, (384,); zeros for a blank instruction."""
    if not text.strip():
        return np.zeros(WIDTH, np.float32)
    return np.asarray(_encoder().sentences([text])[0], dtype=np.float32)


@cache
def _encoder() -> Encoder:
    return Encoder(minilm_files())


def wordings(instructions: Sequence[str], ids: Sequence[str], per_cell: int) -> list[list[str]]:
    """Return each episode's wordings: the original instruction and ``per_cell`` paraphrases of each kind.

    Raises DemonstrationError if the task of an episode is unknown.
    """
    if not per_cell:
        return [[text] for text in instructions]
    if not all(ids):
        raise DemonstrationError(
            "paraphrases require a dataset from assay collect, which records the task of each episode"
        )
    added = {
        name: [paraphrase.text for paraphrase in paraphrases(tasks.load(name), per_cell, PARAPHRASES_SEED)]
        for name in dict.fromkeys(ids)
    }
    return [[text, *added[name]] for text, name in zip(instructions, ids, strict=True)]


CAMERAS = ("agentview", "robot0_eye_in_hand")
WIDTHS = {"state": 8, "action": 7}
"""Number of components of a state (position, axis-angle rotation, two fingers) and of an action."""
_CACHE_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class FrameArrays:
    """All frames of a dataset, in episode order."""

    images: Mapping[str, np.ndarray]
    """Camera -> images, uint8, (frames, pixels, pixels, 3), upright."""
    states: np.ndarray
    """Robot states, float32, (frames, 8)."""
    actions: np.ndarray
    """Actions, float32, (frames, 7), in [-1, 1]; positive values close the gripper."""
    episodes: np.ndarray
    """Index of each frame's episode, int64, (frames,)."""
    instructions: tuple[str, ...]
    """The instruction of each episode."""
    tasks: tuple[str, ...]
    """The task id of each episode; empty if the dataset was not recorded by Assay."""
    size: int
    """Height and width of the dataset's images, in pixels."""

    def __len__(self) -> int:
        return len(self.actions)

    def first(self, count: int) -> FrameArrays:
        """Return the first ``count`` episodes for each instruction, with images copied into memory."""
        counts: Counter[str] = Counter()
        chosen = []
        for number, text in enumerate(self.instructions):
            counts[text] += 1
            chosen += [number] if counts[text] <= count else []
        places = np.flatnonzero(np.isin(self.episodes, chosen))
        return FrameArrays(
            images={camera: images[places] for camera, images in self.images.items()},
            states=self.states[places],
            actions=self.actions[places],
            episodes=np.searchsorted(chosen, self.episodes[places]),
            instructions=tuple(self.instructions[number] for number in chosen),
            tasks=tuple(self.tasks[number] for number in chosen),
            size=self.size,
        )


def read(folder: Path, pixels: int, orientation: Orientation | None = None) -> FrameArrays:
    """Read a dataset; its images are scaled down once and cached in the user's cache folder.

    ``orientation``, that of the stored images, defaults to the one stated in the dataset, otherwise to rotated, as
    in nearly all LIBERO data. Raises DemonstrationError if the dataset is invalid.
    """
    if not (folder / INFO).is_file():
        raise DemonstrationError(
            f"{folder}: not a LeRobotDataset (no {INFO}); record one with assay collect --out {folder}"
        )
    try:
        data = LerobotFolder(folder)
        names = {role: _feature_name(data, role) for role in FEATURE_NAMES}
        if orientation is None:
            orientation = Orientation(data.orientation(names["agentview"]) or Orientation.ROTATED)
        rows = sorted(data.rows(), key=lambda row: row.number)
        tables = [_numbers(row, names) for row in rows]
        lengths = [row.length for row in rows]
        files = sorted(path for path in folder.rglob("*") if path.suffix in (".parquet", ".mp4", ".json"))
        stats = [
            (str(file.relative_to(folder)), file.stat().st_size, file.stat().st_mtime_ns) for file in files
        ]
        description = json.dumps([_CACHE_FORMAT, str(folder.resolve()), pixels, orientation, stats])
        cache = cache_folder() / "frames" / hashlib.sha256(description.encode()).hexdigest()[:16]
        if not cache.is_dir():
            with making(cache, ours=[f"{camera}.npy" for camera in CAMERAS]) as unfinished:
                for camera in CAMERAS:
                    path, shape = unfinished / f"{camera}.npy", (sum(lengths), pixels, pixels, 3)
                    array = np.lib.format.open_memmap(path, "w+", np.uint8, shape)
                    count = 0
                    for count, image in enumerate(_images(data, rows, names[camera]), start=1):
                        array[count - 1] = downscale(orient(image, orientation), pixels)
                    if count != shape[0]:
                        raise DemonstrationError(
                            f"the camera {camera} has {count} images for {shape[0]} frames"
                        )
                    array.flush()
    except DemonstrationError:
        raise
    except (AssayError, *BROKEN) as error:
        reason = one_line(str(error) if isinstance(error, AssayError) else error)
        raise DemonstrationError(f"{folder} cannot be used for training: {reason}") from error
    if not rows:
        raise DemonstrationError(
            f"{folder} contains no demonstrations; record some with assay collect --out {folder}"
        )
    return FrameArrays(
        images={camera: np.load(cache / f"{camera}.npy", mmap_mode="r") for camera in CAMERAS},
        states=np.concatenate([states for states, _ in tables]),
        actions=np.concatenate([actions for _, actions in tables]),
        episodes=np.repeat(np.arange(len(rows)), lengths),
        instructions=tuple(row.instruction for row in rows),
        tasks=tuple(str(row.metadata.get("assay/task") or "") for row in rows),
        size=int(data.features[names["agentview"]]["shape"][0]),
    )


def _feature_name(data: LerobotFolder, role: str) -> str:
    """Return the name of the feature for a camera's images, the state or the action. Raises DemonstrationError."""
    for name in FEATURE_NAMES[role]:
        feature = data.features.get(name)
        if feature is not None and (role not in WIDTHS or list(feature["shape"]) == [WIDTHS[role]]):
            return name
    numbers = f" with {WIDTHS[role]} numbers" if role in WIDTHS else ""
    raise DemonstrationError(
        f"{data.folder} has no {role}{numbers}: looked for {', '.join(FEATURE_NAMES[role])}; "
        f"available features: {', '.join(sorted(data.features))}"
    )


def _numbers(row: LerobotEpisode, names: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the states and actions of an episode."""
    table = row.frames((names["state"], names["action"]))
    states, actions = (
        np.array(table[names[role]].to_list(), dtype=np.float32) for role in ("state", "action")
    )
    if not (np.isfinite(states).all() and np.isfinite(actions).all()):
        raise DemonstrationError(f"episode {row.number} has non-finite states or actions")
    return states, actions


def _images(data: LerobotFolder, rows: Sequence[LerobotEpisode], name: str) -> Iterator[np.ndarray]:
    """Yield a camera's stored images frame by frame, each (height, width, 3)."""
    for row in rows:
        if name in data.videos:
            path, start = row.clips[name]
            for _, frame in stills(path, range(row.length), start=start, fps=data.fps):
                yield frame.to_ndarray(format="rgb24")
            continue
        for content in row.stills(name):
            with Image.open(io.BytesIO(content)) as image:
                yield np.asarray(image.convert("RGB"))


def downscale(image: np.ndarray, pixels: int) -> np.ndarray:
    """Scale an image from (h, w, 3) to (pixels, pixels, 3) by averaging."""
    if image.shape[:2] == (pixels, pixels):
        return image
    return np.asarray(Image.fromarray(image).resize((pixels, pixels), Image.Resampling.BOX))
