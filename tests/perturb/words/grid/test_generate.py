from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.distance import distances
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType, cell_of
from assay.perturb.words.grid.generate import Paraphrase, fitting_names, grid, paraphrases
from assay.perturb.words.grid.rules import verify
from assay.perturb.words.grid.table import GridRow
from assay.tasks import Task
from assay.tasks.formats.libero_para import read_metadata
from assay.tasks.language.lexicon import lexicon
from assay.tasks.language.meaning import read_task


def faults(made: tuple[Paraphrase, ...]) -> list[object]:
    rows = (
        GridRow(line, each.task.id, *astuple(each.cell), each.task.instruction.text, each.text)  # type: ignore[call-arg]
        for line, each in enumerate(made)
    )
    by_id = {each.task.id: each.task for each in made}
    return list(verify(rows, load=by_id.__getitem__))


def test_libero_goal_has_100_for_every_cell_spread_over_its_tasks(goal_grid: tuple[Paraphrase, ...]) -> None:
    assert Counter(each.cell for each in goal_grid) == dict.fromkeys(CELLS, 100)
    counts = Counter((each.cell, each.task.id) for each in goal_grid)
    assert len(counts) == 430 and Counter(counts.values())[10] > 400
    # Few words say what a stove is for.
    assert counts.pop((Cell(ObjectType.ADDITION, ActionType.NONE), "libero_goal/7")) == 3
    assert min(counts.values()) == 9 and max(counts.values()) <= 14


def test_what_is_generated_keeps_to_the_rules(goal_grid: tuple[Paraphrase, ...]) -> None:
    assert faults(goal_grid) == []


@pytest.mark.parametrize("suite", ["libero_spatial", "libero_object", "libero_10"])
def test_other_suites_have_enough_for_every_task(suite: str) -> None:
    made = grid(tasks.suite(suite), 50, 3)
    assert Counter(each.cell for each in made) == dict.fromkeys(CELLS, 50)
    assert len({(each.cell, each.task.id) for each in made}) == 430
    assert faults(made) == []


def test_what_is_generated_for_the_ninety_short_tasks_keeps_to_the_rules(shared: Path) -> None:
    files = sorted((shared / "libero" / "bddl" / "libero_90").glob("*.bddl"))
    read = [tasks.bddl.read(file) for file in files]
    chosen = [task for task in read if "it to the right compartment" not in task.instruction.text]
    assert (len(files), len(chosen)) == (90, 88)
    for task in chosen:
        made = tuple(paraphrases(task, 1, 0))
        assert len(made) > 30 and faults(made) == [], task.id


def test_the_same_seed_gives_the_same_and_another_gives_others() -> None:
    chosen = tasks.suite("libero_goal")
    once = grid(chosen, 10, 7)
    assert once == grid(chosen, 10, 7) and once != grid(chosen, 10, 8)


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("libero_goal/0", "find the cabinet, then open its middle drawer"),
        ("libero_goal/3", "put the bowl inside the top drawer after opening it"),
        ("libero_goal/5", "push the plate until it is at the front of the stove"),
        ("libero_10/3", "close the bottom drawer of the cabinet once you have put the black bowl in it"),
        ("libero_10/3", "I want the black bowl in the bottom drawer of the cabinet and the drawer closed"),
        ("libero_10/8", "why are the two moka pots not on the stove yet?"),
        ("libero_10/0", "the alphabet soup and the tomato sauce are not in the basket yet"),
        ("libero_spatial/0", "does the black bowl between the plate and the ramekin belong on the plate?"),
    ],
)
def test_steps_pronouns_and_number_are_minded(id: str, text: str) -> None:
    assert text in {each.text for each in paraphrases(tasks.load(id), 200, 0)}


def test_a_task_that_a_user_brings_fills_the_grid(made_up: Task) -> None:
    made = tuple(paraphrases(made_up, 3, 0))
    assert {each.cell for each in made} == set(CELLS)
    assert faults(made) == []


def test_too_many_are_rejected_and_the_most_named() -> None:
    with pytest.raises(PerturbationError, match=r"not every cell has 9000 .* for 1 task: .* has \d+$"):
        grid([tasks.load("libero_goal/7")], 9000, 0)
    with pytest.raises(PerturbationError, match="expected 1 or more"):
        grid(tasks.suite("libero_goal"), 0, 0)
    with pytest.raises(PerturbationError, match="expected 1 or more"):
        next(paraphrases(tasks.load("libero_goal/7"), -1, 0))


def names(task: Task, noun: str, type: ObjectType) -> list[str]:
    read = read_task(task, lexicon())
    return fitting_names(lexicon().nouns[noun], type, noun, read.nouns)


def test_a_name_that_two_things_could_have_is_not_used() -> None:
    task = tasks.load("libero_goal/1")
    assert not {"container", "vessel"} & set(names(task, "bowl", ObjectType.CONTEXTUAL))
    others = tuple(each for each in task.scene.objects if each.category == "akita_black_bowl")
    alone = replace(task, scene=replace(task.scene, objects=others, fixtures=task.scene.fixtures[1:2]))
    assert {"container", "vessel"} <= set(names(alone, "bowl", ObjectType.CONTEXTUAL))


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
    return cell_means(
        (cell_of(*row.types), row.keyword_similarity, row.structural_similarity)
        for row in read_metadata(shared / "libero_para" / "metadata.csv")
    )


def test_cell_means_correlate_with_the_released_ones(
    ours: NDArray[np.float64], theirs: NDArray[np.float64]
) -> None:
    paraphrase_distance = np.corrcoef(ours.mean(axis=1), theirs.mean(axis=1))[0, 1]
    keyword, structure = (np.corrcoef(ours[:, axis], theirs[:, axis])[0, 1] for axis in (0, 1))
    assert min(paraphrase_distance, keyword, structure) > 0.9
