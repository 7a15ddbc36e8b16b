from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.errors import AssetError, RenderingError
from assay.report.scene_images import (
    ASSET_SCALE,
    ASSET_SIZE,
    FIRST_TASKS,
    LABEL_COLOURS,
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


def test_another_camera_and_seed_give_another_image(tmp_path: Path):
    task = tasks.load("libero_10/5")
    images = [
        np.asarray(Image.open(save_task_image(task, tmp_path / "x.png", size=32, **options)))
        for options in ({}, {"seed": 1}, {"camera": "frontview"})
    ]
    assert not np.array_equal(images[0], images[1]) and not np.array_equal(images[0], images[2])


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


def test_the_command_rejects_other_image_formats(assay: Callable[..., Any], tmp_path: Path):
    said = assay("assets", "sheet", tmp_path / "things.jpg")
    assert said.status == 2 and "valid: a file that ends in .png" in said.err


def test_the_first_look_shows_every_suite_and_arena():
    shown = tasks.resolve("all")
    assert {name.split("/")[0] for name in FIRST_TASKS} == {task.id.split("/")[0] for task in shown}
    assert {tasks.load(name).scene.arena for name in FIRST_TASKS} == {task.scene.arena for task in shown}
    most = max(len(task.scene.entities) for task in shown)
    colours = LABEL_COLOURS[: 2 + most]
    assert len({tuple(colour) for colour in colours.tolist()}) == 2 + most, "one colour per object"


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
