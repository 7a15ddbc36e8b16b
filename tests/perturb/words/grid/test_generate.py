from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import Paraphrase, grid, markdown, paraphrases
from assay.perturb.words.grid.rules import verify
from assay.perturb.words.grid.table import GridRow
from assay.tasks import Instruction, Task


@pytest.fixture(scope="module")
def bowl_on_stove() -> dict[str, Cell]:
    """Nearly all that is said for "put the bowl on the stove", and its cells."""
    return {each.text: each.cell for each in paraphrases(tasks.load("libero_goal/1"), 1000, 0)}


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


def test_no_text_comes_twice(goal_grid: tuple[Paraphrase, ...]) -> None:
    texts = {each.text.lower() for each in goal_grid}
    assert len(texts) == len(goal_grid)
    assert not texts & {task.instruction.text for task in tasks.suite("libero_goal")}


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


def test_more_begin_with_the_fewer() -> None:
    task = tasks.load("libero_goal/3")
    cell = Cell(ObjectType.HABITUAL, ActionType.HINT)
    few, many = ([each.text for each in paraphrases(task, n, 1) if each.cell == cell] for n in (3, 9))
    assert few == many[:3] and len(many) == 9


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (("addition", "none"), "put the mixing bowl on the kitchen stove"),
        (("habitual", "none"), "put the bowl on the cooker"),
        (("contextual", "none"), "put the mixing vessel on the burner"),
        (("none", "addition"), "gently put the bowl on the stove"),
        (("none", "habitual"), "set the bowl down on the stove"),
        (("none", "contextual"), "move the bowl onto the stove"),
        (("none", "coordination"), "first take the bowl, then put it on the stove"),
        (("none", "subordination"), "once you have picked up the bowl, put it on the stove"),
        (("none", "need"), "I need the bowl put on the stove"),
        (("none", "embedded"), "would you mind putting the bowl on the stove?"),
        (("none", "permission"), "could I have the bowl put on the stove?"),
        (("none", "question"), "is there room for the bowl on the stove?"),
        (("none", "hint"), "the stove is ready for the bowl"),
        (("habitual", "hint"), "the basin belongs on the hob"),
    ],
)
def test_each_type_says_it_in_its_way(
    cell: tuple[str, str], text: str, bowl_on_stove: dict[str, Cell]
) -> None:
    assert bowl_on_stove[text] == Cell(ObjectType(cell[0]), ActionType(cell[1]))


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


def test_capital_and_full_stop_are_those_of_the_original(made_up: Task) -> None:
    texts = [each.text for each in paraphrases(made_up, 5, 0)]
    assert all(text[0].isupper() and text[-1] in ".?" for text in texts)
    assert "Carefully place the red mug on the tray." in {each.text for each in paraphrases(made_up, 100, 0)}


def test_a_task_that_a_user_brings_fills_the_grid(made_up: Task) -> None:
    made = tuple(paraphrases(made_up, 3, 0))
    assert {each.cell for each in made} == set(CELLS)
    assert faults(made) == []


def test_what_identifies_a_thing_among_others_is_kept() -> None:
    for each in paraphrases(tasks.load("libero_10/4"), 5, 0):
        assert all(word in each.text.split() for word in ("white", "left", "yellow", "right")), each.text


def test_too_many_are_refused_and_the_most_named() -> None:
    with pytest.raises(PerturbationError, match=r"not every cell has 9000 .* over 1 task: .* has \d+$"):
        grid([tasks.load("libero_goal/7")], 9000, 0)
    with pytest.raises(PerturbationError, match="at least one"):
        grid(tasks.suite("libero_goal"), 0, 0)
    with pytest.raises(PerturbationError, match="at least one"):
        next(paraphrases(tasks.load("libero_goal/7"), -1, 0))


def test_an_empty_instruction_is_refused() -> None:
    task = replace(tasks.load("libero_goal/7"), instruction=Instruction(""))
    with pytest.raises(PerturbationError, match="the instruction is empty"):
        next(paraphrases(task, 1, 0))


def test_the_table_for_readers_has_a_row_for_every_cell(goal_grid: tuple[Paraphrase, ...]) -> None:
    lines = markdown(goal_grid).splitlines()
    assert len(lines) == 45 and len({line.split("|")[3] for line in islice(lines, 2, None)}) > 5
