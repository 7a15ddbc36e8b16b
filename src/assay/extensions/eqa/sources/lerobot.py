"""LeRobotDataset folders, v2.1 (a file for each episode) and v3.0 (files of many episodes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.errors import AssayError, one_line
from assay.extensions.eqa.episode import FOUND, Camera, Episode, Tally, fault_of
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.sources.schema import LEROBOT, Feature, schema_for
from assay.extensions.eqa.sources.video import StillsCamera, VideoCamera
from assay.support.images import Orientation
from assay.tasks.formats import ReleaseError
from assay.tasks.formats.lerobot import BROKEN, LerobotFolder, Row


class LerobotSource:
    """A LeRobotDataset on disk."""

    threads = 2

    def __init__(self, folder: Path, schema: str = "", gripper: tuple[float, float] | None = None) -> None:
        try:
            self.data = LerobotFolder(folder)
        except ReleaseError as error:
            raise QuestionError(str(error)) from error
        self.folder, self.fps, self.total = folder, self.data.fps, self.data.total
        features = self.data.features
        told = {key: _feature(feature) for key, feature in features.items()}
        self.schema = schema_for(LEROBOT, told, str(folder), schema)
        if gripper is not None:
            self.schema = replace(self.schema, closed=gripper[0], opened=gripper[1])
        self.name = folder.name
        self.rules = self.schema.rules

    def episodes(self, tally: Tally) -> Iterator[Episode]:
        """See `Source`."""
        for row in self._listed():
            tally.add(FOUND)
            name = f"episode {row.number}"
            try:
                table = row.frames((*self.schema.numbers,))
                states = self.schema.states(
                    {key: np.array(table[key].to_list()) for key in self.schema.numbers}
                )
            except (AssayError, *BROKEN) as error:
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
                scene=_scene(row.said, tally),
            )

    def _camera(self, row: Row, key: str) -> Camera | None:
        if key in row.clips and row.clips[key][0].is_file():
            path, start = row.clips[key]
            lies = Orientation(self.data.orientation(key) or Orientation.UPRIGHT)
            return VideoCamera(path, start, self.fps, lies)
        if key in self.data.cameras - self.data.videos:
            return StillsCamera(partial(row.stills, key))
        return None

    def _listed(self) -> Iterator[Row]:
        try:
            yield from self.data.rows()
        except ReleaseError as error:
            raise QuestionError(str(error)) from error


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
