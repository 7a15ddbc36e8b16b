from __future__ import annotations

from collections import Counter

import pytest

from assay.extensions.generate.layout import SceneDraft
from assay.extensions.generate.proposals import propose
from assay.extensions.generate.scenes import SHARES, Label, choose, labels_of, offer, target_labels
from assay.support.streams import stream
from assay.tasks.labels import FAMILIES

ONE, TWO = Label("subtasks", "1"), Label("subtasks", "2")


def test_targets_cover_all_labels_and_predicates():
    for family, known in FAMILIES.items():
        assert {label.value for label in SHARES if label.family == family} == set(known)
    assert sum(SHARES[Label("subtasks", count)] for count in FAMILIES["subtasks"]) == pytest.approx(1)
    assert SHARES[Label("relation", "container")] == pytest.approx(356 / 600)
    assert SHARES[Label("predicate", "ExactIn")] == pytest.approx(240 / 600)


def test_offers_match_the_targets_with_more_rare_labels():
    drawn: Counter[Label] = Counter()
    for number in range(400):
        drawn.update(offer(9, stream(0, "offer", number)))
    assert drawn[ONE] / 400 == pytest.approx(9 * SHARES[ONE], rel=0.05)
    rare = Label("predicate", "SideOn")
    assert drawn[rare] / 400 > 2 * 9 * SHARES[rare]


def test_earlier_labels_determine_the_choice():
    offered = [frozenset({ONE})] * 3 + [frozenset({TWO})] * 3
    assert choose(offered, 3, Counter({TWO: 30}), 30) == [0, 1, 2]
    assert choose(offered, 3, Counter({ONE: 30}), 30) == [3, 4, 5]
    assert choose(offered[:2], 3, Counter(), 0) == [0, 1], "all, where there are not enough"


def test_chosen_tasks_approach_the_targets(casts: list[SceneDraft]):
    tasks, kept = 0, Counter[Label]()
    plain = Counter[Label]()
    for number, draft in enumerate(casts):
        labels = [
            target_labels(labels_of(task)) for task in propose(draft, "new", stream(0, "words", number))[:12]
        ]
        for index in choose(labels, 4, kept.copy(), tasks):
            kept.update(labels[index])
        for each in labels[:4]:
            plain.update(each)
        tasks += 4

    def far(counts: Counter[Label]) -> float:
        return sum(abs(counts[label] / tasks - share) for label, share in SHARES.items())

    assert far(kept) < 0.6 * far(plain)
