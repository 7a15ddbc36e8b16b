from __future__ import annotations

from pathlib import Path

import polars as pl

from assay.extensions.eqa.annotations import Annotations
from assay.extensions.eqa.asking.answers import Answer, State, read, write
from assay.extensions.eqa.asking.judging import judge, judged, wrong_answers
from assay.extensions.eqa.asking.models import model
from assay.extensions.eqa.question import LETTERS, Question
from assay.support.llm import Cache

from .conftest import Vision, chat


def wrong_file(path: Path, questions: list[Question]) -> pl.DataFrame:
    """One right answer, then wrong ones, and one that is none."""
    given = [
        Answer(
            "m", "steps", each.id, State.ANSWERED, LETTERS[(each.right + bool(place)) % 4], text="left is +Y"
        )
        for place, each in enumerate(questions[:6])
    ]
    write([*given, Answer("m", "steps", questions[6].id, State.UNPARSED, reason="empty")], path)
    return read(path)


def test_a_judge_marks_wrong_answers_under_its_own_name(
    folder: Path, questions: list[Question], vision: Vision, settings, tmp_path: Path
):
    wrong = wrong_answers(questions, wrong_file(tmp_path / "a.jsonl", questions))
    assert [each.question.id for each in wrong] == [each.id for each in questions[1:6]]
    assert any("left is +Y" in part for part in judged(wrong[0], folder).parts if isinstance(part, str))
    vision.faults[-1] = chat("It confuses left and right. <answer>reference frame</answer>")
    vision.faults[0] = chat("Hm. <answer>bad luck</answer>")
    cache, kept = Cache(tmp_path / "said"), Annotations(tmp_path / "marks.sqlite")
    dropped = judge(wrong, folder, model("openai:wise", settings(at_once=1), cache), kept)
    cache.close()
    assert dropped == {"no such kind of mistake": 1} and len(kept.mistakes()) == 4
    assert {(each.model, each.marker, each.category) for each in kept.mistakes()} == {
        ("m (steps)", "judge: openai:wise", "reference frame")
    }
