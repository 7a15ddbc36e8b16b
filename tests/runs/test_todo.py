from __future__ import annotations

from collections import Counter

from assay.runs.todo import LARGEST_BATCH, Todo
from hypothesis import given
from hypothesis import strategies as st

from assay.runs.store import Waiting


def entries(scenes: int, each: int) -> list[Waiting]:
    return [
        Waiting(number, f"key{number}", f"scene{number // each}", f"condition{number % 2}")
        for number in range(scenes * each)
    ]


@given(
    scenes=st.integers(1, 5),
    each=st.integers(1, 30),
    workers=st.integers(1, 4),
    lost=st.lists(st.booleans(), max_size=60),
)
def test_everything_is_handed_out_once_whatever_comes_back(
    scenes: int, each: int, workers: int, lost: list[bool]
):
    todo = Todo(entries(scenes, each))
    done: Counter[int] = Counter()
    losses = iter(lost)
    while batch := todo.take(workers):
        assert len({number // each for number in batch}) == 1 and len(batch) <= LARGEST_BATCH
        if next(losses, False):
            done[batch[0]] += 1
            todo.give_back(batch[1:])
        else:
            done.update(batch)
    assert done == Counter(range(scenes * each))


def test_a_worker_stays_with_its_scene_and_others_go_elsewhere():
    todo = Todo(entries(2, 40))
    first = todo.take(2)
    second = todo.take(2)
    assert {number // 40 for number in first} != {number // 40 for number in second}
    assert {number // 40 for number in todo.take(2, latest="scene1")} == {1}


def test_batches_shrink_towards_the_end():
    todo = Todo(entries(1, 40))
    sizes = []
    while batch := todo.take(2):
        sizes.append(len(batch))
    assert sizes[0] > 1 and sizes[-1] == 1


def test_strictly_means_in_the_order_given():
    todo = Todo(reversed(entries(3, 4)), strictly=True)
    order = []
    while batch := todo.take(2):
        order += batch
    assert order == list(range(11, -1, -1))


def test_a_dropped_condition_is_not_handed_out():
    todo = Todo(entries(2, 10))
    assert todo.drop("condition0") == 10
    order = []
    while batch := todo.take(1):
        order += batch
    assert all(number % 2 for number in order) and len(order) == 10
