from __future__ import annotations

from pathlib import Path

import pytest

from assay.extensions.eqa.asking.prompts import (
    TILE_TOKENS,
    Prompting,
    Style,
    estimate_tokens,
    find_image,
    sample_examples,
)
from assay.extensions.eqa.question import Question, QuestionError, QuestionKind
from assay.support.llm import ModelImage, Price

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
    with pytest.raises(QuestionError, match="or give a YAML file"):
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


def test_tokens_are_estimated_and_broken_images_found_before_anything_is_sent(
    folder: Path, questions: list[Question], tmp_path: Path
):
    tokens = estimate_tokens((DIRECT.prompt(question, folder) for question in questions), Style.DIRECT)
    images = sum(len(question.pictures) + len(question.option_pictures) for question in questions)
    words = tokens.prompt_tokens - TILE_TOKENS * images
    assert tokens.requests == len(questions) and 50 * len(questions) < words < 500 * len(questions)
    assert tokens.cost(Price(1.0, 10.0)) == pytest.approx(
        (tokens.prompt_tokens + 10 * tokens.answer_tokens) / 1e6
    )
    (tmp_path / "pictures").mkdir()
    for name in (*questions[0].pictures, *questions[0].option_pictures):
        (tmp_path / name).write_text("no picture")
    with pytest.raises(QuestionError, match="not an image"):
        estimate_tokens([DIRECT.prompt(questions[0], tmp_path)], Style.DIRECT)
