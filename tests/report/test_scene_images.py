from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.errors import RenderingError
from assay.report.scene_images import (
    ASSET_COLUMNS,
    ASSET_SCALE,
    ASSET_SIZE,
    save_asset_sheet,
    save_task_image,
)
from assay.report.sheets import MARGIN
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import Simulation

pytestmark = pytest.mark.usefixtures("drawing")


def test_an_image_of_a_task_is_a_png_of_its_start(tmp_path: Path, compiled, world_of):
    file = tmp_path / "new" / "task.png"
    assert save_task_image(tasks.load("libero_10/5"), file, size=48) == file
    with Image.open(file) as image:
        assert image.format == "PNG" and image.size == (48, 48)
        drawn = np.asarray(image)
    world: Simulation = world_of(compiled("libero_10/5"))
    assert np.array_equal(drawn, world.reset(world.sample(0)).image("agentview", 48))


def test_a_failed_rendering_leaves_no_file(tmp_path: Path):
    file = tmp_path / "a.png"
    with pytest.raises(RenderingError):
        save_task_image(tasks.load("libero_10/5"), file, size=0)
    assert not file.exists()


class FewThings(AssetPack):
    """An asset pack with two shapes, one of them in two colours, and a fixture."""

    @property
    def categories(self) -> frozenset[str]:
        return frozenset({"akita_black_bowl", "akita_red_bowl", "butter", "flat_stove"})


def test_an_asset_sheet_has_a_cell_for_each_category(tmp_path: Path):
    image = Image.open(save_asset_sheet(tmp_path / "new" / "sheet.png", FewThings()))
    side = ASSET_SCALE * ASSET_SIZE
    assert image.width == ASSET_COLUMNS * (side + MARGIN) + MARGIN and image.height // side == 1
    bottom = np.asarray(image)[image.height - side - MARGIN :]
    cells = {bottom[:, n * (side + MARGIN) :][:, :side].tobytes() for n in range(ASSET_COLUMNS)}
    assert len(cells) >= len(FewThings().categories)
