from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.extensions.eqa.annotations import Annotations, Review
from assay.extensions.eqa.question import Question, QuestionError, load
from assay.extensions.eqa.reviews import ReviewSummary, as_csv, read_csv

from .invented import small_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_set(tmp_path_factory.mktemp("reviewed") / "set", 2, "exo")


@pytest.fixture(scope="module")
def questions(folder: Path) -> list[Question]:
    return load(folder)


@pytest.fixture
def kept(tmp_path: Path) -> Annotations:
    return Annotations(tmp_path / "annotations.sqlite")


def verdicts(questions: list[Question]) -> list[Review]:
    """Two reviewers who differ about the second question."""
    ann = [
        Review("ann", each.id, "drop" if place < 2 else "keep", "") for place, each in enumerate(questions)
    ]
    bob = [
        Review("bob", each.id, "drop" if place < 1 else "keep", "dark")
        for place, each in enumerate(questions[:4])
    ]
    return [*ann, *bob]


def test_questions_are_dropped_by_any_or_by_most_reviewers(questions: list[Question]):
    found = ReviewSummary.of(questions, verdicts(questions))
    assert list(found.dropped) == [questions[0].id, questions[1].id] and found.unreviewed == 0
    assert list(ReviewSummary.of(questions, verdicts(questions), "most").dropped) == [questions[0].id]
    (both,) = found.agreement
    assert (both.items, both.observed, both.even_kappa) == (4, 0.75, 0.5)
    assert found.verdicts["ann"] == {"drop": 2, "keep": len(questions) - 2}


def test_a_reviewed_set_has_a_version_and_lists_dropped_questions(
    folder: Path, questions: list[Question], tmp_path: Path
):
    out = ReviewSummary.of(questions, verdicts(questions)).write(folder, tmp_path / "kept", questions)
    left = load(out)
    assert [each.id for each in left] == [each.id for each in questions[2:]]
    assert all((out / name).is_file() for each in left for name in (*each.pictures, *each.option_pictures))
    told, before = (json.loads((place / "build.json").read_text()) for place in (out, folder))
    assert told["review"]["version"] == 1 and told["review"]["of"] == before["hash"] != told["hash"]
    assert told["review"]["dropped"][0] == {
        "question": questions[0].id,
        "kind": str(questions[0].kind),
        "by": {"ann": "", "bob": "dark"},
    }
    again = ReviewSummary.of(left, [Review("eve", left[0].id, "drop", "")]).write(
        out, tmp_path / "again", left
    )
    assert json.loads((again / "build.json").read_text())["review"]["version"] == 2
    with pytest.raises(QuestionError, match="none of its questions has a review"):
        ReviewSummary.of(questions, []).write(folder, tmp_path / "none", questions)


def test_a_broken_build_file_is_reported(folder: Path, questions: list[Question], tmp_path: Path):
    for text in ("{", "[" * 100_000, "[]", '{"review": 3}', '{"review": {"version": "x"}}'):
        (tmp_path / "build.json").write_text(text)
        with pytest.raises(QuestionError, match=r"build\.json: cannot be read"):
            ReviewSummary.of(questions, verdicts(questions)).write(tmp_path, tmp_path / "kept", questions)


def test_reviews_round_trip_through_csv(folder, questions: list[Question], kept: Annotations, tmp_path: Path):
    kept.review_all(verdicts(questions))
    file = tmp_path / "reviews.csv"
    file.write_text(as_csv(questions, kept.reviews()), encoding="utf-8")
    other = Annotations(tmp_path / "other.sqlite")
    assert read_csv(file, questions, other) == len(kept.reviews())
    assert other.reviews() == kept.reviews()
    blank = tmp_path / "blank.csv"
    blank.write_text(
        as_csv(questions, kept.reviews(), "eve").replace(",eve,,,", ",,Keep,fine,"), encoding="utf-8-sig"
    )
    assert read_csv(blank, questions, other, "eve") == len(questions), "as a spreadsheet writes it"
    assert {each for each in other.reviews() if each.reviewer == "eve"} == {
        Review("eve", each.id, "keep", "fine") for each in questions
    }


def test_a_csv_file_with_an_invalid_row_changes_nothing(
    questions: list[Question], kept: Annotations, tmp_path: Path
):
    file, good = tmp_path / "reviews.csv", f"{questions[0].id},ann,drop,"
    for line, words in (
        ("nobody,ann,keep,", "reviews.csv:3: there is no question 'nobody'"),
        ("{id},ann,kept,", "did you mean 'keep'"),
        ("{id},,drop,", "reviews.csv:3: reviewer: a name has"),
        ("{id},ann", "no column, or value, 'verdict'"),
        ('{id},ann,drop,"two\nlines"\n\nnobody,ann,keep,', "reviews.csv:6: there is no question 'nobody'"),
        ("{id},ann,drop," + "x" * 200_000, "reviews.csv:3: not a CSV file: field larger than"),
    ):
        file.write_text(f"question,reviewer,verdict,comment\n{good}\n{line.format(id=questions[1].id)}\n")
        with pytest.raises(QuestionError, match=words):
            read_csv(file, questions, kept)
        assert kept.reviews() == []
