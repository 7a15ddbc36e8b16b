"""The tasks that rows speak of, and pictures of their scenes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.words.generate import tasks_named
from assay.support.console import progress_bar
from assay.support.files import scratch_folder

if TYPE_CHECKING:
    from assay.tasks import Task


def task_loader(selection: str) -> Callable[[str], Task]:
    """Finds a task by its id: those of a selection of task files first, then the built-in ones."""
    from assay import tasks

    own = {task.id: task for task in tasks_named(selection)} if selection else {}
    return lambda id: own.get(id) or tasks.load(id)


def draw_scenes(tasks: Sequence[Task], folder: Path) -> Mapping[str, Path]:
    """Pictures of the tasks' initial scenes, by id."""
    from assay.report.scene_images import save_scene_images

    with progress_bar() as bar:
        progress = bar.add_task("pictures", total=len({task.scene for task in tasks}))
        return save_scene_images(
            tasks, folder, on_scene=lambda id: bar.update(progress, advance=1, description=f"picture of {id}")
        )


@contextmanager
def drawn_scenes(tasks: Sequence[Task]) -> Iterator[Mapping[str, Path]]:
    """The same in a folder that is removed afterwards."""
    with scratch_folder() as folder:
        yield draw_scenes(tasks, Path(folder))
