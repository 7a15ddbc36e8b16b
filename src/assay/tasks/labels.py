"""LIBERO-X's task labels. There are four families, and a task may have several labels in each.

`assay.experiments.labels` derives them from a task; runs store them in the episode labels ``label:FAMILY``, with the
labels of one family joined into one text: ``container, left-right``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from assay.tasks.language.lexicon import OBJECT_NAME

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "interaction": ("placement", "state change", "composite"),
    "subtasks": ("1", "2", "3+"),
    "relation": ("surface", "container", "left-right", "ordinal", "relative distance"),
    "attribute": ("colour", "size", "pattern", "category"),
}
"""Labels of each family, in the paper's order."""
UNSEEN, CONFOUNDING = "unseen", "confounding"
"""The two halves of level 4: targets from unseen categories, and target variants among similar objects."""
COLUMN = "label:"
"""Prefix of the episode columns that hold the values of a label family."""
SEPARATOR = ", "
"""Separator between labels of the same family."""
_WORKSPACE = re.compile(r"(?P<category>\w*?(?:table|floor))_\w+")


def read(text: str | None) -> tuple[str, ...]:
    """Split the text of an episode label into individual labels."""
    return tuple(text.split(SEPARATOR)) if text else ()


def family_order(family: str) -> tuple[int, str]:
    """Return the sort key of a family: in the paper's order, then alphabetical."""
    return _rank(family, tuple(FAMILIES)), family


def label_order(family: str, label: str) -> tuple[int, str]:
    """Return the sort key of a label in its family: in the paper's order, then alphabetical."""
    return _rank(label, FAMILIES.get(family, ())), label


def _rank(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)


K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class LabelledTask:
    """Goal and labels of one task."""

    goal: tuple[str, ...]
    """Atoms of the goal: ``In bowl_1 cabinet_1_top_region``."""
    labels: Mapping[str, tuple[str, ...]]
    """Labels of the task, by family."""
    scene: Hashable = None
    """Scene identifier, shared by tasks in the same scene; None if unknown."""


@dataclass(frozen=True, slots=True)
class Frequency:
    """Number of scenes, and of tasks, in which an item occurs."""

    scenes: int | None
    """Number of scenes; None if they are unknown."""
    tasks: int


@dataclass(frozen=True, slots=True)
class Census:
    """Frequencies of labels, objects and goals in a set of tasks."""

    all: Frequency
    labels: Mapping[str, Mapping[str, Frequency]]
    """Frequency of each label, by family; a task counts for each of its labels."""
    predicates: Mapping[str, Frequency]
    objects: Mapping[str, Frequency]
    """Frequencies of the categories that are placed, opened or turned (first argument of an atom), in descending
    order.
    """
    containers: Mapping[str, Frequency]
    """Frequencies of the categories on or in which objects are placed (second argument of an atom)."""
    flows: Mapping[tuple[str, str, str], Frequency]
    """Frequencies of (predicate, object, container) triples; the container is empty for unary predicates."""

    def as_json(self) -> dict[str, Any]:
        """Return the census as plain JSON types."""
        return {
            **asdict(self.all),
            "labels": {family: _plain(counts) for family, counts in self.labels.items()},
            **{f"{part}s": _plain(counts) for part, counts in self.parts.items()},
            "flows": [[*triple, frequency.tasks] for triple, frequency in self.flows.items()],
        }

    @property
    def parts(self) -> dict[str, Mapping[str, Frequency]]:
        """Frequencies in the three parts of the paper's tables: predicates, objects and containers."""
        return {"predicate": self.predicates, "object": self.objects, "container": self.containers}


def census(tasks: Iterable[LabelledTask]) -> Census:
    """Count labels, objects, containers and atoms over tasks."""
    tasks = list(tasks)
    labels: dict[str, dict[str, list[LabelledTask]]] = defaultdict(lambda: defaultdict(list))
    flows: dict[tuple[str, str, str], list[LabelledTask]] = defaultdict(list)
    parts: tuple[dict[str, list[LabelledTask]], ...] = tuple(defaultdict(list) for _ in range(3))
    for task in tasks:
        for family, names in task.labels.items():
            for label in names:
                labels[family][label].append(task)
        triples: dict[tuple[str, str, str], None] = {}
        for atom in task.goal:
            predicate, *arguments = atom.split()
            target, container = (*map(category_of, arguments[:2]), "", "")[:2]
            triples[predicate, target, container] = None
        for triple in triples:
            flows[triple].append(task)
        for index, part in enumerate(parts):
            for name in dict.fromkeys(triple[index] for triple in triples if triple[index]):
                part[name].append(task)
    label_counts = {
        family: {
            label: _frequency(labels[family][label])
            for label in sorted(labels[family], key=lambda label: label_order(family, label))
        }
        for family in sorted(labels, key=family_order)
    }
    predicates, objects, containers = map(_frequencies, parts)
    return Census(_frequency(tasks), label_counts, predicates, objects, containers, _frequencies(flows))


def _plain(counts: Mapping[str, Frequency]) -> dict[str, dict[str, int | None]]:
    return {name: asdict(frequency) for name, frequency in counts.items()}


def category_of(name: str) -> str:
    """Return the category of a name in a goal: ``chefmate_8_frypan`` for ``chefmate_8_frypan_1``.

    A region of the workspace, ``main_table_plate_region``, belongs to the table or the floor.
    """
    match = OBJECT_NAME.fullmatch(name) or _WORKSPACE.fullmatch(name)
    return match["category"] if match else name


def _frequency(tasks: Sequence[LabelledTask]) -> Frequency:
    scenes = {task.scene for task in tasks}
    return Frequency(None if None in scenes else len(scenes), len(tasks))


def _frequencies(tasks_by_name: Mapping[K, Sequence[LabelledTask]]) -> dict[K, Frequency]:
    """Return frequencies in descending order; ties are kept in order of first occurrence."""
    counts = {name: _frequency(tasks) for name, tasks in tasks_by_name.items()}
    return dict(sorted(counts.items(), key=lambda item: -item[1].tasks))
