"""What a source's name on the command line stands for."""

from __future__ import annotations

from pathlib import Path

from assay.extensions.eqa.episode import Source
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.sources.registry import SOURCES
from assay.support.extras import require
from assay.support.plugins import PYTHON
from assay.tasks.formats.lerobot import INFO

PATTERN = "*.tfrecord*"
"""Of the files of RLDS data sets."""


def is_data_set(name: str) -> bool:
    """Whether a source is a data set of somebody's, written in one of the schemas."""
    return name not in SOURCES and Path(name).is_dir()


def opened(
    name: str, *, size: int = 256, schema: str = "", gripper: tuple[float, float] | None = None
) -> Source:
    """Open a source by name, by ``python:module:object``, or by its file or folder: a run, a data set.

    ``size`` is that of pictures that are drawn; ``schema`` and ``gripper``, its values when closed and open,
    are for data sets.
    """
    path = Path(name)
    if name.startswith(PYTHON) or name in SOURCES:
        return SOURCES[name](size)
    if path.suffix == ".assay":
        from assay.extensions.eqa.sources.run import RunSource

        return RunSource(path, size)
    if (path / INFO).is_file():
        from assay.extensions.eqa.sources.lerobot import LerobotSource

        return LerobotSource(path, schema, gripper)
    if path.is_dir() and not any(path.rglob(PATTERN)):
        raise QuestionError(f"{name}: neither a LeRobotDataset ({INFO}) nor TFRecord files ({PATTERN}) in it")
    if path.is_dir():
        require("eqa", f"{name}: TFRecord files need tfrecord and crc32c", QuestionError)
        from assay.extensions.eqa.sources.rlds import RldsSource

        return RldsSource(path, schema, gripper)
    raise QuestionError(
        f"{name}: not a source; valid: {', '.join(SOURCES.names())}, {PYTHON}module:object, a run's .assay "
        "file, a folder of a LeRobotDataset, or a folder of TFRecord files"
    )
