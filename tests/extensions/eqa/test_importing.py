from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from assay.extensions.eqa.importing import import_set
from assay.extensions.eqa.leak import geometry
from assay.extensions.eqa.question import QuestionError, QuestionKind, load
from assay.extensions.eqa.scoring.accuracy import AnswerSheet

LOW = [-0.056, 0.278, -0.046, 11.909, -3.473, -3.182, -0.418]


@pytest.fixture
def images(tmp_path: Path) -> list[str]:
    (tmp_path / "images").mkdir()
    for number in range(6):
        shade = np.full((8, 8, 3), 40 * number, np.uint8)
        Image.fromarray(shade).save(tmp_path / "images" / f"{number}.jpg")
    return [f"images/{number}.jpg" for number in range(6)]


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_a_set_with_the_papers_fields_is_imported(images: list[str], tmp_path: Path):
    labels = [
        f"Move along {way} Y direction, Tilt {turn} around X-axis"
        for way, turn in (
            *(("negative", "counterclockwise"), ("positive", "clockwise")),
            *(("positive", "counterclockwise"), ("negative", "clockwise")),
        )
    ]
    mid = {"frame_1": images[0], "frame_2": images[1], "options": labels, "answer": "D"}
    written(tmp_path / "bridge_invs_mid_qa.jsonl", mid)
    options = dict(zip("ABCD", ([0.0] * 7, LOW, LOW[::-1], [1.0] * 7), strict=True))
    low = {"kind": "L-AI", "dataset": "droid", "episode_id": "7", "images": images[:2]}
    high = {"level": "high", "task": "State Prediction", "instruction": "fold the cloth", "answer": "(b)"}
    low |= {"options": options, "answer": LOW}
    written(tmp_path / "others.jsonl", low, high | {"images": images[:5]})
    built = import_set(tmp_path, tmp_path / "set", view="exo2")
    assert built.counts == {"bridge": {"M-AI": 1}, "droid": {"L-AI": 1}, "others": {"H-SP": 1}}
    by_kind = {question.kind: question for question in load(tmp_path / "set")}
    mid_level, low_level, high_level = (
        by_kind[kind] for kind in (QuestionKind.M_AI, QuestionKind.L_AI, QuestionKind.H_SP)
    )
    assert mid_level.answer == "D" and mid_level.actions[3] == (0, -1, 0, 1, 0, 0, 0)
    assert low_level.answer == "B" and list(low_level.actions[1]) == LOW
    assert low_level.thresholds[0] == 0.18 and low_level.episode == "7"
    assert high_level.answer == "B" and "fold the cloth" in high_level.text
    assert len(high_level.option_pictures) == 4 and high_level.view == "exo2"
    assert all(geometry(question) == "" for question in by_kind.values()), "no states are known"
    assert AnswerSheet([mid_level], {}).moved.tolist() == [[False, True, False, True, False, False, False]]


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"answer": "E"}, "the answer is not one of the options"),
    ({"options": ["a", "b"]}, "expected 4 options, got 2"),
    ({"images": ["images/0.jpg"]}, "expected 2 images"),
    ({"images": ["images/0.jpg", "images/none.jpg"]}, "no image 'images/none.jpg'"),
    ({"images": ["images/0.jpg", "../../secret.png"]}, "no image"),
    ({"kind": "X"}, "neither a kind"),
    ({"options": ["a", "a", "b", "c"]}, "four different options"),
    ({"images": 5}, "expected 2 images before the options, got 1"),
    ({"images": {"a": 1}}, "expected 2 images before the options, got 1"),
    ({"options": ["\ud800", "x", "y", "z"]}, "surrogates not allowed"),
    ({"images": ["images/0.jpg", "\ud800"]}, "surrogates not allowed"),
    ({"images": ["images/0.jpg", "\0"]}, "null byte"),
    ({"answer": "\ud800"}, "the answer is not one of the options: '?'"),
    ({"view": "sideways"}, "unknown view 'sideways'"),
]


def test_invalid_lines_are_tallied_and_the_rest_is_read(images: list[str], tmp_path: Path):
    (tmp_path.parent / "secret.png").write_bytes(b"")
    good = {"kind": "H-AI", "images": images[:2], "options": list("wxyz"), "answer": "A"}
    lines = [{**good, **change} for change, _ in INVALID]
    built = import_set(written(tmp_path / "some.jsonl", good, *lines), tmp_path / "set")
    reasons = built.tallies["import"].counts
    assert built.questions == 1
    for _, words in INVALID:
        assert any(words in reason for reason in reasons), words
    with pytest.raises(QuestionError, match="no questions could be read"):
        import_set(written(tmp_path / "bad.jsonl", lines[0]), tmp_path / "none")


def test_invalid_files_are_refused(tmp_path: Path):
    (tmp_path / "torn.jsonl").write_text("{")
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    for path in (tmp_path / "torn.jsonl", tmp_path / "deep.jsonl", tmp_path / "none.jsonl"):
        with pytest.raises(
            QuestionError, match=r"no questions could be read: 1 x lines read|no JSON-lines file"
        ) as caught:
            import_set(path, tmp_path / "set")
        assert "\n" not in str(caught.value)
