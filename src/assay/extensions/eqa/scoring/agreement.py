"""How far annotators agree on the questions that several of them answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.extensions.eqa.question import LETTERS
from assay.measures.result import MeasureError, Result
from assay.support.stats.agreement import gwet_ac1, kappa
from assay.support.stats.bootstrap import bootstrap
from assay.support.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Agreement(Result):
    """Of two annotators, or of all."""

    annotators: tuple[str, ...]
    items: int
    """Questions that at least two of them answered."""
    observed: float
    """The share of pairs of answers to the same question that are the same."""
    interval: Interval | None
    """Bootstrap over questions; None where they are too few."""
    even_kappa: float
    """Kappa with the chance of letters, or verdicts, that are all as likely: 1/4 of four."""
    kappa: float | None
    """Cohen's, with the chance of the annotators' own letters; its mean over all two. None if undefined."""
    ac1: float | None
    """Gwet's AC1, with the chance of all letters given, also to questions that one person answered; None for one
    question."""
    ac1_interval: tuple[float, float] | None


def agreement(letters: Mapping[str, np.ndarray], classes: int = len(LETTERS)) -> Agreement:
    """Of annotators' letters (questions,), 0 to 3 or -1, or of so many other ``classes``.

    Raises MeasureError if no two answered the same.
    """
    rated = np.stack(list(letters.values()), axis=1).astype(np.int64)  # (questions, annotators)
    ratings = rated[(rated >= 0).sum(axis=1) > 1]
    if not len(ratings):
        raise MeasureError("agreement: no question was answered by two annotators")
    counts = np.stack([(ratings == each).sum(axis=1) for each in range(classes)], axis=1)
    raters = counts.sum(axis=1)
    same, all_pairs = (counts * (counts - 1)).sum(axis=1) / 2, raters * (raters - 1) / 2
    observed = float(same.sum() / all_pairs.sum())
    interval = bootstrap(np.stack([same, all_pairs], axis=1), lambda sums: sums[:, 0] / sums[:, 1])
    value, low, high = gwet_ac1(rated, classes, 0.95) if len(ratings) > 1 else (None, 0.0, 0.0)
    return Agreement(
        tuple(letters),
        len(ratings),
        observed,
        interval,
        kappa(observed, 1 / classes),
        _cohen(ratings, classes),
        value,
        None if value is None else (low, high),
    )


def agreements(letters: Mapping[str, np.ndarray], classes: int = len(LETTERS)) -> tuple[Agreement, ...]:
    """Of all annotators together, and of every two of three or more; those that share questions."""
    sets = [letters] if len(letters) > 1 else []
    if len(letters) > 2:
        sets += [dict(two) for two in combinations(letters.items(), 2)]
    found = []
    for each in sets:
        try:
            found.append(agreement(each, classes))
        except MeasureError:
            continue
    return tuple(found)


def _cohen(ratings: np.ndarray, classes: int) -> float | None:
    values = []
    for one, other in combinations(ratings.T, 2):
        both = (one >= 0) & (other >= 0)
        if not both.any():
            continue
        shares = [np.bincount(each[both], minlength=classes) / both.sum() for each in (one, other)]
        chance = float(shares[0] @ shares[1])
        if chance < 1:
            values.append(kappa(float((one == other)[both].mean()), chance))
    return float(np.mean(values)) if values else None
