"""Images of tasks: single files, and a contact sheet of built-in tasks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from PIL import Image

from assay import tasks
from assay.report.sheets import SheetCell, save_sheet
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.render import CAMERAS
from assay.tasks import Scene, Task

FIRST_TASKS = (
    "libero_goal/0",
    "libero_spatial/0",
    "libero_object/0",
    "libero_10/0",
    "libero_10/3",
    "libero_10/5",
    "libero_10/9",
)
"""One task for each kind of built-in scene."""
FIRST_SIZE = 256
"""Height and width of an image on the sheet of built-in tasks, in pixels."""
LABEL_COLOURS = np.array(
    [(235, 235, 235), (90, 90, 95)]
    + [(hue * 37 % 200 + 40, hue * 91 % 200 + 40, hue * 53 % 200 + 40) for hue in range(1, 40)],
    dtype=np.uint8,
)


def open_scene(scene: Scene, pack: str) -> closing[Simulation]:
    """Return a simulation of a scene with the assets of a pack, as a context manager that closes it."""
    return closing(Simulation(compile_scene(scene, load_pack(pack))))


def save_task_image(task: Task, path: Path, size: int = 512) -> Path:
    """Render the initial state of a task as seen by the main camera, to a PNG of ``size`` x ``size`` pixels."""
    with open_scene(task.scene, "primitives") as world:
        image = world.reset(world.sample(seed=0)).image(CAMERAS[0], size)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)
    return path


def save_first_look(path: Path, pack: str, on_task: Callable[[str], None] = lambda name: None) -> Path:
    """Write a sheet of built-in tasks: both camera images of the initial state, and a segmentation of the first."""
    cells = []
    for name in FIRST_TASKS:
        on_task(name)
        task = tasks.load(name)
        with open_scene(task.scene, pack) as world:
            start = world.reset(world.sample(seed=0))
            labels = LABEL_COLOURS[start.segmentation(CAMERAS[0], FIRST_SIZE) % len(LABEL_COLOURS)]
            views = [start.image(camera, FIRST_SIZE) for camera in CAMERAS]
        cells.append(SheetCell(f"{task.id}   {task.instruction}", (), [[*views, labels]]))
    heading = f"Assay: built-in tasks with the asset pack {pack} (main camera, wrist camera, segmentation)"
    return save_sheet(path, heading, cells, columns=1)
