"""Trajectories of failures against the mean successful one; how many failures are near or far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from assay.measures.nearness import Failures, TaskFailures
from assay.measures.result import MeasureError
from assay.report.figures.forest import CHARACTER, note
from assay.report.run_report import RunReport
from assay.report.sampled_paths import EACH, TaskPaths
from assay.report.style import AMBER, BLACK, GREEN, HALF, ORANGE, WIDTH, Drawing, draw, percent_axis
from assay.report.wording import between, natural, number, percent, plural

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
            axes.view_init(elev=24, azim=-35)
            axes.set_box_aspect((1, 1, 0.8), zoom=0.95 if len(tasks) < 3 else 0.88)
            axes.tick_params(labelsize=6, pad=-2)
            for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", strict=True):
                axis.set_label_text(f"{name}, m", fontsize=7)
                axis.labelpad = -4
                axis.set_pane_color((0.96, 0.96, 0.97, 1.0))
                axis.set_major_locator(MaxNLocator(3))
        _legend(figure)

    size = _width(tasks), 3.9 if len(tasks) < 3 else 3.4
    return draw("paths-3d", "Trajectories of failures, in space", _caption(tasks), size, paint)


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
            axes.set_aspect("equal", adjustable="box")
            axes.margins(0.06)
            axes.invert_yaxis()  # the robot at the top, as its outside camera and the web app have it
            axes.set_xlabel("y, m")
            axes.set_ylabel("x, m")
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.yaxis.set_major_locator(MaxNLocator(4))
        _legend(figure)

    caption = (
        "The same trajectories from above, as the outside camera sees them: the robot stands at the top; the dot is "
        f"the start. {_caption(tasks)}"
    )
    width = _width(tasks)
    spans = [np.ptp(np.concatenate([path for _, path in _all(each)]), axis=0) for each in tasks]
    steepest = max(float(x / max(y, 1e-3)) for x, y, _ in spans)
    size = width, 1.2 + float(np.clip(steepest * (width / len(tasks) - 0.6), 0.8, 3.0))
    return draw("paths-top", "Trajectories of failures, from above", caption, size, paint)


def _sampled_of(report: RunReport) -> Sequence[TaskPaths]:
    if not report.paths:
        raise MeasureError("no failure could be judged")
    return report.paths


def _width(tasks: Sequence[TaskPaths]) -> float:
    return HALF if len(tasks) == 1 else WIDTH


def near_far_figure(runs: Mapping[str, Failures]) -> Drawing:
    """Successes, near and far failures, task by task; run by run, if there are several."""
    if not any(found.failures for found in runs.values()):
        raise MeasureError("no failure could be judged")
    bars: dict[str, tuple[int, int, int]] = {}
    if len(runs) == 1:
        (found,) = runs.values()
        tasks: dict[str, list[TaskFailures]] = {}
        for each in sorted(found.tasks, key=lambda each: natural(each.task)):
            tasks.setdefault(each.task, []).append(each)
        for task, parts in tasks.items():
            near = sum(part.near["max"] for part in parts)
            bars[task] = (
                sum(part.successes for part in parts),
                near,
                sum(part.failures for part in parts) - near,
            )
    bars |= {
        "all" if len(runs) == 1 else name: (each.successes, each.near["max"], each.far["max"])
        for name, each in runs.items()
    }

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        counts = np.array(list(bars.values()), float)
        shares = counts / counts.sum(axis=1, keepdims=True)
        left = np.zeros(len(bars))
        for kind, column, hatch in zip(("success", "near", "far"), shares.T, ("", "///", ""), strict=True):
            axes.barh(
                range(len(bars)),
                column,
                left=left,
                color=LOOKS[kind]["color"],
                label=NAMES[kind],
                hatch=hatch,
                edgecolor="white",
                linewidth=0.6,
            )
            left += column
        notes = [f"n {sum(each):,}; near {each[1]:,}, far {each[2]:,}" for each in bars.values()]
        for row, text in enumerate(notes):
            note(axes, text, 10 + CHARACTER * max(map(len, notes)), row)
        axes.set_yticks(range(len(bars)), list(bars))
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        percent_axis(axes.xaxis)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("share of episodes")
        figure.legend(loc="outside upper center", ncols=3)

    said = []
    for name, found in runs.items():
        share = (
            "no failure could be judged"
            if found.far_share is None
            else f"{found.far['max']:,} of {plural(found.failures, 'failure')} are far "
            f"({percent(found.far_share)}, 95 % Wilson interval {between(found.interval, 100)}; with "
            "stricter thresholds "
            + ", ".join(
                f"{quantile}: {count:,}" for quantile, count in found.far.items() if quantile != "max"
            )
            + ")"
        )
        beside = [f"{found.unjudged:,} failures could not be judged"] if found.unjudged else []
        beside += (
            [f"{found.elsewhere:,} episodes in a perturbed scene are left out"] if found.elsewhere else []
        )
        said.append((f"{name}: " if len(runs) > 1 else "") + "; ".join([share, *beside]))
    caption = (
        "Near failures stay as close to the mean successful trajectory as the farthest success (execution), far "
        f"ones do not (planning). {'. '.join(said)}."
    )
    return draw("near-far", "Near and far failures", caption, (WIDTH, 1.3 + 0.24 * len(bars)), paint)


def _all(each: TaskPaths) -> list[tuple[str, np.ndarray]]:
    drawn = [(kind, path) for kind in ("success", "far", "near") for path in each.paths[kind]]
    return [*drawn, ("mean", each.found.reference)]


def _legend(figure: Figure) -> None:
    lines = [Line2D([], [], **look, label=NAMES[kind]) for kind, look in LOOKS.items()]
    wide = figure.get_figwidth() > HALF
    figure.legend(handles=lines, loc="outside lower center", ncols=4 if wide else 2)


def _caption(tasks: Sequence[TaskPaths]) -> str:
    said = "; ".join(
        f"{each.found.task}: {each.found.successes:,} successes, {each.found.near['max']:,} near and "
        f"{each.found.failures - each.found.near['max']:,} far failures "
        f"(threshold {number(each.found.thresholds['max'], 3)} m)"
        for each in tasks
    )
    return (
        f"At most {EACH['success']} successes and {EACH['near']} failures of each kind are drawn, of tasks "
        f"with the most failures, as 50 points up to the length of the longest success drawn. {said}."
    )
