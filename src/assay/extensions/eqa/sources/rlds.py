"""RLDS data sets as written by TensorFlow Datasets: TFRecord files, one episode per record.

A record consists of a length with its checksum and a ``tf.train.Example`` with its checksum. The features of all
steps are concatenated: ``steps/observation/state`` of 40 steps is a list of 280 numbers.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crc32c
import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from tfrecord import example_pb2

from assay.extensions.eqa.episode import EPISODES_FOUND, SourceEpisode, StillsCamera, Tally, state_fault
from assay.extensions.eqa.question import QuestionError, UnreadableError
from assay.extensions.eqa.sources import TFRECORD_PATTERN
from assay.extensions.eqa.sources.schema import Feature, find_schema

Features = Mapping[str, Any]
"""Features of an example by name."""
_LENGTH = struct.Struct("<Q")
_CHECK = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class TFRecord:
    """Location of one episode in a file."""

    path: Path
    offset: int
    """Start of the record's content in the file, in bytes."""
    length: int

    def read(self) -> example_pb2.Example:
        """Read the episode. Raises UnreadableError if it is damaged."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            content = file.read(self.length)
            check = file.read(_CHECK.size)
        if len(content) < self.length or len(check) < _CHECK.size:
            raise UnreadableError(f"{self.path.name} ends in the middle of an episode")
        if _CHECK.unpack(check)[0] != _masked_crc(content):
            raise UnreadableError(f"{self.path.name}: the episode at byte {self.offset} is damaged")
        example = example_pb2.Example()
        try:
            example.ParseFromString(content)
        except DecodeError as error:
            raise UnreadableError(f"{self.path.name}: byte {self.offset}: not a tf.train.Example") from error
        return example


def records(path: Path) -> Iterator[TFRecord]:
    """Yield the locations of a file's episodes. Raises UnreadableError at the first damaged header."""
    size = path.stat().st_size
    offset = 0
    with path.open("rb") as file:
        while offset < size:
            file.seek(offset)
            head = file.read(_LENGTH.size + _CHECK.size)
            if len(head) < _LENGTH.size + _CHECK.size:
                raise UnreadableError(f"{path.name} ends in the middle of an episode")
            if _CHECK.unpack(head[_LENGTH.size :])[0] != _masked_crc(head[: _LENGTH.size]):
                raise UnreadableError(f"{path.name}: byte {offset} is not the beginning of an episode")
            (length,) = _LENGTH.unpack(head[: _LENGTH.size])
            yield TFRecord(path, offset + len(head), length)
            offset += len(head) + length + _CHECK.size


class RldsSource:
    """Episodes in a folder of TFRecord files."""

    def __init__(self, folder: Path, schema: str = "", gripper: tuple[float, float] | None = None) -> None:
        self.files = sorted(folder.rglob(TFRECORD_PATTERN))
        try:
            keys = {key: Feature() for key in next(records(self.files[0])).read().features.feature}
        except (UnreadableError, StopIteration) as error:
            raise QuestionError(f"{folder}: the first episode cannot be read: {error}") from error
        self.schema = find_schema("rlds", keys, str(folder), schema, gripper)
        try:
            info = json.loads((self.files[0].parent / "dataset_info.json").read_text())
            self.name = str(info["name"])
        except (OSError, ValueError, KeyError, TypeError):
            self.name = self.schema.name
        self.rules = self.schema.quality_rules
        self.total = None

    def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
        """Yield usable episodes; see `EpisodeSource`."""
        for path in self.files:
            try:
                for number, record in enumerate(records(path)):
                    tally.add(EPISODES_FOUND)
                    episode = self._episode(f"{path.name}#{number}", record, tally)
                    if episode is not None:
                        yield episode
            except UnreadableError as error:
                tally.add("file: damaged", str(error))

    def _episode(self, name: str, record: TFRecord, tally: Tally) -> SourceEpisode | None:
        schema = self.schema
        try:
            features = record.read().features.feature
            steps = len(features[schema.exocentric[0]].bytes_list.value)
            states = schema.states({key: _read_numbers(features, key, steps) for key in schema.numbers})
        except (UnreadableError, ValueError, IndexError) as error:
            tally.add("episode: cannot be read", f"{name}: {error}")
            return None
        if fault := state_fault(states):
            tally.add(f"episode: {fault}", name)
            return None

        def texts(key: str) -> Sequence[bytes]:
            return features[key].bytes_list.value if key in features else ()

        def camera(key: str, flag: str = "") -> StillsCamera | None:
            has_flag = flag not in features or any(features[flag].int64_list.value)
            complete = has_flag and len(texts(key)) == len(states)
            if not complete:
                return None
            return StillsCamera(lambda: list(record.read().features.feature[key].bytes_list.value))

        flags = (schema.has_camera.format(number) for number in range(len(schema.exocentric)))
        instructions = (
            values[0].decode(errors="replace").strip()
            for key in (schema.instruction, *schema.instructions)
            if (values := texts(key))
        )
        return SourceEpisode(
            id=name,
            instruction=next(filter(None, instructions), ""),
            states=states,
            exocentric=tuple(filter(None, map(camera, schema.exocentric, flags))),
            egocentric=camera(schema.egocentric),
        )


def _masked_crc(content: bytes) -> int:
    check = crc32c.crc32c(content)
    return ((check >> 15 | check << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _read_numbers(features: Features, key: str, steps: int) -> np.ndarray:
    """Return the values of a feature, (steps, n)."""
    if key not in features:
        raise UnreadableError(f"has no '{key}'")
    values = features[key].float_list.value or features[key].int64_list.value
    if not steps or len(values) % steps:
        raise UnreadableError(f"{len(values)} numbers cannot be divided into {steps} steps")
    return np.array(values, dtype=np.float64).reshape(steps, -1)
