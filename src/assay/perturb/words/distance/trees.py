"""Edit distance of ordered, labelled trees (Zhang and Shasha, 1989).

The libraries for it, apted and zss, are pure Python and take milliseconds for two sentences; this takes
microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.support.jit import compiled


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """An ordered tree; its nodes are numbered in post-order, so that the last one is the root."""

    labels: NDArray[np.uint64]
    """(n, 2): two nodes are alike if both numbers are."""
    leftmost: NDArray[np.int64]
    """(n,): of each node, the leftmost leaf below it."""
    keyroots: NDArray[np.int64]
    """(k,): the root, and every node that has a sibling to its left; ascending."""

    def __len__(self) -> int:
        return len(self.labels)


def make_tree(labels: Sequence[tuple[int, int]], children: Sequence[Sequence[int]], root: int) -> Tree:
    """The tree below a root, from every node's label and its children from left to right."""
    order, waiting = [], [root]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(children[order[-1]])
    order.reverse()
    number = {node: index for index, node in enumerate(order)}
    leftmost: list[int] = []
    for index, node in enumerate(order):
        below = children[node]
        leftmost.append(leftmost[number[below[0]]] if below else index)
    highest = {leaf: index for index, leaf in enumerate(leftmost)}
    return Tree(
        np.array([labels[node] for node in order], dtype=np.uint64),
        np.array(leftmost, dtype=np.int64),
        np.array(sorted(highest.values()), dtype=np.int64),
    )


def edit_distance(one: Tree, other: Tree) -> int:
    """The least number of nodes to insert, delete or relabel that makes one tree the other."""
    return int(
        _edit_distance(one.labels, one.leftmost, one.keyroots, other.labels, other.leftmost, other.keyroots)
    )


@compiled
def _edit_distance(  # type: ignore[no-untyped-def]
    labels_a, leftmost_a, keyroots_a, labels_b, leftmost_b, keyroots_b
):
    trees = np.zeros((len(leftmost_a), len(leftmost_b)), np.int64)
    forests = np.zeros((len(leftmost_a) + 1, len(leftmost_b) + 1), np.int64)
    for root_a in keyroots_a:
        for root_b in keyroots_b:
            # forests[i, j]: from the first i nodes below root_a to the first j below root_b.
            first_a, first_b = leftmost_a[root_a], leftmost_b[root_b]
            size_a, size_b = root_a - first_a + 1, root_b - first_b + 1
            for i in range(size_a + 1):
                forests[i, 0] = i
            for j in range(size_b + 1):
                forests[0, j] = j
            for i in range(1, size_a + 1):
                a = first_a + i - 1
                for j in range(1, size_b + 1):
                    b = first_b + j - 1
                    best = min(forests[i - 1, j], forests[i, j - 1]) + 1
                    if leftmost_a[a] == first_a and leftmost_b[b] == first_b:
                        same = labels_a[a, 0] == labels_b[b, 0] and labels_a[a, 1] == labels_b[b, 1]
                        best = min(best, forests[i - 1, j - 1] + (0 if same else 1))
                        trees[a, b] = best
                    else:
                        before = forests[leftmost_a[a] - first_a, leftmost_b[b] - first_b]
                        best = min(best, before + trees[a, b])
                    forests[i, j] = best
    return trees[-1, -1]
