"""Tables of near and far failures: by task, by type of paraphrase, by threshold; of one run or several."""

from __future__ import annotations

from collections.abc import Mapping

from assay.measures.failure.nearness import QUANTILES, WIDEST, Failures, NearFar, NearFarRule
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import natural, number, plural
from assay.report.run_report import RunReport

SHARES = (
    Column("n", "count"),
    Column("success", "share"),
    Column("near, of all", "share"),
    Column("far, of all", "share"),
    Column("far, of failures", "share"),
)


def failures_table(found: Failures, report: RunReport) -> Table | None:
    """Near and far failures of each task."""
    if not found.failures:
        return None
    tasks = sorted(found.tasks, key=lambda task: natural(task.task))
    told = any(task.goal for task in tasks)  # imported logs do not say it

    def goal(text: str) -> tuple[Value, ...]:
        return (text,) if told else ()

    rows: list[tuple[Value, ...]] = []
    for task in tasks:
        near, n = task.near[WIDEST], task.successes + task.failures
        far = task.failures - near
        shares = task.successes / n, near / n, far / n, far / task.failures if task.failures else None
        rows.append((task.task, *goal(task.goal), task.thresholds[WIDEST], near, far, n, *shares))
    every = found.overall
    rows.append(("all", *goal(""), None, every.near[WIDEST], every.far[WIDEST], *_shares(every)))
    return Table(
        "failures",
        "Near and far failures, by task",
        (
            Column("task"),
            *((Column("goal"),) if told else ()),
            Column("threshold", "metres"),
            Column("near", "count"),
            Column("far", "count"),
            *SHARES,
        ),
        tuple(rows),
        f"Far: farther from the task's mean successful trajectory than its farthest success. {rule_told(found.rule)}"
        + (
            f" All includes {plural(found.unjudged, 'failure')} that could not be judged."
            if found.unjudged
            else ""
        ),
    )


def thresholds_table(found: Failures, report: RunReport) -> Table | None:
    """What stricter thresholds make of it."""
    if not found.failures:
        return None
    every = found.overall
    return Table(
        "failure-thresholds",
        "Near and far failures, by threshold",
        (Column("threshold"), Column("near", "count"), Column("far", "count"), *SHARES),
        tuple((name, every.near[name], every.far[name], *_shares(every, name)) for name in QUANTILES),
        f"{THRESHOLDS} {rule_told(found.rule)}",
    )


def types_table(found: Failures, report: RunReport) -> Table | None:
    """Near and far failures by how things are named and how the action is said."""
    if not found.failures or not found.by_object:
        return None
    axes = (("names", found.by_object), ("action", found.by_action))
    return Table(
        "failure-types",
        "Near and far failures, by type of paraphrase",
        (Column("axis"), Column("type"), Column("near", "count"), Column("far", "count"), *SHARES),
        tuple(
            (axis, group.group, group.near[WIDEST], group.far[WIDEST], *_shares(group))
            for axis, groups in axes
            for group in groups
        ),
        "Each type with all types of the other axis. "
        + ("Controls are in none. " if found.rule.with_controls else "")
        + rule_told(found.rule),
    )


def runs_table(runs: Mapping[str, Failures]) -> Table:
    """Near and far failures of several runs, the largest share of far ones first: LIBERO-Para's Table 4."""
    order = sorted(runs.items(), key=lambda each: -(each[1].far_share or 0.0))
    return Table(
        "near-far",
        "Near and far failures",
        (Column("run"), *SHARES, Column("95 % interval", "share")),
        tuple((name, *_shares(each.overall), each.interval) for name, each in order),
        "Success, near and far add up to all, where every failure could be judged. 95 % Wilson intervals of the share "
        "of far ones among the failures, over starts.",
    )


def runs_thresholds_table(runs: Mapping[str, Failures]) -> Table:
    """The same with stricter thresholds: LIBERO-Para's Table 16."""
    return Table(
        "near-far-thresholds",
        "Near and far failures, by threshold",
        (
            Column("run"),
            *(Column(f"{what} ({name})", "share") for what in ("near", "far") for name in QUANTILES),
        ),
        tuple(
            (
                name,
                *(each.overall.near_share(threshold) for threshold in QUANTILES),
                *(each.overall.far_share(threshold) for threshold in QUANTILES),
            )
            for name, each in runs.items()
        ),
        f"Shares of all episodes. {THRESHOLDS}",
    )


THRESHOLDS = "Far: farther from the task's mean successful trajectory than all (max), 99, 95 and 90 % of its successes."


def rule_told(rule: NearFarRule) -> str:
    """How near and far were told apart, in a sentence."""
    floor = (
        f"thresholds are {number(100 * rule.floor)} cm at least" if rule.floor else "thresholds have no floor"
    )
    controls = "controls count" if rule.with_controls else "controls do not count"
    few = (
        "without a success"
        if rule.least_successes < 2
        else f"with fewer than {rule.least_successes} successes"
    )
    return f"{floor[0].upper()}{floor[1:]}; tasks {few} are not judged; {controls}."


def _shares(group: NearFar, threshold: str = WIDEST) -> tuple[Value, ...]:
    return (
        group.episodes,
        group.success_rate(),
        group.near_share(threshold),
        group.far_share(threshold),
        group.far_of_failures(threshold),
    )
