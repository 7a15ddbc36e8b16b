"""Accuracy of a model: per kind and data set, and in hierarchical means.

A hierarchical mean averages over the data sets of each kind, then over kinds, so that every kind has the same weight
regardless of its number of data sets and questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated

import numpy as np

from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.question import LETTERS, QuestionKind
from assay.extensions.eqa.scoring.answer_sheet import AnswerSheet, Cell
from assay.measures.result import Result
from assay.measures.views.table import Column
from assay.support.stats.intervals import LEVEL, Interval, Z, newcombe, share_interval, wilson_interval
from assay.support.stats.resampling import FEWEST
from assay.support.stats.significance import t_quantile

CHANCE = 1 / len(LETTERS)
PARTS: Mapping[str, tuple[QuestionKind, ...]] = {
    "overall": tuple(QuestionKind),
    **{str(level): tuple(kind for kind in QuestionKind if kind.level is level) for level in ActionLevel},
    "prediction": tuple(kind for kind in QuestionKind if kind.predicts),
    "inference": tuple(kind for kind in QuestionKind if not kind.predicts),
}
"""Kinds that each hierarchical mean includes."""


@dataclass(frozen=True, slots=True)
class Accuracy(Result):
    """Accuracy on one kind and data set."""

    dataset: Annotated[str, Column("data set")]
    kind: Annotated[str, Column("kind")]
    questions: Annotated[int, Column("n", "count")]
    """Number of scored questions."""
    share: Annotated[float, Column("right", "share")]
    interval: Annotated[Interval, Column("95 % interval", "share")]
    """Wilson interval, clustered by episode."""


@dataclass(frozen=True, slots=True)
class Mean(Result):
    """A hierarchical mean."""

    share: float
    interval: Interval | None
    """Interval over episodes within data sets; None if there are too few episodes.

    Wilson for means; for differences Student, or Newcombe if all answers of each side are right or all are wrong.
    """


@dataclass(frozen=True, slots=True)
class Standing(Result):
    """All accuracies of one model."""

    questions: int
    accuracies: tuple[Accuracy, ...]
    means: dict[str, Mean]
    """Means by part: overall, high, mid, low, prediction, inference; only those with questions."""
    asymmetry: dict[str, Mean]
    """Difference inference minus prediction: overall, high, mid, low."""

    @property
    def overall(self) -> Mean:
        """Hierarchical mean over all kinds."""
        return self.means["overall"]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Grouping of cells in a hierarchical mean: cells of a kind are averaged first."""

    groups: tuple[tuple[int, ...], ...]
    """Indices of each kind's cells."""

    @classmethod
    def of(cls, cells: Sequence[Cell], kinds: Sequence[QuestionKind]) -> Hierarchy:
        """Group cells by kind; cells of other kinds are ignored."""
        groups = (tuple(place for place, (_, other) in enumerate(cells) if other is kind) for kind in kinds)
        return cls(tuple(group for group in groups if group))

    def weights(self, cells: int) -> np.ndarray:
        """Return the weight of each of ``cells`` cells in the mean, (cells,)."""
        weights = np.zeros(cells)
        for group in self.groups:
            weights[list(group)] = 1 / (len(self.groups) * len(group))
        return weights

    def mean(self, shares: np.ndarray) -> np.ndarray:
        """Return the means of shares (..., cells)."""
        return np.asarray(np.mean([shares[..., group].mean(axis=-1) for group in self.groups], axis=0))


def standing(sheet: AnswerSheet, right: np.ndarray, within: np.ndarray | None = None) -> Standing:
    """Compute accuracies from correctness (questions,): 1, 0 or -1; ``within`` (questions,) selects questions."""
    scored = (right >= 0) if within is None else (right >= 0) & within
    places = [place for place in range(len(sheet.cells)) if scored[sheet.cell == place].any()]
    cells = [sheet.cells[place] for place in places]
    masks = [scored & (sheet.cell == place) for place in places]
    tried = np.stack([sheet.per_cluster(mask) for mask in masks], axis=1)
    hit = np.stack([sheet.per_cluster(mask & (right == 1)) for mask in masks], axis=1)
    used = tried.any(axis=1)
    tried, hit = tried[used], hit[used]  # (episodes, cells)
    accuracies = []
    for (dataset, kind), hits, tries in zip(cells, hit.T, tried.T, strict=True):
        total, asked = float(tries.sum()), tries > 0
        wilson = share_interval(hits[asked], tries[asked], total)
        accuracies.append(Accuracy(dataset, str(kind), int(total), float(hits.sum() / total), wilson))
    shares = np.array([accuracy.share for accuracy in accuracies])
    counts = EpisodeCounts(hit, tried, np.array([cells[place][0] for place in tried.argmax(axis=1)]))
    kinds = {kind for _, kind in cells}
    means = {}
    for name, members in PARTS.items():
        if kinds & set(members):
            part = Hierarchy.of(cells, members)
            share, error = float(part.mean(shares)), counts.error(part.weights(len(cells)))
            means[name] = Mean(share, _mean_interval(share, error, _episodes(part, tried)))
    asymmetry = {}
    for name in ("overall", "high", "mid", "low"):
        predicted = [kind for kind in PARTS[name] if kind.predicts and kind in kinds]
        inferred = [kind for kind in PARTS[name] if not kind.predicts and kind in kinds]
        if predicted and inferred:
            one, other = Hierarchy.of(cells, predicted), Hierarchy.of(cells, inferred)
            sides = float(one.mean(shares)), float(other.mean(shares))
            gap = sides[1] - sides[0]
            error = counts.error(other.weights(len(cells)) - one.weights(len(cells)))
            interval: Interval | None = None
            if error == 0:  # each side all right, or all wrong
                sizes = float(_episodes(one, tried)), float(_episodes(other, tried))
                interval = newcombe(sides, sizes, 0.0).interval
            elif error is not None:
                method = "student, over episodes within data sets"
                interval = Interval(max(-1.0, gap - error), min(1.0, gap + error), method)
            asymmetry[name] = Mean(gap, interval)
    return Standing(int(scored.sum()), tuple(accuracies), means, asymmetry)


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeCounts:
    """Number of right answers and of questions per episode and cell, (episodes, cells), and data sets (episodes,)."""

    hit: np.ndarray
    tried: np.ndarray
    dataset: np.ndarray

    def error(self, weights: np.ndarray) -> float | None:
        """Return the half-width of the interval of ``weights @ shares`` (cells,); None for too few episodes.

        The interval is symmetric and linearised. Episodes are sampled within their data sets; the degrees of freedom
        of Student's distribution follow Satterthwaite, so a small data set with the weight of a large one contributes
        few.
        """
        if len(self.tried) < FEWEST:
            return None
        total = self.tried.sum(axis=0)
        residual = (self.hit - self.hit.sum(axis=0) / total * self.tried) / total @ weights  # (episodes,)
        asked = (self.tried @ (weights != 0)) > 0
        variances, freedoms = [], []
        for dataset in np.unique(self.dataset[asked]):
            own = residual[asked & (self.dataset == dataset)]
            variances.append(float(own @ own) * len(own) / max(len(own) - 1, 1))
            freedoms.append(max(len(own) - 1, 1))
        variance = np.array(variances)
        if variance.sum() < 1e-15:
            return 0.0
        freedom = float(variance.sum() ** 2 / (variance**2 / np.array(freedoms)).sum())
        return float(t_quantile((1 + LEVEL) / 2, freedom) * variance.sum() ** 0.5)


def _mean_interval(share: float, error: float | None, episodes: int) -> Interval | None:
    """Return the Wilson interval with the effective number of episodes; with all if every answer is right or
    wrong.
    """
    if error is not None and 0 < share < 1 and error > 0:
        return wilson_interval(share, share * (1 - share) * (Z / error) ** 2)
    return None if episodes < FEWEST else wilson_interval(share, episodes)


def _episodes(part: Hierarchy, tried: np.ndarray) -> int:
    """Return the number of episodes with questions in a mean."""
    return int(tried[:, list(chain(*part.groups))].any(axis=1).sum())
