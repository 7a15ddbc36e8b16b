from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.experiments.labels import label_sets
from assay.generate.layout import Cast, Thing
from assay.generate.proposals import Proposal, in_turn, propose, references
from assay.streams import stream
from assay.tasks import Atom, Goal, Predicate, Task, check
from assay.tasks.labels import FAMILIES


def proposed(cast: Cast) -> list[Task]:
    return propose(cast, "new", stream(0, "words"))


def test_every_proposal_is_a_task_that_makes_sense(casts: list[Cast]):
    for cast in casts[:20]:
        tasks = proposed(cast)
        assert len(tasks) > 4 and len({task.goal for task in tasks}) == len(tasks)
        assert len({task.scene for task in tasks}) == 1
        for task in tasks:
            check(task)


def test_words_mean_one_thing(casts: list[Cast]):
    for cast in casts:
        meant: dict[str, Thing] = {}
        for thing in cast.things:
            for words, _ in references(cast, thing):
                assert meant.setdefault(words, thing) == thing, words


def test_places_in_words_are_true_whatever_the_seed(casts: list[Cast]):
    checked = set()
    for cast in casts:
        for thing in cast.things:
            doubles = [each for each in cast.things if each.noun == thing.noun and each != thing]
            here, others = cast.spot(thing), [cast.spot(each) for each in doubles]
            for words, by in references(cast, thing):
                if by == "relation" and words == f"the left {thing.noun}":
                    assert all(here.y + 0.02 < other.y for other in others)
                    checked.add("left")
                elif by == "relation" and "nearest" in words:
                    assert np.hypot(here.x + 0.66, here.y) < min(
                        np.hypot(other.x + 0.66, other.y) for other in others
                    )
                    checked.add("nearest")
    assert checked == {"left", "nearest"}


def test_nothing_is_asked_for_behind_high_furniture(casts: list[Cast]):
    texts = [task.instruction.text for cast in casts for task in proposed(cast)]
    assert not [text for text in texts if text.endswith(("behind the cabinet", "behind the microwave"))]
    assert any(text.endswith("behind the plate") for text in texts)


def test_what_is_like_an_earlier_one_comes_last():
    made = [
        Proposal(family, f"{thing} {place}", Goal((Atom(Predicate.ON, (thing, place)),)))
        for family, place in (("surface", "plate_1"), ("surface", "shelf_1"), ("attribute", "plate_1"))
        for thing in (f"{family}_a", f"{family}_b", f"{family}_c")
    ]
    ordered = in_turn([*made, *made], stream(0, "words"))
    assert set(ordered) == set(made) and len(ordered) == len(made), "no goal comes twice"
    for round in range(3):
        assert len({each.like for each in ordered[3 * round : 3 * round + 3]}) == 3


def test_families_of_labels_can_be_told_from_the_tasks(casts: list[Cast]):
    found = [label_sets(task) for cast in casts for task in proposed(cast)]
    every = {family: {label for each in found for label in each[family]} for family in FAMILIES}
    assert every["interaction"] == set(FAMILIES["interaction"])
    assert every["attribute"] == set(FAMILIES["attribute"])
    assert {"surface", "container", "left-right", "relative distance"} <= every["relation"]
    assert {"1", "2"} <= every["subtasks"]


@pytest.mark.parametrize(
    ("noun", "predicates", "verb"),
    [
        ("cabinet", {Predicate.OPEN, Predicate.CLOSE}, "drawer of the cabinet"),
        ("stove", {Predicate.TURN_ON, Predicate.TURN_OFF}, "the stove"),
        ("microwave", {Predicate.OPEN, Predicate.CLOSE}, "the microwave"),
    ],
)
def test_furniture_is_operated(some: Callable[[str], Cast], noun: str, predicates: set[Predicate], verb: str):
    states = [task for task in proposed(some(noun)) if task.goal.atoms[0].predicate in predicates]
    assert states and any(verb in task.instruction.text for task in states)
