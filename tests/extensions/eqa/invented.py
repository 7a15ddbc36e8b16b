"""A small folder of questions about an invented robot."""

from __future__ import annotations

from pathlib import Path

from assay.extensions.eqa.build import build
from assay.extensions.eqa.question import QuestionKind
from assay.extensions.eqa.views import CameraView

from .conftest import Invented


def small_set(out: Path, per_kind: int = 4, views: str = "exo,ego") -> Path:
    """Six kinds, each so many times, in each view."""
    build(
        out,
        [Invented()],
        dict.fromkeys(QuestionKind, per_kind),
        [CameraView.parse(name) for name in views.split(",")],
    )
    return out
