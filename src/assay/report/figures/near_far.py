"""How many failures are near the mean successful trajectory, and how many are far from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from assay.measures.failure.nearness import WIDEST, Failures, NearFar, TaskFailures
from assay.measures.result import MeasureError
from assay.measures.views.forest import CHARACTER, note
from assay.measures.views.style import WIDTH, Drawing, percent_axis
from assay.measures.views.wording import between, natural, percent, plural
from assay.report.figures.paths import LOOKS, NAMES
from assay.report.run_report import RunReport

Bars = Mapping[str, tuple[int, int, int]]
"""Name -> successes, near and far failures."""


def near_far_figure(runs: Mapping[str, Failures]) -> Drawing:
    """Successes, near and far failures, task by task; run by run, if there are several."""
    if not any(run.failures for run in runs.values()):
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
        _stacked(axes, bars)
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
    return Drawing("near-far", "Near and far failures", caption, (WIDTH, 1.3 + 0.24 * len(bars)), paint)


def near_far_types_figure(found: Failures, report: RunReport) -> Drawing | None:
    """Successes, near and far failures by type of paraphrase: LIBERO-Para's Figure 19."""
    if not found.failures or not found.by_object:
        return None

    axes_of = {"how things are named": found.by_object, "how the action is said": found.by_action}
    heights = [len(groups) + 0.6 for groups in axes_of.values()]

    def paint(figure: Figure) -> None:
        both = figure.subplots(len(axes_of), 1, sharex=True, height_ratios=heights)
        for axes, (title, groups) in zip(both, axes_of.items(), strict=True):
            _stacked(axes, _bars(groups))
            axes.set_title(title, loc="left")
        both[-1].set_xlabel("share of episodes")
        handles, names = both[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=3)

    far = [each for each in (*found.by_object, *found.by_action) if each.far_of_failures() is not None]
    least, most = (choose(far, key=_far_of_failures) for choose in (min, max))
    caption = (
        f"Each type with all types of the other axis. Of the failures, between {percent(least.far_of_failures())} "
        f"({least.group}) and {percent(most.far_of_failures())} ({most.group}) are far."
        + (f" {plural(found.unjudged, 'failure')} could not be judged." if found.unjudged else "")
    )
    title = "Near and far failures by type of paraphrase"
    return Drawing("near-far-types", title, caption, (WIDTH, 1.6 + 0.24 * sum(heights)), paint)


def _far_of_failures(group: NearFar) -> float:
    return group.far_of_failures() or 0.0


def _bars(groups: Sequence[NearFar]) -> Bars:
    return {group.group: (group.successes, group.near[WIDEST], group.far[WIDEST]) for group in groups}


def _stacked(axes: Axes, bars: Bars) -> None:
    """A bar of shares for each name."""
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
    notes = [f"n {sum(bar):,}; near {bar[1]:,}, far {bar[2]:,}" for bar in bars.values()]
    for row, text in enumerate(notes):
        note(axes, text, 10 + CHARACTER * max(map(len, notes)), row)
    axes.set_yticks(range(len(bars)), list(bars))
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    percent_axis(axes.xaxis)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
