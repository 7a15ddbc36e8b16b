"""What a source's name on the command line stands for."""

from __future__ import annotations

from pathlib import Path

from assay.eqa.episode import Source
from assay.eqa.errors import QuestionError
from assay.eqa.sources.lerobot import INFO
from assay.extras import require

DEMO = "demo"
PATTERN = "*.tfrecord*"
"""Of the files of RLDS data sets."""


def is_data_set(name: str) -> bool:
    """Whether a source is a data set of somebody's, written in one of the schemas."""
    return name != DEMO and Path(name).is_dir()


def opened(
    name: str, *, size: int = 256, schema: str = "", gripper: tuple[float, float] | None = None
) -> Source:
    """``demo``, a run's file, a LeRobotDataset's folder or a folder of TFRecord files.

    ``size`` is that of pictures that are drawn; ``schema`` and ``gripper``, its values when closed and open,
    are for data sets.
    """
    path = Path(name)
    if name == DEMO:
        from assay.eqa.sources.demo import DemoSource

        return DemoSource(size)
    if path.suffix == ".assay":
        from assay.eqa.sources.run import RunSource

        return RunSource(path, size)
    if (path / INFO).is_file():
        from assay.eqa.sources.lerobot import LerobotSource

        return LerobotSource(path, schema, gripper)
    if path.is_dir() and not any(path.rglob(PATTERN)):
        raise QuestionError(f"{name}: neither a LeRobotDataset ({INFO}) nor TFRecord files ({PATTERN}) in it")
    if path.is_dir():
        require("eqa", f"{name}: TFRecord files need tfrecord and crc32c", QuestionError)
        from assay.eqa.sources.rlds import RldsSource

        return RldsSource(path, schema, gripper)
    raise QuestionError(
        f"{name}: not a source; valid: {DEMO}, a run's .assay file, a folder of a LeRobotDataset, "
        "or a folder of TFRecord files"
    )
