"""What the suites of releases have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from assay.errors import SuiteError
from assay.suites.base import Suite, Variant
from assay.tasks import Task

Variants = Mapping[str, Iterable[Variant]]
"""Task id -> what the release does to it."""


def release(
    name: str,
    about: str,
    folder: str,
    read: Callable[[Path], Variants],
    *,
    seeds: tuple[int, ...],
    tasks: str = "all",
) -> Suite:
    """A suite whose variants are read from a folder, once, when the first of them is asked for."""

    @cache
    def once() -> Variants:
        return read(named(name, folder))

    def variants(task: Task) -> Iterable[Variant]:
        return once().get(task.id, ())

    return Suite(name, about, variants, tasks=tasks, seeds=seeds)


def named(name: str, folder: str) -> Path:
    """The folder of a release. Raises SuiteError where none is given."""
    if not folder:
        raise SuiteError(f"{name} needs the folder of the release: {name}?folder=DIR")
    return Path(folder)
