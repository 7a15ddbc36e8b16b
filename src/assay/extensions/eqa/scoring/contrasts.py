"""Differences on the same things: models on questions, views of items, directions between two moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from assay.extensions.eqa.scoring.means import PARTS, Hierarchy
from assay.extensions.eqa.scoring.sheet import Sheet
from assay.measures.result import Result
from assay.support.stats.intervals import Interval, paired_difference, tested
from assay.support.stats.significance import holm, sign_flip


@dataclass(frozen=True, slots=True)
class Contrast(Result):
    """Two shares of right answers, pair by pair, and the second less the first."""

    first: str
    second: str
    pairs: int
    first_share: float
    second_share: float
    difference: float
    interval: Interval
    """Newcombe's, over episodes; reaches to 0 where the test cannot exclude that."""
    p: float
    """Exact, if either sign were as likely in each episode."""
    p_holm: float = 1.0
    """Adjusted for everything in the same list."""


def models(sheet: Sheet) -> tuple[Contrast, ...]:
    """Every two models on the questions that count for both, by the mean that they are ranked by.

    Each kind of question counts the same, however many data sets and questions it has.
    """
    found = []
    for (first, one), (second, other) in combinations(sheet.models.items(), 2):
        weights = _weights(sheet, (one.right >= 0) & (other.right >= 0))
        found.append(_contrast(first, second, one.right, other.right, sheet.cluster, weights))
    return _adjusted(found)


def _weights(sheet: Sheet, both: np.ndarray) -> np.ndarray:
    """How much each question counts in the mean of everything, of those that are in ``both`` (questions,)."""
    asked = np.bincount(sheet.cell[both], minlength=len(sheet.cells))
    there = np.flatnonzero(asked)
    hierarchy = Hierarchy.of([sheet.cells[place] for place in there], PARTS["overall"])
    each = np.zeros(len(sheet.cells))
    each[there] = hierarchy.weights(len(there)) / asked[there]
    return np.asarray(np.where(both, each[sheet.cell], 0.0))


def views(sheet: Sheet, right: np.ndarray) -> tuple[Contrast, ...]:
    """Every two views of the same items, for one model's verdicts (questions,)."""
    if len(sheet.views) < 2:
        return ()
    items = sheet.item
    cluster = np.zeros(items.max() + 1, dtype=int)
    cluster[items] = sheet.cluster
    seen = {}
    for name, mine in sheet.views.items():
        seen[name] = np.full(len(cluster), -1, dtype=np.int8)
        seen[name][items[mine]] = right[mine]
    found = [
        _contrast(first, second, seen[first], seen[second], cluster)
        for first, second in combinations(seen, 2)
    ]
    return _adjusted(found)


def directions(sheet: Sheet, right: np.ndarray) -> tuple[Contrast, ...]:
    """Prediction and inference of the same two moments in the same view, at each level."""
    found = [
        _contrast(
            f"{level} prediction",
            f"{level} inference",
            right[forward],
            right[backward],
            sheet.cluster[forward],
        )
        for level, (forward, backward) in sheet.both_directions.items()
    ]
    return _adjusted(found)


def _contrast(
    first: str,
    second: str,
    one: np.ndarray,
    other: np.ndarray,
    cluster: np.ndarray,
    weights: np.ndarray | None = None,
) -> Contrast | None:
    """Of verdicts (pairs,) each, with the weight of every pair; all the same, if there are none."""
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return None
    number, heavy = cluster[both], np.ones(int(both.sum())) if weights is None else weights[both]
    tried = np.bincount(number, heavy)
    used = tried > 0
    hits = [np.bincount(number, each[both] * heavy)[used] for each in (one, other)]
    most = float(heavy.sum() ** 2 / np.square(heavy).sum())
    found = paired_difference((hits[0], hits[1]), (tried[used], tried[used]), (most, most))
    p = sign_flip(hits[1] - hits[0])
    return Contrast(
        *(first, second, int(both.sum()), found.first, found.second, found.difference),
        tested(found.interval, p),
        p,
    )


def _adjusted(found: Sequence[Contrast | None]) -> tuple[Contrast, ...]:
    there = [each for each in found if each is not None]
    values = holm([each.p for each in there]) if there else []
    return tuple(replace(each, p_holm=value) for each, value in zip(there, values, strict=True))
