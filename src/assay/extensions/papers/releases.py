"""Official releases of other benchmarks, read from a downloaded folder, as experiments.

    libero-pro?folder=DIR      LIBERO-PRO: every entry of its five tables
    libero-x?folder=DIR        LIBERO-X: its task files for levels 1 to 4, its rewordings for level 5
    libero-plus?folder=DIR     LIBERO-plus: every name in its classification, decoded

The changes in a release become typed perturbations. If a file that an episode needs is missing, such as a texture, the
episode is recorded as an error and never run unperturbed. Scenes from files are compared with the original task to
label what they change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from assay import tasks as catalogue
from assay.episodes import Change, Effect, EpisodeSpec, Label, Perturbation, perturbation
from assay.episodes.perturbation import changed_by
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.tasks import Atom, Entity, Predicate, Scene, Task
from assay.tasks.files import resolve_id
from assay.tasks.formats import ReleaseError
from assay.tasks.language.lexicon import words

DIGITS = 6
"""Decimal places of coordinates in metres; positions that differ by less than a micrometre are equal."""
_PLACING = (Predicate.ON, Predicate.IN)
_WORKSPACE = "workspace"

Same = Mapping[str, str]
"""Name of an entity in a changed scene -> its name in the original scene."""


def differences(before: Task, after: Task) -> frozenset[Change]:
    """Return the types of change between two tasks.

    A different goal with a matching instruction counts as a task change, not a wording change.
    """
    old, new = before.scene, after.scene
    pairs = (*_pairs(old.objects, new.objects), *_pairs(old.fixtures, new.fixtures))
    ours = _reader(old, {})
    theirs = _reader(new, {after.name: before.name for before, after in pairs})
    placed, moved = _starts(old, ours), _starts(new, theirs)
    worded = words(before.instruction.text) != words(after.instruction.text)
    other_goal = _read(before.goal.atoms, ours) != _read(after.goal.atoms, theirs)
    changes = {
        Change.OBJECT: any(
            (left.category, left.size) != (right.category, right.size) for left, right in pairs
        ),
        Change.APPEARANCE: any(left.finish != right.finish for left, right in pairs),
        Change.CLUTTER: len(pairs) < max(len(old.entities), len(new.entities)),
        Change.POSITION: any(placed.get(left.name) != moved.get(left.name) for left, _ in pairs),
        Change.ROOM: (old.arena, old.style, old.staging) != (new.arena, new.style, new.staging),
        Change.WORLD: _states(old, ours) != _states(new, theirs),
        Change.TASK: other_goal,
        Change.WORDING: worded and not other_goal,
    }
    return frozenset(change for change, holds in changes.items() if holds)


def _pairs(before: tuple[Entity, ...], after: tuple[Entity, ...]) -> list[tuple[Entity, Entity]]:
    """Return pairs of corresponding entities in two scenes: by name, or by order if LIBERO-PRO renamed them."""
    old, new = {entity.name: entity for entity in before}, {entity.name: entity for entity in after}
    same = [(entity, new[name]) for name, entity in old.items() if name in new]
    removed = (entity for name, entity in old.items() if name not in new)
    added = (entity for name, entity in new.items() if name not in old)
    return same + list(zip(removed, added, strict=False))


def _reader(scene: Scene, same: Same) -> Callable[[str], Hashable]:
    """Return a function that makes names comparable between scenes; it maps a region to its coordinates."""

    def read(name: str) -> Hashable:
        region = scene.region(name)
        if region is None:
            return _WORKSPACE if name == scene.arena.workspace else same.get(name, name)
        if region.target != scene.arena.workspace:
            return same.get(region.target, region.target), region.name
        corners = tuple(round(number, DIGITS) for rectangle in region.rectangles for number in rectangle)
        return _WORKSPACE, corners, region.yaw

    return read


def _read(atoms: Iterable[Atom], read: Callable[[str], Hashable]) -> frozenset[Hashable]:
    return frozenset((atom.predicate, *map(read, atom.arguments)) for atom in atoms)


def _starts(scene: Scene, read: Callable[[str], Hashable]) -> dict[Hashable, Hashable]:
    """Return the initial position of each entity."""
    placing = (atom for atom in scene.initial if atom.predicate in _PLACING)
    return {read(atom.arguments[0]): (atom.predicate, read(atom.arguments[1])) for atom in placing}


def _states(scene: Scene, read: Callable[[str], Hashable]) -> frozenset[Hashable]:
    """Return the initial atoms that do not place an entity, such as open drawers and stoves that are on."""
    return _read((atom for atom in scene.initial if atom.predicate not in _PLACING), read)


@perturbation
class FromFile(Perturbation):
    """Takes the scene and the goal from a task file, keeping the instruction."""

    kind = "release/scene"
    effects = frozenset({Effect.PHYSICS})
    change = Change.WORLD
    file: str
    """Id of the task in the file: the file's path and digest."""

    @property
    def scene_file(self) -> str:
        """Id of the task whose scene is used."""
        return self.file

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Read the file and replace the scene and the goal. Raises TaskError if the file is missing or has changed."""
        other = catalogue.load(self.file)
        return replace(task, scene=other.scene, goal=other.goal, of_interest=other.of_interest)


Variants = Mapping[str, Iterable[Variant]]
"""Task id -> its variants in the release."""


def release(
    name: str,
    about: str,
    folder: str,
    read: Callable[[Path], Variants],
    *,
    seeds: tuple[int, ...],
    tasks: str = "all",
    own: str = "",
    control: Callable[[Task], Variant] = lambda task: Variant(),
    keep: Callable[[EpisodeSpec], bool] = lambda spec: True,
) -> Experiment:
    """Return an experiment whose variants are read from a folder on first use.

    ``own`` describes the release's tasks if they are not built in. ``control`` and ``keep`` are passed to `Experiment`.
    """

    @cache
    def load() -> Variants:
        if not folder:
            raise ExperimentError(f"{name} needs the folder of the release: {name}?folder=DIR")
        by_task = {resolve_id(task): variants for task, variants in read(Path(folder)).items()}
        if not any(by_task.values()):
            raise ReleaseError(f"{folder}: the release of {name} in this folder is empty")
        return by_task

    def variants(task: Task) -> Iterable[Variant]:
        by_task, id = load(), resolve_id(task.id)
        if id not in by_task and (own or catalogue.names_file(id)):
            expected = own or "built-in tasks such as libero_goal/3"
            raise ExperimentError(f"{name} has no task '{task.id}'; expected {expected}")
        return by_task.get(id, ())

    return Experiment(name, about, variants, control=control, tasks=tasks, seeds=seeds, keep=keep)


def change_labels(before: Task, after: Task) -> dict[str, Label]:
    """Return the labels ``axis`` and ``change`` (``position+object``) for a task whose scene comes from a file."""
    changes = differences(before, after)
    words, rest = changes & {Change.WORDING, Change.TASK}, changes - {Change.WORDING, Change.TASK}
    axes = [name for name, holds in (("words", words), ("world", rest)) if holds]
    return {"axis": "+".join(axes) or "world", "change": changed_by(changes)}
