"""A sheet of scenes as the main camera sees them, with what is asked for in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from assay.report.sheet import Cell, save_cells
from assay.sim import Simulation, compile_scene, load_pack
from assay.tasks import Scene, Task

SIZE = 384
"""Height and width of each picture, pixels."""


def save_scene_sheet(
    path: Path,
    heading: str,
    chosen: Sequence[Task],
    pack: str,
    on_scene: Callable[[], None] = lambda: None,
) -> Path:
    """Draw each scene of some tasks once, at the start of seed 0, over the instructions in it."""
    scenes: dict[Scene, list[Task]] = {}
    for task in chosen:
        scenes.setdefault(task.scene, []).append(task)
    assets = load_pack(pack)
    cells = []
    for scene, tasks in scenes.items():
        world = Simulation(compile_scene(scene, assets))
        try:
            start = world.reset(world.sample(0))
            pictures = [start.image("agentview", SIZE), start.image("robot0_eye_in_hand", SIZE)]
        finally:
            world.close()
        names = [f"{number}. {task.instruction.text}" for number, task in enumerate(tasks)]
        cells.append(Cell(_title(tasks[0]), names, [pictures]))
        on_scene()
    return save_cells(path, heading, cells, columns=2)


def _title(task: Task) -> str:
    """The folder of a task in a file; the id of any other."""
    path, _, digest = task.id.rpartition("@")
    return Path(path).parent.name if path and digest else task.id
