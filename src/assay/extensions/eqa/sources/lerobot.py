"""LeRobotDataset folders, v2.1 (one file per episode) and v3.0 (many episodes per file)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.errors import AssayError, one_line
from assay.extensions.eqa import episode
from assay.extensions.eqa.episode import Camera, SourceEpisode, StillsCamera, Tally, VideoCamera
from assay.extensions.eqa.sources.schema import Feature, find_schema
from assay.support.images import Orientation
from assay.tasks.formats.lerobot import BROKEN, LerobotEpisode, LerobotFolder


class LerobotSource:
    """Episodes of a LeRobotDataset."""

    def __init__(self, folder: Path, schema: str = "", gripper: tuple[float, float] | None = None) -> None:
        self.data = LerobotFolder(folder)
        self.folder, self.fps, self.total = folder, self.data.fps, self.data.total
        features = {}
        for key, info in self.data.features.items():
            shape, names = info.get("shape") or (), info.get("names") or ()
            if isinstance(names, Mapping):  # names may be nested in a group
                names = next(iter(names.values()), ())
            is_number = info.get("dtype") not in ("video", "image")
            width = int(np.prod(shape)) if shape else None
            features[key] = Feature(width, tuple(map(str, names))) if is_number else Feature()
        self.schema = find_schema("lerobot", features, str(folder), schema, gripper)
        self.name = folder.name
        self.rules = self.schema.quality_rules

    def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
        """Yield usable episodes; see `EpisodeSource`."""
        for row in self.data.rows():
            tally.add(episode.EPISODES_FOUND)
            name = f"episode {row.number}"
            try:
                table = row.frames((*self.schema.numbers,))
                states = self.schema.states(
                    {key: np.array(table[key].to_list()) for key in self.schema.numbers}
                )
            except (AssayError, *BROKEN) as error:
                tally.add("episode: cannot be read", f"{name}: {one_line(str(error))}")
                continue
            if fault := episode.state_fault(states):
                tally.add(f"episode: {fault}", name)
                continue
            outside = (self._camera(row, key) for key in self.schema.exocentric)
            yield SourceEpisode(
                id=name,
                instruction=row.instruction,
                states=states,
                exocentric=tuple(camera for camera in outside if camera is not None),
                egocentric=self._camera(row, self.schema.egocentric),
                scene=_scene(row.metadata, tally),
            )

    def _camera(self, row: LerobotEpisode, key: str) -> Camera | None:
        if key in row.clips and row.clips[key][0].is_file():
            path, start = row.clips[key]
            orientation = Orientation(self.data.orientation(key) or Orientation.UPRIGHT)
            return VideoCamera(path, start, self.fps, orientation)
        if key in self.data.cameras - self.data.videos:
            return StillsCamera(partial(row.stills, key))
        return None


def _scene(row: Mapping[str, Any], tally: Tally) -> str:
    """Return the asset pack, scene and seed of a demonstration recorded by Assay; "" for other episodes."""
    task = row.get("assay/task")
    if not task:
        return ""
    try:
        return f"{row['assay/pack']} {_first_of_scene(task)} {row['assay/seed']}"
    except AssayError as error:  # the task file has moved
        tally.add("scene: its task cannot be loaded", f"{task}: {error}")
        return ""


@cache
def _first_of_scene(task_id: str) -> str:
    """Return the id of the first task in the suite that has the same scene."""
    scene = tasks.load(task_id).scene
    try:
        suite = tasks.resolve(task_id.split("/")[0])
    except AssayError:  # a task file outside of all suites
        return task_id
    return next((task.id for task in suite if task.scene == scene), task_id)
