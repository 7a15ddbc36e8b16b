from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import tasks
from assay.extensions.paraphrasing.pipeline import accepted_candidates, usable_rewordings
from assay.perturb.words.grid.cells import ActionType, Cell, ObjectType
from assay.perturb.words.grid.rules import Rules
from assay.support.llm.client import Ledger
from assay.support.llm.protocols import Reply

RULES = Rules(tasks.load("libero_goal/1"))  # put the bowl on the stove
ACTION = Cell(ObjectType.NONE, ActionType.HABITUAL)
OBJECT = Cell(ObjectType.HABITUAL, ActionType.NONE)


def lines(text: str, cell: Cell = ACTION, *, cut_off: bool = False, known: tuple[str, ...] = ()):
    ledger = Ledger()
    return usable_rewordings(Reply(text, cut_off), RULES.flaws, cell, known, ledger), dict(ledger.dropped)


def test_marks_and_quotation_marks_are_taken_off():
    text = '1. set the bowl on the stove\n- "place the bowl on the stove"\n(3) “rest the bowl on the stove”\n'
    assert lines(text) == (
        ["set the bowl on the stove", "place the bowl on the stove", "rest the bowl on the stove"],
        {},
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Sure, here are some rewordings:", "text"),
        ("Put the bowl on the stove.", "text"),
        ("set the plate on the stove", "scene"),
        ("set it on the stove", "object"),
        ("could you set the bowl on the stove?", "action"),
        ("set the bowl on the stove " * 50, "text"),
        ("把碗放在炉子上", "text"),
        ("set set the bowl on the stove", "grammar"),
    ],
)
def test_a_line_against_the_rules_is_dropped_with_the_rule(text: str, rule: str):
    assert lines(text) == ([], {f"line: violates the rule '{rule}'": 1})


def test_truncated_and_repeated_lines_are_dropped():
    text = "set the bowl on the stove\nrest the bowl on the sto"
    assert lines(text, cut_off=True) == (["set the bowl on the stove"], {"line: cut off": 1})
    text = "Set the bowl on the stove.\nset the bowl on the stove\nrest the bowl on the stove"
    found, dropped = lines(text, known=("rest the bowl on the stove",))
    assert found == ["Set the bowl on the stove."] and dropped == {"line: duplicate": 2}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1 3", [1, 3]), ("1, 2, and 3.", [1, 2, 3]), ("2\n3\n", [2, 3]), ("None.", []), ("none", [])],
)
def test_numbers_choose_candidates(text: str, numbers: list[int]):
    candidates = ["a", "b", "c"]
    ledger = Ledger()
    found = accepted_candidates(Reply(text, False), candidates, ledger)
    assert found == [candidates[number - 1] for number in numbers]
    assert ledger.dropped["line: rejected by the verifier"] == 3 - len(numbers)


@pytest.mark.parametrize(
    "text", ["all of them", "1 and maybe 2?", "4", "0", "-1", "", "1 2 3 4 5 6 7", "9" * 5000]
)
def test_a_verdict_that_is_none_accepts_nothing_and_is_counted(text: str):
    ledger = Ledger()
    assert accepted_candidates(Reply(text, False), ["a", "b", "c"], ledger) == []
    assert sum(ledger.dropped.values()) == 1


@given(text=st.text(max_size=400), cut_off=st.booleans())
def test_no_answer_breaks_it(text: str, cut_off: bool):
    ledger = Ledger()
    for line in usable_rewordings(Reply(text, cut_off), RULES.flaws, OBJECT, (), ledger):
        assert line.isprintable() and line == " ".join(line.split())
    assert set(accepted_candidates(Reply(text, cut_off), ["a", "b"], ledger)) <= {"a", "b"}
