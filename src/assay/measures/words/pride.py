"""PRIDE: success weighted by how far the words went from the original's (LIBERO-Para).

PD(a) = 1 - (a S_K + (1 - a) S_T)        PRIDE(a) = 100 sum(success PD) / sum(PD)

a weighs keywords against structure. PD is linear in a, so sums of success and similarities are all it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.measures.clustering import linear, shares
from assay.measures.frames import judged, require
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.measures.views.wording import (
    KeyNumber,
    between,
    number,
    percent,
    signed,
)
from assay.measures.words.names import WORDS
from assay.measures.words.paraphrase import reworded, wording
from assay.support.stats.intervals import Interval

if TYPE_CHECKING:
    from assay.measures.profile import Profile

ALPHA = 0.5
FEWEST = 5
"""Wordings below which nothing is said about how sure a slope is."""
ALPHAS = tuple(round(0.1 * step, 1) for step in range(11))


@dataclass(frozen=True, slots=True)
class Pride(Result):
    """PRIDE at one weight."""

    alpha: float
    """The weight of keywords against structure."""
    pride: float
    """0 to 100"""
    interval: Interval
    """Wilson's, over starts and wordings."""
    episodes: int
    wordings: int
    unscored: int
    """Paraphrased episodes without similarities; they do not count."""


@dataclass(frozen=True, slots=True)
class Sweep(Result):
    """PRIDE over the weights."""

    points: tuple[Pride, ...]
    slope: float
    """Of the line through them, per unit of alpha: negative where keywords cost more than structure."""
    interval: Interval | None
    """Linearised, over starts and wordings; None where there are too few, or all succeed."""


@dataclass(frozen=True, slots=True)
class Overestimation(Result):
    """By how much the success rate flatters: (SR - PRIDE) / SR."""

    overestimation: float
    interval: Interval | None
    """Linearised, over starts and wordings; None where there are too few, or all succeed."""
    success_rate: float
    """Of the scored paraphrases."""
    pride: float
    """0 to 100"""
    episodes: int


def pride(frame: pl.DataFrame, alpha: float = ALPHA) -> Pride:
    """PRIDE of a run's paraphrases."""
    return _Sums(frame).pride(alpha)


def sweep(frame: pl.DataFrame) -> Sweep:
    """PRIDE for alpha = 0, 0.1, ..., 1, and its slope."""
    words = _Sums(frame)
    points = tuple(words.pride(alpha) for alpha in ALPHAS)

    def slopes(totals: np.ndarray) -> np.ndarray:
        curves = np.stack([words.value(totals, alpha) for alpha in ALPHAS])  # (alphas, draws)
        centred = np.array(ALPHAS) - np.mean(ALPHAS)
        return np.asarray(centred @ curves / (centred @ centred))

    slope = float(slopes(words.totals)[0])
    return Sweep(points, slope, words.interval(slopes))


def overestimation(frame: pl.DataFrame, alpha: float = ALPHA) -> Overestimation:
    """By how much the success rate exceeds PRIDE."""
    words = _Sums(frame)
    rate = float(words.totals[0, words.SUCCESS] / words.totals[0, words.COUNT])
    if rate == 0:
        raise MeasureError("no paraphrase succeeds, so there is nothing to overestimate")

    def excess(totals: np.ndarray) -> np.ndarray:
        shares = totals[:, words.SUCCESS] / totals[:, words.COUNT]
        return np.asarray(1 - words.value(totals, alpha) / 100 / shares)

    found = words.pride(alpha)
    return Overestimation(
        float(excess(words.totals)[0]), words.interval(excess), rate, found.pride, found.episodes
    )


class _Sums:
    """What PRIDE is made of: sums over episodes."""

    COUNT, SUCCESS, KEYWORDS, STRUCTURE, KEYWORDS_HIT, STRUCTURE_HIT = range(6)

    def __init__(self, frame: pl.DataFrame) -> None:
        rows = judged(reworded(frame))
        require(rows, "s_k", "s_t")
        scored = rows.drop_nulls(["s_k", "s_t"])
        self.unscored = len(rows) - len(scored)
        self._rows = scored
        self._wordings = scored.select(wording(scored)).n_unique()
        keywords, structure = 1 - pl.col("s_k"), 1 - pl.col("s_t")
        self._parts = (
            scored.select(
                count=pl.lit(1.0),
                hits=pl.col("success"),
                keywords=keywords,
                structure=structure,
                keywords_hit=keywords * pl.col("success"),
                structure_hit=structure * pl.col("success"),
            )
            .to_numpy()
            .astype(float)
        )  # (episodes, 6)
        self.totals = self._parts.sum(axis=0, keepdims=True)

    def value(self, totals: np.ndarray, alpha: float) -> np.ndarray:
        """PRIDE from totals (draws, 6): (draws,)."""
        hits = alpha * totals[:, self.KEYWORDS_HIT] + (1 - alpha) * totals[:, self.STRUCTURE_HIT]
        weights = alpha * totals[:, self.KEYWORDS] + (1 - alpha) * totals[:, self.STRUCTURE]
        return np.asarray(100 * hits / weights)

    def pride(self, alpha: float) -> Pride:
        """PRIDE at one weight."""
        weighed = self._rows.with_columns(_pd=1 - (alpha * pl.col("s_k") + (1 - alpha) * pl.col("s_t")))
        if not weighed["_pd"].sum() > 0:
            raise MeasureError(f"at alpha {alpha:g} no paraphrase differs from the original")
        _, found = shares(weighed, "success", weight="_pd")[()]
        interval = Interval(100 * found.low, 100 * found.high, found.method)
        value = float(self.value(self.totals, alpha)[0])
        return Pride(alpha, value, interval, len(self._rows), self._wordings, self.unscored)

    def interval(self, statistic: Callable[[np.ndarray], np.ndarray]) -> Interval | None:
        """The interval of what is made of the totals, from its slopes; None if wordings are few or alike."""
        if self._wordings < FEWEST or self.totals[0, self.SUCCESS] in (0, self.totals[0, self.COUNT]):
            return None  # where all succeed nothing varies: that shows nothing of what another run would do
        steps = np.diag(1e-4 * np.maximum(self.totals[0], 1e-9))
        slopes = (statistic(self.totals + steps) - statistic(self.totals - steps)) / (2 * np.diag(steps))
        if not np.isfinite(slopes).all():
            return None
        rows = self._rows.with_columns(pl.Series("_off", self._parts @ slopes))
        half = linear(rows, pl.col("_off"))
        value = float(statistic(self.totals)[0])
        return Interval(value - half, value + half, "linearised, over starts and wordings")


_NEEDS = ("s_k", "s_t")
PRIDE = Measure(
    "pride",
    "PRIDE at alpha 0.5: success weighted by the distance of the instruction from the original.",
    lambda run: pride(run.frame),
    needs=_NEEDS,
    sentences="assay.measures.words.pride:pride_sentences",
    numbers="assay.measures.words.pride:pride_numbers",
)
SWEEP = Measure(
    "sweep",
    "PRIDE over its weight alpha.",
    lambda run: sweep(run.frame),
    needs=_NEEDS,
    panels=(
        Panel(
            WORDS,
            tables=("assay.report.tables:pride_table",),
            runs="assay.report.figures.paraphrase:sweep_figure",
        ),
    ),
)
OVERESTIMATION = Measure(
    "overestimation",
    "By how much the success rate exceeds PRIDE: (success rate - PRIDE) / success rate.",
    lambda run: overestimation(run.frame),
    needs=_NEEDS,
    numbers="assay.measures.words.pride:overestimation_numbers",
)


def pride_sentences(pride: Pride, profile: Profile) -> Iterator[str]:
    """Success weighted by the distance of the instruction."""
    over = profile.get(OVERESTIMATION)
    text = (
        f"Weighted by the distance of the instruction, success is PRIDE {number(pride.pride)} of 100 "
        f"({between(pride.interval)})"
    )
    if over is not None and over.interval is not None and not over.interval.low <= 0 <= over.interval.high:
        direction = "overestimates" if over.overestimation > 0 else "underestimates"
        text += (
            f"; the plain rate {direction} (by {signed(100 * over.overestimation)} %, "
            f"95 % interval {between(over.interval, 100)})"
        )
    yield text + "."


def pride_numbers(pride: Pride, profile: Profile) -> Iterator[KeyNumber]:
    """PRIDE."""
    about = "Success on paraphrases, each weighted by its distance from the original; 0 to 100."
    detail = f"{between(pride.interval)}; n = {pride.episodes:,}"
    yield KeyNumber("PRIDE", number(pride.pride), detail, about)


def overestimation_numbers(over: Overestimation, profile: Profile) -> Iterator[KeyNumber]:
    """By how much the success rate exceeds PRIDE."""
    about = "By how much the plain success rate on paraphrases exceeds PRIDE, as a share of that rate."
    yield KeyNumber.of("overestimation", percent(over.overestimation), over.interval, over.episodes, about)
