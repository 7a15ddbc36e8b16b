from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.errors import FileError
from assay.extensions.eqa.actions import TURNINGS
from assay.extensions.eqa.baselines import BASELINES, geometry
from assay.extensions.eqa.build import build
from assay.extensions.eqa.episode import FOUND, Episode, Tally
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import Kind, Question, load
from assay.extensions.eqa.sheet import chosen, save_sheet
from assay.extensions.eqa.sources.schema import NEAR
from assay.extensions.eqa.views import View
from assay.extensions.eqa.wording import worded

from .conftest import Drawn, Invented

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
    with pytest.raises(FileError, match="is not empty"):
        build(folder, [Invented()], {Kind.L_AI: 1}, VIEWS)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda line: "{}", "not a question: id"),
        (lambda line: line[:-5], "not a question"),
        (lambda line: "", "holds no"),
        (lambda line: changed(line, answer="E"), "answer: "),
        (lambda line: changed(line, answer="BC"), "answer: "),
        (lambda line: changed(line, answer=""), "answer: "),
        (lambda line: changed(line, pictures=[]), "needs one picture"),
        (lambda line: changed(line, option_pictures=["a", "b", "c"]), "needs four different options"),
        (lambda line: changed(line, option_pictures=["a", "b", "c", "c"]), "needs four different options"),
        (lambda line: changed(line, options=["a", "b", "c", "d"]), "needs four different options"),
        (lambda line: changed(line, answer="ABCD"[-1 - "ABCD".index(json.loads(line)["answer"])]), "altered"),
        (lambda line: f"{line}\n{line}", "is there twice"),
    ],
)
def test_a_damaged_folder_is_one_line(folder: Path, tmp_path: Path, damage: Callable[[str], str], words: str):
    line = (folder / "questions.jsonl").read_text().splitlines()[0]
    (tmp_path / "questions.jsonl").write_text(damage(line))
    with pytest.raises(QuestionError, match=words):
        load(tmp_path)
    assert isinstance(load(folder)[0], Question)


def changed(line: str, **fields: object) -> str:
    return json.dumps(json.loads(line) | fields)


def test_a_set_from_which_questions_were_taken_is_refused_unless_nobody_says_what_it_was(
    folder: Path, tmp_path: Path
):
    lines = (folder / "questions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "questions.jsonl").write_text("".join(lines[:-1]))
    assert len(load(tmp_path)) == len(lines) - 1
    (tmp_path / "build.json").write_text((folder / "build.json").read_text())
    with pytest.raises(QuestionError, match="not the questions that were built"):
        load(tmp_path)


def test_an_instruction_with_odd_ends_of_lines_is_loaded_again(tmp_path: Path):
    class Odd(Invented):
        def episodes(self, tally: Tally) -> Iterator[Episode]:
            for each in super().episodes(tally):
                text = f"{each.instruction}\u2028now\x85"
                yield replace(each, instruction=text, achieved=frozenset({text}))

    build(tmp_path / "odd", [Odd()], {Kind.H_AI: 4}, VIEWS[:1])
    assert all("\u2028" in option for each in load(tmp_path / "odd") for option in each.options)


def test_what_a_build_was_made_of_is_in_the_folder(tmp_path: Path):
    build(tmp_path / "a", [Invented()], {Kind.L_AI: 2}, VIEWS[:1], settings={"sources": ["x"], "size": 64})
    told = json.loads((tmp_path / "a/build.json").read_text())
    assert told["sources"] == ["x"] and told["plan"] == {"L-AI": 2} and told["version"]


def test_a_build_that_fails_or_was_killed_does_not_block_the_next(tmp_path: Path):
    class Failing(Invented):
        def episodes(self, tally: Tally) -> Iterator[Episode]:
            yield from list(super().episodes(tally))[:2]
            raise QuestionError("broken")

    out, part = tmp_path / "set", tmp_path / "set.part"
    with pytest.raises(QuestionError, match="broken"):
        build(out, [Failing()], {Kind.L_AI: 2}, VIEWS)
    assert not list(tmp_path.iterdir())
    (part / "pictures").mkdir(parents=True)  # as a killed one leaves it
    build(out, [Invented()], {Kind.L_AI: 2}, VIEWS)
    assert not part.exists() and len(load(out)) == 4
    part.mkdir()
    (part / "thesis.txt").touch()
    out.rename(tmp_path / "done")
    with pytest.raises(FileError, match="is in the way"):
        build(out, [Failing()], {Kind.L_AI: 2}, VIEWS)
    with pytest.raises(FileError, match="cannot be written"):
        build(part / "thesis.txt" / "x", [Failing()], {Kind.L_AI: 2}, VIEWS)


def test_why_nothing_could_be_made_is_said_with_an_example_and_advice(tmp_path: Path):
    class Blind(Invented):
        def episodes(self, tally: Tally) -> Iterator[Episode]:
            for each in super().episodes(tally):
                tally.add(FOUND)
                yield replace(each, egocentric=None)

    with pytest.raises(
        QuestionError,
        match=r"invented: 16 episodes found, 16 x episode: missing camera \(0: none on the hand\); --views",
    ):
        build(tmp_path / "set", [Blind()], {Kind.L_AI: 2}, VIEWS)


def test_options_that_look_the_same_are_left_out(tmp_path: Path):
    class Hidden(Drawn):
        def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
            return super().read([frame // 8 * 8 for frame in frames], grey=grey)

    class Behind(Invented):
        def episodes(self, tally: Tally) -> Iterator[Episode]:
            for each in super().episodes(tally):
                yield replace(each, exocentric=(Hidden(each.states),))

    built = build(tmp_path / "set", [Behind()], {Kind.L_SP: 40, Kind.L_AI: 2}, [View.parse("exo")])
    assert built.tallies["invented"].counts["pair: before and after look alike"] > 0
    assert all(len(set(each.option_pictures)) == len(each.option_pictures) for each in load(tmp_path / "set"))


def test_geometry_keeps_silent_where_no_goal_is_known(folder: Path):
    question = next(each for each in load(folder) if each.kind is Kind.H_AI)
    assert geometry(question) == question.answer
    assert geometry(question.model_copy(update={"achieved": ()})) == ""


def test_texts_say_what_turns_and_thresholds_are(folder: Path):
    both = View.parse("both")
    figures = {turning: worded(Kind.L_AI, both, turning=turning) for turning in TURNINGS}
    assert "roll, pitch, yaw" in figures["wrapped"] and "roll" not in figures["exact"]
    assert "rotation vector" in figures["exact"]
    mid = worded(Kind.M_SP, both, "open the gripper", NEAR.thresholds)
    assert "more than 10 cm, 18 degrees, 20 % of the gripper's range; what is not named" in mid
