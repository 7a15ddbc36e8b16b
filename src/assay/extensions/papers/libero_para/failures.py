"""LIBERO-Para's near and far failures by the paper's rule, and its trajectory figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from assay.measures.failure import near_far
from assay.measures.failure.failures import LOOKS, NAMES
from assay.measures.failure.near_far import NearFar, NearFarFailures, TaskFailures
from assay.measures.frames import ACTIONS, OBJECTS
from assay.measures.measure import Measure
from assay.measures.result import MeasureError
from assay.measures.views.style import AMBER, GREEN, ORANGE, RULE, WIDTH, Drawing, stacked_bars
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import natural, number, plural, task_instruction
from assay.measures.words.paraphrase import all_paraphrases
from assay.report.papers import ExhibitPlan, PaperRun, Part, by_run, model_table

NEAR_FAR = Measure(
    "para_failures",
    "Near and far failures by LIBERO-Para's rule.",
    lambda run: near_far.failures(all_paraphrases(run.frame), run.paths, near_far.PAPER),
)
ENDINGS: dict[str, tuple[str, Callable[[NearFar], float]]] = {
    "success": (GREEN, lambda group: group.success_rate()),
    "near failure": (AMBER, lambda group: group.near_share()),
    "far failure": (ORANGE, lambda group: group.far_share()),
    "not judged": (RULE, lambda group: group.unjudged / group.episodes),
}
"""Outcome -> its colour in figures, and a function that returns the fraction of such episodes in a group."""
MAX_PATHS = 40
"""Maximum number of successful trajectories drawn per task, evenly spaced over the task's episodes."""
_RULE = (
    "By the paper's rule, for paraphrases only: the trajectory of a near failure is at most as far from the task's "
    "mean successful trajectory (dynamic time warping) as that of the farthest success; the trajectory of a far "
    "failure is farther."
)


def _failures(run: PaperRun) -> NearFarFailures:
    if not len(run.data.paths.ids):
        raise MeasureError("needs trajectories, but the run has none")
    return run.data.result(NEAR_FAR)


@by_run(_failures)
def failures_table(results: dict[str, NearFarFailures]) -> Table:
    """Return Table 4: fractions of successes, near and far failures; most far failures first."""
    return model_table(
        "failures",
        "Near and far failures, sorted by decreasing fraction of far failures",
        dict(sorted(results.items(), key=lambda item: -(item[1].overall.far_of_failures() or 0.0))),
        Column("success", "share", value=lambda model: model.overall.success_rate()),
        Column("near failures", "share", value=lambda model: model.overall.near_share()),
        Column("far failures", "share", value=lambda model: model.overall.far_share()),
        Column("far of failures", "share", value=lambda model: model.overall.far_of_failures()),
        Column("95 % interval", "share", value=lambda model: model.interval),
        Column("not judged", "share", value=lambda model: model.overall.unjudged / model.overall.episodes),
        Column("episodes", "count", value=lambda model: model.overall.episodes),
        note=f"{_RULE} Success, near, far and not judged are fractions of all episodes; far of failures is the "
        "fraction of judged failures that are far. Not judged: failures without a trajectory or in a task "
        "without successful episodes.",
    )


@by_run(_failures)
def thresholds_table(results: dict[str, NearFarFailures]) -> Table:
    """Return Table 16: near and far failures with stricter thresholds."""

    def column(kind: str, quantile: str) -> Column:
        read = NearFar.near_share if kind == "near" else NearFar.far_share
        return Column(f"{kind}, {quantile}", "share", value=lambda model: read(model.overall, quantile))

    return model_table(
        "thresholds",
        "Near and far failures with stricter thresholds",
        results,
        *(column(kind, quantile) for kind in ("near", "far") for quantile in near_far.QUANTILES),
        Column("episodes", "count", value=lambda model: model.overall.episodes),
        note=f"Fractions of all episodes. {_RULE} p99, p95, p90: the distance of a near failure is at most the "
        "99th, 95th or 90th percentile of the distances of successes.",
    )


def paths_figure(run: PaperRun) -> Drawing:
    """Return Figure 8 (right): trajectories for the task with the most failures."""
    failed = [task for task in _failures(run).tasks if task.failures]
    if not failed:
        raise MeasureError("no failure could be judged")
    task = max(failed, key=lambda task: (task.failures, task.task))
    kinds = {"success": pl.col("success"), "far": ~pl.col("near"), "near": pl.col("near")}
    paths = {kind: _paths(run, task, condition, 12) for kind, condition in kinds.items()}

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot(projection="3d")
        for kind, trajectories in paths.items():
            for place, path in enumerate(trajectories):
                axes.plot(*path.T, **LOOKS[kind], label=NAMES[kind] if not place else None)
        axes.plot(*task.reference.T, **LOOKS["mean"], label=NAMES["mean"])
        _space(axes)
        figure.legend(loc="outside lower center", ncols=2)

    near = task.near[near_far.WIDEST]
    words = task_instruction(task.task)
    caption = (
        f"{task.task}{f' ({words})' if words else ''}: {plural(task.successes, 'success', 'successes')}, "
        f"{near:,} near and {task.failures - near:,} far failures (threshold "
        f"{number(task.thresholds[near_far.WIDEST], 3)} m); at most 12 of each are drawn."
    )
    return Drawing("paths", f"trajectories on {task.task}", caption, (4.6, 4.0), paint)


def successes_figure(run: PaperRun) -> Drawing:
    """Return Figure 18: the successful trajectories in every task."""
    tasks = sorted(_failures(run).tasks, key=lambda task: natural(task.task))
    across = min(5, len(tasks))
    down = -(-len(tasks) // across)
    paths = {task.task: _paths(run, task, pl.col("success"), MAX_PATHS) for task in tasks}

    def paint(figure: Figure) -> None:
        for place, task in enumerate(tasks, start=1):
            axes = figure.add_subplot(down, across, place, projection="3d")
            for path in paths[task.task]:
                axes.plot(*path.T, color=GREEN, linewidth=0.6, alpha=0.4)
            axes.plot(*task.reference.T, **LOOKS["mean"])
            axes.set_title(f"{task.task}\n{plural(task.successes, 'success', 'successes')}", fontsize=7.5)
            _space(axes, small=True)

    absent = run.data.frame["task"].n_unique() - len(tasks)
    caption = (
        f"Successful end-effector trajectories with paraphrased instructions (at most {MAX_PATHS} per task, as 50 "
        "points) and, in black, their mean, from which the distance of failures is measured."
        + (f" No success in {plural(absent, 'task')}." if absent else "")
    )
    return Drawing("successes", "successful trajectories for each task", caption, (WIDTH, 2.35 * down), paint)


@by_run(_failures)
def types_figure(results: dict[str, NearFarFailures]) -> Iterator[Part]:
    """Yield Figure 19: successes, near and far failures by object type and by action type, per model and on average."""
    models = [
        tuple(
            {group.group: np.array([share(group) for _, share in ENDINGS.values()]) for group in side}
            for side in (result.by_object, result.by_action)
        )
        for result in results.values()
    ]
    title = "successes, near and far failures by type"
    for place, (name, sides) in enumerate(zip(results, models, strict=True), start=1):
        episodes = plural(results[name].overall.episodes, "episode")
        caption = f"{_RULE} {episodes}. Grey: not judged."
        yield _types(f"types-{place}", f"{name}: {title}", caption, sides)
    if len(models) > 1:
        means = tuple(
            {
                kind: np.mean([sides[side][kind] for sides in models], axis=0)
                for kind in order
                if all(kind in sides[side] for sides in models)
            }
            for side, order in enumerate((OBJECTS, ACTIONS))
        )
        caption = f"{_RULE} Unweighted mean over {plural(len(models), 'model')}. Grey: not judged."
        yield _types("types-mean", f"Mean over models: {title}", caption, means)


def _types(name: str, title: str, caption: str, sides: tuple[Mapping[str, np.ndarray], ...]) -> Drawing:
    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, 2)
        for axes, groups, along in zip(panels, sides, ("object type", "action type"), strict=True):
            values = np.array(list(groups.values()))  # (groups, endings)
            looks = ({"color": colour} for colour, _ in ENDINGS.values())
            stacked_bars(axes, list(groups), zip(values.T, looks, strict=True))
            for row, (success, near, far, _) in enumerate(values):
                label = " / ".join(number(100 * share, 0) for share in (success, near, far))
                axes.text(1.02, row, label, va="center", fontsize=7.5)
            axes.set_xlim(0, 1.27)
            axes.set_xticks([0, 0.5, 1])
            axes.set_title(along, fontsize=8.5)
        handles = [Patch(color=colour, label=name) for name, (colour, _) in ENDINGS.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)

    return Drawing(name, title, caption, (WIDTH, 3.2), paint)


def _paths(run: PaperRun, task: TaskFailures, condition: pl.Expr, limit: int) -> np.ndarray:
    """Return up to ``limit`` trajectories of a task, evenly spaced over its episodes; shape (paths, 50, 3)."""
    episodes = _failures(run).episodes
    own = episodes.filter((pl.col("task") == task.task) & (pl.col("goal") == task.goal)).sort("id")
    successes, ids = own.filter("success")["id"].to_numpy(), own.filter(condition)["id"].to_numpy()
    chosen = ids[np.unique(np.linspace(0, len(ids) - 1, limit).round().astype(int))] if len(ids) else ids
    return run.data.paths.resample(chosen, np.full(len(chosen), run.data.paths.lengths(successes).max()))


def _space(axes: Axes, *, small: bool = False) -> None:
    """Set up 3D axes in metres, viewed from the robot's left."""
    axes.view_init(elev=24, azim=-35)  # type: ignore[attr-defined]
    axes.set_box_aspect((1, 1, 0.8), zoom=1.12 if small else 1.0)  # type: ignore[call-arg, arg-type]
    axes.tick_params(labelsize=5 if small else 6, pad=-3 if small else -2)
    for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", strict=True):  # type: ignore[attr-defined]
        axis.set_label_text(name if small else f"{name}, m", fontsize=6 if small else 7)
        axis.labelpad = -7 if small else -4
        axis.set_pane_color((0.96, 0.96, 0.97, 1.0))
        axis.set_major_locator(MaxNLocator(3))


EXHIBITS = (
    ExhibitPlan("Table 4", "Near and far failures", failures_table),
    ExhibitPlan("Table 16", "Near and far failures with stricter thresholds", thresholds_table),
    ExhibitPlan("Figure 8", "Trajectories of the task with the most failures", paths_figure, of_each=True),
    ExhibitPlan("Figure 18", "Successful trajectories", successes_figure, of_each=True),
    ExhibitPlan("Figure 19", "Near and far failures by type", types_figure),
)
