"""Time: success within a limit, time to success, success without a mistake, and the cost of a run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL, Label
from assay.measures.clustering import group_shares, mean, medians
from assay.measures.conduct.progress import NO_ATOMS
from assay.measures.failure.grounding import goal_objects
from assay.measures.frames import CLUSTER, controls, group_rows, narrow, valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.result import MeasureError, Result
from assay.measures.views import style
from assay.measures.views.forest import MOST, Mark, forest_drawing
from assay.measures.views.style import Drawing, Figure
from assay.measures.views.table import Column, Table, declared_columns
from assay.measures.views.wording import between, describe_runs, group_name, number, plural
from assay.measures.world.curves import TIME
from assay.support.stats.intervals import Interval

FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, None)
"""Time limits as multiples of a reference time, as in LIBERO-X; None for no limit."""

DEMONSTRATED = "reference_steps"
"""Label with the demonstrator's time, in control steps."""
FEWEST = "best"
"""Label with the minimum number of actions for a task, in worlds where it is known."""
REFERENCE = "_reference"
"""Column with the reference time, in control steps."""
UNTIMED = "_untimed"
"""Column that marks tasks with a success but no reference time, whose success within a limit is unknown."""
LIMITED = "limit_factor"
"""Label with the time limit of an episode, as a multiple of the reference time; null for none."""
REFERENCE_NOTE = (
    "Limits are multiples of a reference time: the human time, if the run has it (times=FILE); otherwise the time of "
    "the demonstrator in the same episode, if known; otherwise the median time of the task's successful controls."
)


@dataclass(frozen=True, slots=True)
class Limit(Result):
    """Success rate within a time limit."""

    factor: float | None
    """Multiple of the reference time; None for no limit other than the task's horizon."""
    successes: Annotated[int, Column("successes", "count")]
    count: Annotated[int, Column("n", "count")]
    rate: Annotated[float, Column("success", "share")]
    interval: Annotated[Interval, Column("95 % interval", "share")]


@dataclass(frozen=True, slots=True)
class Limits(Result):
    """Success as a function of the time limit."""

    limits: tuple[Limit, ...]
    reference: dict[str, float]
    """Reference time by task, in control steps; the median if they differ between episodes of a task."""
    unknown: int
    """Number of episodes excluded because their task has no reference time."""


@dataclass(frozen=True, slots=True)
class TimeToSuccess(Result):
    """Duration of successes, in control steps; not comparable between groups with different success rates."""

    group: dict[str, Label]
    median: float
    interval: Interval | None
    """Interval from order statistics, over starts and variants; None if the effective sample size is below six."""
    successes: int
    count: int
    """Number of successes and failures."""
    half_succeed_by: float | None
    """Control steps within which half of all episodes succeed; None if fewer do. Comparable between groups."""


@dataclass(frozen=True, slots=True)
class NoMistakes(Result):
    """Success without a mistake (CoGeLoT): on the first attempt, with no goal atom undone."""

    group: dict[str, Label]
    flawless: int
    """Number of successes in which a named object moved first and no goal atom was undone.

    After a cancelled instruction, no object needs to have moved.
    """
    successes: int
    count: int
    rate: float
    """Rate of flawless successes, ``flawless / count``."""
    interval: Interval


def time_limits(frame: pl.DataFrame, factors: Sequence[float | None] = FACTORS) -> Limits:
    """Measure success within multiples of a reference time (control steps).

    A run determines the success within all limits up to the limit of its episodes, and success with no limit (``None``)
    only if no episode had a limit. Raises MeasureError if no task has a reference time.
    """
    used = ("outcome", "steps", DEMONSTRATED, LIMITED, REFERENCE, UNTIMED)
    rows = with_references(narrow(frame, *CLUSTER, *used))
    timed = rows.drop_nulls(REFERENCE).with_columns(pl.lit(False).alias(UNTIMED))
    if not len(timed):
        raise MeasureError("no task has a reference time or a successful control")
    limits = limits_by(timed, (), factors)[()]
    typical = timed.group_by("task").agg(pl.col(REFERENCE).median()).sort("task")
    return Limits(limits, dict(typical.iter_rows()), len(rows) - len(timed))


def limits_by(
    frame: pl.DataFrame, by: Sequence[str], factors: Sequence[float | None] = FACTORS
) -> dict[tuple[Label, ...], tuple[Limit, ...]]:
    """Return success within each limit for which the run suffices, for each group defined by the columns ``by``.

    A failure counts as a failure within every limit, with or without a reference time. A success without a reference
    time cannot be judged, so its task is left out of results with a limit. Raises MeasureError if no limit can be
    determined.
    """
    rows = with_references(frame).drop_nulls(by)
    result: dict[tuple[Label, ...], list[Limit]] = {}
    limits = possible(rows, factors)
    if not limits:
        least = min(factor for factor in factors if factor)
        raise MeasureError(f"the episodes were stopped before reaching {least:g} times the reference time")
    for factor in limits:
        part, in_time = rows, pl.col("success") == 1
        if factor is not None:
            part = rows.filter(~pl.col(UNTIMED))
            in_time &= ~(pl.col("steps") > factor * pl.col(REFERENCE)).fill_null(False)
        for group in group_shares(part.with_columns(_in_time=in_time), "_in_time", by):
            limit = Limit(factor, group.hits, len(group.rows), group.share, group.interval)
            result.setdefault(tuple(group.group.values()), []).append(limit)
    if not result:
        raise MeasureError("no task has a reference time or a successful control")
    return {group: tuple(within) for group, within in result.items()}


def with_references(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the valid rows with the columns `REFERENCE`, in control steps (null if unknown), and `UNTIMED`.

    The reference time is the label `DEMONSTRATED`, if the episode has it, and otherwise the median over the successful
    controls of the task. Existing columns are kept, so that a part of a run has the same references as the entire run.
    """
    rows = valid_rows(frame)
    if REFERENCE in rows.columns:
        return rows
    successes = controls(rows).filter(pl.col("success") == 1)
    usual = dict(successes.group_by("task").agg(pl.col("steps").median()).iter_rows())
    own_median = pl.col("task").replace_strict(usual, default=None, return_dtype=pl.Float64)
    label = pl.col(DEMONSTRATED).cast(pl.Float64) if DEMONSTRATED in rows.columns else pl.lit(None)
    untold = (pl.col("success") == 1) & pl.col(REFERENCE).is_null()
    return rows.with_columns(pl.coalesce(label, own_median).alias(REFERENCE)).with_columns(
        untold.any().over("task").alias(UNTIMED)
    )


def within_limit(frame: pl.DataFrame, factor: float) -> pl.DataFrame:
    """Return rows in which successes later than a multiple of the reference time count as failures.

    As in `limits_by`, tasks with a success but no reference time are left out.
    """
    late = (pl.col("outcome") == "success") & (pl.col("steps") > factor * pl.col(REFERENCE)).fill_null(False)
    outcome = pl.when(late).then(pl.lit("failure")).otherwise("outcome").alias("outcome")
    return add_references(frame).filter(~pl.col(UNTIMED)).with_columns(outcome)


def add_references(frame: pl.DataFrame) -> pl.DataFrame:
    """Return all rows, including errors, with the columns of `with_references`, for measures of parts of the run."""
    times = with_references(frame).select("id", REFERENCE, UNTIMED)
    rows = frame.drop(REFERENCE, UNTIMED, strict=False)
    rows = rows.join(times, on="id", how="left", maintain_order="left")
    return rows.with_columns(pl.col(UNTIMED).fill_null(value=False).any().over("task"))


def possible(rows: pl.DataFrame, factors: Sequence[float | None] = FACTORS) -> list[float | None]:
    """Return the limits that can be evaluated: up to the episodes' own limit; no limit only if none had one."""
    own = min(rows[LIMITED].drop_nulls().to_list(), default=math.inf) if LIMITED in rows.columns else math.inf
    return [factor for factor in factors if (math.inf if factor is None else factor) <= own]


def time_to_success(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[TimeToSuccess, ...]:
    """Return the duration of successes in each group; groups without a success are left out."""
    tried = valid_rows(narrow(frame, *CLUSTER, *by, "outcome", "steps")).drop_nulls(by)
    rows = tried.filter(pl.col("success") == 1)
    if not len(rows):
        raise MeasureError("no episode succeeds")
    counts = {key: len(group) for key, group in group_rows(tried, by)}
    intervals = medians(rows, "steps", by)
    result = []
    for key, group in group_rows(rows, by):
        steps, count = np.sort(group["steps"].to_numpy()), counts[key]
        half = -(-count // 2)
        by_then = float(steps[half - 1]) if len(steps) >= half else None
        numbers = float(np.median(steps)), intervals[key], len(steps), count, by_then
        result.append(TimeToSuccess(dict(zip(by, key, strict=True)), *numbers))
    return tuple(result)


def no_mistakes(
    frame: pl.DataFrame, by: Sequence[str] = ("condition",), ignoring: Sequence[str] = ()
) -> tuple[NoMistakes, ...]:
    """Return the rate of success with the minimum number of actions, if that number is known, by group.

    The columns ``ignoring`` describe the initial state and do not distinguish variants of a task.
    """
    used = ("outcome", "steps", "truth", "moved", "stages", FEWEST)
    rows = valid_rows(narrow(frame, *CLUSTER, *by, *ignoring, *used)).drop_nulls(by)
    if FEWEST in rows.columns:
        rows = rows.drop_nulls(FEWEST)
        clean = pl.col("steps") <= pl.col(FEWEST)
    elif (rows["truth"] != "{}").any():
        stages = pl.col("stages") if "stages" in rows.columns else pl.lit(None, pl.String).alias("stages")

        def is_flawless(row: dict[str, str]) -> bool:
            # Each atom became true once (initial atoms may be undone), and a named object moved first, unless the
            # instruction was cancelled.
            once = all(
                sum(first > 0 for first, _ in spans) <= 1 for spans in json.loads(row["truth"]).values()
            )
            is_cancelled = row["moved"] is None and row["stages"] == NO_ATOMS
            return once and (is_cancelled or row["moved"] in goal_objects(row["truth"]).split("+"))

        clean = pl.struct("truth", "moved", stages).map_elements(is_flawless, return_dtype=pl.Boolean)
    else:
        raise MeasureError("no episode records when its goal was true")
    rows = rows.with_columns(_flawless=(pl.col("success") == 1) & clean).drop(*ignoring, strict=False)
    results = []
    for part in group_shares(rows, "_flawless", by):
        counts = part.hits, int(part.rows["success"].sum()), len(part.rows)
        results.append(NoMistakes(part.group, *counts, part.share, part.interval))
    return tuple(results)


def limit_name(factor: float | None) -> str:
    """Return the name of a time limit: its multiple of the reference time, or ``none``."""
    return "none" if factor is None else f"{factor:g}"


def limits_table(result: Limits, report: ReportedRun) -> Table:
    """Make the table of success by time limit."""
    return Table.of(
        "time-limits",
        "Success by time limit",
        result.limits,
        Column("limit", value=lambda limit: limit_name(limit.factor)),
        *declared_columns(Limit),
        note=f"{REFERENCE_NOTE} 95 % Wilson intervals. Controls are included.",
    )


def limits_axes(axes: Any, runs: Mapping[str, Sequence[Any]]) -> None:
    """Plot a ``rate`` with its ``interval`` by time limit (``factor``), with one line for each run."""
    factors = {limit.factor for limits in runs.values() for limit in limits}
    ordered = sorted(factors, key=lambda factor: math.inf if factor is None else factor)
    places = {factor: place for place, factor in enumerate(ordered)}
    for place, (run, limits) in enumerate(runs.items()):
        look = style.series(place)
        x = np.array([places[limit.factor] for limit in limits])
        x = x + style.aside(place, len(runs)) * max(len(places) - 1, 1)
        axes.plot(x, [limit.rate for limit in limits], label=run, **look)
        ends = ([getattr(limit.interval, end) for limit in limits] for end in ("low", "high"))
        axes.vlines(x, *ends, color=look["color"], linewidth=1.1)
    axes.set_xticks(range(len(places)), [limit_name(factor) for factor in places])
    style.share_limits(axes)
    axes.set_xlabel("time limit / reference time")


def limits_figure(runs: Mapping[str, Limits]) -> Drawing:
    """Draw success by time limit, with one line for each run."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        limits_axes(axes, {run: result.limits for run, result in runs.items()})
        axes.set_ylabel("success")
        style.legend_below(figure, len(runs))

    sizes = {}
    for run, result in runs.items():
        sizes[run] = plural(result.limits[0].count, "episode")
        if result.unknown:
            sizes[run] += f" ({result.unknown:,} left out for lack of a reference time)"
    caption = (
        f"Success rate within each time limit; {describe_runs(sizes)}, including controls. {REFERENCE_NOTE} "
        "Lines: 95 % Wilson intervals."
    )
    return Drawing("time-limits", "Success by time limit", caption, (style.HALF, 3.0), paint)


def time_figure(results: Sequence[TimeToSuccess], report: ReportedRun) -> Drawing:
    """Draw the duration of successes by condition."""
    marks = []
    for result in results[:MOST]:
        name = group_name(result.group)
        numbers = number(result.median, 0), between(result.interval, digits=0), f"{result.successes:,}"
        colour, shape = (style.ORANGE, "s") if name == CONTROL else (style.BLUE, "o")
        marks.append(Mark(name, result.median, result.interval, numbers, color=colour, marker=shape))
    ends = [mark.interval.high if mark.interval else mark.value for mark in marks]
    left = f" Only the first {MOST} of {len(results)} conditions are shown." if len(results) > MOST else ""
    caption = (
        f"Median time to success over {plural(sum(result.successes for result in results), 'success', 'successes')}. "
        f"Lines: 95 % intervals from order statistics, for at least six successes.{left}"
    )
    return forest_drawing(
        "time-to-success",
        "Time to success",
        caption,
        {"": marks},
        along="control steps to success (20 per second)",
        heads=("median", "95 % interval", "successes"),
        limits=(0, 1.05 * max(ends, default=1.0)),
    )


TIME_LIMITS = Measure(
    "time_limits",
    "Success by time limit; only changes after which success is expected.",
    lambda run: time_limits(run.plausible),
    continuous=True,
    panels=(Panel(TIME, (limits_table,), runs=limits_figure),),
)
TIME_TO_SUCCESS = Measure(
    "time_to_success",
    "Duration of successes, by condition.",
    lambda run: time_to_success(run.frame),
    continuous=True,
    panels=(Panel(TIME, figures=(time_figure,)),),
)
NO_MISTAKES = Measure(
    "no_mistakes",
    "Success without a mistake, by condition.",
    lambda run: no_mistakes(run.whole, ignoring=run.world.start_columns),
)


@dataclass(frozen=True, slots=True)
class ConditionCost(Result):
    """Cost of one condition, in episodes."""

    condition: str
    planned: int
    used: int
    """Number of episodes executed until the condition was stopped, or in total if it was not."""
    saved: int
    """Number of planned episodes that were not needed."""
    rule: str | None
    """Rule that stopped the condition; None if it was not stopped."""


@dataclass(frozen=True, slots=True)
class Efficiency(Result):
    """Cost of a run."""

    planned: int
    used: int
    saved: int
    share: float
    """Fraction of saved episodes, ``saved / planned``."""
    conditions: tuple[ConditionCost, ...]
    decisions: float
    """Mean number of policy decisions per episode."""
    decisions_interval: Interval | None
    episodes: int
    """Number of episodes over which ``decisions`` is averaged."""


def efficiency(
    frame: pl.DataFrame, counts: pl.DataFrame, stopped: Mapping[str, Mapping[str, Any]]
) -> Efficiency:
    """Return the cost of a run, from its frame, ``Store.counts`` and ``Store.stopped``."""
    rows = valid_rows(frame)
    costs = []
    for condition, planned, done in counts.select("condition", "planned", "done").iter_rows():
        used, rule = done, None
        if condition in stopped:
            used, rule = int(stopped[condition]["episodes"]), str(stopped[condition]["rule"])
        costs.append(ConditionCost(condition, planned, used, planned - used if rule else 0, rule))
    planned, used = sum(cost.planned for cost in costs), sum(cost.used for cost in costs)
    if not planned:
        raise MeasureError("the run has no plan")
    saved = sum(cost.saved for cost in costs)
    decisions = float(rows["decisions"].to_numpy().mean()), mean(rows, "decisions"), len(rows)
    return Efficiency(planned, used, saved, saved / planned, tuple(costs), *decisions)


EFFICIENCY = Measure(
    "efficiency",
    "Cost of the run: episodes saved by early stopping, and number of policy decisions.",
    lambda run: efficiency(run.frame, run.counts, run.stopped),
)
