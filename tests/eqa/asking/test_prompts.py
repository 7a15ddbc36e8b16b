from __future__ import annotations

from pathlib import Path

import pytest

from assay.eqa.asking.prompts import Style, picture, prompted
from assay.eqa.errors import QuestionError
from assay.eqa.question import Kind, Question
from assay.llm import Picture


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
