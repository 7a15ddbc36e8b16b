"""What the suites of releases have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from assay import tasks as catalogue
from assay.episodes import Change, EpisodeSpec, Label
from assay.episodes.perturbation import changed_by
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.experiments.differences import differences
from assay.tasks import Task
from assay.tasks.files import resolve_id
from assay.tasks.formats import ReleaseError

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
    own: str = "",
    control_labels: Callable[[Task], dict[str, Label]] = lambda task: {},
    keep: Callable[[EpisodeSpec], bool] = lambda spec: True,
) -> Experiment:
    """A suite whose variants are read from a folder, once, when the first of them is asked for.

    ``own``: what its tasks are, in words, where they are not the built-in ones. ``control_labels`` and ``keep`` are
    the experiment's.
    """

    @cache
    def once() -> Variants:
        place = named(name, folder)
        found = {resolve_id(task): variants for task, variants in read(place).items()}
        if not any(found.values()):
            raise ReleaseError(f"{place}: the release of {name} in it holds no names")
        return found

    def variants(task: Task) -> Iterable[Variant]:
        found, id = once(), resolve_id(task.id)
        if id not in found and (own or catalogue.names_file(id)):
            valid = own or "built-in tasks such as libero_goal/3"
            raise ExperimentError(f"{name} has no task '{task.id}'; valid: {valid}")
        return found.get(id, ())

    return Experiment(
        name, about, variants, control_labels=control_labels, tasks=tasks, seeds=seeds, keep=keep
    )


def named(name: str, folder: str) -> Path:
    """The folder of a release. Raises ExperimentError where none is given."""
    if not folder:
        raise ExperimentError(f"{name} needs the folder of the release: {name}?folder=DIR")
    return Path(folder)


def compared(before: Task, after: Task) -> dict[str, Label]:
    """The labels axis and change of a task whose scene comes from a file: what tells it from its original.

    Where several things differ, ``change`` has all of them, as for perturbations: ``position+object``.
    """
    found = differences(before, after)
    said, rest = found & {Change.WORDING, Change.TASK}, found - {Change.WORDING, Change.TASK}
    axes = [name for name, holds in (("words", said), ("world", rest)) if holds]
    return {"axis": "+".join(axes) or "world", "change": changed_by(found)}
