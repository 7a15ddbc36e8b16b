"""Outcomes of the unperturbed starts, and the tasks that the policy can perform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from assay.measures import findings
from assay.measures.failure.failures import FAILURES
from assay.measures.failure.near_far import NearFarFailures
from assay.measures.findings import FlawTest, Profiles, Untested
from assay.measures.flaws import Flaw
from assay.measures.frames import PAIR, START, controls, valid_rows
from assay.measures.measure import Measure, RunData
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.success.rates import CONTROLS
from assay.support.stats.intervals import Interval, wilson_interval
from assay.support.stats.significance import binomial_at_least

MIN_SUCCESS = 0.5
"""Minimum success rate on a task's controls at which the policy counts as able to perform the task."""


@dataclass(frozen=True, slots=True, eq=False)
class Starts(Result):
    """Controls, one for each task and seed."""

    count: int
    failures: int
    near: int
    """Number of failures close to the successful trajectory, among those that can be judged."""
    rows: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """Controls, one row each: task, seed, start, success, near.

    ``near`` marks failures close to the successful trajectory; null if not judged.
    """


@dataclass(frozen=True, slots=True)
class TaskAbility(Result):
    """Success on the controls of a task."""

    task: str
    successes: int
    count: int


@dataclass(frozen=True, slots=True)
class Ability(Result):
    """Tasks that a policy can perform unperturbed."""

    tasks: tuple[TaskAbility, ...]
    starts: int
    telling: int
    """Number of informative starts: those whose control succeeds."""

    @property
    def done_tasks(self) -> tuple[str, ...]:
        """Tasks in which at least half of the controls succeed."""
        return tuple(task.task for task in self.tasks if task.successes >= MIN_SUCCESS * task.count)

    @property
    def never(self) -> tuple[str, ...]:
        """Tasks in which no control succeeds."""
        return tuple(task.task for task in self.tasks if not task.successes)


def ability(results: Sequence[Starts]) -> Ability:
    """Return the tasks that a policy can perform, from the controls of one or several runs; a start counts once."""
    rows = pl.concat(result.rows.select(*START, "success") for result in results)
    starts = rows.unique(START, keep="first", maintain_order=True)
    table = starts.group_by("task", maintain_order=True).agg(pl.col("success").sum(), pl.len().alias("count"))
    tasks = tuple(TaskAbility(*row) for row in table.select("task", "success", "count").iter_rows())
    return Ability(tasks, len(starts), int(starts["success"].sum()))


def starts(run: RunData) -> Starts:
    """Return the outcome of each unperturbed start."""
    rows = controls(valid_rows(run.frame)).select("id", *PAIR, "start", pl.col("success") == 1)
    if not len(rows):
        raise MeasureError("the run has no controls")
    failures = run.attempt(FAILURES)
    if isinstance(failures, NearFarFailures):
        near = failures.episodes.select("id", "near")
        rows = rows.join(near, on="id", how="left", maintain_order="left")
    else:
        rows = rows.with_columns(near=pl.lit(None, pl.Boolean))
    return Starts(len(rows), int((~rows["success"]).sum()), int(rows["near"].sum() or 0), rows.drop("id"))


def _test_unperturbed(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test whether unperturbed episodes fail too often; a start shared by several runs counts once."""
    runs, results = findings.select_results(profiles, STARTS)
    if results:
        rows = pl.concat(result.rows for result in results)
        rows = rows.sort(pl.col("near").is_null(), maintain_order=True)  # prefer judged rows
        unique = rows.unique(START, keep="first", maintain_order=True)
        lost = unique.filter(~pl.col("success"))
        count = len(unique)
        unable = _above_tolerated(Flaw.UNABLE, runs, STARTS.name, len(lost), count)
        usual = profiles[0][1].get(CONTROLS) if len(profiles) == 1 else None
        if usual is not None and usual.interval is not None and usual.count == count:  # as on the page
            interval = Interval(1 - usual.interval.high, 1 - usual.interval.low, usual.interval.method)
            evidence = replace(unable.evidence[0], interval=interval)
            unable = replace(unable, evidence=(evidence,), size=interval)
        yield replace(unable, detail=ability(results))
        if findings.select_results(profiles, FAILURES)[0]:
            near = int(lost["near"].sum())
            misses = _above_tolerated(Flaw.MISSES, runs, FAILURES.name, near, count)
            first = replace(misses.evidence[0], at_least=bool(lost["near"].null_count()))
            yield replace(misses, evidence=(first, *unable.evidence))
    yield Untested(Flaw.UNABLE, STARTS.name)
    if any(FAILURES.name in profile for _, profile in profiles):
        yield Untested(Flaw.MISSES, FAILURES.name)


def _above_tolerated(flaw: Flaw, runs: tuple[int, ...], measure: str, hits: int, count: int) -> FlawTest:
    share, p = hits / count, binomial_at_least(hits, count, findings.TOLERATED)
    interval = wilson_interval(share, count)
    evidence = findings.evidence_from(runs, measure, "", share, interval, p, hits, count)
    return FlawTest(flaw, (evidence,), p, interval, least_p=findings.TOLERATED**count)


STARTS = Measure(
    "starts",
    "Failures of unperturbed episodes, and how close they come to the successful trajectory.",
    starts,
    tests=_test_unperturbed,
)
