from __future__ import annotations

from itertools import product

import polars as pl
import pytest

from assay.measures.result import MeasureError
from assay.measures.shortcuts import (
    MEMORY,
    WORDS,
    Probe,
    Solved,
    describe_shortcuts,
    shortcuts,
    shortcuts_table,
)
from assay.measures.views.wording import NOT

ORACLE = Probe("oracle", "oracle")
BLIND, REPLAY = Probe("blind", "blind", WORDS), Probe("replay", "replay", MEMORY)
TASKS = ("libero_goal/0", "libero_goal/1")


def frame(wins: dict[str, float], seeds: int = 8, implausible: tuple[str, ...] = ()) -> pl.DataFrame:
    """Episodes of two tasks: each condition with its share of successes, the first seeds first."""
    rows = []
    for (condition, share), task, seed in product(wins.items(), TASKS, range(seeds)):
        row = {"condition": condition, "task": task, "seed": seed, "start": seed, "instruction": "do it"}
        outcome = "success" if seed < round(share * seeds) else "failure"
        rows.append(row | {"outcome": outcome, "plausible": condition not in implausible})
    return pl.DataFrame(rows)


ALL = {
    ORACLE: frame({"control": 1, "moved": 1, "said": 1, "xxx": 0}, implausible=("xxx",)),
    BLIND: frame({"control": 1, "moved": 1, "said": 1, "xxx": 1}, implausible=("xxx",)),
    REPLAY: frame({"control": 1, "moved": 0, "said": 0.5, "xxx": 1}, implausible=("xxx",)),
}


def test_blind_spots_are_conditions_solved_significantly_with_success_expected():
    found = shortcuts(ALL)
    assert found.conditions(BLIND, Solved.YES) == ["control", "moved", "said"]
    conditions = [found.conditions(REPLAY, solved) for solved in (Solved.YES, Solved.NO, Solved.OPEN)]
    assert conditions == [["control"], ["moved"], ["said"]]
    assert found.rows[-1].condition == "xxx" and not found.rows[-1].expected
    assert found.lacking == (BLIND, REPLAY)
    told = found.as_json()
    assert told["policies"][1]["blind_spots"] == ["control", "moved", "said"]
    assert told["conditions"][0]["success"]["blind"]["n"] == 16


def test_few_episodes_are_undecided_and_a_stricter_share_changes_the_answer():
    few = shortcuts({BLIND: frame({"control": 1}, seeds=1)})
    assert few.rows[0].solved["blind"] is Solved.OPEN
    assert describe_shortcuts(few) == [
        "without words (blind): undecided in the only condition in which success is expected: control.",
        "Too few episodes to decide: control (n = 2; at least 4 per condition are needed). Use more --seeds "
        "or tasks.",
    ]
    enough = shortcuts({BLIND: frame({"control": 1}, seeds=2)})
    assert enough.too_few == {} and enough.fewest == 4
    assert shortcuts(ALL, least=0.9).conditions(BLIND, Solved.YES) == []
    with pytest.raises(MeasureError, match="between 0 and 1"):
        shortcuts(ALL, least=1.5)


def test_condition_without_episodes_of_a_policy_is_reported():
    found = shortcuts({ORACLE: frame({"control": 1, "moved": 1}), BLIND: frame({"control": 1})})
    assert found.rows[1].solved["blind"] is Solved.UNKNOWN
    assert shortcuts_table(found, "pro").formatted_rows[1][3] == NOT
    with pytest.raises(MeasureError, match="no episode"):
        shortcuts({BLIND: frame({})})


def test_audit_has_sentences_and_a_table():
    found = shortcuts(ALL)
    said = describe_shortcuts(found)
    assert said[0] == (
        "without words (blind): solves 3 of 3 conditions in which success is expected, so success there is no "
        "evidence that the policy understands the words: control, moved, said."
    )
    assert "fails moved; undecided: said" in said[1] and "Not counted as blind spots: xxx" in said[2]
    text = shortcuts_table(found, "pro").as_markdown()
    assert "| moved | 16 | 100 (81 to 100) | 100 (81 to 100) | 0 (0 to 19) | words |" in text
