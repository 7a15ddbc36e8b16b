"""LIBERO-PRO: five tables of alternative objects, positions, goals, rooms and instructions for a task.

There are three ways to run it. Single entries: each table entry alone, so that nothing is sampled and entries are
separate in the results. Joint draws, as in the release's tool: one alternative for each object, all applied
together, for single and combined dimensions. Frozen files: the task files in which the authors stored their draws.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Literal, TypeVar

from assay import tasks
from assay.episodes import Change, Label
from assay.errors import TaskError
from assay.experiments.base import Experiment, Variant
from assay.extensions.papers.libero_pro.perturbations import (
    AnyGoal,
    AnyRoom,
    AnyWording,
    Exchange,
    ExchangeEach,
    Recategorise,
    RecategoriseEach,
)
from assay.extensions.papers.releases import FromFile, Variants, change_labels, differences, release
from assay.perturb import Perturbation, Say
from assay.perturb.unavailable import Unavailable
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.world.staging import Room
from assay.tasks.formats import ReleaseError
from assay.tasks.formats import libero_pro as pro
from assay.tasks.formats.libero_pro import FrozenFile, OtherGoal
from assay.tasks.language.lexicon import words

Draw = Literal["entries", "joint", "both", "frozen"]
DIMENSIONS = ("object", "position", "semantic", "environment")
"""Dimensions that may be combined; the dimension ``task`` is never combined with others."""
APPLIED = ("position", "environment", "object", "semantic")
"""Order in which the release's tool applies the dimensions."""
AXES = {"object": "world", "position": "world", "semantic": "words", "environment": "world", "task": "words"}
Value = TypeVar("Value")
_Row = tuple[str, str, Perturbation, dict[str, Label]]
"""Task id, dimension, perturbation and labels."""


def libero_pro(folder: str = "", draw: Draw | None = None) -> Experiment:
    """Return an experiment for a checkout, an installed package or a download, or for the tables' folder in it.

    ``draw`` selects each table entry alone, joint draws from the tables, both of these, or the authors' frozen files;
    by default, the entries and any frozen files that exist.
    """
    return release(
        "libero-pro",
        "LIBERO-PRO as released: the entries of its five tables, joint draws from them, and frozen task files.",
        folder,
        lambda place: _read(place, draw),
        seeds=tuple(range(50)),
    )


def _read(folder: Path, draw: Draw | None) -> Variants:
    entries = pro.has_tables(folder) if draw is None else draw in ("entries", "both")
    frozen = pro.frozen_files(folder) if draw in (None, "frozen") else ()
    if not (entries or frozen or draw == "joint"):
        if draw == "frozen" and pro.has_tables(folder):
            raise ReleaseError(
                f"{folder}: contains LIBERO-PRO's tables but no frozen task files; use draw=entries or draw=joint"
            )
        missing = "" if folder.is_dir() else " (the folder does not exist)"
        raise ReleaseError(
            f"{folder} does not contain the LIBERO-PRO release{missing}; looked for {pro.expected_files()}"
        )
    variants: dict[str, list[Variant]] = defaultdict(list)
    if entries:
        for task, dimension, change, more in _entries(folder):
            labels = {"axis": AXES[dimension], "plausible": True, "table": dimension, **more}
            variants[task].append(Variant(f"libero-pro/{dimension}", (change,), labels))
    if draw in ("joint", "both"):
        for task, draws in _draws(folder).items():
            variants[task] += _joint(draws)
    for file in frozen:
        variants[file.task].append(_frozen(file))
    return variants


def _entries(folder: Path) -> Iterator[_Row]:
    for category in pro.exchanges(folder, pro.CATEGORIES):
        change: Perturbation = Recategorise(category.old, category.new)
        yield category.task, "object", change, {"old": category.old, "new": category.new}
    for position in pro.exchanges(folder, pro.POSITIONS):
        change = Exchange(position.old, position.new)
        yield position.task, "position", change, {"first": position.old, "second": position.new}
    for other in pro.goals(folder):
        change = OtherTask(other.text, _atoms(other)) if other.goal else Unavailable(other.problem)
        yield other.task, "task", change, {"asked": other.text}
    for task, room in pro.rooms(folder):
        yield task, "environment", Room(room), {"room": room.value}
    for wording in pro.wordings(folder):
        yield wording.task, "semantic", Say(wording.text), dict(wording.labels)


def _atoms(other: OtherGoal) -> tuple[str, ...]:
    return () if other.goal is None else tuple(str(atom) for atom in other.goal.atoms)


def _draws(folder: Path) -> Mapping[str, dict[str, Perturbation]]:
    """Return the perturbations that make the joint draws, by task and dimension."""
    draws: dict[str, dict[str, Perturbation]] = defaultdict(dict)
    for dimension, table, draw in (
        ("object", pro.CATEGORIES, RecategoriseEach),
        ("position", pro.POSITIONS, ExchangeEach),
    ):
        entries = pro.exchanges(folder, table)
        for task, pairs in _group((entry.task, (entry.old, entry.new)) for entry in entries).items():
            draws[task][dimension] = draw(tuple(_group(pairs).items()))
    for task, texts in _group((wording.task, wording.text) for wording in pro.wordings(folder)).items():
        draws[task]["semantic"] = AnyWording(texts)
    for task, rooms in _group(pro.rooms(folder)).items():
        draws[task]["environment"] = AnyRoom(rooms)
    for task, goals in _group((goal.task, (goal.text, _atoms(goal))) for goal in pro.goals(folder)).items():
        draws[task]["task"] = AnyGoal(goals)
    return draws


def _group(pairs: Iterable[tuple[str, Value]]) -> dict[str, tuple[Value, ...]]:
    """Group values by name."""
    grouped: dict[str, list[Value]] = defaultdict(list)
    for name, value in pairs:
        grouped[name].append(value)
    return {name: tuple(values) for name, values in grouped.items()}


def _joint(draws: Mapping[str, Perturbation]) -> Iterator[Variant]:
    """Yield the joint draws for each dimension and every combination; ``task`` is never combined with others."""
    offered = [name for name in DIMENSIONS if name in draws]
    choices = [chosen for count in range(1, len(offered) + 1) for chosen in combinations(offered, count)]
    for chosen in (*choices, *([("task",)] if "task" in draws else [])):
        changes = tuple(draws[name] for name in (*APPLIED, "task") if name in chosen)
        axes = "+".join(axis for axis in ("words", "world") if axis in {AXES[name] for name in chosen})
        dimensions = "+".join(chosen)
        labels: dict[str, Label] = {"axis": axes, "plausible": True, "table": dimensions}
        if dimensions != "task":
            labels |= {f"factor:{name}": name in chosen for name in offered}
        yield Variant(f"libero-pro/joint/{dimensions}", changes, labels)


def _frozen(file: FrozenFile) -> Variant:
    """Convert a frozen file to a variant of its task with its scene, its goal and, if different, its instruction."""
    condition = f"libero-pro/frozen/{file.dimension}"
    labels: dict[str, Label] = {"axis": "world", "plausible": True, "table": file.dimension, "frozen": True}
    if file.distance is not None:
        labels |= {"distance": file.distance, "direction": file.axis}
    original = tasks.entry(file.task)
    try:
        loaded = tasks.load(str(file.path))
    except TaskError as error:
        return Variant(condition, (Unavailable(str(error)),), labels)
    texts = (original.task.instruction.text, original.file_wording or "")
    reworded = words(loaded.instruction.text) not in map(words, texts)
    result = loaded if reworded else replace(loaded, instruction=original.task.instruction)
    scenes = (original.task.scene, loaded.scene)
    sizes = {(len(scene.objects), len(scene.fixtures)) for scene in scenes}
    names, others = ({entity.name for entity in scene.entities} for scene in scenes)
    differing, problem = differences(original.task, result), ""
    if len(sizes) > 1 or names.isdisjoint(others):
        problem = "its file has another scene than the task of that name"
    elif Change.TASK in differing and file.dimension != "task":
        problem = "its file has another goal than the task of that name"
    elif not differing:
        problem = "its file is the task itself: nothing is changed in it"
    if problem:
        return Variant(condition, (Unavailable(problem, file.path.name),), labels)
    changes = (FromFile(loaded.id), *((Say(loaded.instruction.text),) if reworded else ()))
    return Variant(condition, changes, labels | change_labels(original.task, result))
