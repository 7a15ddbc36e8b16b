"""A gate: the verdict of a duel, from two runs that are finished.

Better and worse are what `assay compare` decides (Holm over conditions). Equivalent and not worse are read off its
intervals, which are made wider for the conditions, as many as there are (Bonferroni). A loss that is sure to be within
the margin is no reason to refuse.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.measures.compare import MARGIN, Contrast, Decision, compare
from assay.measures.result import MeasureError
from assay.support.stats.intervals import Z
from assay.support.stats.judgement import Judgement, Line, verdict_of
from assay.support.stats.significance import SURE, normal_quantile


def gate(frames: Mapping[str, pl.DataFrame], *, margin: float = MARGIN, each: bool = False) -> Judgement:
    """The second of two runs against the first, the baseline, on the episodes that both did without an error.

    Raises MeasureError where none are shared.
    """
    if len(frames) != 2:
        raise MeasureError(f"gate: {len(frames)} runs; valid: two")
    found = compare(frames, margin=margin)
    first, second = frames
    conditions = found.conditions or found.implausible
    return Judgement(
        first=first,
        second=second,
        overall=_line(found.overall[0], 1),
        conditions=tuple(_line(contrast, len(conditions)) for contrast in conditions),
        margin=margin,
        alpha=SURE,
        anytime=False,
        each=each,
        played=sum(len(frame) for frame in frames.values()),
        planned=sum(len(frame) for frame in frames.values()),
        errors=sum(int((frame["outcome"] == "error").sum()) for frame in frames.values()),
    )


def _line(contrast: Contrast, family: int) -> Line:
    wider = normal_quantile(1 - SURE / 2 / family) / Z
    low = max(-1.0, contrast.change - wider * (contrast.change - contrast.interval.low))
    high = min(1.0, contrast.change + wider * (contrast.interval.high - contrast.change))
    return Line(
        condition=contrast.condition,
        starts=contrast.starts,
        pairs=contrast.count,
        first_rate=contrast.first_rate,
        second_rate=contrast.second_rate,
        change=contrast.change,
        low=low,
        high=high,
        verdict=verdict_of(
            above_zero=contrast.decision is Decision.BETTER,
            below_zero=contrast.decision is Decision.WORSE,
            above_loss=low >= -contrast.margin,
            below_gain=high <= contrast.margin,
        ),
    )
