from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.errors import RenderingError
from assay.report.scene_images import save_task_image
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
    task, file = tasks.load("libero_10/5"), tmp_path / "a.png"
    with pytest.raises(RenderingError):
        save_task_image(task, file, size=0)
    assert not file.exists()
