from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from assay.extensions.eqa.annotations import Annotations, Mistake
from assay.extensions.eqa.asking.answers import Answer, AnswerState, write
from assay.extensions.eqa.asking.session import ask_baseline
from assay.extensions.eqa.question import LETTERS, Question, QuestionError, QuestionKind, load
from assay.extensions.eqa.scoring.accuracy import PARTS, AnswerSheet, cell_weights, mean_error
from assay.extensions.eqa.scoring.report import report, warnings
from assay.extensions.eqa.scoring.score import ModelScore, Score, _compare_models
from assay.support.stats.intervals import Z, wilson_interval

from ..conftest import small_set

HOSTILE = "<script>alert(1)</script>"
ScoreOne = Callable[..., ModelScore]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> list[Question]:
    return load(small_set(tmp_path_factory.mktemp("scored") / "set", 6))


def wrong(question: Question) -> str:
    return LETTERS[(question.right + 1) % 4]


def answered(path: Path, name: str, letters: dict[str, str]) -> Path:
    state = AnswerState.ANSWERED
    write([Answer(name, "direct", question, state, letter) for question, letter in letters.items()], path)
    return path


@pytest.fixture
def score_one(tmp_path: Path) -> ScoreOne:
    """Scores one model's letters."""

    def score(questions: Sequence[Question], letters: dict[str, str]) -> ModelScore:
        sheet = AnswerSheet.read(questions, [answered(tmp_path / "m", "m", letters)])
        return Score.of(sheet).models["m (direct)"]

    return score


def test_the_text_of_a_blocked_request_is_not_an_answer(questions, tmp_path: Path):
    reasons = ("blocked", "more than a letter")
    for reason in reasons:
        plain = Answer(reason, "direct", "", AnswerState.UNPARSED, reason=reason)
        answers = [replace(plain, question=q.id, text=f"Answer: {q.answer}") for q in questions]
        write(answers, tmp_path / reason)
    sheet = AnswerSheet.read(questions, [tmp_path / reason for reason in reasons])
    assert [model.lenient.mean() for model in sheet.models.values()] == [0.0, 1.0]


def test_geometry_is_always_right_and_random_is_near_chance(questions, tmp_path: Path):
    for name in ("geometry", "random"):
        write(ask_baseline(questions, name).answers, tmp_path / name)
    score = Score.of(AnswerSheet.read(questions, [tmp_path / "random", tmp_path / "geometry"]))
    assert list(score.models) == ["geometry", "random"], "the best first"
    best = score.models["geometry"].standing
    assert best.overall.share == 1.0 and len(best.accuracies) == 6
    assert all(accuracy.share == 1.0 and accuracy.interval.low > 0.25 for accuracy in best.accuracies)
    assert list(best.asymmetry) == ["overall", "high", "mid", "low"]
    for mean in best.asymmetry.values():  # both sides are all right
        assert mean.share == 0.0 and mean.interval is not None
        assert -0.5 < mean.interval.low < 0 < mean.interval.high < 0.5
    guess = score.models["random"].standing.overall
    assert guess.interval is not None and guess.interval.low < 0.25 < guess.interval.high
    (contrast,) = score.comparisons
    assert {contrast.first, contrast.second} == {"random", "geometry"} and contrast.pairs == len(questions)
    assert abs(contrast.difference) > 0.5 and contrast.p_holm < 0.01


def test_unparsed_replies_are_wrong_and_unanswered_questions_are_not_scored(questions, tmp_path: Path):
    answers = [Answer("m", "direct", q.id, AnswerState.ANSWERED, q.answer) for q in questions]
    answers[0] = replace(answers[0], state=AnswerState.UNPARSED, letter="", reason="empty")
    answers[1] = replace(answers[1], state=AnswerState.UNANSWERED, letter="", reason="down")
    answers[2] = replace(answers[2], question="f" * 16)
    write(answers, tmp_path / "m")
    model = Score.of(AnswerSheet.read(questions, [tmp_path / "m"])).models["m (direct)"]
    assert (model.unparsed, model.unanswered, model.strangers) == ({"empty": 1}, 1, 1)
    assert model.asked == len(questions) - 1 and model.standing.questions == len(questions) - 2
    hits = sum(accuracy.share * accuracy.questions for accuracy in model.standing.accuracies)
    assert hits == pytest.approx(len(questions) - 3)


def test_views_are_compared_on_the_same_items(questions, score_one: ScoreOne):
    model = score_one(questions, {q.id: q.answer if q.view == "exo" else wrong(q) for q in questions})
    assert {view: standing.overall.share for view, standing in model.views.items()} == {
        "ego": 0.0,
        "exo": 1.0,
    }
    (contrast,) = model.view_contrasts
    assert (contrast.first, contrast.second, contrast.difference) == ("ego", "exo", 1.0)
    assert contrast.pairs == len(questions) // 2 and contrast.p < 0.01


def test_directions_are_compared_on_the_same_moments(questions, score_one: ScoreOne):
    by_kind = {question.kind: question for question in questions}
    forward, backward = by_kind[QuestionKind.M_SP], by_kind[QuestionKind.M_AI]
    start, end = forward.moments[0], forward.moments[1 + forward.right]
    backward = backward.model_copy(update={"moments": (start, end), "view": forward.view})
    other = backward.model_copy(update={"moments": (end, start), "id": "0" * 16})
    letters = {forward.id: wrong(forward), backward.id: backward.answer, other.id: other.answer}
    model = score_one([forward, backward, other], letters)
    (contrast,) = model.directions
    assert (contrast.first, contrast.pairs, contrast.difference) == ("mid prediction", 1, 1.0)
    assert model.standing.asymmetry["mid"].share == 1.0 and model.standing.means["mid"].share == 0.5


def test_error_rates_are_per_question_with_the_component(questions, score_one: ScoreOne):
    base = next(question for question in questions if question.kind is QuestionKind.M_AI)
    patterns = [(1, 0, 0, 0, 0, 0, 0)] * 4 + [(0, 0, 0, 1, 0, 0, 0)] * 2 + [(1, 0, 0, 0, 0, 0, -1)] * 2
    made = [
        base.model_copy(update={"id": f"{place:016}", "answer": "A", "actions": (pattern,) * 4})
        for place, pattern in enumerate(patterns)
    ]
    failed = {0, 4, 5, 6}  # 2 of 6 with translation, 2 of 2 with rotation, 1 of 2 with gripper
    model = score_one(made, {q.id: "B" if place in failed else "A" for place, q in enumerate(made)})
    parts = model.components["mid"]
    assert [(part.questions, part.errors) for part in parts] == [(6, 2), (2, 2), (2, 1)]
    rates = [2 / 6, 1, 1 / 2]
    assert [part.proportion for part in parts] == pytest.approx([rate / sum(rates) for rate in rates])


def test_unbalanced_letters_cause_a_warning(questions, tmp_path: Path):
    same = [question.model_copy(update={"answer": "C"}) for question in questions]
    file = answered(tmp_path / "m", "m", {question.id: "C" for question in same})
    score = Score.of(AnswerSheet.read(same, [file]))
    assert score.right_letters[0].counts == (0, 0, len(same), 0) and score.right_letters[0].p < 1e-6
    assert any(
        "not balanced (all): always choosing one letter scores 100.0 %" in line for line in warnings(score)
    )


def test_people_are_scored_like_models_and_their_agreement_is_reported(questions, tmp_path: Path):
    people = Annotations(tmp_path / "people.sqlite")
    for place, question in enumerate(questions[:10]):
        people.answer("ann", question.id, question.answer)
        people.answer("bob", question.id, question.answer if place else wrong(question), "hard to see")
    people.answer("cat", questions[0].id, "", "only a comment")
    people.mark(Mistake("m", questions[0].id, "hand: ann", "temporal", ""))
    score = Score.of(AnswerSheet.read(questions, [], people), people.mistakes())
    assert set(score.models) == {"human: ann", "human: bob"} and score.models["human: ann"].asked == 10
    assert score.agreement[0].observed == 0.9 and score.agreement[0].items == 10
    (mark,) = score.mistakes
    assert (mark.group, mark.category, mark.marker, mark.count) == ("reasoning", "temporal", "hand: ann", 1)


def test_the_page_is_self_contained_and_escaped(questions, tmp_path: Path):
    file = answered(tmp_path / "m", HOSTILE, {question.id: question.answer for question in questions})
    score = Score.of(AnswerSheet.read(questions, [file]))
    text = report(score, questions, {}).write(tmp_path / "report").read_text()
    assert HOSTILE not in text and "&lt;script&gt;" in text
    assert "src=" not in text and "href=" not in text.replace('href="#', "")
    tables = {path.name for path in (tmp_path / "report/tables").iterdir()}
    assert {
        "table-1.csv",
        "accuracy-kinds.tex",
        "contrasts-views.md",
        "components.csv",
        "checks.csv",
    } <= tables
    assert (tmp_path / "report/figures/accuracy-overall.svg").is_file()
    json.dumps(score.as_json(), allow_nan=False)


def test_invalid_and_duplicate_answer_files_are_refused(questions, tmp_path: Path):
    known = '{"model": "m", "question": "q", '
    for text, words in (
        ("", "not an answer file"),
        ("<html>", "not an answer file"),
        ('{"model": "m"}\n', "is missing"),
        (known + '"state": "answered", "letter": "E"}\n', "do not match"),
        (known + '"state": "gone"}\n', "do not match"),
        (known + '"state": "answered", "letter": "A"}\n', "has an answer"),
    ):
        (tmp_path / "m").write_text(text)
        with pytest.raises(QuestionError, match=words) as caught:
            AnswerSheet.read(questions, [tmp_path / "m"])
        assert "\n" not in str(caught.value)
    files = [answered(tmp_path / name, "m", {questions[0].id: "A"}) for name in ("one", "two")]
    with pytest.raises(QuestionError, match=r"duplicate answers from m \(direct\)"):
        AnswerSheet.read(questions, files)


def test_a_mean_of_few_episodes_has_no_interval(questions, score_one: ScoreOne):
    same = [question for question in questions if question.episode == questions[0].episode]
    overall = score_one(questions, {question.id: question.answer for question in same}).standing.overall
    assert overall.interval is None and overall.share == 1.0


@pytest.mark.parametrize("small", [3, 5, 40])
def test_intervals_cover_with_a_small_beside_a_large_data_set(small: int):
    """Two data sets that count the same: 100 episodes, and few; five questions each."""
    rng, runs, rates = np.random.default_rng(7), 400, np.array([0.7, 0.5])
    dataset, cells = np.repeat([0, 1], [100, small]), np.eye(2)[np.repeat([0, 1], [100, small])]
    held = []
    for _ in range(runs):
        chance = np.clip(rates[dataset] + 0.15 * rng.normal(size=len(dataset)), 0, 1)
        hit, tried = rng.binomial(5, chance)[:, None] * cells, 5 * cells
        share = float((hit.sum(axis=0) / tried.sum(axis=0)).mean())
        error = mean_error(hit, tried, dataset, np.full(2, 0.5))
        assert error is not None
        found = wilson_interval(share, share * (1 - share) * (Z / error) ** 2)
        held.append(found.low <= 0.6 <= found.high)
    assert 0.91 <= np.mean(held) <= 0.985


def test_models_are_compared_by_the_mean_that_ranks_them():
    """The first is better in the frequent kind, the second much better in the rare one."""
    kind = np.repeat([0, 1], [400, 60])
    one = np.where(kind == 0, np.arange(460) % 10 < 6, np.arange(460) % 10 < 3).astype(np.int8)
    other = np.where(kind == 0, np.arange(460) % 10 < 5, np.arange(460) % 10 < 8).astype(np.int8)
    sheet = SimpleNamespace(
        cells=[("set", QuestionKind.M_AI), ("set", QuestionKind.H_SP)],
        cell=kind,
        cluster=np.arange(460) // 2,
        models={"one": SimpleNamespace(right=one), "other": SimpleNamespace(right=other)},
    )
    (found,) = _compare_models(cast(Any, sheet))
    assert (found.first_share, found.second_share) == pytest.approx((0.45, 0.65))
    assert one.mean() > other.mean() and found.difference > 0 and found.interval.low > 0 and found.p < 0.05


ROWS: dict[str, tuple[list[float], list[float], list[float], float]] = {
    # DROID, BridgeData V2, RT-1, overall
    "Gemini-2.5-Pro": (
        *([52.7, 44.6, 48.9, 70.3, 42.5, 73.9], [75.6, 42.2, 51.8, 77.1, 44.4, 71.3], [68.8, 77.8]),
        58.4,
    ),
    "human": (
        *([95.7, 91.2, 96.7, 92.9, 95.3, 92.6], [99.6, 97.7, 97.3, 99.4, 95.7, 93.7], [96.4, 96.0]),
        95.6,
    ),
}


def shares(name: str) -> dict[tuple[str, QuestionKind], float]:
    droid, bridge, rt1, _ = ROWS[name]
    high = [QuestionKind.H_SP, QuestionKind.H_AI]
    return {
        **{("droid", kind): value for kind, value in zip(QuestionKind, droid, strict=True)},
        **{("bridge", kind): value for kind, value in zip(QuestionKind, bridge, strict=True)},
        **{("rt-1", kind): value for kind, value in zip(high, rt1, strict=True)},
    }


def mean(name: str, part: str) -> float:
    cells = shares(name)
    return round(float(cell_weights(list(cells), PARTS[part]) @ np.array(list(cells.values()))), 1)


def test_hierarchical_means_reproduce_table_1_of_the_paper():
    assert {name: mean(name, "overall") for name in ROWS} == {name: row[3] for name, row in ROWS.items()}
    assert [mean("Gemini-2.5-Pro", level) for level in ("high", "mid", "low")] == [70.4, 43.4, 61.5]
