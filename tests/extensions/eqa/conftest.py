"""Small data sets in the real formats, made from one invented robot."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import crc32c
import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation
from tfrecord import example_pb2

from assay import tasks
from assay.extensions.eqa.build import build
from assay.extensions.eqa.episode import SourceEpisode, Tally
from assay.extensions.eqa.pairs import PreparedEpisode, prepare_episodes
from assay.extensions.eqa.question import QuestionKind
from assay.extensions.eqa.sources.schema import NEAR
from assay.extensions.eqa.views import CameraView

FRAMES = 24
TEXTS = ("put the carrot on the plate", "put the pot on the stove", "open the drawer", "fold the cloth")


def walk(seed: int, frames: int = FRAMES) -> np.ndarray:
    """Return states (frames, 7) of an end effector that moves between poses: metres, degrees, 0 to 1."""
    rng = np.random.default_rng(seed)
    low, high = np.array([[0.2, -0.3, 0.0, -30, -30, -60, 0.0], [0.6, 0.3, 0.4, 30, 30, 60, 1.0]])
    places = [rng.uniform(low, high)]
    for _ in range(5):  # three dimensions at a time, so that changes are visible
        place = places[-1].copy()
        axes = rng.choice(7, 3, replace=False)
        place[axes] = np.where(place[axes] > (low + high)[axes] / 2, low[axes], high[axes])
        places.append(place)
    times = np.linspace(0, 5, frames)
    return np.column_stack([np.interp(times, range(6), column) for column in np.transpose(places)])


def picture(state: np.ndarray, size: int = 64) -> np.ndarray:
    """Draw the end effector on a chequered table, with bars for its height and angles."""
    rows, columns = np.indices((size, size))
    table = np.where((rows // 4 + columns // 4) % 2, 150, 90).astype(np.uint8)
    shown = np.stack([table] * 3, axis=-1)
    state = np.nan_to_num(state)
    x, y = int((0.3 - state[1]) / 0.6 * (size - 12)), int((0.6 - state[0]) / 0.4 * (size - 12))
    shown[max(y, 0) : max(y, 0) + 12, max(x, 0) : max(x, 0) + 12] = (
        220,
        40,
        int(200 * np.clip(state[6], 0, 1)),
    )
    lengths = (state[2] / 0.4, *((state[3:6] + 60) / 120))
    for row, length in enumerate(lengths):
        shown[2 * row : 2 * row + 2, : int(np.clip(length, 0, 1) * size)] = 250
    return shown


class Drawn:
    """A camera that draws an invented robot."""

    def __init__(self, states: np.ndarray, size: int = 64) -> None:
        self.states, self.size = states, size

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        shots = [picture(self.states[frame], self.size) for frame in frames]
        return [np.asarray(Image.fromarray(shot).convert("L")) for shot in shots] if grey else shots


class Invented:
    """Sixteen episodes of four scenes."""

    name, rules, total = "invented", NEAR, 16

    def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
        for number in range(16):
            states, text = walk(number), TEXTS[number % 4]
            cameras = Drawn(states), Drawn(states)
            scene, achieved = f"scene {number // 4}", frozenset({text})
            yield SourceEpisode(str(number), text, states, cameras, Drawn(states), scene, achieved)


def small_set(out: Path, per_kind: int = 4, views: str = "exo,ego") -> Path:
    """Build a folder with some questions of each kind in each view."""
    build(
        out,
        [Invented()],
        dict.fromkeys(QuestionKind, per_kind),
        [CameraView.parse(name) for name in views.split(",")],
    )
    return out


@pytest.fixture(scope="session")
def ready() -> list[PreparedEpisode]:
    """The invented episodes, prepared."""
    return list(prepare_episodes(Invented(), CameraView.parse("both"), Tally()))


@pytest.fixture(scope="session")
def exo_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two questions of each kind in one view; read only."""
    return small_set(tmp_path_factory.mktemp("exo") / "set", 2, "exo")


def encoded(shot: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(shot).save(file, "JPEG", quality=95)
    return file.getvalue()


def masked(content: bytes) -> bytes:
    check = crc32c.crc32c(content)
    return struct.pack("<I", ((check >> 15 | check << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(features: dict[str, list[bytes] | list[float] | list[int]]) -> bytes:
    """A TFRecord as TensorFlow Datasets writes it."""
    example = example_pb2.Example()
    for key, values in features.items():
        feature = example.features.feature[key]
        if isinstance(values[0], bytes):
            feature.bytes_list.value.extend(values)
        elif isinstance(values[0], bool | int):
            feature.int64_list.value.extend(map(int, values))
        else:
            feature.float_list.value.extend(values)
    content = example.SerializeToString()
    length = struct.pack("<Q", len(content))
    return length + masked(length) + content + masked(content)


def bridge_episode(states: np.ndarray, text: str, cameras: int = 2) -> dict[str, list]:
    raw = states.copy()
    raw[:, 3:6] = np.radians(raw[:, 3:6])
    features: dict[str, list] = {
        "steps/observation/state": raw.ravel().tolist(),
        "steps/language_instruction": [text.encode()] * len(states),
    }
    for number in range(4):
        features[f"episode_metadata/has_image_{number}"] = [number < cameras]
        shots = [
            encoded(picture(state)) if number < cameras else encoded(np.zeros((64, 64, 3), np.uint8))
            for state in states
        ]
        features[f"steps/observation/image_{number}"] = shots
    return features


def droid_episode(states: np.ndarray, text: str) -> dict[str, list]:
    pose = np.column_stack([states[:, :3], np.radians(states[:, 3:6])])
    shots = [encoded(picture(state)) for state in states]
    return {
        "steps/observation/cartesian_position": pose.ravel().tolist(),
        "steps/observation/gripper_position": (1.0 - states[:, 6]).tolist(),
        "steps/observation/exterior_image_1_left": shots,
        "steps/observation/exterior_image_2_left": shots,
        "steps/observation/wrist_image_left": shots,
        "steps/language_instruction": [text.encode()] * len(states),
    }


def rt1_episode(states: np.ndarray, text: str) -> dict[str, list]:
    turns = Rotation.from_euler("xyz", states[:, 3:6], degrees=True).as_quat()
    return {
        "steps/observation/base_pose_tool_reached": np.column_stack([states[:, :3], turns]).ravel().tolist(),
        "steps/observation/gripper_closed": (1.0 - states[:, 6]).tolist(),
        "steps/observation/image": [encoded(picture(state)) for state in states],
        "steps/observation/natural_language_instruction": [text.encode()] * len(states),
    }


@pytest.fixture
def tfds(tmp_path: Path) -> Callable[..., Path]:
    """Writes episodes as TensorFlow Datasets does: a version's folder with shards."""

    def write(name: str, episodes: Sequence[dict[str, list]]) -> Path:
        folder = tmp_path / name / "1.0.0"
        folder.mkdir(parents=True)
        (folder / "dataset_info.json").write_text(json.dumps({"name": name, "fileFormat": "tfrecord"}))
        half = (len(episodes) + 1) // 2
        for shard, some in enumerate((episodes[:half], episodes[half:])):
            path = folder / f"{name}-train.tfrecord-0000{shard}-of-00002"
            path.write_bytes(b"".join(record(each) for each in some))
        return tmp_path / name

    return write


@pytest.fixture(scope="session")
def collected(drawing: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded data set, read only: one episode of each of two tasks."""
    demonstrations = pytest.importorskip("assay.extensions.learn.demonstrations.collect")
    folder = tmp_path_factory.mktemp("collected") / "set"
    demonstrations.collect(folder, [tasks.load(f"libero_goal/{number}") for number in (5, 7)], 1, size=48)
    return folder
