from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from assay.report.asset_sheet import CELL, LARGER, asset_sheet
from assay.sim.packs.pack import AssetPack


class FewThings(AssetPack):
    """Two shapes, one of them in two colours, and a fixture."""

    @property
    def categories(self) -> frozenset[str]:
        return frozenset({"akita_black_bowl", "akita_red_bowl", "butter", "flat_stove"})


@pytest.mark.parametrize(("patterns", "rows", "columns"), [(False, 1, 4), (True, 2, 8)])
def test_a_sheet_has_a_cell_for_each_thing_or_each_pattern_of_each_shape(
    tmp_path: Path, patterns: bool, rows: int, columns: int
):
    picture = Image.open(asset_sheet(tmp_path / "new" / "sheet.png", FewThings(), patterns=patterns))
    side = LARGER * CELL
    assert round(picture.width / side) == columns and picture.height // side == rows
    pixels = np.asarray(picture)
    cells = [pixels[:side, n * (side + 6) :][:, :side] for n in range(columns)]
    assert len({cell.tobytes() for cell in cells}) == columns


def test_the_command_refuses_what_is_no_picture(assay: Callable[..., Any], tmp_path: Path):
    said = assay("assets", "sheet", tmp_path / "things.jpg")
    assert said.status == 2 and "valid: a file that ends in .png" in said.err
