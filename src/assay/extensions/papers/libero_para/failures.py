"""LIBERO-Para's failures: near and far from the successful trajectory, by its own rule, and trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from assay.measures.failure.near_far import PAPER, QUANTILES, WIDEST, NearFarFailures, NearFar, TaskFailures, failures
from assay.measures.measure import Measure
from assay.measures.result import MeasureError
from assay.measures.views.style import AMBER, GREEN, ORANGE, RULE, WIDTH, Drawing, percent_axis
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import natural, number, plural, task_instruction
from assay.measures.views.heat_map import ACTIONS, OBJECTS
from assay.measures.words.paraphrase import all_paraphrases
from assay.measures.failure.path_figures import LOOKS, NAMES
from assay.report.papers.base import PaperRun, Part, of_each

NEAR_FAR = Measure(
    "para_failures",
    "Near and far failures by LIBERO-Para's rule.",
    lambda run: failures(all_paraphrases(run.frame), run.paths, PAPER),
)
ENDINGS: dict[str, tuple[str, Callable[[NearFar], float]]] = {
    "success": (GREEN, lambda each: each.success_rate()),
    "near failure": (AMBER, lambda each: each.near_share()),
    "far failure": (ORANGE, lambda each: each.far_share()),
    "not judged": (RULE, lambda each: each.unjudged / each.episodes),
}
"""How an episode can end: colour, and share of a group."""
MOST_PATHS = 40
"""Successful trajectories that are drawn of a task, evenly over its episodes."""
_RULE = (
    "By the paper's rule: paraphrases alone; near is at most as far from a task's mean successful trajectory "
    "(dynamic time warping) as its farthest success; far is farther."
)


def failures_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Table 4: success, near and far failures as shares of all; the highest share of far failures first."""
    found, missing = of_each(runs, _failures)
    overall = {name: each.overall for name, each in found.items()}
    yield Table(
        "failures",
        "Near and far failures, the largest share of far ones first",
        (
            Column("model"),
            Column("success", "share"),
            Column("near failures", "share"),
            Column("far failures", "share"),
            Column("far of failures", "share"),
            Column("95 % interval", "share"),
            Column("not judged", "share"),
            Column("episodes", "count"),
        ),
        tuple(
            (
                name,
                each.success_rate(),
                each.near_share(),
                each.far_share(),
                each.far_of_failures(),
                found[name].interval,
                each.unjudged / each.episodes,
                each.episodes,
            )
            for name, each in sorted(overall.items(), key=lambda item: -(item[1].far_of_failures() or 0.0))
        ),
        f"{_RULE} Success, near, far and not judged are shares of all episodes; far of failures is a share "
        "of the judged failures. Not judged: the task never succeeds, or the episode has no trajectory.",
    )
    yield from missing


def thresholds_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Table 16: near and far failures with ever stricter thresholds."""
    found, missing = of_each(runs, _failures)
    yield Table(
        "thresholds",
        "Near and far failures with stricter thresholds",
        (
            Column("model"),
            *(Column(f"{kind}, {name}", "share") for kind in ("near", "far") for name in QUANTILES),
            Column("episodes", "count"),
        ),
        tuple(
            (
                name,
                *(each.overall.near_share(quantile) for quantile in QUANTILES),
                *(each.overall.far_share(quantile) for quantile in QUANTILES),
                each.overall.episodes,
            )
            for name, each in found.items()
        ),
        f"Shares of all episodes. {_RULE} p99, p95 and p90: at most as far as 99, 95 and 90 % of the successes.",
    )
    yield from missing


def paths_figure(run: PaperRun) -> Drawing:
    """Figure 8, right: trajectories of the task with the most failures."""
    found = _failures(run)
    lost = [each for each in found.tasks if each.failures]
    if not lost:
        raise MeasureError("no failure could be judged")
    task = max(lost, key=lambda each: (each.failures, each.task))
    kinds = {"success": pl.col("success"), "far": ~pl.col("near"), "near": pl.col("near")}
    paths = {kind: _paths(run, found, task, which, 12) for kind, which in kinds.items()}

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot(projection="3d")
        for kind, many in paths.items():
            for place, path in enumerate(many):
                axes.plot(*path.T, **LOOKS[kind], label=NAMES[kind] if not place else None)
        axes.plot(*task.reference.T, **LOOKS["mean"], label=NAMES["mean"])
        _space(axes)
        figure.legend(loc="outside lower center", ncols=2)

    near = task.near[WIDEST]
    words = task_instruction(task.task)
    caption = (
        f"{task.task}{f' ({words})' if words else ''}: {plural(task.successes, 'success', 'successes')}, "
        f"{near:,} near and {task.failures - near:,} far failures (threshold "
        f"{number(task.thresholds[WIDEST], 3)} m); at most 12 of each are drawn."
    )
    return Drawing("paths", f"trajectories on {task.task}", caption, (4.6, 4.0), paint)


def successes_figure(run: PaperRun) -> Drawing:
    """Figure 18: successful trajectories of every task."""
    found = _failures(run)
    tasks = sorted(found.tasks, key=lambda each: natural(each.task))
    across = min(5, len(tasks))
    down = -(-len(tasks) // across)
    shown = {each.task: _paths(run, found, each, pl.col("success"), MOST_PATHS) for each in tasks}

    def paint(figure: Figure) -> None:
        for place, task in enumerate(tasks, start=1):
            axes = figure.add_subplot(down, across, place, projection="3d")
            for path in shown[task.task]:
                axes.plot(*path.T, color=GREEN, linewidth=0.6, alpha=0.4)
            axes.plot(*task.reference.T, **LOOKS["mean"])
            axes.set_title(f"{task.task}\n{plural(task.successes, 'success', 'successes')}", fontsize=7.5)
            _space(axes, small=True)

    absent = len({str(each) for each in run.data.frame["task"]}) - len(tasks)
    caption = (
        f"Successful trajectories of the hand with paraphrased instructions (at most {MOST_PATHS} of each task are "
        "drawn, as 50 points) and, black, their mean, from which near and far failures are told."
        + (f" {plural(absent, 'task')} never succeeded." if absent else "")
    )
    return Drawing("successes", "successful trajectories of each task", caption, (WIDTH, 2.35 * down), paint)


def types_figure(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 19: success, near and far failures by object type and by action type; each model, and their mean."""
    found, missing = of_each(runs, _failures)
    for name, each in found.items():
        title = f"{name}: success, near and far failures by type"
        shares = tuple(
            {group.group: _shares(group) for group in side} for side in (each.by_object, each.by_action)
        )
        caption = f"{_RULE} {plural(each.overall.episodes, 'episode')}. Grey: not judged."
        yield _types(f"types-{list(found).index(name) + 1}", title, caption, shares)
    if len(found) > 1:
        sides = []
        for order, side in ((OBJECTS, "by_object"), (ACTIONS, "by_action")):
            models = [
                {group.group: _shares(group) for group in getattr(each, side)} for each in found.values()
            ]
            sides.append(
                {
                    kind: np.mean([model[kind] for model in models], axis=0)
                    for kind in order
                    if all(kind in model for model in models)
                }
            )
        caption = f"{_RULE} Mean over {plural(len(found), 'model')}, each alike. Grey: not judged."
        title = "Mean over models: success, near and far failures by type"
        yield _types("types-mean", title, caption, tuple(sides))
    yield from missing


def _types(name: str, title: str, caption: str, sides: tuple[Mapping[str, np.ndarray], ...]) -> Drawing:
    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, 2)
        for axes, groups, along in zip(
            panels, sides, ("how objects are named", "how the action is said"), strict=True
        ):
            left = np.zeros(len(groups))
            rows = np.arange(len(groups))
            values = np.array(list(groups.values()))  # (groups, endings)
            for place, (colour, _) in enumerate(ENDINGS.values()):
                axes.barh(rows, values[:, place], left=left, color=colour, height=0.72)
                left += values[:, place]
            for row, (success, near, far, _) in enumerate(values):
                said = " / ".join(number(100 * share, 0) for share in (success, near, far))
                axes.text(1.02, row, said, va="center", fontsize=7.5)
            axes.set_yticks(rows, list(groups))
            axes.set_ylim(len(groups) - 0.4, -0.6)
            axes.set_xlim(0, 1.27)
            axes.set_xticks([0, 0.5, 1])
            percent_axis(axes.xaxis)
            axes.set_title(along, fontsize=8.5)
            axes.grid(visible=False, axis="y")
        handles = [Patch(color=colour, label=each) for each, (colour, _) in ENDINGS.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)

    return Drawing(name, title, caption, (WIDTH, 3.2), paint)


def _failures(run: PaperRun) -> NearFarFailures:
    if not len(run.data.paths.ids):
        raise MeasureError("needs trajectories, and the run has none")
    return run.data.result(NEAR_FAR)


def _shares(group: NearFar) -> np.ndarray:
    return np.array([share(group) for _, share in ENDINGS.values()])


def _paths(run: PaperRun, found: NearFarFailures, task: TaskFailures, which: pl.Expr, most: int) -> np.ndarray:
    """Some of a task's trajectories, evenly over its episodes: (paths, 50, 3)."""
    mine = found.episodes.filter((pl.col("task") == task.task) & (pl.col("goal") == task.goal)).sort("id")
    won, ids = mine.filter("success")["id"].to_numpy(), mine.filter(which)["id"].to_numpy()
    chosen = ids[np.unique(np.linspace(0, len(ids) - 1, most).round().astype(int))] if len(ids) else ids
    return run.data.paths.resampled(chosen, np.full(len(chosen), run.data.paths.lengths(won).max()))


def _space(axes: Axes, *, small: bool = False) -> None:
    """Three axes in metres, seen from the robot's left."""
    axes.view_init(elev=24, azim=-35)  # type: ignore[attr-defined]
    axes.set_box_aspect((1, 1, 0.8), zoom=1.12 if small else 1.0)  # type: ignore[call-arg, arg-type]
    axes.tick_params(labelsize=5 if small else 6, pad=-3 if small else -2)
    for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", strict=True):  # type: ignore[attr-defined]
        axis.set_label_text(name if small else f"{name}, m", fontsize=6 if small else 7)
        axis.labelpad = -7 if small else -4
        axis.set_pane_color((0.96, 0.96, 0.97, 1.0))
        axis.set_major_locator(MaxNLocator(3))
