"""How often each label is wanted among the tasks of many scenes, and the choice that comes near to it.

A scene offers more tasks than it keeps. Scene by scene, in the order of their numbers, those are kept that bring
the counts so far nearest to what is wanted; so a scene hangs on those before it and on nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from math import sqrt
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from assay.experiments.labels import label_sets
from assay.tasks import Task

SPARE = 3
"""How many more tasks than it keeps a scene offers."""
RARE = 0.1
"""The share below which a label is offered more often than it is wanted: few scenes can offer it."""
OFTEN = 3.0
"""How much more often, as a factor."""


class Label(NamedTuple):
    """What is counted: ``relation`` and ``container``."""

    family: str
    value: str


class Labels(StrEnum):
    """How often labels are wanted."""

    EVEN = "even"
    """Families of tasks take turns."""
    LIBERO_X = "libero-x"
    """As often as in LIBERO-X's training set."""


_LIBERO_X_TASKS = 600
_LIBERO_X: Mapping[str, Mapping[str, int]] = {
    "interaction": {"placement": 573, "state change": 57, "composite": 30},
    "subtasks": {"1": 442, "2": 112, "3+": 46},
    "relation": {
        "surface": 224,
        "container": 356,
        "left-right": 306,
        "ordinal": 55,
        "relative distance": 10,
    },
    "attribute": {"colour": 439, "size": 40, "pattern": 54, "category": 97},
    "predicate": {
        "ExactIn": 240,
        "On": 185,
        "In": 116,
        "UprightOn": 27,
        "SideOn": 25,
        "Open": 18,
        "Close": 17,
        "TurnOn": 13,
        "TurnOff": 10,
    },
}
"""Tasks of LIBERO-X's training set (the 600 files of its level 1) with a label: predicates from its Table XI,
subtasks, pattern and state change as its Tables V to IX determine them, the others counted in the files."""
SHARES: Mapping[Label, float] = MappingProxyType(
    {
        Label(family, value): count / _LIBERO_X_TASKS
        for family, counts in _LIBERO_X.items()
        for value, count in counts.items()
    }
)
"""What share of LIBERO-X's tasks has a label; a task may have several of a family."""


def labels_of(task: Task) -> dict[str, list[str]]:
    """The labels of a task by family, and the predicates of its goal."""
    return {
        **{family: list(values) for family, values in label_sets(task).items()},
        "predicate": sorted({atom.predicate.value for atom in task.goal.atoms}),
    }


def pairs(labels: Mapping[str, Iterable[str]]) -> frozenset[Label]:
    """The labels of `labels_of` that are wanted in some number."""
    found = {Label(family, value) for family, values in labels.items() for value in values}
    return frozenset(found & SHARES.keys())


def offer(size: int, rng: np.random.Generator) -> Counter[Label]:
    """How many tasks with each label a scene should offer; on average ``size`` times its share, or more."""
    chances = rng.random(len(SHARES))
    return Counter(
        {
            label: int((OFTEN if share < RARE else 1.0) * share * size + chance)
            for (label, share), chance in zip(SHARES.items(), chances, strict=True)
        }
    )


def nearest(candidates: Sequence[frozenset[Label]], wanted: Counter[Label], have: Counter[Label]) -> int:
    """The first of the candidates that brings what a scene has nearest to what it should offer."""

    def cost(labels: frozenset[Label]) -> float:
        return sum(_weight(label) * (1.0 if have[label] >= wanted[label] else -1.0) for label in labels)

    return min(range(len(candidates)), key=lambda index: cost(candidates[index]))


def choose(offered: Sequence[frozenset[Label]], count: int, before: Counter[Label], tasks: int) -> list[int]:
    """Which tasks of a scene to keep, so that all tasks so far have labels in the wanted shares.

    ``before`` counts the labels of the ``tasks`` tasks of earlier scenes.
    """
    names = list(SHARES)
    weights = np.array([_weight(label) for label in names])
    target = np.array([SHARES[label] for label in names]) * (tasks + count)
    missing = target - np.array([before[label] for label in names])
    table = np.array([[label in labels for label in names] for labels in offered], dtype=float)
    groups = list(combinations(range(len(offered)), min(count, len(offered))))
    misses = np.array([table[list(group)].sum(axis=0) for group in groups]) - missing
    return list(groups[int(np.argmin((weights * misses**2).sum(axis=1)))])


def _weight(label: Label) -> float:
    """Misses of what is rare weigh more; not so much that all else gives way to it."""
    return 1 / sqrt(SHARES[label])
