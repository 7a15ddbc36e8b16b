"""The built-in tasks, by id: `load("libero_goal/3")`.

Each suite is one YAML file in this folder (`assay.tasks.catalogue.format` says how to read it). A file is
parsed when one of its tasks is first asked for, and then kept.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from assay.errors import TaskError, did_you_mean
from assay.tasks.catalogue.format import Entry, Suite, parse_suite
from assay.tasks.checks import quoted
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
    """The tasks of a suite in LIBERO's order. Raises TaskError with the nearest name if there is none."""
    return tuple(entry.task for entry in _suite(name).entries)


def all_ids() -> tuple[str, ...]:
    """The ids of the tasks that the selection ``all`` names."""
    return tuple(task.id for name in ALL for task in suite(name))


def built_in_ids() -> tuple[str, ...]:
    """The ids of the tasks of every suite: those of ``all``, then libero_90's."""
    return tuple(task.id for name in _SUITES for task in suite(name))


def load(id: str) -> Task:
    """The task of that id, e.g. ``libero_goal/3``. Raises TaskError if there is none."""
    return entry(id).task


def entry(id: str) -> Entry:
    """The task of that id and what LIBERO's files of it are called. Raises TaskError if there is none."""
    name, slash, number = id.strip().partition("/")
    if not slash:
        nearest = "" if name in _SUITES else f"; {did_you_mean(name[:80], _SUITES)}"
        raise TaskError(
            f"unknown task {quoted(id)}; write suite and number, such as 'libero_goal/0'{nearest}"
        )
    entries = {str(index): found for index, found in enumerate(_suite(name).entries)}
    if number not in entries:
        last = len(entries) - 1
        raise TaskError(f"unknown task {quoted(id)}; '{name}' has the tasks {name}/0 to {name}/{last}")
    return entries[number]


@cache
def _suite(name: str) -> Suite:
    if name not in _SUITES:
        raise TaskError(f"unknown suite {quoted(name)}; {did_you_mean(name[:80], _SUITES)}")
    resource = files(__name__).joinpath(f"{name}.yaml")
    return parse_suite(resource.read_text(encoding="utf-8"), file=resource.name)
