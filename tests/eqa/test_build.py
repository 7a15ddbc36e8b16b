from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.eqa.baselines import BASELINES, baseline, geometry
from assay.eqa.build import build
from assay.eqa.errors import QuestionError
from assay.eqa.question import Kind, Question, load
from assay.eqa.sheet import chosen, save_sheet
from assay.eqa.views import View

from .conftest import Invented

VIEWS = [View.parse("both"), View.parse("ego")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("questions") / "set"
    built = build(out, [Invented()], dict.fromkeys(Kind, 12), VIEWS)
    assert built.questions == 6 * 12 * 2 and built.counts["invented"] == dict.fromkeys(map(str, Kind), 12)
    return out


def test_every_view_asks_the_same_items(folder: Path):
    questions = load(folder)
    assert len({question.id for question in questions}) == len(questions)
    by_view = [{q.item: (q.answer, q.options) for q in questions if q.view == str(view)} for view in VIEWS]
    assert by_view[0] == by_view[1] and len(by_view[0]) == 72


def test_pictures_are_there_and_named_by_what_is_on_them(folder: Path):
    shown = {name for q in load(folder) for name in (*q.pictures, *q.option_pictures)}
    assert shown == {f"pictures/{path.name}" for path in (folder / "pictures").iterdir()}
    for question in load(folder):
        width = 128 if question.view == "both" else 64
        for name in (*question.pictures, *question.option_pictures):
            with Image.open(folder / name) as picture:
                assert picture.size == (width, 64)
        assert len(question.pictures) == (1 if question.kind.predicts else 2)
        assert len(question.options) + len(question.option_pictures) == 4


def test_the_same_build_gives_the_same_bytes(folder: Path, tmp_path: Path):
    build(tmp_path / "again", [Invented()], dict.fromkeys(Kind, 12), VIEWS)
    for path in sorted(folder.rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(folder)).read_bytes(), path


def test_metadata_names_pictures_for_imagefolder(folder: Path):
    lines = [json.loads(line) for line in (folder / "metadata.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [question.id for question in load(folder)]
    assert all((folder / name).is_file() for line in lines for name in line["pictures_file_names"])
    assert not {"states", "actions", "moments", "achieved"} & set(lines[0])


def test_geometry_is_always_right_and_other_baselines_are_not(folder: Path):
    questions = load(folder)
    share = {name: np.mean([answer(q) == q.answer for q in questions]) for name, answer in BASELINES.items()}
    assert share.pop("geometry") == 1.0
    assert all(value < 0.4 for value in share.values())
    with pytest.raises(QuestionError, match="did you mean 'geometry'"):
        baseline("geometri")


def test_geometry_refuses_a_question_with_two_right_options(folder: Path):
    question = next(each for each in load(folder) if each.kind is Kind.L_AI)
    twice = question.model_copy(update={"actions": (question.actions[question.right],) * 4})
    with pytest.raises(QuestionError, match="4 options fit equally well"):
        geometry(twice)


def test_exact_turns_are_built_and_solved_alike(tmp_path: Path):
    build(tmp_path / "exact", [Invented()], {Kind.L_AI: 8, Kind.L_SP: 8}, VIEWS[:1], turning="exact")
    questions = load(tmp_path / "exact")
    assert len(questions) == 16 and all(geometry(each) == each.answer for each in questions)


def test_sheets_show_questions_of_each_kind(folder: Path, tmp_path: Path):
    picked = chosen(load(folder), list(Kind), 1, 0)
    assert [question.kind for question in picked] == list(Kind)
    with Image.open(save_sheet(tmp_path / "sheet.png", folder, picked)) as sheet:
        assert sheet.height > 6 * 250


def test_what_was_left_out_is_in_the_folder(folder: Path):
    told = json.loads((folder / "build.json").read_text())
    assert told["tally"]["invented"]["pair: trivial motion"]["count"] > 0 and len(told["hash"]) == 64


def test_a_folder_that_is_not_empty_is_left_alone(folder: Path):
    with pytest.raises(QuestionError, match="is not empty"):
        build(folder, [Invented()], {Kind.L_AI: 1}, VIEWS)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda line: "{}", "not a question: id"),
        (lambda line: line[:-5], "not a question"),
        (lambda line: "", "holds no"),
    ],
)
def test_a_damaged_folder_is_one_line(folder: Path, tmp_path: Path, damage: Callable[[str], str], words: str):
    line = (folder / "questions.jsonl").read_text().splitlines()[0]
    (tmp_path / "questions.jsonl").write_text(damage(line))
    with pytest.raises(QuestionError, match=words):
        load(tmp_path)
    assert isinstance(load(folder)[0], Question)
