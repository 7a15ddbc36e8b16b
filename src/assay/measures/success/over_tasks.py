"""The second interval of a report's main results: these tasks as a sample of tasks in general.

PRIDE by other weights, rates by condition and the effects on the log-odds are left out: the first two repeat results
that are listed, and the last are effects within tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from assay.measures.attribution import ATTRIBUTION
from assay.measures.measure import Measure, Panel, ReportedRun, RunData
from assay.measures.memory.memorisation import MEMORISATION
from assay.measures.result import Missing, Result
from assay.measures.success.drops import CHANGES
from assay.measures.success.other_tasks import OTHER_TASKS, replace_other_tasks
from assay.measures.success.rates import CONTROLS, SUCCESS, SUCCESS_RATE
from assay.measures.views.table import Column, Table
from assay.measures.words.pride import OVERESTIMATION, PRIDE
from assay.support.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Generalised(Result):
    """Result of a run with its interval for these tasks and for tasks in general."""

    quantity: Annotated[str, Column("quantity")]
    tasks: Annotated[int, Column("tasks", "count")]
    value: Annotated[float, Column("value", "share", bare=True)]
    """Value as a fraction: a rate, an index (PRIDE / 100), or a difference of rates."""
    interval: Annotated[Interval | None, Column("these tasks, 95 % interval", "share", bare=True)]
    over_tasks: Annotated[Interval, Column("tasks in general, 95 % interval", "share", bare=True)]
    change: str = ""
    """Change whose drop this is; empty for other results."""


def generalise(run: RunData) -> tuple[Generalised, ...]:
    """Collect the results that have an interval for tasks in general; none with fewer than three tasks."""
    return tuple(_collect(run))


def _collect(run: RunData) -> Iterator[Generalised]:
    for name, measure in (("success, control", CONTROLS), ("success, perturbed", SUCCESS_RATE)):
        rate = run.attempt(measure) if measure is CONTROLS or len(run.perturbed) else Missing("")
        if not isinstance(rate, Missing) and rate.over_tasks is not None and rate.rate is not None:
            yield Generalised(name, rate.tasks, rate.rate, rate.interval, rate.over_tasks)
    drops = run.attempt(CHANGES)
    other = run.attempt(OTHER_TASKS)
    requests = None if isinstance(other, Missing) else other
    for drop in () if isinstance(drops, Missing) else replace_other_tasks(drops, requests):
        if drop.plausible and drop.over_tasks is not None:
            change = str(drop.group["change"])
            name = f"difference from the control, {change}"
            yield Generalised(name, drop.tasks, drop.change, drop.interval, drop.over_tasks, change)
    pride, over = run.attempt(PRIDE), run.attempt(OVERESTIMATION)
    if not isinstance(pride, Missing) and pride.over_tasks is not None:
        ends = (pride.interval, pride.over_tasks)
        own, general = (replace(end, low=end.low / 100, high=end.high / 100) for end in ends)
        yield Generalised("PRIDE", pride.tasks, pride.pride / 100, own, general)
    if not isinstance(over, Missing) and over.over_tasks is not None:
        yield Generalised("overestimation", over.tasks, over.overestimation, over.interval, over.over_tasks)
    memory = run.attempt(MEMORISATION)
    if not isinstance(memory, Missing) and (index := memory.overall).over_tasks is not None:
        yield Generalised("memorisation index", index.tasks, index.index, index.interval, index.over_tasks)
    factors = run.attempt(ATTRIBUTION)
    if not isinstance(factors, Missing):
        rows: list[tuple[str, float, Interval | None, Interval | None]]
        rows = [("all factors", factors.drop, factors.drop_interval, factors.drop_over_tasks)]
        rows += [(share.factor, share.loss, share.interval, share.over_tasks) for share in factors.shares]
        for name, loss, interval, over_tasks in rows:
            if over_tasks is not None:
                yield Generalised(f"loss due to {name}", factors.tasks, loss, interval, over_tasks)


def over_tasks_table(results: tuple[Generalised, ...], report: ReportedRun) -> Table:
    """Return a table of the results for these tasks and, treating them as a sample, for tasks in general."""
    drops = {str(drop.group["change"]): drop for drop in report.profile.get(CHANGES) or ()}

    def of_drop(name: str) -> Callable[[Generalised], Any]:
        """Return a function that reads an attribute of a result's drop; None for other results."""
        return lambda result: getattr(drops.get(result.change), name, None)

    def log_odds(name: str) -> Callable[[Generalised], Any]:
        return lambda result: getattr(of_drop("log_odds")(result), name, None)

    return Table.of(
        "over-tasks",
        "These tasks and tasks in general",
        results,
        *("quantity", "tasks", "value", "interval", "over_tasks"),
        Column("Holm p of a loss", "p", value=of_drop("p_holm")),
        Column("p over tasks, two-sided", "p", value=of_drop("p_over_tasks")),
        Column("log-odds", "number", value=log_odds("log_odds")),
        Column("p of the log-odds, two-sided", "p", value=log_odds("p")),
        note="Rates, PRIDE and indices in per cent, differences and losses in percentage points. The diagnosis holds "
        "for these tasks with new starts. Tasks in general: as if these were a random sample, with one observation per "
        "task. The Holm p is one-sided and adjusted for all tests; the other two p values are not adjusted. Log-odds: "
        "conditional logistic regression within starts, for comparison with the exact test.",
    )


OVER_TASKS = Measure(
    "over_tasks",
    "Intervals for tasks in general, treating these tasks as a sample.",
    generalise,
    panels=(Panel(SUCCESS, (over_tasks_table,)),),
)
