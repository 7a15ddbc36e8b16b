from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import Paraphrase, grid, paraphrases, shortfalls
from assay.perturb.words.grid.rules import verify
from assay.perturb.words.grid.table import GridRow
from assay.tasks import Task


def faults(made: tuple[Paraphrase, ...]) -> list[object]:
    rows = (
        GridRow(
            number,
            each.task.id,
            each.cell.object_type,
            each.cell.action_type,
            each.task.instruction.text,
            each.text,
        )
        for number, each in enumerate(made)
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


def test_too_many_are_refused_and_the_most_named() -> None:
    with pytest.raises(PerturbationError, match=r"not every cell has 9000 .* over 1 task: .* has \d+$"):
        grid([tasks.load("libero_goal/7")], 9000, 0)
    with pytest.raises(PerturbationError, match="at least one"):
        grid(tasks.suite("libero_goal"), 0, 0)
    with pytest.raises(PerturbationError, match="at least one"):
        next(paraphrases(tasks.load("libero_goal/7"), -1, 0))


def test_tasks_that_have_fewer_are_told() -> None:
    chosen = [tasks.load("libero_goal/7"), tasks.load("libero_goal/3")]
    made = grid(chosen, 18, 0)
    told = {(id, str(cell)): count for id, cell, count in shortfalls(made, chosen, 18)}
    assert told["libero_goal/7", "obj=addition,act=none"] == 3
    assert not any(id == "libero_goal/3" for id, _ in told)
