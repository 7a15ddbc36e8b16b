from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.extensions.eqa.annotations import Annotations, Mistake
from assay.extensions.eqa.asking.answers import Answer, AnswerState, write
from assay.extensions.eqa.asking.session import ask_baseline
from assay.extensions.eqa.question import LETTERS, Question, QuestionError, QuestionKind, load
from assay.extensions.eqa.scoring.answer_sheet import AnswerSheet
from assay.extensions.eqa.scoring.page import ScorePage
from assay.extensions.eqa.scoring.score import Score

from ..invented import small_set

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_set(tmp_path_factory.mktemp("scored") / "set", 6)


@pytest.fixture(scope="module")
def questions(folder: Path) -> list[Question]:
    return load(folder)


def wrong(question: Question) -> str:
    return LETTERS[(question.right + 1) % 4]


def answered(path: Path, name: str, letters: dict[str, str]) -> Path:
    write(
        [Answer(name, "direct", each, AnswerState.ANSWERED, letter) for each, letter in letters.items()], path
    )
    return path


def test_the_text_of_a_blocked_request_is_not_an_answer(questions, tmp_path: Path):
    for reason in ("blocked", "more than a letter"):
        write(
            [
                Answer(reason, "direct", each.id, AnswerState.UNPARSED, "", reason, f"Answer: {each.answer}")
                for each in questions
            ],
            tmp_path / reason,
        )
    found = AnswerSheet.read(questions, [tmp_path / "blocked", tmp_path / "more than a letter"])
    assert {name: each.lenient.mean() for name, each in found.models.items()} == {
        "blocked (direct)": 0.0,
        "more than a letter (direct)": 1.0,
    }


def test_geometry_is_always_right_and_random_is_near_chance(questions, tmp_path: Path):
    for name in ("geometry", "random"):
        write(ask_baseline(questions, name).answers, tmp_path / name)
    found = Score.of(AnswerSheet.read(questions, [tmp_path / "random", tmp_path / "geometry"]))
    assert list(found.models) == ["geometry", "random"], "the best first"
    best = found.models["geometry"].standing
    assert best.overall.share == 1.0 and len(best.accuracies) == 6
    assert all(each.share == 1.0 and each.interval.low > 0.25 for each in best.accuracies)
    assert {name: mean.share for name, mean in best.asymmetry.items()} == dict.fromkeys(
        ("overall", "high", "mid", "low"), 0.0
    )
    sure = [mean.interval for mean in best.asymmetry.values()]
    assert all(each is not None and -0.5 < each.low < 0 < each.high < 0.5 for each in sure), (
        "all right on both sides"
    )
    guess = found.models["random"].standing.overall
    assert guess.interval is not None and guess.interval.low < 0.25 < guess.interval.high
    (contrast,) = found.comparisons
    assert {contrast.first, contrast.second} == {"random", "geometry"} and contrast.pairs == len(questions)
    assert abs(contrast.difference) > 0.5 and contrast.p_holm < 0.01


def test_unparsed_replies_are_wrong_and_unanswered_questions_are_not_scored(questions, tmp_path: Path):
    given = [Answer("m", "direct", each.id, AnswerState.ANSWERED, each.answer) for each in questions]
    given[0] = replace(given[0], state=AnswerState.UNPARSED, letter="", reason="empty")
    given[1] = replace(given[1], state=AnswerState.UNANSWERED, letter="", reason="down")
    given[2] = replace(given[2], question="f" * 16)
    write(given, tmp_path / "m")
    found = Score.of(AnswerSheet.read(questions, [tmp_path / "m"])).models["m (direct)"]
    assert (found.unparsed, found.unanswered, found.strangers) == ({"empty": 1}, 1, 1)
    assert found.asked == len(questions) - 1 and found.standing.questions == len(questions) - 2
    hits = sum(each.share * each.questions for each in found.standing.accuracies)
    assert hits == pytest.approx(len(questions) - 3)


def test_views_are_compared_on_the_same_items(questions, tmp_path: Path):
    letters = {each.id: each.answer if each.view == "exo" else wrong(each) for each in questions}
    found = Score.of(AnswerSheet.read(questions, [answered(tmp_path / "m", "m", letters)])).models[
        "m (direct)"
    ]
    assert {view: each.overall.share for view, each in found.views.items()} == {"ego": 0.0, "exo": 1.0}
    (contrast,) = found.view_contrasts
    assert (contrast.first, contrast.second, contrast.difference) == ("ego", "exo", 1.0)
    assert contrast.pairs == len(questions) // 2 and contrast.p < 0.01


def test_directions_are_compared_on_the_same_moments(questions, tmp_path: Path):
    forward = next(each for each in questions if each.kind is QuestionKind.M_SP)
    start, end = forward.moments[0], forward.moments[1 + forward.right]
    backward = next(each for each in questions if each.kind is QuestionKind.M_AI)
    backward = backward.model_copy(update={"moments": (start, end), "view": forward.view})
    other = backward.model_copy(update={"moments": (end, start), "id": "0" * 16})
    three = [forward, backward, other]
    letters = {forward.id: wrong(forward), backward.id: backward.answer, other.id: other.answer}
    found = Score.of(AnswerSheet.read(three, [answered(tmp_path / "m", "m", letters)])).models["m (direct)"]
    (contrast,) = found.directions
    assert (contrast.first, contrast.pairs, contrast.difference) == ("mid prediction", 1, 1.0)
    assert found.standing.asymmetry["mid"].share == 1.0 and found.standing.means["mid"].share == 0.5


def test_error_rates_are_per_question_with_the_component(questions, tmp_path: Path):
    base = next(each for each in questions if each.kind is QuestionKind.M_AI)
    patterns = [(1, 0, 0, 0, 0, 0, 0)] * 4 + [(0, 0, 0, 1, 0, 0, 0)] * 2 + [(1, 0, 0, 0, 0, 0, -1)] * 2
    made = [
        base.model_copy(update={"id": f"{place:016}", "answer": "A", "actions": (pattern,) * 4})
        for place, pattern in enumerate(patterns)
    ]
    failed = {0, 4, 5, 6}  # 2 of 6 with translation, 2 of 2 with rotation, 1 of 2 with gripper
    letters = {each.id: "B" if place in failed else "A" for place, each in enumerate(made)}
    found = Score.of(AnswerSheet.read(made, [answered(tmp_path / "m", "m", letters)])).models["m (direct)"]
    parts = {each.component: each for each in found.components["mid"]}
    assert [(each.questions, each.errors) for each in parts.values()] == [(6, 2), (2, 2), (2, 1)]
    total = 2 / 6 + 1 + 1 / 2
    assert [each.proportion for each in parts.values()] == pytest.approx(
        [2 / 6 / total, 1 / total, 0.5 / total]
    )


def test_unbalanced_letters_cause_a_warning(questions, tmp_path: Path):
    same = [each.model_copy(update={"answer": "C"}) for each in questions]
    letters = {each.id: "C" for each in same}
    found = Score.of(AnswerSheet.read(same, [answered(tmp_path / "m", "m", letters)]))
    assert found.right_letters[0].counts == (0, 0, len(same), 0) and found.right_letters[0].p < 1e-6
    assert "not balanced (all): always choosing one letter scores 100.0 %" in ScorePage(found, "x").html()


def test_people_are_scored_like_models_and_their_agreement_is_reported(questions, tmp_path: Path):
    kept = Annotations(tmp_path / "people.sqlite")
    for each in questions[:10]:
        kept.answer("ann", each.id, each.answer)
        kept.answer("bob", each.id, each.answer if each is not questions[0] else wrong(each), "hard to see")
    kept.answer("cat", questions[0].id, "", "only a comment")
    kept.mark(Mistake("m", questions[0].id, "hand: ann", "temporal", ""))
    found = Score.of(AnswerSheet.read(questions, [], kept), kept.mistakes())
    assert set(found.models) == {"human: ann", "human: bob"} and found.models["human: ann"].asked == 10
    assert found.agreement[0].observed == 0.9 and found.agreement[0].items == 10
    (mark,) = found.mistakes
    assert (mark.group, mark.category, mark.marker, mark.count) == ("reasoning", "temporal", "hand: ann", 1)


def test_the_page_is_self_contained_and_escaped(questions, tmp_path: Path):
    letters = {each.id: each.answer for each in questions}
    found = Score.of(AnswerSheet.read(questions, [answered(tmp_path / "m", HOSTILE, letters)]))
    page = ScorePage(found, "Action questions").write(tmp_path / "report")
    text = page.read_text()
    assert HOSTILE not in text and "&lt;script&gt;" in text
    assert "src=" not in text and "href=" not in text.replace('xlink:href="#', "")
    tables = {path.name for path in (tmp_path / "report/tables").iterdir()}
    assert {"models.csv", "accuracy.tex", "views.md", "components.csv", "letters.csv"} <= tables
    assert (tmp_path / "report/figures/overall.svg").is_file()
    json.dumps(found.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a file of answers"),
        ("<html>", "not a file of answers"),
        ('{"model": "m"}\n', "is missing"),
        ('{"model": "m", "question": "q", "state": "answered", "letter": "E"}\n', "do not match"),
        ('{"model": "m", "question": "q", "state": "gone"}\n', "do not match"),
        ('{"model": "m", "question": "q", "state": "answered", "letter": "A"}\n', "has an answer"),
    ],
)
def test_invalid_answer_files_are_refused(questions, tmp_path: Path, text: str, words: str):
    (tmp_path / "m").write_text(text)
    with pytest.raises(QuestionError, match=words) as caught:
        AnswerSheet.read(questions, [tmp_path / "m"])
    assert "\n" not in str(caught.value)


def test_duplicate_models_are_refused(questions, tmp_path: Path):
    one = answered(tmp_path / "one", "m", {questions[0].id: "A"})
    two = answered(tmp_path / "two", "m", {questions[1].id: "A"})
    with pytest.raises(QuestionError, match=r"m \(direct\) are given twice"):
        AnswerSheet.read(questions, [one, two])


def test_a_mean_of_few_episodes_has_no_interval(questions, tmp_path: Path):
    two = [each for each in questions if each.episode == questions[0].episode]
    letters = {each.id: each.answer for each in two}
    found = Score.of(AnswerSheet.read(questions, [answered(tmp_path / "m", "m", letters)])).models[
        "m (direct)"
    ]
    assert found.standing.overall.interval is None
    assert np.isfinite(found.standing.overall.share)
