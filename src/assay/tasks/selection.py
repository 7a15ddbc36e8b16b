"""Tasks by id, from the catalogue or from a file, and selections of them."""

from __future__ import annotations

from pathlib import Path

from assay.errors import TaskError, did_you_mean
from assay.tasks import catalogue
from assay.tasks.catalogue.format import Entry
from assay.tasks.checks import quoted
from assay.tasks.files import load_file, names_file, task_files
from assay.tasks.scene import Task


def load(id: str) -> Task:
    """The task of that id: ``libero_goal/3``, or a file's path, with its digest or without.

    Raises TaskError if there is none.
    """
    return entry(id).task


def entry(id: str) -> Entry:
    """The task of that id and what LIBERO's files of it are called. Raises TaskError if there is none."""
    return Entry(load_file(id)) if names_file(id) else catalogue.entry(id)


def siblings(task: Task) -> tuple[Task, ...]:
    """The tasks that belong together with one: its suite, or the files of its folder with the same scene."""
    if not names_file(task.id):
        return catalogue.suite(task.id.partition("/")[0])
    folder = Path(task.id.rpartition("@")[0]).parent
    beside = (load_file(str(file)) for file in sorted(folder.iterdir()) if names_file(file.name))
    return tuple(each for each in beside if each.scene == task.scene)


def trained_with(id: str) -> tuple[Task, ...]:
    """What a policy that is asked for a task is taken to have learned: the tasks of ``all``, and of its suite.

    ``id`` is the task's or the suite's.
    """
    suite = id.partition("/")[0]
    return resolve(f"all,{suite}" if suite in catalogue.suites() else "all")


def resolve(selection: str) -> tuple[Task, ...]:
    """The tasks that a selection names, each once, in its order.

    A selection is ``all`` (the four suites of ten tasks), or suites, ids, task files and folders of them, with
    commas between them: ``all,libero_90``, ``libero_goal,libero_10/0,my_scenes,other/task.bddl``. Raises TaskError
    with the nearest name for anything unknown, and if it selects nothing.
    """
    suites = catalogue.suites()
    chosen: dict[str, Task] = {}
    for part in filter(None, (part.strip() for part in selection.split(","))):
        if part == "all":
            found = tuple(task for name in catalogue.ALL for task in catalogue.suite(name))
        elif part in suites:
            found = catalogue.suite(part)
        elif names_file(part) or Path(part).is_dir():
            found = tuple(load_file(file) for file in task_files(part))
        elif "/" in part and part.partition("/")[0] in suites:
            found = (load(part),)
        else:
            nearest = did_you_mean(part[:80], ("all", *suites))
            raise TaskError(
                f"unknown task or suite {quoted(part)}; {nearest} (nor is there a folder of that name)"
            )
        chosen.update((task.id, task) for task in found)
    if not chosen:
        raise TaskError(
            f"no task selected; valid: all, {', '.join(suites)}, an id such as '{suites[0]}/0', "
            "or a task file or a folder of them"
        )
    return tuple(chosen.values())
