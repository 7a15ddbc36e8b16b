"""Figures of sampled trajectories: failures against the mean successful trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.measures.failure.near_far import WIDEST, NearFarFailures, TaskFailures
from assay.measures.memory.paths import POINTS
from assay.measures.result import MeasureError
from assay.measures.views.style import AMBER, BLACK, GREEN, HALF, ORANGE, WIDTH, Drawing, printing
from assay.measures.views.wording import natural, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.measures.measure import ReportedRun

SAMPLE_SIZES = {"success": 12, "near": 8, "far": 8}
"""Trajectories of each kind that are drawn."""
MOST_TASKS = 3
"""Tasks whose failures are drawn: those with the most."""
TASKS_PER_ROW = 5
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


@dataclass(frozen=True, slots=True, eq=False)
class TaskPaths:
    """Sampled trajectories of one task."""

    found: TaskFailures
    paths: dict[str, np.ndarray]
    """Kind -> (paths, 50, 3), metres."""

    @property
    def drawn(self) -> list[tuple[str, np.ndarray]]:
        """Kind and points of all trajectories, the mean last."""
        sampled = [(kind, path) for kind in ("success", "far", "near") for path in self.paths[kind]]
        return [*sampled, ("mean", self.found.reference)]


def paths_3d_figure(result: NearFarFailures, report: ReportedRun) -> Drawing:
    """Trajectories in space."""
    tasks = _tasks_with_failures(report)

    def paint(figure: Figure) -> None:
        for place, task in enumerate(tasks):
            axes = figure.add_subplot(1, len(tasks), place + 1, projection="3d")
            for kind, path in task.drawn:
                axes.plot(*path.T, **LOOKS[kind])
            axes.set_title(task.found.task, fontsize=8.5)
            _set_view(axes, zoom=0.95 if len(tasks) < 3 else 0.88)
        _legend(figure, LOOKS)

    size = _width(tasks), 3.9 if len(tasks) < 3 else 3.4
    title = "Trajectories of failures, in space"
    return Drawing("paths-3d", title, _caption(tasks), size, paint, in_a_column=False)


def success_paths_figure(result: NearFarFailures, report: ReportedRun) -> Drawing:
    """Successful trajectories of every task, in space: Figure 18 of LIBERO-Para."""
    tasks = sorted(report.paths, key=lambda task: (natural(task.found.task), task.found.goal))
    columns = min(len(tasks), TASKS_PER_ROW)
    rows = -(-len(tasks) // columns)

    def paint(figure: Figure) -> None:
        for place, task in enumerate(tasks):
            axes = figure.add_subplot(rows, columns, place + 1, projection="3d")
            for path in task.paths["success"]:
                axes.plot(*path.T, **LOOKS["success"])
            axes.plot(*task.found.reference.T, **LOOKS["mean"])
            axes.set_title(task.found.task, fontsize=7.5, pad=-2)
            _set_view(axes, zoom=0.95, labelled=False)
        _legend(figure, ("success", "mean"))

    widest = max((task.found for task in tasks), key=lambda task: task.thresholds[WIDEST])
    caption = (
        f"At most {SAMPLE_SIZES['success']} successes of each task, as {POINTS} points, and the mean of all of them, "
        f"the reference for failures. The widest threshold is that of {widest.task}: "
        f"{number(widest.thresholds[WIDEST], 3)} m."
    )
    size = (HALF, 3.6) if len(tasks) == 1 else (WIDTH, 0.7 + rows * WIDTH / columns * 0.95)
    title = "Successful trajectories of every task"
    return Drawing("paths-success", title, caption, size, paint, in_a_column=False)


def paths_top_figure(result: NearFarFailures, report: ReportedRun) -> Drawing:
    """Trajectories from above."""
    tasks = _tasks_with_failures(report)

    def paint(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        for place, task in enumerate(tasks):
            axes: Any = figure.add_subplot(1, len(tasks), place + 1)
            for kind, path in task.drawn:
                axes.plot(path[:, 1], path[:, 0], **LOOKS[kind])
            start = task.found.reference[0]
            axes.plot(start[1], start[0], "o", color=BLACK, markersize=5)
            axes.set_title(task.found.task, fontsize=8.5)
            axes.set_aspect("equal", adjustable="datalim")  # leaves room for tick labels beside narrow paths
            axes.margins(0.06)
            axes.invert_yaxis()  # the robot at the top, as in the external camera and the web app
            for axis, name in ((axes.xaxis, "y, m"), (axes.yaxis, "x, m")):
                axis.set_label_text(name)
                axis.set_major_locator(MaxNLocator(4))
        _legend(figure, LOOKS)

    caption = (
        "The same trajectories from above, as in the external camera: the robot is at the top; the dot is the start. "
        f"{_caption(tasks)}"
    )
    width = _width(tasks)
    spans = [np.ptp(np.concatenate([path for _, path in task.drawn]), axis=0) for task in tasks]
    steepest = max(float(x / max(y, 1e-3)) for x, y, _ in spans)
    size = width, 1.2 + float(np.clip(steepest * (width / len(tasks) - 0.6), 0.8, 3.0))
    return Drawing(
        "paths-top", "Trajectories of failures, from above", caption, size, paint, in_a_column=False
    )


def _tasks_with_failures(report: ReportedRun) -> Sequence[TaskPaths]:
    tasks = [task for task in report.paths if task.found.failures]
    if not tasks:
        raise MeasureError("no failure could be judged")
    return tasks[:MOST_TASKS]


def _width(tasks: Sequence[TaskPaths]) -> float:
    return HALF if len(tasks) == 1 else WIDTH


def _set_view(axes: Any, *, zoom: float, labelled: bool = True) -> None:
    from matplotlib.ticker import MaxNLocator

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
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], **LOOKS[kind], label=NAMES[kind]) for kind in kinds]
    figure.legend(handles=lines, loc="outside lower center", ncols=4 if figure.get_figwidth() > HALF else 2)


def _caption(tasks: Sequence[TaskPaths]) -> str:
    counts = "; ".join(
        f"{task.task}: {task.successes:,} successes, {task.near[WIDEST]:,} near and "
        f"{task.failures - task.near[WIDEST]:,} far failures (threshold {number(task.thresholds[WIDEST], 3)} m)"
        for task in (task.found for task in tasks)
    )
    return (
        f"At most {SAMPLE_SIZES['success']} successes and {SAMPLE_SIZES['near']} failures of each kind are drawn, of "
        f"the tasks with the most failures, as {POINTS} points up to the length of the longest success drawn. {counts}."
    )
