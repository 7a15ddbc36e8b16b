"""Episode sources: data sets, stored runs, the built-in demonstration and plugins.

Named sources are registered; files and folders are recognised by their content.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assay.extensions.eqa.episode import EpisodeSource
from assay.extensions.eqa.question import QuestionError
from assay.support.extras import require
from assay.support.plugins import Registry
from assay.support.trust import PYTHON
from assay.tasks.formats.lerobot import INFO

SOURCES: Registry[Callable[[int], EpisodeSource]] = Registry(
    "question source", QuestionError, {"demo": "assay.extensions.eqa.sources.simulated:DemoSource"}
)
"""Functions that open a source, by name; their argument is the height of rendered images, in pixels."""
TFRECORD_PATTERN = "*.tfrecord*"
"""File name pattern of RLDS data sets."""


def open_source(
    name: str, *, size: int = 256, schema: str = "", gripper: tuple[float, float] | None = None
) -> EpisodeSource:
    """Open a source, given as a name, as ``python:module:object``, or as a file or folder (a run or a data set).

    ``size`` is the height of rendered images, in pixels. ``schema`` and ``gripper`` (the values of the closed and
    the open gripper) apply to data sets only.
    """
    path = Path(name)
    if name.startswith(PYTHON) or name in SOURCES:
        return SOURCES.load(name)(size)
    if path.suffix == ".assay":
        from assay.extensions.eqa.sources.simulated import RunSource

        return RunSource(path, size)
    if (path / INFO).is_file():
        from assay.extensions.eqa.sources.lerobot import LerobotSource

        return LerobotSource(path, schema, gripper)
    if path.is_dir() and not any(path.rglob(TFRECORD_PATTERN)):
        raise QuestionError(
            f"{name} contains neither a LeRobotDataset ({INFO}) nor TFRecord files ({TFRECORD_PATTERN})"
        )
    if path.is_dir():
        require("eqa", f"{name}: TFRecord files need tfrecord and crc32c", QuestionError)
        from assay.extensions.eqa.sources.rlds import RldsSource

        return RldsSource(path, schema, gripper)
    raise QuestionError(
        f"{name}: not a source; expected {', '.join(SOURCES)}, {PYTHON}module:object, a run file (.assay), a "
        "LeRobotDataset or a folder of TFRecord files"
    )
