from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.errors import AssetError, RenderingError
from assay.report.scene_images import (
    ASSET_SCALE,
    ASSET_SIZE,
    REACH_OFFSET,
    REACH_STEPS,
    reach,
    save_asset_sheet,
    save_task_image,
)
from assay.report.sheets import MARGIN
from assay.sim.compile import CompiledScene
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import Simulation

pytestmark = pytest.mark.usefixtures("drawing")


def test_an_image_of_a_task_is_a_png_of_its_start(tmp_path: Path, compiled, world_of):
    file = tmp_path / "new" / "task.png"
    assert save_task_image(tasks.load("libero_10/5"), file, size=48, seed=3) == file
    with Image.open(file) as image:
        assert image.format == "PNG" and image.size == (48, 48)
        drawn = np.asarray(image)
    world: Simulation = world_of(compiled("libero_10/5"))
    assert np.array_equal(drawn, world.reset(world.sample(3)).image("agentview", 48))


def test_a_failed_rendering_leaves_no_file(tmp_path: Path, no_assets: Path):
    task, file = tasks.load("libero_10/5"), tmp_path / "a.png"
    for error, options in (
        (RenderingError, {"camera": "nowhere", "size": 16}),
        (RenderingError, {"size": 0}),
        (AssetError, {"pack": "libero", "size": 16}),
    ):
        with pytest.raises(error):
            save_task_image(task, file, **options)
    assert not file.exists()


class FewThings(AssetPack):
    """Two shapes, one of them in two colours, and a fixture."""

    @property
    def categories(self) -> frozenset[str]:
        return frozenset({"akita_black_bowl", "akita_red_bowl", "butter", "flat_stove"})


@pytest.mark.parametrize(("patterns", "count", "columns"), [(False, 4, 7), (True, 16, 8)])
def test_an_asset_sheet_has_a_cell_for_each_category_or_pattern(
    tmp_path: Path, patterns: bool, count: int, columns: int
):
    image = Image.open(save_asset_sheet(tmp_path / "new" / "sheet.png", FewThings(), patterns=patterns))
    side = ASSET_SCALE * ASSET_SIZE
    rows = -(-count // columns)
    assert image.width == columns * (side + MARGIN) + MARGIN and image.height // side == rows
    bottom = np.asarray(image)[image.height - side - MARGIN :]
    cells = {bottom[:, n * (side + MARGIN) :][:, :side].tobytes() for n in range(columns)}
    assert len(cells) >= min(count, columns)


@pytest.mark.parametrize("task_id", ["libero_goal/5", "libero_10/5", "libero_object/0"])
def test_the_end_effector_reaches_for_the_object_of_the_goal(
    task_id: str, compiled: Callable[[str], CompiledScene], world_of: Callable[[CompiledScene], Simulation]
):
    world = world_of(compiled(task_id))
    world.reset(world.sample(0))
    name = tasks.load(task_id).goal.atoms[0].arguments[0]
    target = world.data.xpos[world.compiled.entities[name].body] + REACH_OFFSET
    seen = reach(world, target.copy())
    assert seen.step == REACH_STEPS
    assert np.linalg.norm(seen.eef_position - target) < 0.03
    assert seen.gripper[0] > 0.035, "the gripper is open"
