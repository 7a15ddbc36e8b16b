"""The built-in set, made small, but really made: the oracle acts, pictures are drawn, probes learn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from assay.extensions.eqa.baselines import geometry
from assay.extensions.eqa.build import build
from assay.extensions.eqa.leak import probe
from assay.extensions.eqa.question import Kind, Question, load
from assay.extensions.eqa.sources.demo import DemoSource
from assay.extensions.eqa.views import View


def about_rotation(question: Question) -> bool:
    action = np.array(question.actions[0 if question.kind.predicts else question.right])
    limits = 0.5 if question.kind is Kind.M_AI else np.asarray(question.thresholds[3:6])
    return bool((np.abs(action[3:6]) > limits).any())


def test_a_small_demonstration_is_solved_by_geometry_and_tells_probes_nothing(drawing: str, tmp_path: Path):
    source = DemoSource(96, [("libero_object/0", 0), ("libero_object/1", 0)], tours=1)
    built = build(tmp_path / "set", [source], dict.fromkeys(Kind, 12), [View.parse("exo")], most_episodes=13)
    questions = load(tmp_path / "set")
    counts = Counter(question.kind for question in questions)
    assert set(counts) == set(Kind) and min(counts.values()) >= 6, built.tallies["demo"].counts
    assert [each.id for each in questions if geometry(each) != each.answer] == []
    turned = [each for each in questions if each.actions and about_rotation(each)]
    assert len(turned) >= 0.15 * sum(bool(each.actions) for each in questions)
    assert all(each.achieved.count(True) == 1 for each in questions if each.kind.value.startswith("H"))
    probed = probe(questions, tmp_path / "set")
    assert {each.kind for each in probed} == set(Kind) and not any(each.leaks for each in probed)
