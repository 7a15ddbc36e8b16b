from __future__ import annotations

from pathlib import Path

import pytest

from assay.extensions.eqa.asking.prompts import Prompting, Style, find_image
from assay.extensions.eqa.question import Question, QuestionError, QuestionKind, sample_examples
from assay.support.llm.protocols import ModelImage

DIRECT, STEPS = Prompting.of(Style.DIRECT), Prompting.of(Style.STEPS)


def of_kind(questions: list[Question], kind: QuestionKind) -> Question:
    return next(question for question in questions if question.kind is kind)


def test_a_prompt_shows_the_question_and_nothing_privileged(folder: Path, questions: list[Question]):
    for question in questions:
        prompt = DIRECT.prompt(question, folder)
        images = [part.name for part in prompt.parts if isinstance(part, ModelImage)]
        assert images == [Path(name).name for name in (*question.pictures, *question.option_pictures)]
        words = " ".join(part for part in prompt.parts if isinstance(part, str))
        assert question.text in words and all(option in words for option in question.options)
        assert question.id not in words and question.moments[0] not in words


def test_only_images_of_the_folder_are_ever_sent(folder: Path):
    (folder.parent / "secret.png").write_bytes(b"secret")
    for name in (
        *("../questions.jsonl", "pictures/../../secret.png", "/etc/passwd", "pictures/none.png"),
        "build.json",
    ):
        with pytest.raises(QuestionError, match="no image"):
            find_image(folder, name)


def test_a_prompt_file_replaces_the_texts_it_names(folder: Path, questions: list[Question], tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "system: You are terse.\n"
        "question: {L-AI: 'Which of {A} | {B} | {C} | {D}, in {views} view?', H-SP: 'Do {action}!'}\n"
        "ask: {L-AI: Say a letter.}\n"
    )
    how = Prompting.parse(str(file))
    low, mid, high = (
        of_kind(questions, kind) for kind in (QuestionKind.L_AI, QuestionKind.M_AI, QuestionKind.H_SP)
    )
    prompt = how.prompt(low, folder)
    assert prompt.system == "You are terse." and prompt.parts[-1] == "Say a letter."
    assert prompt.parts[0] == f"Which of {' | '.join(low.options)}, in 1 view?"
    assert sum(option in str(part) for part in prompt.parts for option in low.options) == 4, "not repeated"
    text = str(how.prompt(high, folder).parts[0])
    assert text.startswith("Do ") and text.removeprefix("Do ").rstrip("!") in high.text
    default = how.prompt(mid, folder)
    assert default.parts[0] == mid.text and "one letter" in str(default.parts[-1])


def test_an_invalid_prompt_file_is_refused(tmp_path: Path):
    file = tmp_path / "mine.yaml"
    for text, words in (
        ("systm: x", "systm: extra inputs are not permitted"),
        ("ask: {X-AI: x}", "ask.X-AI.*should be 'H-SP'"),
        ("ask: [1]", "ask: input should be a valid dictionary"),
        ("question: 'what is {answer}?'", "invalid placeholder: .*; expected {text}"),
        ("style: loud", "style: input should be 'direct' or 'steps'"),
        ("name: direct", "is not a valid prompt name"),
        ("a: [", "not a prompt file"),
    ):
        file.write_text(text)
        with pytest.raises(QuestionError, match=words):
            Prompting.parse(str(file))
    with pytest.raises(QuestionError, match="or pass a YAML file"):
        Prompting.parse(str(tmp_path / "none.yaml"))


def test_examples_have_the_same_kind_and_show_their_answers(folder: Path, questions: list[Question]):
    shown = sample_examples(questions, 2, seed=1)
    question = next(
        question
        for question in questions
        if question.kind is QuestionKind.H_AI and question not in shown[question.kind, question.view]
    )
    examples = shown[question.kind, question.view]
    assert len(examples) == 2 and all(example.kind is QuestionKind.H_AI for example in examples)
    words = [part for part in STEPS.prompt(question, folder, examples).parts if isinstance(part, str)]
    answers = [part for part in words if part.startswith("The right answer:")]
    assert answers == [f"The right answer: <answer>{example.answer}</answer>" for example in examples]
    assert words.index("Now the question that you answer:") > words.index(answers[-1])
