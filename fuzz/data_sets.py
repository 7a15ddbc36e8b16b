"""Data sets and checkpoints: RLDS, LeRobot, demonstrations, safetensors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from tests.extensions.eqa.conftest import bridge_episode, picture, record, walk

from assay.extensions.eqa.episode import SourceEpisode, Tally
from assay.extensions.eqa.sources import open_source
from assay.extensions.learn.demonstrations import dataset
from assay.support.video import VideoWriter
from assay.tasks.formats.lerobot import LerobotFolder
from fuzz.mutations import Rng, pick, spoiled_bytes, spoiled_json


class Folders:
    """A target whose cases are folders with one or two damaged files."""

    def __init__(self, folder: Path) -> None:
        self._case, self._sound = folder / "case", folder / "sound"
        self._sound.mkdir()
        self.write(self._sound)
        self._files = sorted(
            each.relative_to(self._sound) for each in self._sound.rglob("*") if each.is_file()
        )

    def known(self) -> int:
        """Return 0, because there is no corpus: a case depends only on its number."""
        return 0

    def case(self, number: int, rng: Rng) -> int:
        """Damage a folder and read it."""
        shutil.rmtree(self._case, ignore_errors=True)
        shutil.copytree(self._sound, self._case)
        count = int(rng.integers(1, 3))
        for _ in range(count):
            path = self._case / pick(rng, self._files)
            if not path.exists():
                continue
            if path.suffix in (".json", ".jsonl") and rng.random() < 0.7:
                text = path.read_text(encoding="utf-8", errors="replace")
                lines = text.splitlines() if path.suffix == ".jsonl" else [text]
                try:
                    lines = [json.dumps(spoiled_json(rng, json.loads(line))) for line in lines]
                except ValueError:
                    continue
                path.write_text("\n".join(lines))
            elif path.suffix == ".parquet" and rng.random() < 0.5:
                _respoil(rng, path)
            elif rng.random() < 0.05:
                path.unlink()
            else:
                path.write_bytes(self.spoiled(rng, path.read_bytes()))
        self.read(self._case)
        return count

    def spoiled(self, rng: Rng, content: bytes) -> bytes:
        """Damage bytes."""
        return spoiled_bytes(rng, content)

    def write(self, folder: Path) -> None:
        """Create a valid folder."""
        raise NotImplementedError

    def read(self, folder: Path) -> None:
        """Read a folder."""
        raise NotImplementedError


def _respoil(rng: Rng, path: Path) -> None:
    """Return a table with a column removed, retyped or overwritten."""
    try:
        table = pl.read_parquet(path)
    except pl.exceptions.PolarsError:  # spoiled already
        return
    column = pick(rng, table.columns)
    new: tuple[pl.DataFrame, ...] = (
        table.drop(column),
        table.with_columns(pl.lit(None).alias(column)),
        table.with_columns(pl.lit("\x1b[31m").alias(column)),
        table.with_columns(pl.lit(-1).alias(column)),
        table.with_columns(pl.lit(float("nan")).alias(column)),
        table.head(0),
        pl.concat([table, table]),
    )
    pick(rng, new).write_parquet(path)


def _looked_at(episodes: Iterator[SourceEpisode]) -> None:
    for episode in episodes:
        for camera in episode.exocentric[:1]:
            camera.read([0])


class Rlds(Folders):
    """TFRecord files; half of the damaged records have valid checksums."""

    def write(self, folder: Path) -> None:
        """Create two shards in BridgeData's layout."""
        (folder / "dataset_info.json").write_text(json.dumps({"name": "bridge", "fileFormat": "tfrecord"}))
        for shard in range(2):
            path = folder / f"bridge-train.tfrecord-0000{shard}-of-00002"
            path.write_bytes(b"".join(record(bridge_episode(walk(seed, 4), "do it")) for seed in range(2)))

    def spoiled(self, rng: Rng, content: bytes) -> bytes:
        """Damage bytes or features."""
        if rng.random() < 0.5:
            return spoiled_bytes(rng, content)
        features = bridge_episode(walk(0, 4), "do it")
        for _ in range(int(rng.integers(1, 3))):
            key = pick(rng, list(features))
            kinds: tuple[list[bytes] | list[float] | list[int], ...] = (
                [b""], [b"\x1b[31m", b"\xff"], [float("nan")] * 3, [1e38] * 28, [-1, 2**62],
                features[key][:-1] or [b"x"],
            )  # fmt: skip
            features[key] = pick(rng, kinds)
        return record(features)

    def read(self, folder: Path) -> None:
        """Read as ``assay eqa build`` does."""
        _looked_at(iter(open_source(str(folder)).episodes(Tally())))


class Lerobot(Folders):
    """LeRobotDatasets of version 2.1."""

    def write(self, folder: Path) -> None:
        """Create two episodes in BridgeData's layout."""
        key = "observation.images.image_0"
        info = {
            "codebase_version": "v2.1", "fps": 5, "chunks_size": 1000,
            "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
            "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
            "features": {key: {"dtype": "video"}, "observation.state": {"dtype": "float32", "shape": [8]}},
        }  # fmt: skip
        (folder / "meta").mkdir(parents=True)
        (folder / "data/chunk-000").mkdir(parents=True)
        (folder / "meta/info.json").write_text(json.dumps(info))
        rows = []
        for number in range(2):
            states = walk(number, 5)
            raw = np.column_stack([states[:, :6], np.zeros(5), states[:, 6]])
            table = pl.DataFrame(
                {"observation.state": raw.tolist(), "index": range(5 * number, 5 * number + 5)}
            )
            table.write_parquet(folder / f"data/chunk-000/episode_{number:06d}.parquet")
            with VideoWriter(folder / f"videos/chunk-000/{key}/episode_{number:06d}.mp4", fps=5) as video:
                for state in states:
                    video.add(picture(state))
            rows.append({"episode_index": number, "tasks": ["do it"], "length": 5})
        (folder / "meta/episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def read(self, folder: Path) -> None:
        """Read as ``assay eqa build`` does, and as a folder."""
        list(LerobotFolder(folder).rows())
        _looked_at(iter(open_source(str(folder)).episodes(Tally())))


class Demonstrations(Lerobot):
    """Demonstrations written by ``assay collect``."""

    def write(self, folder: Path) -> None:
        """Create the output of ``assay collect`` for one short task."""
        from fuzz.targets import command

        shutil.rmtree(folder)
        small = ("--tasks", "libero_goal/7", "--episodes", "1", "--size", "64")
        command("collect", *small, "--out", folder)

    def read(self, folder: Path) -> None:
        """Read as ``assay learn`` does."""
        dataset.read(folder)


class Checkpoints(Folders):
    """Trained networks."""

    def write(self, folder: Path) -> None:
        """Create an untrained network."""
        import torch

        from assay.extensions.learn.visuomotor.inputs import NetworkSettings
        from assay.extensions.learn.visuomotor.network import Network
        from assay.extensions.learn.visuomotor.training import TrainingRecord
        from assay.support.training import save_checkpoint

        settings = NetworkSettings(pixels=32, chunk=2, width=16)
        network = Network(settings)
        record = TrainingRecord(
            settings=settings, size=64, data="x", episodes={"a": 1}, frames=2, paraphrases=0, seed=0, steps=1, batch=1,
            processor_minutes=0.1, parameters=1, held_out={}, torch=torch.__version__,
        )  # fmt: skip
        save_checkpoint(folder / "network.safetensors", network, record)

    def spoiled(self, rng: Rng, content: bytes) -> bytes:
        """Damage bytes, most often in the header."""
        if rng.random() < 0.5:
            return spoiled_bytes(rng, content)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        if rng.random() < 0.5:
            header["__metadata__"]["assay"] = json.dumps(
                spoiled_json(rng, json.loads(header["__metadata__"]["assay"]))
            )
        else:
            header = spoiled_json(rng, header)
        written = json.dumps(header).encode()
        return len(written).to_bytes(8, "little") + written + content[8 + length :]

    def read(self, folder: Path) -> None:
        """Load as a run does."""
        from assay.extensions.learn.visuomotor.training import load_network

        load_network(folder / "network.safetensors")


TARGETS: dict[str, type[Folders]] = {"rlds": Rlds, "lerobot": Lerobot, "demonstrations": Demonstrations}
try:
    import torch as _torch  # noqa: F401

    TARGETS["safetensors"] = Checkpoints
except ImportError:  # an extra
    pass
