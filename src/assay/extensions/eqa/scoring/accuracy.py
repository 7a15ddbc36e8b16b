"""How often a model is right: per kind and data set, and in hierarchical means."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from assay.extensions.eqa.question import LETTERS
from assay.extensions.eqa.scoring.means import PARTS, Hierarchy
from assay.extensions.eqa.scoring.sheet import Sheet
from assay.measures.result import Result
from assay.support.stats.bootstrap import FEWEST
from assay.support.stats.distributions import t_quantile
from assay.support.stats.intervals import LEVEL, Interval, Z, newcombe, share_interval, wilson_interval

CHANCE = 1 / len(LETTERS)


@dataclass(frozen=True, slots=True)
class Accuracy(Result):
    """Of one kind and data set."""

    dataset: str
    kind: str
    questions: int
    """That count: answered, or answered with what is no answer."""
    share: float
    interval: Interval
    """Wilson's, over episodes."""


@dataclass(frozen=True, slots=True)
class Mean(Result):
    """A hierarchical mean."""

    share: float
    interval: Interval | None
    """Over episodes within data sets, each of which counts as much as it knows: Wilson's, of a difference Student's, or
    Newcombe's where all are right or wrong; None where episodes are too few."""


@dataclass(frozen=True, slots=True)
class Standing(Result):
    """All about one model."""

    questions: int
    accuracies: tuple[Accuracy, ...]
    means: dict[str, Mean]
    """overall, high, mid, low, prediction, inference; those that there are questions for."""
    asymmetry: dict[str, Mean]
    """inference less prediction: overall, high, mid, low."""

    @property
    def overall(self) -> Mean:
        """The mean of everything."""
        return self.means["overall"]

    @property
    def above_chance(self) -> bool | None:
        """Whether the interval of the overall mean lies above chance."""
        interval = self.overall.interval
        return None if interval is None else interval.low > CHANCE


def standing(sheet: Sheet, right: np.ndarray, within: np.ndarray | None = None) -> Standing:
    """How often verdicts (questions,) are right; ``within`` (questions,) chooses questions."""
    counts_of = (right >= 0) if within is None else (right >= 0) & within
    places = [place for place in range(len(sheet.cells)) if counts_of[sheet.cell == place].any()]
    cells = [sheet.cells[place] for place in places]
    tried = np.stack([sheet.per_cluster(counts_of & (sheet.cell == place)) for place in places], axis=1)
    hit = np.stack(
        [sheet.per_cluster(counts_of & (right == 1) & (sheet.cell == place)) for place in places], axis=1
    )
    used = tried.any(axis=1)
    tried, hit = tried[used], hit[used]  # (episodes, cells)
    accuracies = tuple(
        Accuracy(
            dataset,
            str(kind),
            int(tried[:, place].sum()),
            float(hit[:, place].sum() / tried[:, place].sum()),
            share_interval(
                hit[tried[:, place] > 0, place],
                tried[tried[:, place] > 0, place],
                float(tried[:, place].sum()),
            ),
        )
        for place, (dataset, kind) in enumerate(cells)
    )
    shares = np.array([accuracy.share for accuracy in accuracies])
    known = _Known(hit, tried, np.array([cells[place][0] for place in tried.argmax(axis=1)]))
    there = {kind for _, kind in cells}
    parts = {name: Hierarchy.of(cells, kinds) for name, kinds in PARTS.items() if there & set(kinds)}
    means = {}
    for name, part in parts.items():
        share, error = float(part.mean(shares)), known.error(part.weights(len(cells)))
        interval = None
        if error is not None and 0 < share < 1 and error > 0:
            interval = wilson_interval(share, share * (1 - share) * (Z / error) ** 2)
        means[name] = _sure(Mean(share, interval), _episodes(part, tried))
    asymmetry = {}
    for name in ("overall", "high", "mid", "low"):
        forward, backward = (
            [kind for kind in PARTS[name] if kind.predicts is predicts and kind in there]
            for predicts in (True, False)
        )
        if forward and backward:
            one, other = Hierarchy.of(cells, forward), Hierarchy.of(cells, backward)
            sides = float(one.mean(shares)), float(other.mean(shares))
            apart = other.weights(len(cells)) - one.weights(len(cells))
            error = known.error(apart)
            if error == 0:  # each side all right, or all wrong
                counts = float(_episodes(one, tried)), float(_episodes(other, tried))
                asymmetry[name] = Mean(sides[1] - sides[0], newcombe(sides, counts, 0.0).interval)
                continue
            asymmetry[name] = Mean(sides[1] - sides[0], _student(sides[1] - sides[0], error))
    return Standing(int(counts_of.sum()), accuracies, means, asymmetry)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Right answers and questions of each episode in each cell, (episodes, cells), and its data set (episodes,)."""

    hit: np.ndarray
    tried: np.ndarray
    dataset: np.ndarray

    def error(self, weights: np.ndarray) -> float | None:
        """Half the width of the interval of ``weights @ shares`` (cells,), if it were symmetric; None if too few.

        Linearised. Episodes are drawn within their data sets; Student's distribution has as many degrees of freedom as
        the data sets give it (Satterthwaite): one with few episodes that counts as much as a large one gives few.
        """
        if len(self.tried) < FEWEST:
            return None
        total = self.tried.sum(axis=0)
        off = (self.hit - self.hit.sum(axis=0) / total * self.tried) / total @ weights  # (episodes,)
        asked = (self.tried @ (weights != 0)) > 0
        variances, free = [], []
        for dataset in np.unique(self.dataset[asked]):
            mine = off[asked & (self.dataset == dataset)]
            variances.append(float(mine @ mine) * len(mine) / max(len(mine) - 1, 1))
            free.append(max(len(mine) - 1, 1))
        variance = np.array(variances)
        if variance.sum() < 1e-15:
            return 0.0
        freedom = float(variance.sum() ** 2 / (variance**2 / np.array(free)).sum())
        return float(t_quantile((1 + LEVEL) / 2, freedom) * variance.sum() ** 0.5)


def _student(middle: float, error: float | None) -> Interval | None:
    if error is None:
        return None
    return Interval(
        max(-1.0, middle - error), min(1.0, middle + error), "student, over episodes within data sets"
    )


def _episodes(part: Hierarchy, tried: np.ndarray) -> int:
    """How many episodes a mean has questions from."""
    return int(tried[:, list(chain(*part.groups))].any(axis=1).sum())


def _sure(mean: Mean, episodes: int) -> Mean:
    """With Wilson's interval where all answers to enough episodes are right, or wrong."""
    known = mean.interval is not None or episodes < FEWEST
    return mean if known else Mean(mean.share, wilson_interval(mean.share, episodes))
