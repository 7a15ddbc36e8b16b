"""Curves: success as a function of the magnitude of a change, and the loss at each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import START, plausible, require, valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun, RunData
from assay.measures.result import MeasureError, Missing, Result
from assay.measures.success.drops import DROPS
from assay.measures.success.rates import RATE, Rate, interval_note, rates
from assay.measures.views.style import HALF, Drawing, Figure, aside, legend_below, series, share_limits
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import between, describe_runs, listed, p_phrase, plural
from assay.measures.views.wording import points as signed_points
from assay.measures.words.names import WORDS
from assay.support.stats.intervals import Interval, stratified_difference, widen_to_p
from assay.support.stats.significance import paired_p


@dataclass(frozen=True, slots=True)
class CurvePoint(Result):
    """One point of a curve."""

    at: float
    """Magnitude of the change (a level, step or distance in metres); 0 for a control without the label."""
    condition: Annotated[str | None, Column("condition")]
    """Condition, if all episodes at this point have the same one."""
    plausible: bool
    """Whether success is expected."""
    rate: Rate
    change: Annotated[float | None, Column("against the point before", "change")] = None
    """Difference from the previous point over shared starts; None if there are no shared starts."""
    interval: Annotated[Interval | None, Column("its 95 % interval", "change")] = None
    """Newcombe interval over starts; includes 0 if the test is not significant."""
    starts: Annotated[int, Column("starts", "count")] = 0
    """Number of starts shared with the previous point."""
    p: Annotated[float | None, Column("p", "p")] = None
    """Exact p value of a test over and within starts."""


@dataclass(frozen=True, slots=True)
class DistanceRate(Result):
    """Success rate at one displacement."""

    distance: float
    """Displacement, in metres."""
    successes: int
    count: int


@dataclass(frozen=True, slots=True)
class Onset(Result):
    """Displacements with significantly less success than the control, and the largest displacement below these."""

    lost: tuple[DistanceRate, ...]
    kept: DistanceRate | None
    """Largest displacement below all those in ``lost``, if any."""


@dataclass(frozen=True, slots=True)
class SuccessCurve(Result):
    """Success as a function of a numeric label."""

    along: str
    steps: tuple[CurvePoint, ...]

    def onset(self) -> Onset | None:
        """Return the last points, all with success significantly below the control's; None if there are none."""
        control = self.steps[0].rate.interval
        if self.steps[0].at or control is None:
            return None
        lost: list[DistanceRate] = []
        below = None
        for point in self.steps[1:]:
            if point.rate.interval is not None:
                lost.append(DistanceRate(point.at, point.rate.successes, point.rate.count))
                if point.rate.interval.high >= control.low:
                    lost, below = [], lost[-1]
        return Onset(tuple(lost), below) if lost else None


def curve(frame: pl.DataFrame, along: str) -> SuccessCurve:
    """Return success by the label ``along`` (``level``, ``distance``, ``rung``, ``dissimilarity``), control first.

    Only controls of tasks with that label are used.
    """
    require(frame, along)
    if not frame[along].dtype.is_numeric():
        raise MeasureError(f"the values of {along} are not numeric")
    grown = pl.col(along).is_not_null()
    tasks = frame.filter(grown & (pl.col("condition") != CONTROL))["task"].unique()
    usual = (pl.col("condition") == CONTROL) & pl.col("task").is_in(tasks.implode())
    rows = frame.filter(usual | grown).with_columns(at=pl.col(along).cast(pl.Float64).fill_null(0.0))
    sums = valid_rows(rows).group_by("at", *START).agg(pl.col("success").sum(), pl.len().alias("count"))
    tables = {at: table for (at,), table in sums.sort(START).group_by("at")}
    conditions = {at: table["condition"].unique().to_list() for (at,), table in rows.group_by("at")}
    sensible = set(plausible(rows)["at"].to_list())
    points: list[CurvePoint] = []
    before: float | None = None
    for rate in sorted(rates(rows, ("at",)), key=lambda rate: float(rate.group["at"] or 0.0)):
        at = float(rate.group["at"] or 0.0)
        condition = conditions[at][0] if len(conditions[at]) == 1 else None
        point = CurvePoint(at, condition, at in sensible, rate)
        if rate.count and before is not None:
            shared = tables[before].join(tables[at], on=START, suffix="_now")
            if len(shared):
                columns = ("success", "count", "success_now", "count_now")
                sides = shared.select(columns).to_numpy().astype(float).T
                estimate, p = stratified_difference(*sides), paired_p(*sides)
                interval = widen_to_p(estimate.interval, p)
                point = replace(point, change=estimate.difference, interval=interval, starts=len(shared), p=p)
        points.append(point)
        before = at if rate.count else before
    return SuccessCurve(along, tuple(points))


def curve_figure(
    name: str, title: str, along: str, runs: Mapping[str, SuccessCurve], *, named: bool = False
) -> Drawing:
    """Plot success against a numeric label, with one line per run.

    With ``named``, points are labelled with their conditions.
    """
    points = [point for curve in runs.values() for point in curve.steps]
    places = sorted({point.at for point in points})
    span = places[-1] - places[0] if places else 0.0

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (run, curve) in enumerate(runs.items()):
            look = series(place)
            shift = aside(place, len(runs)) * span
            measured = [(point, rate) for point in curve.steps if (rate := point.rate.rate) is not None]
            x = [point.at + shift for point, _ in measured]
            axes.plot(x, [rate for _, rate in measured], label=run, **look)
            for at, (point, rate) in zip(x, measured, strict=True):
                if not point.plausible:
                    axes.plot(at, rate, look["marker"], mec=look["color"], mfc="white", zorder=3)
                if (interval := point.rate.interval) is not None:
                    axes.vlines(at, interval.low, interval.high, color=look["color"], lw=1.1)
        share_limits(axes)
        if all(at == int(at) for at in places):
            axes.set_xticks(places)
            axes.xaxis.set_major_formatter("{x:g}")
        if named:
            names = {point.at: _short_name(point.condition) for point in points}
            look = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
            axes.set_xticks(list(names), list(names.values()), **look)
        axes.set_xlabel(along if named or 0 not in places else f"{along} (0: control)")
        axes.set_ylabel("success")
        legend_below(figure, len(runs))

    sizes = {}
    for run, curve in runs.items():
        counts = sorted({point.rate.count for point in curve.steps if point.rate.count}) or [0]
        count = f"{counts[0]:,} to {counts[-1]:,}" if len(counts) > 1 else f"{counts[0]:,}"
        sizes[run] = f"{count} episodes at each point"
    caption = f"{describe_runs(sizes)}. Lines: 95 % Wilson intervals."
    if not all(point.plausible for point in points):
        caption += " Hollow markers: success is not expected."
    worst = min(points, key=lambda point: point.change or 0.0)
    if len(runs) == 1 and worst.change is not None and worst.p is not None and worst.change < 0:
        at = _short_name(worst.condition) if named else f"{worst.at:g}"
        caption += (
            f" The largest loss between neighbouring values is at {at}: {signed_points(worst.change)} points "
            f"(95 % interval {between(worst.interval, 100)}, Newcombe over {plural(worst.starts, 'start')}; "
            f"{p_phrase(worst.p)}, exact)."
        )
    if errors := sorted({point.at for point in points if not point.rate.count}):
        caption += f" At {listed(f'{at:g}' for at in errors)}, all episodes ended in an error."
    return Drawing(name, title, caption, (HALF, 3.0), paint)


def _short_name(condition: str | None) -> str:
    """Return the short name of a condition: xxx for ``pro/words=xxx`` and ``corruption/xxx``."""
    return (condition or "").rpartition("/")[2].rpartition("=")[2].replace("_", " ")


def _curve_measure(
    name: str,
    label: str,
    about: str,
    title: str,
    along: str,
    *,
    section: str = "World",
    unit: str = "",
    named: bool = False,
    all_rows: bool = False,
) -> Measure[SuccessCurve]:
    """Return a measure of success as a function of a label, with its table and figure.

    With ``all_rows``, the measure includes conditions in which success is not expected.
    """

    def table(result: SuccessCurve, report: ReportedRun) -> Table:
        has_conditions = any(point.condition for point in result.steps[1:])
        return Table.of(
            name,
            title + unit,
            result.steps,
            Column(result.along, "number", value=lambda point: point.at),
            *(("condition",) if has_conditions else ()),
            *(f"rate.{column}" for column in RATE),
            *("change", "interval", "starts", "p"),
            note=f"{interval_note(point.rate for point in result.steps)} Differences: paired over starts, Newcombe "
            "intervals, exact two-sided p, not adjusted.",
        )

    def figure(runs: Mapping[str, SuccessCurve]) -> Drawing:
        return curve_figure(name, title, along, runs, named=named)

    def measure(run: RunData) -> SuccessCurve:
        result = curve(run.frame if all_rows else run.plausible, label)
        costs = run.attempt(DROPS)
        drops = {} if isinstance(costs, Missing) else {str(drop.group["condition"]): drop for drop in costs}
        points = list(result.steps)
        for place, (before, point) in enumerate(pairwise(result.steps), start=1):
            drop = drops.get(point.condition or "")
            if before.condition == CONTROL and drop is not None and point.starts == drop.starts:
                # the same difference as in the other tables
                points[place] = replace(point, change=drop.change, interval=drop.interval, p=drop.p_two_sided)
        return replace(result, steps=tuple(points))

    return Measure(name, about, measure, needs=(label,), panels=(Panel(section, (table,), runs=figure),))


TIME = "Time"
"""Heading of the report section on durations."""
_EXPECTED = "; only changes after which success is expected."
LEVELS = _curve_measure("levels", "level", f"Success by level{_EXPECTED}", "Success by level", "level")
DISPLACEMENT = _curve_measure(
    "displacement",
    "distance",
    f"Success by displacement of the object, in metres{_EXPECTED}",
    "Success by displacement",
    "displacement, m",
    unit=", metres",
)
DISSIMILARITY = _curve_measure(
    "dissimilarity",
    "dissimilarity",
    f"Success by dissimilarity between the object and the original object{_EXPECTED}",
    "Success by dissimilarity of the object",
    "another object",
    named=True,
)
CORRUPTION = _curve_measure(
    "corruption",
    "rung",
    "Success by degree of corruption of the instruction, including degrees at which success is not expected.",
    "Success by corruption of the instruction",
    "instruction",
    section=WORDS,
    named=True,
    all_rows=True,
)
LATENCY = _curve_measure(
    "latency",
    "latency",
    "Success by latency of decisions, in control steps.",
    "Success by latency",
    "latency, control steps of 50 ms",
    section=TIME,
    unit=", control steps of 50 ms",
)
