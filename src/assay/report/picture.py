"""A picture of a task at its start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PIL import Image

from assay.sim.compile import compile_scene
from assay.sim.packs.registry import load_pack
from assay.sim.simulation import Simulation
from assay.tasks import Scene, Task, short_name


def task_picture(
    task: Task,
    path: Path,
    *,
    size: int = 512,
    pack: str = "primitives",
    camera: str = "agentview",
    seed: int = 0,
) -> Path:
    """Draw a task's initial state, sampled by ``seed``, into a PNG of ``size`` x ``size`` pixels."""
    world = Simulation(compile_scene(task.scene, load_pack(pack)))
    try:
        picture = world.reset(world.sample(seed)).image(camera, size)
    finally:
        world.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)
    return path


def scene_pictures(
    tasks: Iterable[Task], folder: Path, *, size: int = 384, on_scene: Callable[[str], None] = lambda id: None
) -> dict[str, Path]:
    """Draw the initial scene of tasks into a folder; returns the file of each id. Equal scenes share one."""
    drawn: dict[Scene, Path] = {}
    found: dict[str, Path] = {}
    for task in tasks:
        if task.scene not in drawn:
            on_scene(task.id)
            drawn[task.scene] = task_picture(task, folder / f"{short_name(task.id)}.png", size=size)
        found[task.id] = drawn[task.scene]
    return found
