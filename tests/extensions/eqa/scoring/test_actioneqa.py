from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.extensions.eqa.annotations import Mistake
from assay.extensions.eqa.asking.answers import Answer, AnswerState, write
from assay.extensions.eqa.question import LETTERS, QuestionError, QuestionKind, load
from assay.extensions.eqa.scoring.accuracy import AnswerSheet
from assay.extensions.eqa.scoring.report import report
from assay.extensions.eqa.scoring.results import ModelFacts, ReportData
from assay.extensions.eqa.scoring.score import Score
from assay.extensions.eqa.scoring.tables import (
    cameras_table,
    main_table,
    mean_proportions_table,
    view_value_table,
)
from assay.report.papers import Exhibit

from ..conftest import small_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_set(tmp_path_factory.mktemp("paper") / "set", 2, "exo,exo2,ego,both")


@pytest.fixture(scope="module")
def scored(folder: Path) -> Score:
    """Two models: one is right in the view of the wrist camera only, the other in all other views."""
    questions, marks = load(folder), []
    for model, way in (("one", True), ("two", False)):
        letters = {
            each.id: each.answer if (each.view == "ego") is way else LETTERS[(each.right + 1) % 4]
            for each in questions
        }
        given = [
            Answer(model, "direct", each, AnswerState.ANSWERED, letter) for each, letter in letters.items()
        ]
        write(given, folder.parent / model)
        wrong = [each for each in questions if letters[each.id] != each.answer]
        marks += [Mistake(f"{model} (direct)", each.id, "hand: ann", "spatial", "") for each in wrong[:9]]
    return Score.of(AnswerSheet.read(questions, [folder.parent / "one", folder.parent / "two"]), marks)


def test_every_exhibit_is_made_or_names_what_it_needs(scored: Score, folder: Path, tmp_path: Path):
    facts = {"one": ModelFacts(True, 7.0, "Some"), "two": ModelFacts(False)}
    made = report(scored, load(folder), facts)
    exhibits: dict[str, Exhibit] = {each.label: each for part in made.sections for each in part.exhibits}
    missing = {label: each.missing for label, each in exhibits.items() if each.missing}
    assert (
        missing == {"Section C.4": ("requires questions from at least two data sets",)} and len(exhibits) > 15
    )
    page = made.write(tmp_path / "out")
    assert "Table 12" in page.read_text() and (tmp_path / "out/tables/table-1.csv").is_file()


def test_table_1_uses_the_static_camera_and_table_4_compares_views(scored: Score, folder: Path):
    results = ReportData(scored, load(folder), {})
    table = main_table(results)
    overall = [column.name for column in table.columns].index("overall")
    rows = {row[1]: row for row in table.rows}
    assert rows["one (direct)"][overall] == 0.0 and rows["two (direct)"][overall] == 1.0
    assert rows["of 2 models"][overall] == 0.5 and rows["two (direct)"][-1] == 1
    for row in view_value_table(results).rows:
        assert row[2:5] == (0.5, 0.5, 0.5) and row[-1] == 0.0
    assert np.isclose(results.score.models["one (direct)"].views["ego"].overall.share, 1.0)
    assert {QuestionKind(each.kind) for each in scored.models["one (direct)"].views["exo"].accuracies} == set(
        QuestionKind
    )


def test_missing_views_and_views_without_errors_cost_no_table(folder: Path, tmp_path: Path):
    """Each model was asked in one view alone; in the view of both cameras no answer is wrong."""
    questions, answers = load(folder), []
    for model, view, right in (("a", "ego", False), ("b", "both", True), ("c", "exo", False)):
        asked = [question for question in questions if question.view == view]
        for question in asked:
            letter = question.answer if right else LETTERS[question.right - 1]
            answers.append(Answer(model, "direct", question.id, AnswerState.ANSWERED, letter))
    write(answers, tmp_path / "some")
    score = Score.of(AnswerSheet.read(questions, [tmp_path / "some"]))
    page = report(score, questions, {"a": ModelFacts(True, 7.0)})
    missing = {each.label for part in page.sections for each in part.exhibits if each.missing}
    assert not {"Table 1", "Table 2", "Table 12"} & missing
    results = ReportData(score, questions, {})
    ranks = {row[1]: row[-1] for row in main_table(results).rows}
    assert ranks == {"a (direct)": None, "b (direct)": None, "c (direct)": 1, "of 1 model": None}
    assert {row[0] for row in cameras_table(results).rows} == {"c (direct)", "mean of models"}
    assert [row[0] for row in mean_proportions_table(results).rows] == ["ego", "exo", "average"]


def test_invalid_facts_are_refused(tmp_path: Path):
    file = tmp_path / "facts.yaml"
    file.write_text("a: {open: true, size: 7}\n")
    assert ModelFacts.read(file) == {"a": ModelFacts(True, 7)}
    file.write_text("a: {weights: 7}\n")
    with pytest.raises(QuestionError, match="invalid facts about models"):
        ModelFacts.read(file)
