from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.errors import AssetError, RenderingError
from assay.report.picture import task_picture
from assay.sim.simulation import Simulation

pytestmark = pytest.mark.usefixtures("drawing")


def test_a_picture_of_a_task_is_a_png_of_its_start(tmp_path: Path, compiled, world_of):
    file = tmp_path / "new" / "task.png"
    assert task_picture(tasks.load("libero_10/5"), file, size=48, seed=3) == file
    with Image.open(file) as image:
        assert image.format == "PNG" and image.size == (48, 48)
        drawn = np.asarray(image)
    world: Simulation = world_of(compiled("libero_10/5"))
    assert np.array_equal(drawn, world.reset(world.sample(3)).image("agentview", 48))


def test_another_camera_and_seed_give_another_picture(tmp_path: Path):
    task = tasks.load("libero_10/5")
    pictures = [
        np.asarray(Image.open(task_picture(task, tmp_path / "x.png", size=32, **options)))
        for options in ({}, {"seed": 1}, {"camera": "frontview"})
    ]
    assert not np.array_equal(pictures[0], pictures[1])
    assert not np.array_equal(pictures[0], pictures[2])


def test_what_cannot_be_drawn_leaves_no_file(tmp_path: Path, no_assets: Path):
    task = tasks.load("libero_10/5")
    with pytest.raises(RenderingError):
        task_picture(task, tmp_path / "a.png", camera="nowhere", size=16)
    with pytest.raises(RenderingError):
        task_picture(task, tmp_path / "a.png", size=0)
    with pytest.raises(AssetError):
        task_picture(task, tmp_path / "a.png", pack="libero", size=16)
    assert not (tmp_path / "a.png").exists()
