from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.extensions.eqa.annotations import Mistake
from assay.extensions.eqa.asking.answers import Answer, State, write
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import LETTERS, Kind, load
from assay.extensions.eqa.scoring.actioneqa import Facts, Results, read_facts, report
from assay.extensions.eqa.scoring.actioneqa.mistakes import mean_proportions_table
from assay.extensions.eqa.scoring.actioneqa.performance import main_table
from assay.extensions.eqa.scoring.actioneqa.views import cameras_table, worth_table
from assay.extensions.eqa.scoring.score import Score, score
from assay.extensions.eqa.scoring.sheet import sheet
from assay.report.papers.base import Exhibit

from ..invented import small_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_set(tmp_path_factory.mktemp("paper") / "set", 2, "exo,exo2,ego,both")


@pytest.fixture(scope="module")
def scored(folder: Path) -> Score:
    """Two models: one always right in the hand's view and wrong elsewhere, one the other way round."""
    questions, marks = load(folder), []
    for model, way in (("one", True), ("two", False)):
        letters = {
            each.id: each.answer if (each.view == "ego") is way else LETTERS[(each.right + 1) % 4]
            for each in questions
        }
        given = [Answer(model, "direct", each, State.ANSWERED, letter) for each, letter in letters.items()]
        write(given, folder.parent / model)
        wrong = [each for each in questions if letters[each.id] != each.answer]
        marks += [Mistake(f"{model} (direct)", each.id, "hand: ann", "spatial", "") for each in wrong[:9]]
    return score(sheet(questions, [folder.parent / "one", folder.parent / "two"]), marks)


def test_every_table_and_figure_is_made_under_its_number(scored: Score, folder: Path, tmp_path: Path):
    facts = {"one": Facts(True, 7.0, "Some"), "two": Facts(False)}
    made = report(scored, load(folder), facts)
    exhibits: dict[str, Exhibit] = {each.label: each for part in made.sections for each in part.exhibits}
    wanted = {f"Table {number}" for number in (1, 2, 3, 4, 7, 8, 9, 11, 12, 13)}
    assert wanted | {"Figure 3", "Figure 5", "Figure 6", "Figure 7", "Figure 19", "Figure 20"} <= set(
        exhibits
    )
    missing = {label: each.missing for label, each in exhibits.items() if each.missing}
    assert missing == {"Section C.4": ("needs questions from two data sets",)}
    page = made.write(tmp_path / "out")
    assert "Table 12" in page.read_text() and (tmp_path / "out/tables/table-1.csv").is_file()
    assert len(list((tmp_path / "out/figures").glob("figure-*.svg"))) == 8


def test_what_answers_cannot_give_is_a_line_in_its_place(folder: Path):
    questions = [each for each in load(folder) if each.view == "exo"]
    made = report(score(sheet(questions, [folder.parent / "one"])), questions, {})
    lines = {each.label: each.missing for part in made.sections for each in part.exhibits if each.missing}
    assert set(lines) == {
        "Figure 5",
        "Figure 19",
        "Section C.4",
        "Table 2",
        "Figure 6",
        "Table 3",
        "Table 4",
        "Figure 7",
        "Table 13",
    }
    assert "--facts FILE" in lines["Figure 19"][0] and "--views ego,exo,both" in lines["Table 3"][0]


def test_table_1_is_of_one_camera_outside_and_table_4_compares_views(scored: Score, folder: Path):
    results = Results(scored, load(folder), {})
    table = main_table(results)
    overall = [column.name for column in table.columns].index("overall")
    rows = {row[1]: row for row in table.rows}
    assert rows["one (direct)"][overall] == 0.0 and rows["two (direct)"][overall] == 1.0
    assert rows["of 2 models"][overall] == 0.5 and rows["two (direct)"][-1] == 1
    for row in worth_table(results).rows:
        assert row[2:5] == (0.5, 0.5, 0.5) and row[-1] == 0.0
    assert np.isclose(results.score.models["one (direct)"].views["ego"].overall.share, 1.0)
    assert {Kind(each.kind) for each in scored.models["one (direct)"].views["exo"].accuracies} == set(Kind)


def test_a_model_without_answers_in_a_view_and_a_view_without_errors_cost_no_table(
    folder: Path, tmp_path: Path
):
    """Each model was asked in one view alone; in the view of both cameras nobody is wrong."""
    questions = load(folder)
    write(
        [
            Answer(
                model, "direct", each.id, State.ANSWERED, each.answer if right else LETTERS[each.right - 1]
            )
            for model, view, right in (("a", "ego", False), ("b", "both", True), ("c", "exo", False))
            for each in questions
            if each.view == view
        ],
        tmp_path / "some",
    )
    found = score(sheet(questions, [tmp_path / "some"]))
    made = report(found, questions, {"a": Facts(True, 7.0)})
    lines = {each.label: each.missing for part in made.sections for each in part.exhibits if each.missing}
    assert not {"Table 1", "Table 2", "Table 12"} & set(lines)
    results = Results(found, questions, {})
    assert {row[1]: row[-1] for row in main_table(results).rows} == {
        "a (direct)": None,
        "b (direct)": None,
        "c (direct)": 1,
        "of 1 model": None,
    }
    assert {row[0] for row in cameras_table(results).rows} == {"c (direct)", "mean of models"}
    assert [row[0] for row in mean_proportions_table(results).rows] == ["ego", "exo", "average"]


def test_facts_that_are_none_are_refused(tmp_path: Path):
    file = tmp_path / "facts.yaml"
    file.write_text("a: {open: true, size: 7}\n")
    assert read_facts(file) == {"a": Facts(True, 7)}
    file.write_text("a: {weights: 7}\n")
    with pytest.raises(QuestionError, match="not facts about models"):
        read_facts(file)
