"""Images of tasks, scenes and assets: single files and contact sheets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from PIL import Image

from assay import tasks
from assay.report.sheets import SheetCell, save_sheet
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.packs.pack import AssetPack
from assay.sim.portraits import portrait
from assay.tasks import Scene, Task
from assay.tasks.scene import Entity

MAIN_CAMERA, WRIST_CAMERA = "agentview", "robot0_eye_in_hand"
SHEET_SIZE = 384
"""Height and width of an image on a sheet of scenes, in pixels."""
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
ASSET_SIZE = 72
"""Maximum height and width of an asset in its image, in pixels before enlargement."""
ASSET_SCALE = 3
ASSET_COLUMNS = 7
TABLE_COLOUR = np.array([0.72, 0.66, 0.58])


def open_scene(scene: Scene, pack: str) -> closing[Simulation]:
    """Return a simulation of a scene with the assets of a pack, as a context manager that closes it."""
    return closing(Simulation(compile_scene(scene, load_pack(pack))))


def save_task_image(task: Task, path: Path, *, size: int = 512) -> Path:
    """Render the initial state of a task, sampled with seed 0, to a PNG of ``size`` x ``size`` pixels."""
    with open_scene(task.scene, "primitives") as world:
        image = world.reset(world.sample(seed=0)).image(MAIN_CAMERA, size)
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
            labels = LABEL_COLOURS[start.segmentation(MAIN_CAMERA, FIRST_SIZE) % len(LABEL_COLOURS)]
            views = [start.image(camera, FIRST_SIZE) for camera in (MAIN_CAMERA, WRIST_CAMERA)]
        cells.append(SheetCell(f"{task.id}   {task.instruction}", (), [[*views, labels]]))
    heading = f"Assay: built-in tasks with the asset pack {pack} (main camera, wrist camera, segmentation)"
    return save_sheet(path, heading, cells, columns=1)


def save_asset_sheet(path: Path, pack: AssetPack) -> Path:
    """Write a sheet with an image of every object category in an asset pack."""
    cells = []
    for name in sorted(pack.categories):
        view = portrait(Entity("object", name), pack)
        ground = np.broadcast_to(TABLE_COLOUR, view.colour.shape) * (1.0 - view.cover[..., None])
        image = Image.fromarray((255 * np.clip(ground + view.colour, 0.0, 1.0)).astype(np.uint8))
        image.thumbnail((ASSET_SIZE, ASSET_SIZE))
        tile = Image.new("RGB", (ASSET_SIZE, ASSET_SIZE), tuple(int(255 * part) for part in TABLE_COLOUR))
        tile.paste(image, ((ASSET_SIZE - image.width) // 2, (ASSET_SIZE - image.height) // 2))
        side = ASSET_SCALE * ASSET_SIZE
        pixels = np.asarray(tile.resize((side, side), Image.Resampling.NEAREST))
        cells.append(SheetCell(name, (), [[pixels]]))
    return save_sheet(path, f"{len(cells)} asset categories", cells, columns=ASSET_COLUMNS)
