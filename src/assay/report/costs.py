"""What changes cost of the success that there is, and in which tasks: tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from assay.episodes.perturbation import TOGETHER, Change
from assay.measures.profile import Profile
from assay.measures.success.drops import CHANGES
from assay.measures.success.task_changes import TaskChanges
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import (
    between,
    describe_change,
    group_name,
    listed,
    natural,
    p_phrase,
    percent,
    points,
)
from assay.report.run_report import RunReport
from assay.support.stats.significance import SURE

_MOST = 3
"""Changes that a sentence names."""


def costs_table(found: TaskChanges, report: RunReport) -> Table | None:
    """What each change leaves of the success that there is."""
    if not found.costs:
        return None
    return Table(
        "kept",
        "Success kept, where the control succeeds",
        (
            Column("change"),
            Column("kept", "count"),
            Column("n", "count"),
            Column("kept, share", "share"),
            Column("95 % interval", "share"),
            Column("part of the fall", "share"),
            Column("part, 95 % interval", "share"),
            Column("against other changes", "change"),
            Column("95 % interval of that", "change"),
            Column("Holm p of that", "p"),
        ),
        tuple(
            (
                cost.change,
                cost.kept,
                cost.count,
                cost.share,
                cost.interval,
                cost.of_fall,
                cost.of_fall_interval,
                cost.more,
                cost.more_interval,
                cost.more_p,
            )
            for cost in found.costs
        ),
        "Of the pairs whose control succeeds; Wilson's intervals over starts. Part of the fall: of all successes lost "
        "under all changes, which the number of episodes decides too. Against other changes: success kept with this "
        f"change less that kept with the others in the same starts. {_alike(found)}",
        shown_at_once=True,
    )


def over_tasks_table(found: TaskChanges, report: RunReport) -> Table | None:
    """What each change costs in these tasks, and in tasks in general if these are a sample of them."""
    drops = [
        drop for drop in report.profile.get(CHANGES) or () if drop.plausible and drop.over_tasks is not None
    ]
    if not drops:
        return None
    return Table(
        "over-tasks",
        "These tasks, or tasks in general",
        (
            Column("change"),
            Column("tasks", "count"),
            Column("difference", "change"),
            Column("these tasks, 95 % interval", "change"),
            Column("Holm p of a loss", "p"),
            Column("tasks in general, 95 % interval", "change"),
            Column("p over tasks, two-sided", "p"),
            Column("log-odds", "number"),
            Column("p of that, two-sided", "p"),
        ),
        tuple(
            (
                group_name(drop.group),
                drop.tasks,
                drop.change,
                drop.interval,
                drop.p_holm,
                drop.over_tasks,
                drop.p_over_tasks,
                None if drop.log_odds is None else drop.log_odds.log_odds,
                None if drop.log_odds is None else drop.log_odds.p,
            )
            for drop in drops
        ),
        "The diagnosis is about these tasks with new starts. Tasks in general: as if these had been drawn from all, "
        "each of them one witness. Three tests stand side by side: the Holm p is one-sided and adjusted for everything "
        "that was tested, the two others are not adjusted, and may be larger or smaller. Log-odds: conditional "
        "logistic regression within starts, beside our exact test.",
    )


def task_changes_table(found: TaskChanges, report: RunReport) -> Table | None:
    """What each change costs in each task."""
    if len({cell.task for cell in found.cells}) < 2:
        return None
    return Table(
        "task-changes",
        "What each change costs in each task",
        (
            Column("change"),
            Column("task"),
            Column("pairs", "count"),
            Column("starts", "count"),
            Column("starts that can tell", "count"),
            Column("control", "share"),
            Column("perturbed", "share"),
            Column("difference", "change"),
            Column("p of a loss", "p"),
            Column("more than others: Holm p", "p"),
        ),
        tuple(
            (
                each.change,
                each.task,
                each.pairs,
                each.starts,
                each.telling,
                each.control,
                each.perturbed,
                each.perturbed - each.control,
                each.p,
                each.more_p,
            )
            for each in sorted(found.cells, key=lambda each: (each.change, natural(each.task)))
        ),
        "p of a loss: in that task, one-sided, exact over starts, not adjusted. More than others is another test: that "
        "more starts are lost than in the other tasks, Holm over the tasks of the change. Starts that can tell are "
        "those whose control succeeds. " + _uneven(found),
    )


def _under(change: str) -> str:
    """Under which change, after a share of what is kept."""
    if change in (Change.MEANWHILE, Change.REQUEST, Change.CANCEL, Change.INTERRUPTION):
        return describe_change(change)
    return f"under changes of {change.replace(TOGETHER, ' and ')}"


def costs_sentences(found: TaskChanges, profile: Profile) -> Iterator[str]:
    """What is kept of the success that there is."""
    known = [cost for cost in found.costs if cost.share is not None]
    if not known:
        return
    said = listed(
        f"{percent(each.share, 0)} {_under(each.change)} "
        f"({each.kept:,} of {each.count:,}, 95 % interval {between(each.interval, 100, 0)})"
        for each in known[:_MOST]
    )
    more = f"; {len(known) - _MOST} other changes are in the table" if len(known) > _MOST else ""
    yield f"Of the successes of its controls it keeps {said}{more}."
    worse = [
        each for each in known if each.more is not None and each.more < 0 and (each.more_p or 0.0) < SURE
    ]
    if worse:
        yield (
            "Costs more than the other changes in the same starts: "
            + listed(
                f"{each.change.replace('+', ' and ')} ({points(each.more or 0.0)} points, "
                f"95 % interval {between(each.more_interval, 100)})"
                for each in worse
            )
            + "."
        )


def _alike(found: TaskChanges) -> str:
    if found.alike_p is None:
        return ""
    verdict = "not all changes cost alike" if found.alike_p < SURE else "no change can be told to cost more"
    return f"All together: {verdict} ({p_phrase(found.alike_p)}, Mantel and Haenszel, within starts)."


def _uneven(found: TaskChanges) -> str:
    uneven = [f"{change} ({p_phrase(p)})" for change, p in found.uneven.items() if p < SURE]
    if not uneven:
        return "No change can be told to cost more in one task than in another (starts dealt anew to tasks)."
    return f"Costs more in some tasks than in others: {listed(uneven)}; starts dealt anew to tasks."
