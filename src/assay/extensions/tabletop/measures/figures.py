"""Tables: success by task and level, by condition and level, and what is kept of it untold."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.measures.scores import LevelScore
from assay.extensions.tabletop.measures.tabletop import NAME, Tabletop
from assay.extensions.tabletop.tasks import KINDS
from assay.measures.result import MeasureError
from assay.measures.views.forest import Mark, forest, height
from assay.measures.views.style import (
    BLACK,
    BLUE,
    EMPTY,
    FAINT,
    HALF,
    ORANGE,
    SHADES,
    WIDTH,
    Drawing,
    percent_axis,
    series,
    share_limits,
)
from assay.measures.views.wording import between, percent, plural
from assay.report.run_report import RunReport

LEVELS = ("L1", "L2", "L3", "L4")


def tasks_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """Success of each task at each level with nothing changed: with mistakes allowed, and without."""
    control_scores = {(task.kind, task.level): task for task in measured.tasks if task.condition == CONTROL}
    kinds = sorted({kind for kind, _ in control_scores}, key=lambda kind: int(kind[1:]))
    levels = [level for level in LEVELS if any(level == scored_level for _, scored_level in control_scores)]
    if not kinds:
        raise MeasureError("there is no control")

    def paint(figure: Figure) -> None:
        both = figure.subplots(1, 2, sharey=True)
        for axes, title, strict in zip(both, ("mistakes allowed", "no mistakes"), (False, True), strict=True):
            for row, kind in enumerate(kinds):
                for column, level in enumerate(levels):
                    score = control_scores.get((kind, level))
                    rate = score and (score.flawless if strict else score.allowed)
                    _cell(axes, row, column, rate.rate if rate else None, there=score is not None)
            axes.set_xlim(0, len(levels))
            axes.set_ylim(len(kinds), 0)
            axes.set_xticks([place + 0.5 for place in range(len(levels))], levels)
            axes.set_yticks(
                [place + 0.5 for place in range(len(kinds))], [_task_label(kind) for kind in kinds]
            )
            axes.xaxis.set_ticks_position("top")
            axes.set_title(title)
            axes.tick_params(length=0)
            axes.grid(visible=False)
            for side in axes.spines.values():
                side.set_visible(False)

    count = sum(score.allowed.count for score in control_scores.values())
    caption = (
        f"Success in percent, {plural(count, 'control')}; blank: there is no such task at that level. "
        "Counts and Wilson intervals are in the table."
    )
    size = (WIDTH, 0.8 + 0.24 * len(kinds))
    return Drawing("table-tasks", "Success by task and level", caption, size, paint)


def levels_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """The score of each condition at each level, and the measured score of acting at random."""
    scores, random = measured.levels, report.random(NAME)
    chance = {
        score.level: score.allowed.score
        for score in (random.levels if random else ())
        if score.condition == CONTROL
    }
    conditions = list(dict.fromkeys(score.condition for score in scores))
    levels = [level for level in LEVELS if any(level == score.level for score in scores)]
    by_condition = {(score.condition, score.level): score for score in scores}

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(levels), sharey=True, squeeze=False)[0]
        for axes, level in zip(panels, levels, strict=True):
            if level in chance:
                axes.axvline(chance[level], color=FAINT, linewidth=0.9, linestyle=":", zorder=1)
            for row, condition in enumerate(conditions):
                if (score := by_condition.get((condition, level))) is not None:
                    _score(axes, score, row)
            axes.set_title(level)
            axes.set_xlim(-0.04, 1.04)
            axes.set_xticks([0, 0.5, 1])
            percent_axis(axes.xaxis)
            axes.set_yticks(range(len(conditions)), conditions)
            axes.set_ylim(len(conditions) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="y", visible=False)

    dotted = " Dotted: measured when acting at random." if chance else ""
    caption = (
        f"Unweighted means of the tasks' success, {plural(sum(score.count for score in scores), 'episode')}; "
        "filled circles: mistakes allowed, hollow squares: none. Lines: 95 % Wilson intervals, stratified by "
        f"task. Grey ticks: the same tasks with nothing changed, mistakes allowed.{dotted}"
    )
    return Drawing(
        "table-levels",
        "Success by condition and level",
        caption,
        (WIDTH, 0.9 + 0.3 * len(conditions)),
        paint,
    )


def kept_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """What is kept under each condition of the successes that a policy has when nothing is changed."""
    groups: dict[str, list[Mark]] = {}
    for retained in measured.kept:
        name = "told what to do" if retained.plausible else "not told what to do"
        groups.setdefault(name, []).append(
            Mark(
                retained.condition,
                retained.share,
                retained.interval,
                (
                    percent(retained.share),
                    between(retained.interval, 100),
                    f"{retained.kept:,}/{retained.count:,}",
                ),
                colour=BLUE if retained.plausible else ORANGE,
                shape="o" if retained.plausible else "D",
            )
        )
    if not groups:
        raise MeasureError("no control with a changed twin succeeds")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(axes, groups, along="successes kept", heads=("kept", "95 % interval", "n"))
        axes.set_xlim(-0.02, 1.02)
        percent_axis(axes.xaxis)

    caption = (
        f"Of the starts that succeed when nothing is changed, those that still succeed; "
        f"{plural(sum(retained.count for retained in measured.kept), 'pair')}. Diamonds: the prompt does not ask for "
        "the task, so that a policy that follows it succeeds by chance only. Lines: 95 % Wilson intervals."
    )
    return Drawing("table-kept", "Successes kept", caption, (WIDTH, height(groups)), paint)


def runs_figure(runs: Mapping[str, Tabletop]) -> Drawing:
    """The levels of several runs with nothing changed; one line for each."""
    controls = {
        run: {score.level: score.allowed for score in result.levels if score.condition == CONTROL}
        for run, result in runs.items()
    }
    levels = [level for level in LEVELS if any(level in control for control in controls.values())]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (run, means) in enumerate(controls.items()):
            look = series(place)
            x = [levels.index(level) + 0.06 * (place - (len(runs) - 1) / 2) for level in means]
            axes.plot(x, [mean.score for mean in means.values()], label=run, **look)
            low, high = ([getattr(mean.interval, end) for mean in means.values()] for end in ("low", "high"))
            axes.vlines(x, low, high, color=look["color"], linewidth=1.1)
        axes.set_xticks(range(len(levels)), levels)
        share_limits(axes)
        axes.set_ylabel("success")
        figure.legend(loc="outside lower center", ncols=2)

    control_counts = "; ".join(
        f"{run}: {plural(sum(score.count for score in result.levels if score.condition == CONTROL), 'control')}"
        for run, result in runs.items()
    )
    caption = (
        f"Unweighted means of the tasks' success with mistakes allowed and nothing changed, {control_counts}. Lines: "
        "95 % Wilson intervals, stratified by task."
    )
    return Drawing("table-runs", "Success by level", caption, (HALF, 3.0 + 0.1 * len(runs)), paint)


def _task_label(kind: str) -> str:
    """A task's number and name."""
    return f"{KINDS[kind].name.replace('_', ' ')}  {kind}" if kind in KINDS else kind


def _cell(axes: Axes, row: int, column: int, share: float | None, *, there: bool) -> None:
    if not there:
        return
    shade = EMPTY if share is None else colormaps[SHADES](share)
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=1.0))
    if share is not None:
        ink = "white" if share < 0.55 else BLACK
        text = f"{100 * share:.0f}"
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=ink, fontsize=7.5)


def _score(axes: Axes, each: LevelScore, row: int) -> None:
    """Both means of a condition, the strict one a little below; behind them the control's."""
    if each.control is not None and each.condition != CONTROL:
        axes.plot([each.control] * 2, [row - 0.38, row + 0.12], color=FAINT, linewidth=1.4, zorder=1)
    for mean, off, colour, shape, filled in (
        (each.allowed, -0.13, BLUE, "o", True),
        (each.flawless, 0.17, ORANGE, "s", False),
    ):
        axes.plot([mean.interval.low, mean.interval.high], [row + off] * 2, color=colour, linewidth=1.2)
        face = colour if filled else "white"
        axes.plot(mean.score, row + off, shape, color=colour, markerfacecolor=face, markersize=4, zorder=3)
