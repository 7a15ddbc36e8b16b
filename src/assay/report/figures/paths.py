"""Trajectories of failures against the mean successful one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from assay.measures.failure.nearness import Failures
from assay.measures.result import MeasureError
from assay.measures.views.style import AMBER, BLACK, GREEN, HALF, ORANGE, WIDTH, Drawing, printing
from assay.measures.views.wording import natural, number
from assay.report.run_report import RunReport
from assay.report.sampled_paths import EACH, POINTS, TaskPaths

TASKS = 3
"""Tasks whose failures are drawn: those with the most."""
COLUMNS = 5
"""Tasks in a row, where all are drawn."""
LOOKS: dict[str, dict[str, Any]] = {
    "success": {"color": GREEN, "linewidth": 0.8, "alpha": 0.55},
    "near": {"color": AMBER, "linewidth": 1.1, "linestyle": "--"},
    "far": {"color": ORANGE, "linewidth": 1.1},
    "mean": {"color": BLACK, "linewidth": 2.2},
}
NAMES = {
    "success": "success",
    "near": "near failure",
    "far": "far failure",
    "mean": "mean successful trajectory",
}


def paths_3d_figure(found: Failures, report: RunReport) -> Drawing:
    """The trajectories in space."""
    tasks = _sampled_of(report)

    def paint(figure: Figure) -> None:
        for place, each in enumerate(tasks):
            axes = figure.add_subplot(1, len(tasks), place + 1, projection="3d")
            for kind, path in _all(each):
                axes.plot(path[:, 0], path[:, 1], path[:, 2], **LOOKS[kind])
            axes.set_title(each.found.task, fontsize=8.5)
            _in_space(axes, zoom=0.95 if len(tasks) < 3 else 0.88)
        _legend(figure, LOOKS)

    size = _width(tasks), 3.9 if len(tasks) < 3 else 3.4
    return Drawing(
        "paths-3d", "Trajectories of failures, in space", _caption(tasks), size, paint, in_a_column=False
    )


def success_paths_figure(found: Failures, report: RunReport) -> Drawing:
    """The successful trajectories of every task, in space: LIBERO-Para's Figure 18."""
    tasks = sorted(report.paths, key=lambda each: (natural(each.found.task), each.found.goal))
    columns = min(len(tasks), COLUMNS)
    rows = -(-len(tasks) // columns)

    def paint(figure: Figure) -> None:
        for place, each in enumerate(tasks):
            axes = figure.add_subplot(rows, columns, place + 1, projection="3d")
            for path in each.paths["success"]:
                axes.plot(path[:, 0], path[:, 1], path[:, 2], **LOOKS["success"])
            mean = each.found.reference
            axes.plot(mean[:, 0], mean[:, 1], mean[:, 2], **LOOKS["mean"])
            axes.set_title(each.found.task, fontsize=7.5, pad=-2)
            _in_space(axes, zoom=0.95, labelled=False)
        _legend(figure, ("success", "mean"))

    widest = max(tasks, key=lambda each: each.found.thresholds["max"]).found
    caption = (
        f"At most {EACH['success']} successes of each task, as {POINTS} points, and the mean of all of them, which "
        f"failures are compared with. The widest threshold is that of {widest.task}: "
        f"{number(widest.thresholds['max'], 3)} m."
    )
    size = (HALF, 3.6) if len(tasks) == 1 else (WIDTH, 0.7 + rows * WIDTH / columns * 0.95)
    return Drawing(
        "paths-success", "Successful trajectories of every task", caption, size, paint, in_a_column=False
    )


def paths_top_figure(found: Failures, report: RunReport) -> Drawing:
    """The trajectories from above."""
    tasks = _sampled_of(report)

    def paint(figure: Figure) -> None:
        for place, each in enumerate(tasks):
            axes: Axes = figure.add_subplot(1, len(tasks), place + 1)
            for kind, path in _all(each):
                axes.plot(path[:, 1], path[:, 0], **LOOKS[kind])
            start = each.found.reference[0]
            axes.plot(start[1], start[0], "o", color=BLACK, markersize=5)
            axes.set_title(each.found.task, fontsize=8.5)
            axes.set_aspect("equal", adjustable="datalim")  # narrow paths leave room for their numbers
            axes.margins(0.06)
            axes.invert_yaxis()  # the robot at the top, as its outside camera and the web app have it
            axes.set_xlabel("y, m")
            axes.set_ylabel("x, m")
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.yaxis.set_major_locator(MaxNLocator(4))
        _legend(figure, LOOKS)

    caption = (
        "The same trajectories from above, as the outside camera sees them: the robot stands at the top; the dot is "
        f"the start. {_caption(tasks)}"
    )
    width = _width(tasks)
    spans = [np.ptp(np.concatenate([path for _, path in _all(task)]), axis=0) for task in tasks]
    steepest = max(float(x / max(y, 1e-3)) for x, y, _ in spans)
    size = width, 1.2 + float(np.clip(steepest * (width / len(tasks) - 0.6), 0.8, 3.0))
    return Drawing(
        "paths-top", "Trajectories of failures, from above", caption, size, paint, in_a_column=False
    )


def _sampled_of(report: RunReport) -> Sequence[TaskPaths]:
    tasks = [path for path in report.paths if path.found.failures]
    if not tasks:
        raise MeasureError("no failure could be judged")
    return tasks[:TASKS]


def _width(tasks: Sequence[TaskPaths]) -> float:
    return HALF if len(tasks) == 1 else WIDTH


def _all(each: TaskPaths) -> list[tuple[str, np.ndarray]]:
    drawn = [(kind, path) for kind in ("success", "far", "near") for path in each.paths[kind]]
    return [*drawn, ("mean", each.found.reference)]


def _in_space(axes: Any, *, zoom: float, labelled: bool = True) -> None:
    axes.view_init(elev=24, azim=-35)
    axes.set_box_aspect((1, 1, 0.8), zoom=zoom if printing() is None else 0.9 * zoom)
    axes.tick_params(labelsize=6, pad=-2)
    for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", strict=True):
        if labelled:
            axis.set_label_text(f"{name}, m", fontsize=7)
        axis.labelpad = -4
        axis.set_pane_color((0.96, 0.96, 0.97, 1.0))
        axis.set_major_locator(MaxNLocator(3))


def _legend(figure: Figure, kinds: Iterable[str]) -> None:
    lines = [Line2D([], [], **LOOKS[kind], label=NAMES[kind]) for kind in kinds]
    wide = figure.get_figwidth() > HALF
    figure.legend(handles=lines, loc="outside lower center", ncols=4 if wide else 2)


def _caption(tasks: Sequence[TaskPaths]) -> str:
    said = "; ".join(
        f"{task.found.task}: {task.found.successes:,} successes, {task.found.near['max']:,} near and "
        f"{task.found.failures - task.found.near['max']:,} far failures "
        f"(threshold {number(task.found.thresholds['max'], 3)} m)"
        for task in tasks
    )
    return (
        f"At most {EACH['success']} successes and {EACH['near']} failures of each kind are drawn, of tasks "
        f"with the most failures, as {POINTS} points up to the length of the longest success drawn. {said}."
    )
