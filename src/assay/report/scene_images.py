"""Images of tasks, scenes and assets: single files and contact sheets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from assay import tasks
from assay.report.sheets import SheetCell, save_sheet
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.categories import VARIANTS
from assay.sim.controller import SCALE
from assay.sim.observation import Observation
from assay.sim.packs.pack import AssetPack
from assay.sim.portraits import portrait
from assay.tasks import Scene, Task
from assay.tasks.scene import Colour, Entity, Finish, Pattern

MAIN_CAMERA, WRIST_CAMERA = "agentview", "robot0_eye_in_hand"
SHEET_SIZE = 384
"""Height and width of an image on a sheet of scenes, pixels."""
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
REACH_STEPS = 60
REACH_OFFSET = np.array([0.0, 0.0, 0.12])
"""Target of the end effector above the task's object, metres."""
FIRST_SIZE = 256
LABEL_COLOURS = np.array(
    [(235, 235, 235), (90, 90, 95)]
    + [(hue * 37 % 200 + 40, hue * 91 % 200 + 40, hue * 53 % 200 + 40) for hue in range(1, 40)],
    dtype=np.uint8,
)
ASSET_SIZE = 72
"""Height and width of an asset's image, in pixels of a 256 x 256 camera; larger assets are scaled down."""
ASSET_SCALE = 3
ASSET_COLUMNS = 7
TABLE_COLOUR = np.array([0.72, 0.66, 0.58])
PATTERN_COLOUR: Colour = (0.80, 0.12, 0.12)


@contextmanager
def open_scene(scene: Scene, pack: str) -> Iterator[Simulation]:
    """A simulation of a scene with the assets of a pack, closed at the end."""
    world = Simulation(compile_scene(scene, load_pack(pack)))
    try:
        yield world
    finally:
        world.close()


def save_task_image(
    task: Task,
    path: Path,
    *,
    size: int = 512,
    pack: str = "primitives",
    camera: str = MAIN_CAMERA,
    seed: int = 0,
) -> Path:
    """Render a task's initial state, sampled by ``seed``, into a PNG of ``size`` x ``size`` pixels."""
    with open_scene(task.scene, pack) as world:
        image = world.reset(world.sample(seed)).image(camera, size)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)
    return path


def save_first_look(path: Path, pack: str, on_task: Callable[[str], None] = lambda name: None) -> Path:
    """Write a sheet of built-in tasks in which the arm reaches for the first object of each goal."""
    cells = []
    for name in FIRST_TASKS:
        on_task(name)
        task = tasks.load(name)
        with open_scene(task.scene, pack) as world:
            start = world.reset(world.sample(seed=0))
            labels = LABEL_COLOURS[start.segmentation(MAIN_CAMERA, FIRST_SIZE) % len(LABEL_COLOURS)]
            first = start.image(MAIN_CAMERA, FIRST_SIZE)
            position, _ = world.pose(task.goal.atoms[0].arguments[0])
            end = reach(world, position + REACH_OFFSET)
            views = [end.image(camera, FIRST_SIZE) for camera in (MAIN_CAMERA, WRIST_CAMERA)]
        cells.append(SheetCell(f"{task.id}   {task.instruction}", (), [[first, *views, labels]]))
    views_text = f"start, after {REACH_STEPS} steps, wrist camera, segmentation at the start"
    return save_sheet(path, f"Assay: built-in tasks on the {pack} pack ({views_text})", cells, columns=1)


def reach(world: Simulation, target: np.ndarray) -> Observation:
    """Steer the end effector towards a point (3,) with an open gripper; returns the last observation."""
    action = np.zeros(7)
    action[6] = -1.0
    observation = world.step(action)
    for _ in range(REACH_STEPS - 1):
        action[:3] = np.clip((target - observation.eef_position) / SCALE[:3], -1.0, 1.0)
        observation = world.step(action)
    return observation


def save_asset_sheet(
    path: Path,
    pack: AssetPack,
    *,
    patterns: bool = False,
    on_category: Callable[[str], None] = lambda name: None,
) -> Path:
    """Write a sheet of an asset pack: every category, or every shape of a movable one in every pattern."""
    finishes = [Finish()]
    names = sorted(pack.categories)
    if patterns:
        finishes += [Finish(PATTERN_COLOUR), *(Finish(PATTERN_COLOUR, pattern) for pattern in Pattern)]
        names = _distinct_shapes(pack)
    cells = []
    for name in names:
        on_category(name)
        for finish in finishes:
            title = finish.pattern or ("plain" if finish.colour else name)
            cells.append(SheetCell(title, (), [[_asset_image(Entity("thing", name, finish), pack)]]))
    columns = len(finishes) if patterns else ASSET_COLUMNS
    return save_sheet(path, f"{len(names)} asset categories", cells, columns=columns)


def _distinct_shapes(pack: AssetPack) -> list[str]:
    """The first movable category of each outline; colours do not count."""
    shapes: dict[bytes, str] = {}
    for name in sorted(pack.categories - pack.fixtures - VARIANTS.keys()):
        shapes.setdefault(portrait(Entity("thing", name), pack).cover.tobytes(), name)
    return list(shapes.values())


def _asset_image(entity: Entity, pack: AssetPack) -> np.ndarray:
    """An asset centred on the table's colour, uint8, (ASSET_SCALE * ASSET_SIZE,) * 2 + (3,)."""
    view = portrait(entity, pack)
    ground = np.broadcast_to(TABLE_COLOUR, view.colour.shape) * (1.0 - view.cover[..., None])
    image = Image.fromarray((255 * np.clip(ground + view.colour, 0.0, 1.0)).astype(np.uint8))
    image.thumbnail((ASSET_SIZE, ASSET_SIZE))
    cell = Image.new("RGB", (ASSET_SIZE, ASSET_SIZE), tuple(int(255 * part) for part in TABLE_COLOUR))
    cell.paste(image, ((ASSET_SIZE - image.width) // 2, (ASSET_SIZE - image.height) // 2))
    side = ASSET_SCALE * ASSET_SIZE
    return np.asarray(cell.resize((side, side), Image.Resampling.NEAREST))
