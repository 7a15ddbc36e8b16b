"""Thresholds: the smallest change at which success is lost, with its confidence set, from a search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any

import polars as pl

from assay.episodes import Outcome
from assay.episodes.spec import CONTROL
from assay.experiments.axes import AXIS, MAGNITUDE
from assay.measures.measure import Measure, Panel, Profile, RunData
from assay.measures.result import MeasureError, Result
from assay.measures.views.style import BLUE, ORANGE, WIDTH, Drawing, Figure, share_limits
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import NOT, listed, percent
from assay.support.stats.intervals import wilson_interval
from assay.support.stats.thresholds import ALPHA, LEVEL, LadderEvidence

MOST_PANELS = 12
_ENDED = {
    "settled": "",
    "budget": "the budget is used up",
    "starts": "the seeds are used up",
    "controls": "no control succeeds, so no loss can be measured",
    "refused": "the oracle solves none of the changed scenes",
    "going on": "not finished",
}
META = "search"
"""Key of the search in the metadata of a run: level, confidence, and the magnitudes searched."""
SECTION = "Smallest change that causes failure"


@dataclass(frozen=True, slots=True)
class AtMagnitude(Result):
    """Success at one magnitude, over starts whose control ended without an error."""

    magnitude: float
    successes: int
    starts: int
    controls: int
    """Number of successes of the controls of the same starts."""


@dataclass(frozen=True, slots=True)
class AxisThreshold(Result):
    """Threshold for one axis of one task."""

    task: Annotated[str, Column("task")]
    axis: Annotated[str, Column("axis")]
    unit: str
    magnitudes: tuple[float, ...]
    """Magnitudes that the search may try, in ascending order."""
    kept: float | None
    """Largest magnitude at which success is retained with confidence, or 0; None if no threshold fits."""
    lost: float | None
    """Smallest magnitude at which success is lost with confidence, if any."""
    best: float | None
    """Most likely threshold; None if success is probably never lost, no threshold fits, or there are no episodes."""
    fits: bool
    """Whether some threshold fits the outcomes; if not, success does not decrease with the magnitude."""
    points: tuple[AtMagnitude, ...]
    controls: int
    """Number of controls of the task without an error."""
    succeeded: int
    """Number of controls that succeeded."""
    episodes: Annotated[int, Column("episodes", "count")]
    """Number of episodes on this axis, excluding the controls."""
    ended: str
    """Reason why the search ended: settled, budget, controls or starts; empty for runs without a search."""

    @property
    def location(self) -> str:
        """Interval of the threshold, such as ``0.175 to 0.2 m``, ``above 0.4 m`` or ``up to 0.025 m``."""
        unit = f" {self.unit}" if self.unit else ""
        if not self.fits:
            return "none fits"
        if self.lost is None:
            return f"above {self.kept:g}{unit}" if self.kept else "unknown"
        return f"{self.kept:g} to {self.lost:g}{unit}" if self.kept else f"up to {self.lost:g}{unit}"

    @property
    def likeliest(self) -> str:
        """Most likely threshold as a table entry."""
        if self.best is None:
            return "not lost" if self.fits and self.points else NOT
        return f"{self.best:g}"

    @property
    def remark(self) -> str:
        """Caveat about the threshold; may be empty."""
        if not self.fits:
            return "success does not decrease with the magnitude"
        return _ENDED.get(self.ended, self.ended)


@dataclass(frozen=True, slots=True)
class Thresholds(Result):
    """Thresholds for all axes of all tasks."""

    level: float
    """Fraction of the controls' success rate below which success counts as lost."""
    confidence: float
    """Anytime-valid confidence of each interval."""
    found: tuple[AxisThreshold, ...]
    cannot: tuple[str, ...]
    """Sentences that state which axes do not apply to which tasks."""


def thresholds(run: RunData) -> Thresholds:
    """Return the threshold for every searched axis of every task."""
    search: dict[str, Any] = run.meta.get(META, {})
    level, confidence = search.get("level", LEVEL), search.get("confidence", 1 - ALPHA)
    whole = run.whole
    if MAGNITUDE not in whole.columns:  # controls only
        whole = whole.with_columns(pl.lit(None, pl.Float64).alias(MAGNITUDE), pl.lit("").alias(AXIS))
    single = whole.drop_nulls(MAGNITUDE)
    ladders = {(pair["task"], pair["axis"]): pair for pair in search.get("pairs", ())}
    for task, axis in single.select("task", AXIS).unique(maintain_order=True).iter_rows():
        if (task, axis) not in ladders:
            here = single.filter((pl.col("task") == task) & (pl.col(AXIS) == axis))
            ladders[task, axis] = {"magnitudes": sorted(here[MAGNITUDE].unique().to_list())}
    is_valid_control = (pl.col("condition") == CONTROL) & (pl.col("outcome") != Outcome.ERROR)
    usual: dict[str, dict[int, bool]] = {}  # task -> seed -> success of the control
    for task, seed, outcome in whole.filter(is_valid_control).select("task", "seed", "outcome").iter_rows():
        usual.setdefault(task, {})[seed] = outcome == Outcome.SUCCESS
    results = []
    for (task, axis), about in ladders.items():
        rows = single.filter((pl.col("task") == task) & (pl.col(AXIS) == axis))
        ladder, controls = [float(magnitude) for magnitude in about["magnitudes"]], usual.get(task, {})
        counts = {magnitude: [0, 0, 0] for magnitude in ladder}
        starts: dict[int, dict[int, bool]] = {}
        for seed, magnitude, outcome in rows.select("seed", MAGNITUDE, "outcome").iter_rows():
            if seed in controls and outcome != Outcome.ERROR and magnitude in counts:
                won = outcome == Outcome.SUCCESS
                for place, hit in enumerate((won, True, controls[seed])):
                    counts[magnitude][place] += hit
                starts.setdefault(seed, {})[ladder.index(magnitude)] = won
        evidence = LadderEvidence(len(ladder), level, 1 - confidence)
        for seed, outcomes in starts.items():
            evidence.see(controls[seed], outcomes)
        ends, best = evidence.interval, evidence.best
        results.append(
            AxisThreshold(
                task=task,
                axis=axis,
                unit=str(about.get("unit", "")),
                magnitudes=tuple(ladder),
                kept=None if ends is None else 0.0 if ends[0] == 0 else ladder[ends[0] - 1],
                lost=None if ends is None or ends[1] == len(ladder) else ladder[ends[1]],
                best=None if not starts or best is None or best == len(ladder) else ladder[best],
                fits=ends is not None,
                points=tuple(AtMagnitude(at, *count) for at, count in counts.items() if count[1]),
                controls=len(controls),
                succeeded=sum(controls.values()),
                episodes=len(rows),
                ended=str(about.get("ended", "")),
            )
        )
    if not results:
        raise MeasureError("no threshold was searched for")
    return Thresholds(level, confidence, tuple(results), tuple(search.get("cannot", ())))


def thresholds_table(result: Thresholds, report: object = None) -> Table:
    """Make a table of the thresholds by task and axis."""

    note = (
        "The threshold is the smallest magnitude at which the success rate is below "
        f"{percent(result.level, 0)} of that of the controls, over all starts. Success is retained at the lower end "
        "and lost at the upper end of each interval, with an anytime-valid confidence of "
        f"{percent(result.confidence, 0)}."
    )
    return Table.of(
        "thresholds",
        SECTION,
        result.found,
        *("task", "axis"),
        Column("success is lost", value=lambda threshold: threshold.location),
        Column("likeliest", value=lambda threshold: threshold.likeliest),
        Column("controls", value=lambda threshold: f"{threshold.succeeded}/{threshold.controls}"),
        "episodes",
        Column("remark", value=lambda threshold: threshold.remark),
        note=note + (f" Left out: {'; '.join(result.cannot)}." if result.cannot else ""),
        shown_at_once=True,
    )


def thresholds_figure(result: Thresholds, report: object = None) -> Drawing:
    """Plot success against magnitude, with one panel for each task and axis."""
    drawn = result.found[:MOST_PANELS]
    columns = min(4, len(drawn))
    rows = math.ceil(len(drawn) / columns)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axes, threshold in zip_longest(grid.flat, drawn):
            if threshold is None:
                axes.set_axis_off()
                continue
            end = threshold.magnitudes[-1]
            axes.set_xlim(-0.06 * end, 1.06 * end)
            if threshold.fits:
                upper = 1.06 * end if threshold.lost is None else threshold.lost
                axes.axvspan(threshold.kept or 0.0, upper, color=ORANGE, alpha=0.22, lw=0)
            if threshold.controls:
                usual = threshold.succeeded / threshold.controls
                axes.axhline(result.level * usual, color=ORANGE, lw=1, ls="--")
            for point in threshold.points:
                share = point.successes / point.starts
                interval = wilson_interval(share, point.starts)
                axes.vlines(point.magnitude, interval.low, interval.high, color=BLUE, lw=1)
                axes.scatter(point.magnitude, share, s=14 * point.starts, color=BLUE, zorder=3, clip_on=False)
            share_limits(axes)
            axes.set_title(f"{threshold.task}\n{threshold.location}", fontsize=8)
            axes.set_xlabel(f"{threshold.axis}, {threshold.unit}" if threshold.unit else threshold.axis)
        for row in grid:
            row[0].set_ylabel("success")

    more = (
        f" Only the first {MOST_PANELS} of {len(result.found)} panels are shown."
        if len(result.found) > MOST_PANELS
        else ""
    )
    caption = (
        "Success rate over all starts; larger dots represent more starts, lines are 95 % Wilson intervals. Shaded: "
        f"interval in which success falls below {percent(result.level, 0)} of that of the controls (dashed), with an "
        f"anytime-valid confidence of {percent(result.confidence, 0)}.{more}"
    )
    size = (min(WIDTH, max(4.6, 2.4 * columns)), 2.3 * rows + 0.2)
    return Drawing("thresholds", SECTION, caption, size, paint)


def threshold_sentences(result: Thresholds, profile: Profile) -> Iterator[str]:
    """Describe thresholds by axis, grouping tasks with equal results."""
    for axis in dict.fromkeys(threshold.axis for threshold in result.found):
        settled: dict[str, list[str]] = {}
        open_: dict[str, list[str]] = {}
        for threshold in (threshold for threshold in result.found if threshold.axis == axis):
            remark = f" ({threshold.remark})" if threshold.remark else ""
            group = settled if threshold.fits and threshold.lost is not None else open_
            group.setdefault(f"{threshold.location}{remark}", []).append(threshold.task)
        texts = [
            "; ".join(f"{text} in {listed(tasks)}" for text, tasks in group.items())
            for group in (settled, open_)
        ]
        if settled:
            confidence = percent(result.confidence, 0)
            yield f"Success is lost along {axis} at {texts[0]} (each at {confidence} confidence)."
        if open_:
            yield f"The threshold along {axis} is not yet determined: {texts[1]}."
    if result.cannot:
        yield f"Not searched: {'; '.join(result.cannot)}."


THRESHOLDS = Measure(
    "thresholds",
    "The smallest change at which success is lost, by task and axis, with an anytime-valid interval.",
    thresholds,
    needs=(AXIS,),
    panels=(Panel(SECTION, (thresholds_table,), (thresholds_figure,)),),
    sentences=threshold_sentences,
)
