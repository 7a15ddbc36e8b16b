"""How often it succeeds: counts, rates and Wilson's intervals, errors apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL, Label
from assay.measures.clustering import UNVARIED, shares
from assay.measures.frames import judged
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.measures.run_data import RunData
from assay.measures.views.wording import (
    KeyNumber,
    between,
    percent,
    plural,
)
from assay.support.stats.intervals import Interval, share_over_tasks

if TYPE_CHECKING:
    from assay.measures.profile import Profile


@dataclass(frozen=True, slots=True)
class Rate(Result):
    """How often a group of episodes succeeded."""

    group: dict[str, Label]
    """What they have in common: column -> value; empty for all."""
    successes: int
    count: int
    """Episodes that count: successes and failures."""
    errors: int
    """Episodes that broke; they are excluded."""
    rate: float | None
    """None where all broke."""
    effective: float | None
    """Effective sample size."""
    interval: Interval | None
    """About these tasks and new starts."""
    tasks: int = 0
    over_tasks: Interval | None = None
    """About tasks in general, if these are a sample of them; None for fewer than three."""
    errors_as_failures: float | None = None
    """The rate, if every error were a failure: the least that it can be, if what broke would have failed."""
    stopped: bool = False
    """Whether a condition in it was stopped as soon as it was decided: its rate is biased away from what it was tested
    against, and only the interval of the sequence that decided it allows for that."""


def success_rate(frame: pl.DataFrame, stopped: Mapping[str, Mapping[str, Any]] | None = None) -> Rate:
    """The success rate of all episodes. Raises MeasureError where none counts."""
    judged(frame)
    return rates(frame, (), stopped)[0]


def rates(
    frame: pl.DataFrame,
    by: Sequence[str] = ("condition",),
    stopped: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Rate, ...]:
    """Success rates of the groups that share the columns ``by``, in the order in which they are met.

    Episodes without a value in one of the columns belong to no group. The tasks are the experiment's and given;
    what is drawn are starts and variants. Where a group has several episodes of one start, or of one variant,
    its interval is as wide as the intra-cluster correlation demands. A condition that was ``stopped`` as soon as it was
    decided has the interval of the sequence that decided it, which holds whenever one stops.
    """
    for name in by:
        if name not in frame.columns:
            raise MeasureError(f"the run has no column {name}")
    rows = frame.drop_nulls(by).with_columns(
        success=pl.when(pl.col("outcome") != "error").then((pl.col("outcome") == "success").cast(pl.Int64))
    )
    counted = (pl.col("success").sum(), pl.col("success").count().alias("count"), pl.len().alias("all"))
    counts = rows.group_by(by, maintain_order=True).agg(counted) if by else rows.select(counted)
    known = shares(rows.drop_nulls("success"), "success", by) if counts["count"].sum() else {}
    tasks = _task_sums(rows.drop_nulls("success"), by)
    early = _stopped(rows, by, stopped or {})
    found = []
    for row in counts.iter_rows(named=True):
        group, count = {name: row[name] for name in by}, row["count"]
        which = tuple(group.values())
        effective, interval = known.get(which, (None, None))
        hits, tried = tasks.get(which, (np.zeros(0), np.zeros(0)))
        over = None if effective is None else share_over_tasks(hits, tried, effective)
        if by == ("condition",) and row["condition"] in (stopped or {}):
            rule = (stopped or {})[row["condition"]]
            interval = Interval(float(rule["low"]), float(rule["high"]), "confidence sequence")
        found.append(
            Rate(
                group=group,
                successes=row["success"],
                count=count,
                errors=row["all"] - count,
                rate=row["success"] / count if count else None,
                effective=effective,
                interval=interval,
                tasks=len(hits),
                over_tasks=over,
                errors_as_failures=row["success"] / row["all"],
                stopped=which in early,
            )
        )
    return tuple(found)


def _task_sums(rows: pl.DataFrame, by: Sequence[str]) -> dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]]:
    """Successes and episodes of each task, (tasks,) each, of the groups that share the columns ``by``."""
    each = rows.group_by(list(dict.fromkeys([*by, "task"])), maintain_order=True).agg(
        pl.col("success").sum().alias("_hits"), pl.len().alias("_count")
    )
    groups = each.group_by(by, maintain_order=True) if by else [((), each)]
    return {
        tuple(key): (group["_hits"].to_numpy().astype(float), group["_count"].to_numpy().astype(float))
        for key, group in groups
    }


def _stopped(
    rows: pl.DataFrame, by: Sequence[str], stopped: Mapping[str, Mapping[str, Any]]
) -> set[tuple[Any, ...]]:
    """The groups with episodes of a condition that was stopped."""
    if not stopped:
        return set()
    mine = rows.filter(pl.col("condition").is_in(list(stopped)))
    return set(mine.select(by).unique().iter_rows()) if by else {()} if len(mine) else set()


def by_task(run: RunData) -> tuple[Rate, ...]:
    """Success on each task, perturbed or not: the group's ``perturbed`` tells."""
    rows = run.plausible.with_columns(perturbed=pl.col("condition") != CONTROL)
    return rates(rows, ("task", "perturbed"), run.stopped)


SUCCESS = "Success, and what each change costs"
"""The section of the report."""
SUCCESS_RATE = Measure(
    "success_rate",
    "Success in perturbed episodes in which success is expected; in the controls, if there are none.",
    lambda run: success_rate(run.perturbed if len(run.perturbed) else run.plausible, run.stopped),
    sentences="assay.measures.success.rates:success_sentences",
    numbers="assay.measures.success.rates:success_numbers",
)
CONTROLS = Measure(
    "control",
    "Success in the controls.",
    lambda run: success_rate(run.frame.filter(pl.col("condition") == CONTROL), run.stopped),
    numbers="assay.measures.success.rates:control_numbers",
)
CONDITIONS = Measure(
    "conditions",
    "Success by condition.",
    lambda run: rates(run.frame, stopped=run.stopped),
    panels=(Panel(SUCCESS, tables=("assay.report.tables:conditions_table",)),),
)
TASKS = Measure(
    "tasks",
    "Success by task, perturbed or not, where success is expected.",
    by_task,
    panels=(
        Panel(
            SUCCESS,
            tables=("assay.report.tables:tasks_table",),
            figures=("assay.report.figures.success:tasks_figure",),
        ),
    ),
)


def has_perturbed_episodes(profile: Profile) -> bool:
    """Whether anything was changed that should not matter."""
    return any(rate.group["perturbed"] for rate in profile.get(TASKS) or ())


def success_sentences(rate: Rate, profile: Profile) -> Iterator[str]:
    """How often it succeeds, beside its controls."""
    control, changed = profile.get(CONTROLS), has_perturbed_episodes(profile)
    what = "perturbed episodes in which success is expected" if changed else "unperturbed episodes"
    text = (
        f"It succeeds in {rate.successes:,} of {rate.count:,} {what} ({percent(rate.rate)}, 95 % interval "
        f"{between(rate.interval, 100)})"
    )
    if changed and control is not None:
        text += (
            f", and in {control.successes:,} of {plural(control.count, 'control')} ({percent(control.rate)})"
        )
    if rate.interval is not None and rate.interval.one_start:
        text += f"; with {UNVARIED}"
    yield text + "."


def success_numbers(rate: Rate, profile: Profile) -> Iterator[KeyNumber]:
    """Success in perturbed episodes."""
    if has_perturbed_episodes(profile) and rate.rate is not None:
        about = "Share of perturbed episodes that succeed; only changes after which success is expected."
        number = KeyNumber.of("success, perturbed", percent(rate.rate), rate.interval, rate.count, about)
        yield number.over(rate.over_tasks)


def control_numbers(rate: Rate, profile: Profile) -> Iterator[KeyNumber]:
    """Success in controls."""
    about = "Share of controls, in which nothing is changed, that succeed."
    number = KeyNumber.of("success, control", percent(rate.rate), rate.interval, rate.count, about)
    yield number.over(rate.over_tasks)
