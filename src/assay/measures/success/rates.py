"""Success rates: counts, rates and Wilson intervals, excluding errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import polars as pl

from assay.episodes.spec import CONTROL, Label
from assay.measures.clustering import UNVARIED, shares
from assay.measures.frames import CLUSTER, allocated_rounds, group_rows, narrow, sums, valid_rows
from assay.measures.measure import Measure, Panel, Profile, ReportedRun
from assay.measures.result import MeasureError, Result
from assay.measures.views import wording
from assay.measures.views.forest import MOST, SHARES, Mark, forest_drawing
from assay.measures.views.style import Drawing, series
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import KeyNumber
from assay.support.stats.intervals import Interval, share_over_tasks


@dataclass(frozen=True, slots=True)
class Rate(Result):
    """Success rate of a group of episodes."""

    group: Annotated[dict[str, Label], Column("condition")]
    """Columns that define the group, and their values; empty for all episodes."""
    successes: Annotated[int, Column("successes", "count")]
    count: Annotated[int, Column("n", "count")]
    """Number of successes and failures."""
    errors: Annotated[int, Column("errors", "count")]
    """Number of episodes excluded because they ended in an error."""
    rate: Annotated[float | None, Column("success", "share")]
    """Success rate, 0 to 1; None if all episodes ended in an error."""
    effective: float | None
    """Effective sample size."""
    interval: Annotated[Interval | None, Column("95 % interval", "share")]
    """Interval of the rate, for these tasks and new starts."""
    tasks: int = 0
    over_tasks: Interval | None = None
    """Interval for tasks in general, treating these tasks as a sample; None for fewer than three tasks."""
    errors_as_failures: float | None = None
    """Rate with every error counted as a failure: a lower bound."""
    errors_as_successes: float | None = None
    """Rate with every error counted as a success: an upper bound."""
    stopped: bool = False
    """Whether a condition of the group was stopped early.

    The rate is then biased, and only the interval from the stopping rule's confidence sequence allows for this.
    """

    @property
    def error_share(self) -> float:
        """Fraction of the group's episodes that ended in an error."""
        return self.errors / max(self.count + self.errors, 1)

    @property
    def bounds(self) -> Interval | None:
        """Rate with every error counted as a failure, and as a success; None if at most 2 % ended in an error."""
        if self.error_share <= NOTED_ERROR_SHARE or None in (
            self.errors_as_failures,
            self.errors_as_successes,
        ):
            return None
        return Interval(self.errors_as_failures, self.errors_as_successes, "bounds")  # type: ignore[arg-type]


NOTED_ERROR_SHARE = 0.02
"""Fraction of errors above which a rate is stated with its bounds: errors may be hidden failures."""
MAX_ERROR_SHARE = 0.1
"""Fraction of errors above which only the bounds are stated, and no headline is given."""
RATE = ("successes", "count", "errors", "rate", "interval")
"""Fields of a success rate that tables show."""


def success_rate(frame: pl.DataFrame, stopped: Mapping[str, Mapping[str, Any]] | None = None) -> Rate:
    """Return the success rate of all episodes. Raises MeasureError if all ended in an error."""
    valid_rows(frame)
    return rates(frame, (), stopped)[0]


def rates(
    frame: pl.DataFrame,
    by: Sequence[str] = ("condition",),
    stopped: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Rate, ...]:
    """Return the success rates of the groups that share the columns ``by``, in order of appearance.

    Episodes without a value in one of the columns belong to no group. Tasks are fixed; starts and variants are
    sampled. The interval allows for the correlation of episodes that share a start or variant. The interval of a
    condition that was ``stopped`` early comes from its confidence sequence, which is valid at any stopping time. If
    starts were allocated, tasks differ in their number of starts, and the rate is the mean over tasks instead.
    """
    for name in by:
        if name not in frame.columns:
            raise MeasureError(f"the run has no column {name}")
    stopped = stopped or {}
    rows = (
        narrow(frame, *CLUSTER, *by, "outcome")
        .drop_nulls(by)
        .with_columns(
            success=pl.when(pl.col("outcome") != "error").then(
                (pl.col("outcome") == "success").cast(pl.Int64)
            )
        )
    )
    valid = rows.drop_nulls("success")
    weight = "_weight" if allocated_rounds(stopped) else None
    if weight:  # every task of a group has the same total weight
        valid = valid.with_columns(_weight=1 / pl.len().over([*by, "task"]))
    estimates = shares(valid, "success", by, weight) if len(valid) else {}
    result = []
    for key, group in group_rows(rows, by):
        finished = group.drop_nulls("success")
        successes, count = int(finished["success"].sum()), len(finished)
        effective, interval = estimates.get(key, (None, None))
        if by == ("condition",) and key[0] in stopped and not weight:
            low, high = (float(stopped[key[0]][end]) for end in ("low", "high"))
            interval = Interval(low, high, "confidence sequence")
        hits, tried = sums(finished, ["task"], hits=pl.col("success"), tried=pl.col("seed").is_not_null()).T
        rate = float((hits / tried).mean()) if weight else successes / max(count, 1)
        result.append(
            Rate(
                group=dict(zip(by, key, strict=True)),
                successes=successes,
                count=count,
                errors=len(group) - count,
                rate=rate if count else None,
                effective=effective,
                interval=interval,
                tasks=len(hits),
                over_tasks=None if effective is None else share_over_tasks(hits, tried, effective),
                errors_as_failures=successes / len(group),
                errors_as_successes=1 - (count - successes) / len(group),
                stopped=bool(group["condition"].is_in(list(stopped)).any()),
            )
        )
    return tuple(result)


def interval_note(rates: Iterable[Rate]) -> str:
    """Return a note on the methods used for the intervals of rates."""
    return f"95 % intervals: {wording.methods(rate.interval for rate in rates)}; errors are excluded."


def bounds_column(rates: Iterable[Rate]) -> Iterator[Column]:
    """Yield the column with the bounds of rates if there are enough errors to state them."""
    if any(rate.bounds is not None for rate in rates):
        yield Column("errors as failures, as successes", "share", value=lambda rate: rate.bounds)


def conditions_table(rates: Sequence[Rate], report: ReportedRun) -> Table:
    """Return a table of success, steps to success and flawless success in each condition."""
    flawless = {wording.group_name(part.group): part.rate for part in report.profile.get("no_mistakes") or ()}
    medians = {
        wording.group_name(part.group): part.median for part in report.profile.get("time_to_success") or ()
    }
    return Table.of(
        "conditions",
        "Success by condition",
        rates,
        *("group", *RATE),
        *bounds_column(rates),
        Column("without a mistake", "share", value=lambda rate: flawless.get(wording.group_name(rate.group))),
        Column("steps to success", "count", value=lambda rate: medians.get(wording.group_name(rate.group))),
        note=f"{interval_note(rates)} Without a mistake: success with the minimum number of actions, if it is known; "
        "otherwise, an object named in the goal was moved first and no goal atom was undone. Steps to success: median.",
    )


def tasks_table(rates: Sequence[Rate], report: ReportedRun) -> Table:
    """Return a table of success in each task."""
    return Table.of(
        "tasks",
        "Success by task",
        sorted(rates, key=lambda rate: wording.natural(str(rate.group["task"]))),
        Column("task", value=lambda rate: str(rate.group["task"])),
        Column("instruction", value=lambda rate: wording.task_instruction(str(rate.group["task"]))),
        Column("perturbed", value=lambda rate: bool(rate.group["perturbed"])),
        *RATE,
        *bounds_column(rates),
        note=interval_note(rates),
    )


def rates_drawing(
    name: str, title: str, caption: str, groups: Mapping[str, Iterable[tuple[str, Rate | None]]]
) -> Drawing:
    """Draw a forest plot of labelled rates, in groups that differ in colour and marker."""
    marks = {
        group: [
            Mark.of_rate(label, rate.rate, rate.interval, rate.successes, rate.count, **series(place))
            for label, rate in rates
            if rate is not None and rate.rate is not None
        ][:MOST]
        for place, (group, rates) in enumerate(groups.items())
    }
    marks = {group: rows for group, rows in marks.items() if rows}
    if not marks:
        raise MeasureError("no episode ended without an error")
    axis: Any = {"along": "success", "unit": "share", "limits": SHARES}
    return forest_drawing(name, title, caption, marks, heads=("success", "95 % interval", "n"), **axis)


def tasks_figure(rates: Sequence[Rate], report: ReportedRun) -> Drawing:
    """Plot success in each task, unperturbed and perturbed."""
    tasks = {str(rate.group["task"]) for rate in rates if rate.count}
    groups: dict[str, list[tuple[str, Rate]]] = {"control": [], "perturbed": []}
    for rate in sorted(rates, key=lambda rate: wording.natural(str(rate.group["task"]))):
        groups["perturbed" if rate.group["perturbed"] else "control"].append((str(rate.group["task"]), rate))
    count = wording.plural(sum(rate.count for rate in rates), "episode")
    caption = (
        f"{count} of {wording.plural(len(tasks), 'task')}; errors are excluded. Lines: 95 % Wilson intervals, widened "
        "for the correlation of episodes that share a start or variant."
    )
    return rates_drawing("tasks", "Success by task", caption, groups)


def has_perturbed_episodes(profile: Profile) -> bool:
    """Return whether a run has perturbed episodes in which success is expected."""
    return any(rate.group["perturbed"] for rate in profile.get(TASKS) or ())


def _describe_rate(rate: Rate, episodes: str, interval: str = "") -> str:
    """Describe a success rate, with its bounds if there are errors, or only these if there are many."""
    bounds = "" if rate.bounds is None else f"{wording.between(rate.bounds, 100)} %"
    if bounds and rate.error_share > MAX_ERROR_SHARE:
        errors = f"{rate.errors:,} ended in an error, counted as failures or as successes"
        return f"in {bounds} of {rate.count + rate.errors:,} {episodes} ({errors})"
    bounds = (
        f"; {bounds} with {wording.plural(rate.errors, 'error')} as failures or as successes"
        if bounds
        else ""
    )
    return (
        f"in {rate.successes:,} of {rate.count:,} {episodes} ({wording.percent(rate.rate)}{interval}{bounds})"
    )


def success_sentences(rate: Rate, profile: Profile) -> Iterator[str]:
    """Yield a sentence about the success rates on perturbed episodes and controls."""
    control, perturbed = profile.get(CONTROLS), has_perturbed_episodes(profile)
    episodes = "perturbed episodes in which success is expected" if perturbed else "unperturbed episodes"
    text = f"It succeeds {_describe_rate(rate, episodes, f', 95 % interval {wording.between(rate.interval, 100)}')}"
    if perturbed and control is not None:
        text += f", and {_describe_rate(control, 'control' if control.count == 1 else 'controls')}"
    if rate.interval is not None and rate.interval.one_start:
        text += f"; with {UNVARIED}"
    yield text + "."


def rate_number(name: str, rate: Rate, about: str) -> KeyNumber:
    """Return a success rate as a key number, with its bounds if there are errors, or only these if there are many."""
    number = KeyNumber.of(
        name, wording.percent(rate.rate), rate.interval, rate.count, about, over_tasks=rate.over_tasks
    )
    if rate.bounds is None:
        return number
    errors, bounds = f"{wording.percent(rate.error_share)} errors", f"{wording.between(rate.bounds, 100)}"
    if rate.error_share > MAX_ERROR_SHARE:
        return replace(number, value=f"{bounds} %", detail=f"{errors}, as failures or as successes")
    return replace(number, detail=f"{number.detail}; {errors}, as failures or as successes {bounds}")


SUCCESS = "Success and drops"
"""Title of the report section on success rates and drops."""
EXPECTED = "; only changes after which success is expected."
SUCCESS_RATE = Measure(
    "success_rate",
    "Success in perturbed episodes in which success is expected or, without such episodes, in the controls.",
    lambda run: success_rate(run.perturbed if len(run.perturbed) else run.plausible, run.stopped),
    sentences=success_sentences,
    numbers=lambda rate, profile: (
        [rate_number("success, perturbed", rate, f"Fraction of perturbed episodes that succeed{EXPECTED}")]
        if has_perturbed_episodes(profile) and rate.rate is not None
        else []
    ),
)
CONTROLS = Measure(
    "control",
    "Success in the controls.",
    lambda run: success_rate(run.frame.filter(pl.col("condition") == CONTROL), run.stopped),
    numbers=lambda rate, profile: [
        rate_number("success, control", rate, "Fraction of unperturbed episodes that succeed.")
    ],
)
CONDITIONS = Measure(
    "conditions",
    "Success by condition.",
    lambda run: rates(run.frame, stopped=run.stopped),
    panels=(Panel(SUCCESS, (conditions_table,)),),
)
TASKS = Measure(
    "tasks",
    "Success by task, unperturbed and perturbed, where success is expected.",
    lambda run: rates(
        run.plausible.with_columns(perturbed=pl.col("condition") != CONTROL),
        ("task", "perturbed"),
        run.stopped,
    ),
    panels=(Panel(SUCCESS, (tasks_table,), (tasks_figure,)),),
)
