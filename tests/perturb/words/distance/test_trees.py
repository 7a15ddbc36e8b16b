from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from assay.perturb.words.distance.parser import Tree, edit_distance, make_tree

Nested = tuple[int, tuple["Nested", ...]]
"""A label and the children."""

nested = st.recursive(
    st.tuples(st.integers(0, 2), st.just(())),
    lambda below: st.tuples(st.integers(0, 2), st.lists(below, max_size=3).map(tuple)),
    max_leaves=6,
)


def tree(root: Nested) -> Tree:
    labels: list[tuple[int, int]] = []
    children: list[list[int]] = []

    def add(node: Nested) -> int:
        labels.append((node[0], 7))
        children.append([])
        mine = len(labels) - 1
        children[mine].extend([add(child) for child in node[1]])
        return mine

    return make_tree(labels, children, add(root))


@cache
def by_definition(one: tuple[Nested, ...], other: tuple[Nested, ...]) -> int:
    """The edit distance of two forests, by what an edit does to the last root of each."""
    if not one and not other:
        return 0
    if not one:
        return by_definition((), other[:-1] + other[-1][1]) + 1
    if not other:
        return by_definition(one[:-1] + one[-1][1], ()) + 1
    return min(
        by_definition(one[:-1] + one[-1][1], other) + 1,
        by_definition(one, other[:-1] + other[-1][1]) + 1,
        by_definition(one[-1][1], other[-1][1])
        + by_definition(one[:-1], other[:-1])
        + (one[-1][0] != other[-1][0]),
    )


@given(nested, nested)
def test_the_distance_is_the_one_of_the_definition(one: Nested, other: Nested):
    assert edit_distance(tree(one), tree(other)) == by_definition((one,), (other,))


def test_labels_are_alike_only_if_both_numbers_are():
    one, other = make_tree([(1, 2)], [[]], 0), make_tree([(1, 3)], [[]], 0)
    assert edit_distance(one, other) == 1
    assert edit_distance(make_tree([(2, 3)], [[]], 0), other) == 1


def test_a_chain_longer_than_the_recursion_limit_is_a_tree():
    count = 1500
    chain = make_tree([(0, 0)] * count, [[node + 1] for node in range(count - 1)] + [[]], 0)
    assert len(chain) == count and edit_distance(chain, chain) == 0
