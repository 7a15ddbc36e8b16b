"""The built-in tasks, by id: `load("libero_goal/3")`.

Each suite is one YAML file in this folder (`assay.tasks.catalogue.format` says how to read it). A file is
parsed when one of its tasks is first asked for, and then kept.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from assay.errors import TaskError, did_you_mean
from assay.tasks.catalogue.format import CatalogueEntry, Suite, parse_suite
from assay.tasks.checks import quote
from assay.tasks.files import load_file, names_file, task_files
from assay.tasks.scene import Task

ALL = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
"""The suites that the selection ``all`` names: the four of ten tasks that evaluations report. LIBERO trains on
libero_90 before it evaluates on libero_10."""
_SUITES = (*ALL, "libero_90")


def suites() -> tuple[str, ...]:
    """The names of the built-in suites: those of ``all``, then libero_90."""
    return _SUITES


def describe(name: str) -> str:
    """One line about a suite."""
    return _suite(name).about


def suite(name: str) -> tuple[Task, ...]:
    """The tasks of a suite in LIBERO's order. Raises TaskError with the nearest name if it is unknown."""
    return tuple(entry.task for entry in _suite(name).entries)


def all_ids() -> tuple[str, ...]:
    """The ids of the tasks that the selection ``all`` names."""
    return tuple(task.id for name in ALL for task in suite(name))


def built_in_ids() -> tuple[str, ...]:
    """The ids of the tasks of every suite: those of ``all``, then libero_90's."""
    return tuple(task.id for name in _SUITES for task in suite(name))


def load(id: str) -> Task:
    """Return the task with this id: ``libero_goal/3``, or the path of a task file, with or without its digest.

    Raises TaskError if there is no such task.
    """
    return entry(id).task


def entry(id: str) -> CatalogueEntry:
    """The task of that id and the name of LIBERO's files of it. Raises TaskError if it is unknown."""
    if names_file(id):
        return CatalogueEntry(load_file(id))
    name, slash, number = id.strip().partition("/")
    if not slash:
        nearest = "" if name in _SUITES else f"; {did_you_mean(name[:80], _SUITES)}"
        raise TaskError(f"unknown task {quote(id)}; write suite and number, such as 'libero_goal/0'{nearest}")
    entries = {str(index): entry for index, entry in enumerate(_suite(name).entries)}
    if number not in entries:
        last = len(entries) - 1
        raise TaskError(f"unknown task {quote(id)}; '{name}' has the tasks {name}/0 to {name}/{last}")
    return entries[number]


def siblings(task: Task) -> tuple[Task, ...]:
    """The tasks that belong together with one: its suite, or the files of its folder with the same scene."""
    if not names_file(task.id):
        return suite(task.id.partition("/")[0])
    folder = Path(task.id.rpartition("@")[0]).parent
    beside = (load_file(str(file)) for file in sorted(folder.iterdir()) if names_file(file.name))
    return tuple(sibling for sibling in beside if sibling.scene == task.scene)


def trained_with(id: str) -> tuple[Task, ...]:
    """What a policy that is asked for a task is taken to have learned: the tasks of ``all``, and of its suite.

    ``id`` is the task's or the suite's.
    """
    name = id.partition("/")[0]
    return resolve(f"all,{name}" if name in _SUITES else "all")


def resolve(selection: str) -> tuple[Task, ...]:
    """The tasks that a selection names, each once, in its order.

    A selection is ``all`` (the four suites of ten tasks), or suites, ids, task files and folders of them, with
    commas between them: ``all,libero_90``, ``libero_goal,libero_10/0,my_scenes,other/task.bddl``. Raises TaskError
    with the nearest name for anything unknown, and if it selects nothing.
    """
    chosen: dict[str, Task] = {}
    for part in filter(None, (part.strip() for part in selection.split(","))):
        if part == "all":
            selected = tuple(task for name in ALL for task in suite(name))
        elif part in _SUITES:
            selected = suite(part)
        elif names_file(part) or Path(part).is_dir():
            selected = tuple(load_file(file) for file in task_files(part))
        elif "/" in part and part.partition("/")[0] in _SUITES:
            selected = (load(part),)
        else:
            nearest = did_you_mean(part[:80], ("all", *_SUITES))
            raise TaskError(
                f"unknown task or suite {quote(part)}; {nearest} (nor is there a folder of that name)"
            )
        chosen.update((task.id, task) for task in selected)
    if not chosen:
        raise TaskError(
            f"no task selected; valid: all, {', '.join(_SUITES)}, an id such as '{_SUITES[0]}/0', "
            "or a task file or a folder of them"
        )
    return tuple(chosen.values())


@cache
def _suite(name: str) -> Suite:
    if name not in _SUITES:
        raise TaskError(f"unknown suite {quote(name)}; {did_you_mean(name[:80], _SUITES)}")
    resource = files(__name__).joinpath(f"{name}.yaml")
    return parse_suite(resource.read_text(encoding="utf-8"), file=resource.name)
