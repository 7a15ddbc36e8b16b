"""How often a model is right: per kind and data set, and in hierarchical means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from assay.eqa.question import LETTERS
from assay.eqa.scoring.means import PARTS, Hierarchy
from assay.eqa.scoring.sheet import Sheet
from assay.measures.result import Result
from assay.stats.bootstrap import FEWEST, percentiles, resampled
from assay.stats.intervals import Interval, newcombe, share_interval, wilson_interval

CHANCE = 1 / len(LETTERS)
Statistic = Callable[[np.ndarray], np.ndarray]
"""Shares (..., cells) -> values (...)."""


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
    """Cluster bootstrap over episodes; Wilson's, or Newcombe's of a difference, where all are right or wrong;
    None where they are too few."""


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
    counts = (right >= 0) if within is None else (right >= 0) & within
    places = [place for place in range(len(sheet.cells)) if counts[sheet.cell == place].any()]
    cells = [sheet.cells[place] for place in places]
    tried = np.stack([sheet.per_cluster(counts & (sheet.cell == place)) for place in places], axis=1)
    hit = np.stack(
        [sheet.per_cluster(counts & (right == 1) & (sheet.cell == place)) for place in places], axis=1
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
    shares = np.array([each.share for each in accuracies])
    drawn = _drawn(hit, tried)
    there = {kind for _, kind in cells}
    parts = {name: Hierarchy.of(cells, kinds) for name, kinds in PARTS.items() if there & set(kinds)}
    means = {}
    for name, part in parts.items():
        means[name] = _sure(_mean(part.mean, shares, drawn, len(tried)), _episodes(part, tried))
    asymmetry = {}
    for name in ("overall", "high", "mid", "low"):
        forward, backward = (
            [kind for kind in PARTS[name] if kind.predicts is predicts and kind in there]
            for predicts in (True, False)
        )
        if forward and backward:
            one, other = Hierarchy.of(cells, forward), Hierarchy.of(cells, backward)
            found = _mean(_less(other, one), shares, drawn, len(tried))
            if found.interval is None and drawn is not None:  # each side all right, or all wrong
                sides, known = zip(
                    *((float(each.mean(shares)), _episodes(each, tried)) for each in (one, other)),
                    strict=True,
                )
                found = Mean(found.share, newcombe(sides, known, 0.0).interval)
            asymmetry[name] = found
    return Standing(int(counts.sum()), accuracies, means, asymmetry)


def _drawn(hit: np.ndarray, tried: np.ndarray) -> np.ndarray | None:
    """Shares of cells over episodes drawn anew, (draws, cells); None where episodes are too few."""
    if len(tried) < FEWEST:
        return None
    totals = resampled(np.hstack([hit, tried]))
    with np.errstate(invalid="ignore"):
        return np.asarray(totals[:, : hit.shape[1]] / totals[:, hit.shape[1] :])


def _mean(statistic: Statistic, shares: np.ndarray, drawn: np.ndarray | None, episodes: int) -> Mean:
    interval = None if drawn is None else percentiles(statistic(drawn), episodes)
    share = float(statistic(shares))
    if interval is not None and interval.low == interval.high:
        interval = None  # all right, or all wrong: drawing anew shows nothing
    return Mean(share, interval)


def _episodes(part: Hierarchy, tried: np.ndarray) -> int:
    """How many episodes a mean has questions from."""
    return int(tried[:, list(chain(*part.groups))].any(axis=1).sum())


def _less(one: Hierarchy, other: Hierarchy) -> Statistic:
    return lambda shares: one.mean(shares) - other.mean(shares)


def _sure(mean: Mean, episodes: int) -> Mean:
    """With Wilson's interval where all answers to enough episodes are right, or wrong."""
    known = mean.interval is not None or episodes < FEWEST
    return mean if known else Mean(mean.share, wilson_interval(mean.share, episodes))
