from __future__ import annotations

from collections import Counter

import pytest

from assay.experiments.labels import label_sets
from assay.extensions.generate.layout import SceneDraft
from assay.extensions.generate.proposals import propose
from assay.extensions.generate.scenes import SHARES, Label, choose, labels_of, offer, target_labels
from assay.support.streams import stream
from assay.tasks import Predicate, Task, check
from assay.tasks.labels import FAMILIES
from assay.tasks.language.steps import read_steps


def proposed(draft: SceneDraft) -> list[Task]:
    return propose(draft, "new", stream(0, "words"))


@pytest.fixture(scope="module")
def all_tasks(casts: list[SceneDraft]) -> list[Task]:
    return [task for draft in casts for task in proposed(draft)]


def test_every_proposal_is_a_valid_task(casts: list[SceneDraft]):
    for draft in casts[:20]:
        tasks = proposed(draft)
        goals = {frozenset(task.goal.atoms) for task in tasks}
        assert len(tasks) > 4 and len(goals) == len(tasks)
        assert len({task.scene for task in tasks}) == 1
        for task in tasks:
            check(task)


def test_an_instruction_has_as_many_steps_as_its_goal(all_tasks: list[Task]):
    counts = set()
    for task in all_tasks:
        if (
            task.instruction.text.startswith(("stack", "put both", "put all"))
            or "stack " in task.instruction.text
        ):
            continue
        steps = read_steps(task.instruction.text)
        (subtasks,) = label_sets(task)["subtasks"]
        assert subtasks == (str(len(steps)) if len(steps) < 3 else "3+"), task.instruction.text
        counts.add(subtasks)
    assert counts == {"1", "2", "3+"}


def test_combined_steps_are_compatible(all_tasks: list[Task]):
    together = [task for task in all_tasks if len(task.goal.atoms) > 1]
    assert any(len(task.goal.atoms) == 3 for task in together)
    for task in together:
        moved = [atom.arguments[0] for atom in task.goal.atoms if len(atom.arguments) == 2]
        assert len(set(moved)) == len(moved), task.instruction.text
        onto = {atom.arguments[1] for atom in task.goal.atoms if len(atom.arguments) == 2}
        towers = task.instruction.text.startswith("stack ")
        assert towers or not onto & set(moved), task.instruction.text


def test_no_task_is_behind_high_furniture(all_tasks: list[Task]):
    texts = [task.instruction.text for task in all_tasks]
    assert not [text for text in texts if text.endswith(("behind the cabinet", "behind the microwave"))]
    assert any(text.endswith("behind the plate") for text in texts)


def test_all_labels_and_predicates_of_libero_x_occur(all_tasks: list[Task]):
    found = [label_sets(task) for task in all_tasks]
    for family, known in FAMILIES.items():
        assert {label for each in found for label in each[family]} == set(known), family
    predicates = {atom.predicate for task in all_tasks for atom in task.goal.atoms}
    assert predicates == set(Predicate) - {Predicate.UP, Predicate.STACK, Predicate.IN_CONTACT}


def test_instructions_match_their_goals(all_tasks: list[Task]):
    for words, predicate in (
        ("upright on top of the shelf", Predicate.UPRIGHT_ON),
        ("flat on top of the shelf", Predicate.SIDE_ON),
        ("in the front compartment of the caddy", Predicate.EXACT_IN),
        ("in the left side of the bowl drainer", Predicate.IN),
        ("stack the smallest bowl on the largest bowl", Predicate.ON),
        ("and stack the smallest bowl on the middle-sized bowl", Predicate.ON),
        ("the second", Predicate.ON),
        ("put both", Predicate.EXACT_IN),
        ("drawer of the cabinet", Predicate.OPEN),
        ("the stove", Predicate.TURN_ON),
        ("the microwave", Predicate.CLOSE),
    ):
        goals = [task.goal for task in all_tasks if words in task.instruction.text]
        assert any(predicate in {atom.predicate for atom in goal.atoms} for goal in goals), words


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
