"""Scores as figures."""

from __future__ import annotations

from matplotlib.figure import Figure

from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.scoring.score import Score
from assay.extensions.eqa.scoring.sheet import COMPONENTS
from assay.measures.views.forest import MOST, Mark, forest, height
from assay.measures.views.style import (
    FAINT,
    HALF,
    SERIES,
    WIDTH,
    Drawing,
    percent_axis,
    series,
    share_limits,
)
from assay.measures.views.wording import percent

LINES = len(SERIES)
"""Models in one figure of lines; more cannot be told apart."""


def overall(score: Score) -> Drawing:
    """Every model's overall mean against chance."""
    shown = list(score.models.items())[:MOST]
    marks = [
        Mark(
            name,
            each.standing.overall.share,
            each.standing.overall.interval,
            (percent(each.standing.overall.share), f"{each.standing.questions:,}"),
        )
        for name, each in shown
    ]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(axes, {"": marks}, along="right answers", heads=("mean", "n"), zero=score.chance)
        percent_axis(axes.xaxis)

    caption = (
        "Mean over data sets of each kind, then over kinds; lines are 95 % intervals (cluster bootstrap over "
        "episodes). The upright line is chance."
    )
    return Drawing("overall", "Who is right how often", caption, (WIDTH, height({"": marks})), paint)


def profile(score: Score) -> Drawing:
    """High, mid, low: the best models' means."""
    levels = [
        str(level)
        for level in Level
        if any(str(level) in model.standing.means for model in score.models.values())
    ]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (name, each) in enumerate(list(score.models.items())[:LINES]):
            there = [level for level in levels if level in each.standing.means]
            values = [each.standing.means[level].share for level in there]
            axes.plot([levels.index(level) for level in there], values, label=name[:40], **series(place))
        axes.axhline(score.chance, color=FAINT, linewidth=0.9, linestyle="--")
        axes.set_xticks(range(len(levels)), levels)
        share_limits(axes)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)

    best = f"The best {LINES} models. " if len(score.models) > LINES else ""
    caption = f"{best}Mean of both directions at each level of abstraction; the dashed line is chance."
    return Drawing("profile", "High, mid and low level", caption, (HALF, 3.6), paint)


def components(score: Score) -> Drawing | None:
    """Translation, rotation, gripper: proportions of error rates at the mid level."""
    rows = {
        name: [part.proportion or 0.0 for part in each.components["mid"]]
        for name, each in list(score.models.items())[:MOST]
        if each.components["mid"] and each.components["mid"][0].proportion is not None
    }
    if not rows:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, component in enumerate(COMPONENTS):
            left = [sum(values[:place]) for values in rows.values()]
            axes.barh(
                range(len(rows)),
                [values[place] for values in rows.values()],
                left=left,
                color=SERIES[place],
                label=component,
            )
        axes.set_yticks(range(len(rows)), [name[:30] for name in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        percent_axis(axes.xaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    caption = "Mid level: errors per question whose action has the component, each rate in their sum."
    return Drawing("components", "What errors are about", caption, (HALF, 1.2 + 0.22 * len(rows)), paint)
