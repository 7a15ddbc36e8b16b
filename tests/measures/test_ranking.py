from __future__ import annotations

import numpy as np
import pytest

from assay.measures.compare import compare, comparison_tables
from assay.measures.ranking import letter_display, strengths


def test_letters_are_shared_exactly_by_runs_that_do_not_differ():
    names = "pqrst"
    for different in (
        [],
        [("p", "t")],
        [("p", "s"), ("p", "t"), ("q", "t")],
        [("q", "r"), ("p", "t"), ("r", "t")],
    ):
        letters = dict(zip(names, letter_display(names, different), strict=True))
        for first in names:
            for second in names:
                is_shared = bool(set(letters[first]) & set(letters[second]))
                assert is_shared != ((first, second) in different or (second, first) in different)
    assert letter_display("pqr", [("p", "r")]) == ["a", "ab", "b"]


def test_strengths_are_those_that_generated_the_wins():
    truth = np.array([1.0, 0.2, -1.2])
    chance = 1 / (1 + np.exp(truth[None, :] - truth[:, None]))
    only = 1e6 * chance * (1 - np.eye(3))
    assert strengths(np.stack([only, only.T])) == pytest.approx(np.stack([truth, -truth]), abs=1e-3)
    never_lost = np.array([[0.0, 5.0], [0.0, 0.0]])
    assert np.isfinite(strengths(never_lost)).all()


def test_several_runs_are_ranked_in_one_table(run, made):
    def played(wins: int):
        return run(
            made(seed < wins, task=f"libero_goal/{task}", seed=seed)
            for task in range(4)
            for seed in range(10)
        ).frame()

    frames = {"low": played(2), "best": played(9), "second": played(8)}
    assert compare({name: frames[name] for name in ("low", "best")}).ranking == ()
    comparison = compare(frames)
    assert [ranked.name for ranked in comparison.ranking] == ["best", "second", "low"]
    assert [ranked.letters for ranked in comparison.ranking] == ["a", "a", "b"]
    alike = compare(dict.fromkeys("abc", frames["best"])).ranking
    assert all(ranked.interval.low < 0.2 and ranked.interval.high > 0.8 for ranked in alike)
    best, _, low = comparison.ranking
    assert low.interval.high < 0.5 < best.interval.low < best.wins < best.interval.high
    table = next(comparison_tables(comparison))
    assert table.name == "ranking" and table.formatted_rows[0][:3] == ["best", "90.0", "a"]
    assert comparison.as_json()["ranking"][2]["letters"] == "b"
