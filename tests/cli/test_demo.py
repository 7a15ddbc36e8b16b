from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from assay.report import scene_images
from assay.report.scene_images import FIRST_TASKS

Run = Callable[..., Any]
SIZE = 128
"""Of each picture, pixels: half of what is usual."""

pytestmark = pytest.mark.usefixtures("no_assets")


def test_demo_writes_a_contact_sheet(
    drawing: str, assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(scene_images, "FIRST_SIZE", SIZE)
    said = assay("demo", "--pictures", "--out", tmp_path / "new/folder")
    assert said.status == 0
    file = tmp_path / "new/folder/contact_sheet.png"
    assert said.out == f"{len(FIRST_TASKS)} tasks drawn: {file}\n"
    with Image.open(file) as image:
        assert image.format == "PNG"
        sheet = np.asarray(image.convert("RGB")).astype(int)
    assert sheet.shape[0] > len(FIRST_TASKS) * SIZE and sheet.shape[1] > 3 * SIZE
    assert all(column.std() > 15 for column in np.array_split(sheet, 3, axis=1)), "no column is blank"
