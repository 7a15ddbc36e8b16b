"""Accuracy of a model: per kind and data set, and in hierarchical means.

A hierarchical mean averages over the data sets of each kind, then over kinds, so that every kind has the same weight
regardless of its number of data sets and questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
"""Kinds of questions that each hierarchical mean covers."""


@dataclass(frozen=True, slots=True)
class Accuracy(Result):
    """Accuracy on one kind and data set."""

    dataset: Annotated[str, Column("data set")]
    kind: Annotated[str, Column("kind")]
    questions: Annotated[int, Column("n", "count")]
    """Number of scored questions."""
    share: Annotated[float, Column("right", "share")]
    """Fraction of correct answers."""
    interval: Annotated[Interval, Column("95 % interval", "share")]
    """Wilson interval, clustered by episode."""


@dataclass(frozen=True, slots=True)
class Mean(Result):
    """A hierarchical mean."""

    share: float
    interval: Interval | None
    """Interval over episodes within data sets; None if there are too few episodes.

    Wilson for means; Student for differences, or Newcombe if the answers of each side are all right or all wrong.
    """


@dataclass(frozen=True, slots=True)
class Standing(Result):
    """All accuracies of one model."""

    questions: int
    accuracies: tuple[Accuracy, ...]
    means: dict[str, Mean]
    """Means by part: overall, high, mid, low, prediction, inference; only those with questions."""
    asymmetry: dict[str, Mean]
    """Accuracy of inference minus that of prediction: overall, high, mid, low."""

    @property
    def overall(self) -> Mean:
        """Hierarchical mean over all kinds."""
        return self.means["overall"]


def cell_weights(cells: Sequence[Cell], kinds: Sequence[QuestionKind]) -> np.ndarray:
    """Return the weight of each cell in the hierarchical mean over some kinds, (cells,)."""
    groups = [[place for place, (_, other) in enumerate(cells) if other is kind] for kind in kinds]
    groups = [group for group in groups if group]
    weights = np.zeros(len(cells))
    for group in groups:
        weights[group] = 1 / (len(groups) * len(group))
    return weights


def standing(sheet: AnswerSheet, right: np.ndarray, within: np.ndarray | None = None) -> Standing:
    """Compute accuracies from correctness (questions,): 1, 0, or -1 if unscored; ``within`` selects questions."""
    scored = (right >= 0) if within is None else (right >= 0) & within
    places = np.unique(sheet.cell[scored])
    cells = [sheet.cells[place] for place in places]
    masks = [scored & (sheet.cell == place) for place in places]
    tried = np.stack([sheet.per_cluster(mask) for mask in masks], axis=1)
    hit = np.stack([sheet.per_cluster(mask & (right == 1)) for mask in masks], axis=1)
    used = tried.any(axis=1)
    tried, hit = tried[used], hit[used]  # (episodes, cells)
    datasets = np.array([cells[place][0] for place in tried.argmax(axis=1)])
    accuracies = []
    for (dataset, kind), hits, tries in zip(cells, hit.T, tried.T, strict=True):
        total, asked = float(tries.sum()), tries > 0
        wilson = share_interval(hits[asked], tries[asked], total)
        accuracies.append(Accuracy(dataset, str(kind), int(total), float(hits.sum() / total), wilson))
    shares = np.array([accuracy.share for accuracy in accuracies])

    def episodes(weights: np.ndarray) -> int:
        return int(tried[:, weights != 0].any(axis=1).sum())

    means, asymmetry = {}, {}
    for name, members in PARTS.items():
        weights = cell_weights(cells, members)
        if weights.any():
            share = float(np.average(shares, weights=weights))
            error = mean_error(hit, tried, datasets, weights)
            interval: Interval | None = None
            if error and 0 < share < 1:  # with the effective number of episodes
                interval = wilson_interval(share, share * (1 - share) * (Z / error) ** 2)
            elif (count := episodes(weights)) >= FEWEST:
                interval = wilson_interval(share, count)
            means[name] = Mean(share, interval)
    for name in ("overall", *map(str, ActionLevel)):
        predicted = cell_weights(cells, [kind for kind in PARTS[name] if kind.predicts])
        inferred = cell_weights(cells, [kind for kind in PARTS[name] if not kind.predicts])
        if predicted.any() and inferred.any():
            sides = (
                float(np.average(shares, weights=predicted)),
                float(np.average(shares, weights=inferred)),
            )
            gap, interval = sides[1] - sides[0], None
            error = mean_error(hit, tried, datasets, inferred - predicted)
            if error == 0:  # each side all right, or all wrong
                interval = newcombe(sides, (episodes(predicted), episodes(inferred)), 0.0).interval
            elif error is not None:
                method = "student, over episodes within data sets"
                interval = Interval(max(-1.0, gap - error), min(1.0, gap + error), method)
            asymmetry[name] = Mean(gap, interval)
    return Standing(int(scored.sum()), tuple(accuracies), means, asymmetry)


def mean_error(hit: np.ndarray, tried: np.ndarray, datasets: np.ndarray, weights: np.ndarray) -> float | None:
    """Return the half-width of the interval of ``weights @ shares``, weights (cells,); None for too few episodes.

    ``hit`` and ``tried`` are the numbers of right answers and of questions, (episodes, cells); ``datasets`` is the data
    set of each episode. The interval is symmetric and linearised. Episodes are sampled within their data sets; the
    degrees of freedom of Student's distribution follow Satterthwaite, so a small data set with the weight of a large
    one contributes few.
    """
    if len(tried) < FEWEST:
        return None
    total = tried.sum(axis=0)
    residual = (hit - hit.sum(axis=0) / total * tried) / total @ weights  # (episodes,)
    asked = (tried @ (weights != 0)) > 0
    variances, freedoms = [], []
    for dataset in np.unique(datasets[asked]):
        own = residual[asked & (datasets == dataset)]
        freedoms.append(max(len(own) - 1, 1))
        variances.append(float(own @ own) * len(own) / freedoms[-1])
    variance = np.array(variances)
    if variance.sum() < 1e-15:
        return 0.0
    freedom = float(variance.sum() ** 2 / (variance**2 / np.array(freedoms)).sum())
    return float(t_quantile((1 + LEVEL) / 2, freedom) * variance.sum() ** 0.5)
