"""Near and far failures: measure, tables, figures and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.measures.failure.near_far import (
    QUANTILES,
    WIDEST,
    NearFar,
    NearFarFailures,
    NearFarRule,
    TaskFailures,
    failures,
)
from assay.measures.measure import Measure, Panel, Profile, ReportedRun
from assay.measures.memory.paths import POINTS
from assay.measures.result import MeasureError
from assay.measures.views import style
from assay.measures.views.forest import CHARACTER, note
from assay.measures.views.style import Drawing, Figure
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import KeyNumber, between, describe_runs, natural, number, percent, plural

SAMPLE_SIZES = {"success": 12, "near": 8, "far": 8}
"""Maximum number of trajectories of each kind in the figure."""
MOST_TASKS = 3
"""Maximum number of tasks whose failures are drawn, those with the most failures first."""
LOOKS: dict[str, dict[str, Any]] = {
    "success": {"color": style.GREEN, "linewidth": 0.8, "alpha": 0.55},
    "near": {"color": style.AMBER, "linewidth": 1.1, "linestyle": "--"},
    "far": {"color": style.ORANGE, "linewidth": 1.1},
    "mean": {"color": style.BLACK, "linewidth": 2.2},
}
NAMES = {
    "success": "success",
    "near": "near failure",
    "far": "far failure",
    "mean": "mean successful trajectory",
}


@dataclass(frozen=True, slots=True, eq=False)
class TaskPaths:
    """Sampled trajectories of one task."""

    found: TaskFailures
    paths: dict[str, np.ndarray]
    """Kind -> trajectories (n, 50, 3) in metres."""

    @property
    def drawn(self) -> list[tuple[str, np.ndarray]]:
        """Kind of each trajectory and its points; the mean trajectory is last."""
        sampled = [(kind, path) for kind in ("success", "far", "near") for path in self.paths[kind]]
        return [*sampled, ("mean", self.found.reference)]


def paths_top_figure(result: NearFarFailures, report: ReportedRun) -> Drawing:
    """Plot the trajectories as seen from above."""
    tasks = [task for task in report.paths if task.found.failures][:MOST_TASKS]
    if not tasks:
        raise MeasureError("no failure could be judged")

    def paint(figure: Figure) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        for place, task in enumerate(tasks):
            axes: Any = figure.add_subplot(1, len(tasks), place + 1)
            for kind, path in task.drawn:
                axes.plot(path[:, 1], path[:, 0], **LOOKS[kind])
            start = task.found.reference[0]
            axes.plot(start[1], start[0], "o", color=style.BLACK, markersize=5)
            axes.set_title(task.found.task, fontsize=8.5)
            axes.set_aspect("equal", adjustable="datalim")  # leaves room for tick labels beside narrow paths
            axes.margins(0.06)
            axes.invert_yaxis()  # the robot at the top, as in the external camera and the web app
            for axis, name in ((axes.xaxis, "y, m"), (axes.yaxis, "x, m")):
                axis.set_label_text(name)
                axis.set_major_locator(MaxNLocator(4))
        lines = [Line2D([], [], **look, label=NAMES[kind]) for kind, look in LOOKS.items()]
        columns = 4 if figure.get_figwidth() > style.HALF else 2
        figure.legend(handles=lines, loc="outside lower center", ncols=columns)

    counts = "; ".join(
        f"{task.task}: {task.successes:,} successes, {task.near[WIDEST]:,} near and "
        f"{task.failures - task.near[WIDEST]:,} far failures (threshold {number(task.thresholds[WIDEST], 3)} m)"
        for task in (task.found for task in tasks)
    )
    caption = (
        "The robot is at the top, as seen by the external camera; the dot marks the start. For the tasks with the most "
        f"failures, at most {SAMPLE_SIZES['success']} successes and {SAMPLE_SIZES['near']} failures of each kind are "
        f"drawn, cut at the length of the longest success drawn and resampled to {POINTS} points. {counts}."
    )
    width = style.HALF if len(tasks) == 1 else style.WIDTH
    spans = [np.ptp(np.concatenate([path for _, path in task.drawn]), axis=0) for task in tasks]
    steepest = max(float(x / max(y, 1e-3)) for x, y, _ in spans)
    size = width, 1.2 + float(np.clip(steepest * (width / len(tasks) - 0.6), 0.8, 3.0))
    return Drawing(
        "paths-top", "Trajectories of failures, from above", caption, size, paint, in_a_column=False
    )


COLUMNS = (
    Column("near", "count"),
    Column("far", "count"),
    Column("n", "count"),
    Column("success", "share"),
    Column("near, of all", "share"),
    Column("far, of all", "share"),
    Column("far, of failures", "share"),
)


def _cells(group: NearFar, threshold: str = WIDEST) -> tuple[Value, ...]:
    counts = group.near[threshold], group.far[threshold], group.episodes
    shares = group.near_share(threshold), group.far_share(threshold), group.far_of_failures(threshold)
    return *counts, group.success_rate(), *shares


def describe_rule(rule: NearFarRule) -> str:
    """Describe the rule for near failures in one sentence."""
    floor = f"at least {number(100 * rule.floor)} cm" if rule.floor else "not bounded below"
    few = f"with fewer than {rule.least_successes} successes"
    few = few if rule.least_successes > 1 else "without a success"
    controls = "included" if rule.with_controls else "excluded"
    return f"Thresholds are {floor}; tasks {few} are not judged; controls are {controls}."


def failures_table(result: NearFarFailures, report: ReportedRun) -> Table | None:
    """Return a table of near and far failures in each task."""
    if not result.failures:
        return None
    has_goals = any(task.goal for task in result.tasks)  # imported logs do not have them
    columns = [Column("task"), *([Column("goal")] if has_goals else []), Column("threshold", "metres")]
    rows: list[tuple[Value, ...]] = []
    for task in sorted(result.tasks, key=lambda task: natural(task.task)):
        far = {name: task.failures - near for name, near in task.near.items()}
        group = NearFar(task.task, task.successes + task.failures, task.successes, task.near, far, 0)
        goal = (task.goal,) if has_goals else ()
        rows.append((task.task, *goal, task.thresholds[WIDEST], *_cells(group)))
    rows.append(("all", *([""] if has_goals else []), None, *_cells(result.overall)))
    included = f" The row all includes {plural(result.unjudged, 'failure')} that could not be judged."
    return Table(
        "failures",
        "Near and far failures, by task",
        (*columns, *COLUMNS),
        tuple(rows),
        "Far: farther from the task's mean successful trajectory than its farthest success. "
        f"{describe_rule(result.rule)}{included if result.unjudged else ''}",
    )


def thresholds_table(result: NearFarFailures, report: ReportedRun) -> Table | None:
    """Return a table of near and far failures at stricter thresholds."""
    if not result.failures:
        return None
    return Table(
        "failure-thresholds",
        "Near and far failures, by threshold",
        (Column("threshold"), *COLUMNS),
        tuple((name, *_cells(result.overall, name)) for name in QUANTILES),
        "Far: farther from the task's mean successful trajectory than all (max), 99, 95 and 90 % of its successes. "
        f"{describe_rule(result.rule)}",
    )


def types_table(result: NearFarFailures, report: ReportedRun) -> Table | None:
    """Return a table of near and far failures by object names and by phrasing of the action."""
    if not result.failures or not result.by_object:
        return None
    axes = (("names", result.by_object), ("action", result.by_action))
    controls = "Controls have the type none. " if result.rule.with_controls else ""
    return Table(
        "failure-types",
        "Near and far failures, by type of paraphrase",
        (Column("axis"), Column("type"), *COLUMNS),
        tuple((axis, group.group, *_cells(group)) for axis, groups in axes for group in groups),
        f"Each type is combined with all types of the other axis. {controls}{describe_rule(result.rule)}",
    )


def near_far_figure(runs: Mapping[str, NearFarFailures]) -> Drawing:
    """Plot successes, near failures and far failures by task, or by run if there are several."""
    if not any(run.failures for run in runs.values()):
        raise MeasureError("no failure could be judged")
    bars: dict[str, np.ndarray] = {}
    if len(runs) == 1:
        (result,) = runs.values()
        for task in sorted(result.tasks, key=lambda task: natural(task.task)):
            near = task.near[WIDEST]
            counts = np.array([task.successes, near, task.failures - near])
            bars[task.task] = bars.get(task.task, np.zeros(3, int)) + counts
    bars |= {
        "all" if len(runs) == 1 else name: np.array([run.successes, run.near[WIDEST], run.far[WIDEST]])
        for name, run in runs.items()
    }

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        counts = np.array(list(bars.values()), float)
        shares = counts / counts.sum(axis=1, keepdims=True)
        hatches = {"success": "", "near": "///", "far": ""}
        looks = [
            {"color": LOOKS[kind]["color"], "label": NAMES[kind], "hatch": hatch, "edgecolor": "white"}
            for kind, hatch in hatches.items()
        ]
        style.stacked_bars(axes, list(bars), zip(shares.T, looks, strict=True))
        notes = [f"n {sum(bar):,}; near {bar[1]:,}, far {bar[2]:,}" for bar in bars.values()]
        for row, text in enumerate(notes):
            note(axes, text, 10 + CHARACTER * max(map(len, notes)), row)
        axes.set_xlim(0, 1)
        axes.set_xlabel("fraction of episodes")
        figure.legend(loc="outside upper center", ncols=3)

    texts = {}
    for name, run in runs.items():
        parts = ["no failure could be judged"]
        if run.far_share is not None:
            strict = ", ".join(f"{key}: {count:,}" for key, count in run.far.items() if key != WIDEST)
            parts = [
                f"{run.far[WIDEST]:,} of {plural(run.failures, 'failure')} are far ({percent(run.far_share)}, 95 % "
                f"Wilson interval {between(run.interval, 100)}; with stricter thresholds {strict})"
            ]
        if run.unjudged:
            parts.append(f"{plural(run.unjudged, 'failure')} could not be judged")
        if run.elsewhere:
            parts.append(f"{plural(run.elsewhere, 'episode')} in a perturbed scene were left out")
        texts[name] = "; ".join(parts)
    caption = (
        "Near failures stay as close to the mean successful trajectory as the farthest success (execution), far "
        f"failures do not (planning). {describe_runs(texts, '. ')}."
    )
    return Drawing("near-far", "Near and far failures", caption, (style.WIDTH, 1.3 + 0.24 * len(bars)), paint)


def _describe_unjudged(result: NearFarFailures) -> str:
    """Describe how many failures could not be judged, and why; return an empty string if there are none."""
    if not result.unjudged:
        return ""
    return (
        f"; {plural(result.unjudged, 'further failure')} could not be judged, because a task needs at least "
        f"{plural(result.rule.least_successes, 'success', 'successes')} for a comparison"
    )


def failures_sentences(result: NearFarFailures, profile: Profile) -> Iterator[str]:
    """Describe how many failures are due to planning and to execution."""
    if result.far_share is not None:
        idle = f"; in {result.idle:,} of them, nothing was touched or moved" if result.idle else ""
        yield (
            f"Of {plural(result.failures, 'judged failure')} in an unperturbed scene, {result.far[WIDEST]:,} "
            f"({percent(result.far_share)}, 95 % interval {between(result.interval, 100)}) are far from the successful "
            f"trajectory (planning{idle}) and {result.near[WIDEST]:,} are near it (execution)"
            f"{_describe_unjudged(result)}."
        )


def failures_numbers(result: NearFarFailures, profile: Profile) -> Iterator[KeyNumber]:
    """Return the headline number: the fraction of far failures."""
    if result.far_share is not None:
        about = "Fraction of failures in an unperturbed scene that are far from the successful trajectory"
        about = f"{about}{_describe_unjudged(result)}."
        key = KeyNumber.of("far failures", percent(result.far_share), result.interval, result.failures, about)
        every = result.failures + result.unjudged
        yield replace(key, detail=f"{key.detail} of {every:,}") if result.unjudged else key


FAILURES = Measure(
    "failures",
    "Failures close to the successful trajectory (execution) and far from it (planning).",
    lambda run: failures(run.frame, run.paths, run.near_far),
    continuous=True,
    panels=(
        Panel(
            "Failures",
            (failures_table, thresholds_table, types_table),
            (paths_top_figure,),
            near_far_figure,
        ),
    ),
    sentences=failures_sentences,
    numbers=failures_numbers,
)
