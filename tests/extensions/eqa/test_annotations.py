from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from assay.extensions.eqa.annotations import (
    Annotations,
    ByPerson,
    HumanChoice,
    ReviewSummary,
    agreement,
    all_agreements,
    as_csv,
)
from assay.extensions.eqa.question import Question, QuestionError, load
from assay.measures.result import MeasureError


def test_agreement_of_the_papers_example():
    first = np.tile(np.arange(4), 30)
    second = first.copy()
    second[:5] = (second[:5] + 1) % 4  # 115 of 120 agree: 95.8 %
    found = agreement({"one": first, "two": second})
    assert found.items == 120 and round(found.observed, 3) == 0.958 and round(found.even_kappa, 3) == 0.944
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.925, 0.983), abs=0.01)
    assert found.kappa == pytest.approx(0.944, abs=0.002) and found.ac1 == pytest.approx(0.944, abs=0.002)


def test_agreement_needs_common_questions_and_matches_cohens_textbook_example():
    """Both yes 20, no 15, apart 5 and 10: kappa is 0.4."""
    first = np.repeat([0, 0, 1, 1], [20, 5, 10, 15])
    second = np.repeat([0, 1, 0, 1], [20, 5, 10, 15])
    assert agreement({"one": first, "two": second}).kappa == pytest.approx(0.4)
    found = agreement({"one": np.array([0, 1, 2, -1]), "two": np.array([0, 2, -1, 3])})
    assert found.items == 2 and found.observed == 0.5 and found.interval is None
    letters = {"one": np.array([0, -1]), "two": np.array([-1, 0])}
    with pytest.raises(MeasureError, match="no question was answered by at least two"):
        agreement(letters)
    assert all_agreements(letters) == ()


def test_three_people_are_compared_together_and_in_pairs():
    letters = {name: np.array([0, 1, 2, 3]) for name in "abc"} | {"d": np.full(4, -1)}
    found = all_agreements(letters)
    assert [each.annotators for each in found] == [tuple("abcd"), ("a", "b"), ("a", "c"), ("b", "c")]
    assert all(each.observed == each.kappa == 1.0 for each in found)


def test_chance_of_ac1_includes_questions_with_one_answer():
    """Gwet: questions that one person answered tell how often letters are given, too."""
    one, two = np.array([0, 0, 1, 1, 2, 3, 3, 3, 3]), np.array([0, 1, 1, 1, -1, -1, -1, -1, -1])
    shares = np.array([1.5, 2.5, 1, 4]) / 9
    chance = (shares * (1 - shares)).sum() / 3
    found = agreement({"one": one, "two": two})
    assert found.ac1 == pytest.approx((0.75 - chance) / (1 - chance))


@pytest.fixture
def questions(exo_set: Path) -> list[Question]:
    return load(exo_set)


def verdicts(questions: list[Question]) -> ByPerson:
    """Two reviewers who differ about the second question."""
    return {
        name: {
            question.id: HumanChoice("drop" if place < drops else "keep", comment)
            for place, question in enumerate(questions[:count])
        }
        for name, drops, count, comment in (("ann", 2, len(questions), ""), ("bob", 1, 4, "dark"))
    }


def test_questions_are_dropped_if_any_reviewer_drops_them(questions: list[Question]):
    found = ReviewSummary.of(questions, verdicts(questions))
    assert list(found.dropped) == [questions[0].id, questions[1].id] and found.unreviewed == 0
    (both,) = found.agreement
    assert (both.items, both.observed, both.even_kappa) == (4, 0.75, 0.5)
    assert found.verdicts["ann"] == {"drop": 2, "keep": len(questions) - 2}


def test_a_reviewed_set_has_a_version_and_lists_dropped_questions(
    exo_set: Path, questions: list[Question], tmp_path: Path
):
    out = ReviewSummary.of(questions, verdicts(questions)).write(exo_set, tmp_path / "kept", questions)
    left = load(out)
    assert [each.id for each in left] == [each.id for each in questions[2:]]
    assert all((out / name).is_file() for each in left for name in (*each.pictures, *each.option_pictures))
    told, before = (json.loads((place / "build.json").read_text()) for place in (out, exo_set))
    assert told["review"]["version"] == 1 and told["review"]["of"] == before["hash"] != told["hash"]
    assert told["review"]["dropped"][0] == {
        "question": questions[0].id,
        "kind": str(questions[0].kind),
        "by": {"ann": "", "bob": "dark"},
    }
    eve = {"eve": {left[0].id: HumanChoice("drop")}}
    again = ReviewSummary.of(left, eve).write(out, tmp_path / "again", left)
    assert json.loads((again / "build.json").read_text())["review"]["version"] == 2
    with pytest.raises(QuestionError, match="no question has been reviewed"):
        ReviewSummary.of(questions, {}).write(exo_set, tmp_path / "none", questions)


def test_reviews_are_exported_as_csv(questions: list[Question], tmp_path: Path):
    kept = Annotations(tmp_path / "annotations.sqlite")
    for reviewer, choices in verdicts(questions).items():
        for question, choice in choices.items():
            kept.review(reviewer, question, *choice)
    first, *rows = csv.DictReader(as_csv(questions, kept.reviews()).splitlines())
    assert (first["question"], first["verdict"], first["answer"]) == (
        questions[0].id,
        "drop",
        questions[0].answer,
    )
    assert {(row["reviewer"], row["comment"]) for row in rows} == {("ann", ""), ("bob", "dark")}
