"""The distances of our grid follow those of the released one."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.perturb.words.distance import distances
from assay.perturb.words.distance.errors import ModelError
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType, cell_of_official
from assay.perturb.words.grid.generate import Paraphrase


def cell_means(scored: Iterable[tuple[Cell, float, float]]) -> NDArray[np.float64]:
    """Mean keyword and structural distance of each cell, (43, 2)."""
    found: dict[Cell, list[tuple[float, float]]] = defaultdict(list)
    for cell, s_k, s_t in scored:
        found[cell].append((1 - s_k, 1 - s_t))
    return np.array([np.mean(found[cell], axis=0) for cell in CELLS])


@pytest.fixture(scope="module")
def ours(goal_grid: tuple[Paraphrase, ...]) -> NDArray[np.float64]:
    chosen = goal_grid[::3]  # enough for means, and quick
    try:
        found = distances((each.task.instruction.text, each.text) for each in chosen)
    except ModelError as error:
        pytest.skip(str(error))
    return cell_means((each.cell, score.s_k, score.s_t) for each, score in zip(chosen, found, strict=True))


@pytest.fixture(scope="module")
def theirs(shared: Path) -> NDArray[np.float64]:
    with (shared / "libero_para" / "metadata.csv").open(encoding="utf-8", newline="") as stream:
        return cell_means(
            (
                cell_of_official(row["high"], row["mid"], row["low"]),
                float(row["keyword_similarity"]),
                float(row["structural_similarity"]),
            )
            for row in csv.DictReader(stream)
        )


def test_cell_means_correlate_with_the_released_ones(
    ours: NDArray[np.float64], theirs: NDArray[np.float64]
) -> None:
    paraphrase_distance = np.corrcoef(ours.mean(axis=1), theirs.mean(axis=1))[0, 1]
    keyword, structure = (np.corrcoef(ours[:, axis], theirs[:, axis])[0, 1] for axis in (0, 1))
    assert min(paraphrase_distance, keyword, structure) > 0.9


def test_new_names_move_keywords_and_new_clauses_move_structure(ours: NDArray[np.float64]) -> None:
    new_names = [cell.object_type in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL) for cell in CELLS]
    for action in ActionType:
        column = [cell.action_type is action for cell in CELLS]
        with_names = ours[np.array(column) & new_names, 0]
        without = ours[np.array(column) & ~np.array(new_names), 0]
        assert without.size == 0 or with_names.min() > without.max(), action
    clauses = [cell.action_type in (ActionType.COORDINATION, ActionType.SUBORDINATION) for cell in CELLS]
    lexical = [
        cell.action_type in (ActionType.NONE, ActionType.ADDITION, ActionType.HABITUAL, ActionType.CONTEXTUAL)
        for cell in CELLS
    ]
    assert ours[clauses, 1].min() > ours[lexical, 1].max()
