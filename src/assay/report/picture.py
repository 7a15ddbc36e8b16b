"""A picture of a task at its start."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from assay.sim.compile import compile_scene
from assay.sim.packs.registry import load_pack
from assay.sim.simulation import Simulation
from assay.tasks import Task


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
