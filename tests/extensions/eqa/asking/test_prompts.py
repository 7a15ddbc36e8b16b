from __future__ import annotations

from pathlib import Path

import pytest

from assay.extensions.eqa.asking.prompts import Prompting, Style, examples_of, picture, prompted
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import Kind, Question
from assay.support.llm import Picture


def of_kind(questions: list[Question], kind: Kind) -> Question:
    return next(each for each in questions if each.kind is kind)


def test_a_prompt_shows_the_question_and_nothing_that_is_privileged(folder: Path, questions: list[Question]):
    for question in questions:
        prompt = prompted(question, folder, Style.DIRECT)
        shown = [part for part in prompt.parts if isinstance(part, Picture)]
        assert [each.name for each in shown] == [
            Path(name).name for name in (*question.pictures, *question.option_pictures)
        ]
        words = " ".join(part for part in prompt.parts if isinstance(part, str))
        assert question.text in words and all(option in words for option in question.options)
        assert question.id not in words and question.moments[0] not in words


def test_frame_units_and_the_form_of_the_answer_are_stated(folder: Path, questions: list[Question]):
    prompt = prompted(of_kind(questions, Kind.L_AI), folder, Style.STEPS)
    words = " ".join(part for part in prompt.parts if isinstance(part, str))
    assert "X points forward" in words and "metres" in words and "degrees" in words
    assert "<answer>A</answer>" in words
    direct = prompted(of_kind(questions, Kind.L_AI), folder, Style.DIRECT).parts[-1]
    assert isinstance(direct, str) and "one letter" in direct


@pytest.mark.parametrize(
    "name",
    ["../questions.jsonl", "pictures/../../secret.png", "/etc/passwd", "pictures/none.png", "build.json"],
)
def test_nothing_but_the_folders_pictures_is_ever_sent(folder: Path, name: str):
    (folder.parent / "secret.png").write_bytes(b"secret")
    with pytest.raises(QuestionError, match="there is no picture"):
        picture(folder, name)


def test_each_kind_and_style_has_a_prompt_of_its_own():
    told = [(how.system[kind], how.ask[kind]) for how in map(Prompting.of, Style) for kind in Kind]
    assert len(set(told)) == 12 and len({role for role, _ in told}) == 6
    assert all(("one letter" in ask) != ("<answer>A</answer>" in ask) for _, ask in told)


def test_a_file_of_ones_own_replaces_what_it_names(folder: Path, questions: list[Question], tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "system: You are terse.\n"
        "question: {L-AI: 'Which of {A} | {B} | {C} | {D}, in {views} view?', H-SP: 'Do {action}!'}\n"
        "ask: {L-AI: Say a letter.}\n"
    )
    how = Prompting.parse(str(file))
    low = of_kind(questions, Kind.L_AI)
    prompt = prompted(low, folder, how)
    assert prompt.system == "You are terse." and prompt.parts[-1] == "Say a letter."
    assert prompt.parts[0] == f"Which of {' | '.join(low.options)}, in 1 view?"
    assert sum(option in str(part) for part in prompt.parts for option in low.options) == 4, (
        "options are not repeated"
    )
    high = of_kind(questions, Kind.H_SP)
    told = prompted(high, folder, how).parts[0]
    assert told.startswith("Do ") and told.removeprefix("Do ").rstrip("!") in high.text
    usual = prompted(of_kind(questions, Kind.M_AI), folder, how)
    assert usual.parts[0] == of_kind(questions, Kind.M_AI).text and "one letter" in str(usual.parts[-1])
    assert how.hash != Prompting.of(Style.DIRECT).hash


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("systm: x", "did you mean 'system'"),
        ("ask: {X-AI: x}", "has no kind 'X-AI'"),
        ("ask: [1]", "is a text, or one for each"),
        ("question: 'what is {answer}?'", "may name {text}"),
        ("style: loud", "valid: direct, steps"),
        ("name: direct", "another name"),
        ("a: [", "not a file of prompts"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(tmp_path: Path, text: str, words: str):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(QuestionError, match=words) as caught:
        Prompting.parse(str(file))
    assert "\n" not in str(caught.value)
    with pytest.raises(QuestionError, match="or a YAML file"):
        Prompting.parse(str(tmp_path / "none.yaml"))


def test_examples_are_of_the_same_kind_and_show_their_answers(folder: Path, questions: list[Question]):
    shown = examples_of(questions, 2, seed=1)
    question = next(
        each for each in questions if each.kind is Kind.H_AI and each not in shown[each.kind, each.view]
    )
    examples = shown[question.kind, question.view]
    assert len(examples) == 2 and all(each.kind is Kind.H_AI for each in examples)
    words = [
        part for part in prompted(question, folder, Style.STEPS, examples).parts if isinstance(part, str)
    ]
    answers = [part for part in words if part.startswith("The right answer:")]
    assert answers == [f"The right answer: <answer>{each.answer}</answer>" for each in examples]
    assert words.index("Now the question that you answer:") > words.index(answers[-1])
