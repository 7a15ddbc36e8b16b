"""A small set from the built-in source: the oracle acts, images are rendered, probes learn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from assay.extensions.eqa.build import build
from assay.extensions.eqa.leak import geometry, probe
from assay.extensions.eqa.question import Question, QuestionKind, load
from assay.extensions.eqa.sources.simulated import DemoSource
from assay.extensions.eqa.views import CameraView


def about_rotation(question: Question) -> bool:
    action = np.array(question.actions[0 if question.kind.predicts else question.right])
    limits = 0.5 if question.kind is QuestionKind.M_AI else np.asarray(question.thresholds[3:6])
    return bool((np.abs(action[3:6]) > limits).any())


def test_a_small_demonstration_is_solved_by_geometry_and_does_not_leak(drawing: str, tmp_path: Path):
    source = DemoSource(96, [("libero_object/0", 0), ("libero_object/1", 0)], tours=1)
    built = build(
        tmp_path / "set",
        [source],
        dict.fromkeys(QuestionKind, 12),
        [CameraView.parse("exo")],
        most_episodes=13,
    )
    questions = load(tmp_path / "set")
    counts = Counter(question.kind for question in questions)
    assert set(counts) == set(QuestionKind) and min(counts.values()) >= 6, built.tallies["demo"].counts
    assert [each.id for each in questions if geometry(each) != each.answer] == []
    turned = [each for each in questions if each.actions and about_rotation(each)]
    assert len(turned) >= 0.15 * sum(bool(each.actions) for each in questions)
    assert all(each.achieved.count(True) == 1 for each in questions if each.kind.value.startswith("H"))
    probed = probe(questions, tmp_path / "set")
    assert {each.kind for each in probed} == set(QuestionKind) and not any(each.leaks for each in probed)
