"""What a table of paraphrases holds: how many per cell and per original, what things are called, how far they went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.distance.pride import ALPHA
from assay.perturb.words.grid.cells import ActionType, ObjectType, cell_of
from assay.perturb.words.grid.table import Row, plain, read, with_tasks
from assay.tasks import Task
from assay.tasks.formats.libero_para import SUITE
from assay.tasks.language import lexicon, read_task

Key = tuple[str, str]
"""An object type and an action type."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A paraphrase, and how far it is from its original."""

    original: str
    object: str
    action: str
    text: str
    s_k: float | None = None
    """Keyword similarity, 0 to 1; None where it was not scored."""
    s_t: float | None = None
    """Structural similarity, likewise."""

    @property
    def key(self) -> Key:
        """Its cell."""
        return self.object, self.action

    @property
    def pd(self) -> float | None:
        """Its distance from the original; None where it was not scored."""
        if self.s_k is None or self.s_t is None:
            return None
        return 1 - (ALPHA * self.s_k + (1 - ALPHA) * self.s_t)


@dataclass(frozen=True, slots=True)
class CellStats:
    """The paraphrases of one cell."""

    count: int
    scored: int
    """Those that have both similarities; the means are theirs, and None where there is none."""
    pd: float | None
    keyword_distance: float | None
    """1 - S_K"""
    structural_distance: float | None
    """1 - S_T"""


@dataclass(frozen=True, slots=True)
class ThingName:
    """What the instructions of some tasks call one thing."""

    noun: str
    """Its usual name in the lexicon."""
    names: dict[str, tuple[str, ...]]
    """What it is called -> by the instructions of which tasks."""


@dataclass(frozen=True, slots=True)
class GridStats:
    """A table of paraphrases in numbers."""

    paraphrases: int
    cells: dict[Key, CellStats]
    """Row by row; those that have paraphrases."""
    originals: dict[str, int]
    """Original instruction -> its paraphrases, the most first."""

    def total(self, *, object: str | None = None, action: str | None = None) -> int:
        """Paraphrases with this object type, this action type, or any."""
        return sum(
            each.count
            for key, each in self.cells.items()
            if object in (None, key[0]) and action in (None, key[1])
        )

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "paraphrases": self.paraphrases,
            "cells": [
                {
                    "object": thing,
                    "action": action,
                    "count": each.count,
                    "scored": each.scored,
                    "pd": each.pd,
                    "keyword_distance": each.keyword_distance,
                    "structural_distance": each.structural_distance,
                }
                for (thing, action), each in self.cells.items()
            ],
            "originals": self.originals,
        }


def read_wordings(path: Path) -> tuple[Wording, ...]:
    """The paraphrases of a table with cells: LIBERO-Para's metadata, or ours, with their scores where it has them.

    Raises PerturbationError that says where the table makes no sense.
    """
    return tuple(_wording(path, row) for row in with_tasks(read(path, with_cells=True)))


def grid_stats(wordings: Iterable[Wording]) -> GridStats:
    """Count paraphrases, and average their distances; one that comes twice counts twice."""
    all_of_them = tuple(wordings)
    members: dict[Key, list[Wording]] = {(thing, action): [] for thing in ObjectType for action in ActionType}
    for each in all_of_them:
        members[each.key].append(each)
    return GridStats(
        len(all_of_them),
        {key: _cell(mine) for key, mine in members.items() if mine},
        dict(Counter(each.original for each in all_of_them).most_common()),
    )


def thing_names(originals: Iterable[str], among: Sequence[Task] | None = None) -> tuple[ThingName, ...]:
    """What the original instructions of tasks (libero_goal's, if not said) call each thing, in order of mention."""
    wanted = {plain(original) for original in originals}
    found: dict[str, dict[str, list[str]]] = {}
    for task in tasks.suite(SUITE) if among is None else among:
        if plain(task.instruction.text) in wanted:
            for mention in read_task(task, lexicon()).mentions:
                found.setdefault(mention.noun.name, {}).setdefault(mention.form, []).append(task.id)
    return tuple(
        ThingName(noun, {name: tuple(ids) for name, ids in names.items()}) for noun, names in found.items()
    )


def _cell(wordings: Sequence[Wording]) -> CellStats:
    scored = [
        (wording.s_k, wording.s_t)
        for wording in wordings
        if wording.s_k is not None and wording.s_t is not None
    ]
    if not scored:
        return CellStats(len(wordings), 0, None, None, None)
    # A published similarity may be above 1 by rounding.
    keywords, structure = (max(0.0, 1 - sum(values) / len(scored)) for values in zip(*scored, strict=True))
    distance = ALPHA * keywords + (1 - ALPHA) * structure
    return CellStats(len(wordings), len(scored), distance, keywords, structure)


def _wording(path: Path, row: Row) -> Wording:
    try:
        cell_of(row.object_type, row.action_type)
    except PerturbationError as error:
        raise PerturbationError(f"{path}:{row.line}: {error}") from None
    return Wording(plain(row.original), row.object_type, row.action_type, row.paraphrase, row.s_k, row.s_t)
