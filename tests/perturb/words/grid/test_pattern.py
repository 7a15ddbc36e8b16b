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
from assay.perturb.words.grid.cells import BY_OFFICIAL, CELLS, ActionType, Cell, ObjectType
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
    found = distances((each.task.instruction.text, each.text) for each in chosen)
    return cell_means((each.cell, score.s_k, score.s_t) for each, score in zip(chosen, found, strict=True))


@pytest.fixture(scope="module")
def theirs(shared: Path) -> NDArray[np.float64]:
    with (shared / "libero_para" / "metadata.csv").open(encoding="utf-8", newline="") as stream:
        return cell_means(
            (
                BY_OFFICIAL[row["high"], row["mid"], row["low"]],
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


@pytest.fixture(params=["ours", "theirs"])
def means(request: pytest.FixtureRequest) -> NDArray[np.float64]:
    """What is said of our grid must be true of the released one, or it would be no pattern of theirs."""
    found: NDArray[np.float64] = request.getfixturevalue(request.param)
    return found


def columns(means: NDArray[np.float64], axis: int) -> dict[ActionType, float]:
    """The mean distance of each action type, over the object types."""
    return {
        action: float(
            np.mean(
                [mean[axis] for cell, mean in zip(CELLS, means, strict=True) if cell.action_type is action]
            )
        )
        for action in ActionType
    }


def test_new_names_move_keywords_whatever_the_action(means: NDArray[np.float64]) -> None:
    renamed = np.array([cell.object_type in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL) for cell in CELLS])
    for action in ActionType:
        column = np.array([cell.action_type is action for cell in CELLS])
        assert means[column & renamed, 0].min() > means[column & ~renamed, 0].max(), action


def test_clauses_and_questions_move_structure_more_than_other_words_do(
    means: NDArray[np.float64],
) -> None:
    """The paper has both as the highest columns; in its own data, questions are between them or above."""
    structure = columns(means, 1)
    highest = sorted(structure, key=structure.__getitem__)[-2:]
    assert set(highest) == {ActionType.COORDINATION, ActionType.QUESTION}
    lexical = (ActionType.NONE, ActionType.ADDITION, ActionType.HABITUAL, ActionType.CONTEXTUAL)
    for action in ActionType:
        if action not in lexical:
            assert structure[action] > max(structure[each] for each in lexical), action
    assert structure[ActionType.SUBORDINATION] > structure[ActionType.EMBEDDED]
