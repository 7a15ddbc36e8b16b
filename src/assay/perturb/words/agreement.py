"""The human check: a sample of the grid for annotators, and how far they agree on return.

Each annotator says of each paraphrase whether it asks for the same as its original in the same scene.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import PerturbationError
from assay.perturb.words.grid.table import COLUMNS, Row, rows
from assay.stats.agreement import gwet_ac1
from assay.streams import stream

YES = frozenset({"yes", "y", "true", "1", "same", "o"})
NO = frozenset({"no", "n", "false", "0", "different", "x"})
_ITEM = ("item", "original", "paraphrase")
_NO_ANNOTATOR = frozenset({*_ITEM, *COLUMNS})


@dataclass(frozen=True, slots=True)
class Agreement:
    """What annotators said of a sample."""

    items: int
    annotators: int
    yes: float
    """The share of all judgements that are yes."""
    majority: float
    """The share of items that more than half of their annotators call the same."""
    thin: int
    """Items that fewer than three annotators judged: more than half of them is all of them."""
    strict: float
    """The share of items that at least ``strictness`` of their annotators call the same."""
    ac1: float
    """Gwet's AC1: agreement beyond chance; 1 is perfect."""
    low: float
    high: float
    """Its confidence interval."""


def sample(grid: Sequence[Row], share: float, seed: int) -> dict[int, Row]:
    """A random share of a grid, at least one row, in random order, by place in it, from 1.

    Raises PerturbationError.
    """
    if not 0 < share <= 1:
        raise PerturbationError(f"the share to sample must be above 0 and at most 1, not {share}")
    if not grid:
        raise PerturbationError("there is no row to sample from")
    order = stream(seed, "words", "agreement").permutation(len(grid))
    return {int(index) + 1: grid[index] for index in order[: math.ceil(share * len(grid))]}


def write_sheet(chosen: Mapping[int, Row], path: Path) -> None:
    """Write a sheet for annotators: they fill the column ``same`` with yes or no."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream_:
        writer = csv.writer(stream_, lineterminator="\n")
        writer.writerow(("item", "task", "original", "paraphrase", "same"))
        writer.writerows((item, row.task, row.original, row.paraphrase, "") for item, row in chosen.items())


def read_sheets(paths: Sequence[Path]) -> NDArray[np.int64]:
    """The judgements of returned sheets, (items, annotators): 1 yes, 0 no, -1 not judged.

    Every column that is not the sheet's own is one annotator. Raises PerturbationError for a cell that is
    neither yes nor no, for a sheet that is blank, has an item twice or is given twice, and for sheets whose
    items are different texts.
    """
    once_each(paths)
    texts: dict[str, tuple[str, str]] = {}
    judged: list[dict[str, int]] = []
    for path in paths:
        lines: dict[str, int] = {}
        found: dict[str, dict[str, int]] = {}
        for line, row in rows(path, _ITEM):
            item, pair = row["item"], (row["original"], row["paraphrase"])
            if lines.setdefault(item, line) != line:
                raise PerturbationError(f"{path}:{line}: item {item} is in line {lines[item]} already")
            if texts.setdefault(item, pair) != pair:
                raise PerturbationError(
                    f"{path}:{line}: item {item} is another pair of texts in another sheet"
                )
            for name, cell in row.items():
                if name not in _NO_ANNOTATOR:
                    found.setdefault(name, {})[item] = _judgement(cell, f"{path}:{line}: {name}")
        if all(said < 0 for each in found.values() for said in each.values()):
            raise PerturbationError(
                f"{path} has no judgement yet: annotators fill the column 'same' with yes or no"
            )
        judged += found.values()
    return np.array([[each.get(item, -1) for each in judged] for item in texts], dtype=np.int64)


def once_each(paths: Sequence[Path]) -> None:
    """Raises PerturbationError where a file is given twice."""
    for path, count in Counter(path.resolve() for path in paths).items():
        if count > 1:
            raise PerturbationError(f"{path} is given {count} times: it counts once")


def agreement(
    judgements: NDArray[np.int64], *, strictness: float = 0.8, confidence: float = 0.95
) -> Agreement:
    """What annotators said, from judgements as `read_sheets` gives them.

    Raises PerturbationError if they are too few.
    """
    judged = judgements[(judgements >= 0).any(axis=1)] if judgements.size else judgements
    if judged.size == 0 or (judged >= 0).sum(axis=1).max() < 2 or len(judged) < 2:
        raise PerturbationError("agreement needs at least two items, and two judgements of one of them")
    yes = np.array([row[row >= 0].mean() for row in judged])
    value, low, high = gwet_ac1(judged, 2, confidence)
    return Agreement(
        items=len(judged),
        annotators=int((judged >= 0).any(axis=0).sum()),
        yes=float(judged[judged >= 0].mean()),
        majority=float((yes > 0.5).mean()),
        thin=int(((judged >= 0).sum(axis=1) < 3).sum()),
        strict=float((yes >= strictness - 1e-9).mean()),
        ac1=value,
        low=low,
        high=high,
    )


def _judgement(cell: str, where: str) -> int:
    said = cell.strip().lower()
    if said in YES:
        return 1
    if said in NO:
        return 0
    if said:
        raise PerturbationError(f"{where}: '{cell[:40]}' is neither yes nor no")
    return -1
