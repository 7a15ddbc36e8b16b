"""Memory: how often the control's trajectory is repeated; which factor costs how much."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from assay.measures.attribution import Attribution
from assay.measures.memory.memorisation import Index, Memorisation
from assay.measures.views.forest import Mark, forest, height
from assay.measures.views.style import BLUE, ORANGE, WIDTH, Drawing, points_axis, series
from assay.measures.views.wording import (
    NOT,
    between,
    listed,
    methods,
    number,
    p_value,
    plural,
    points,
    signed,
    turned,
)
from assay.report.run_report import RunReport


def memorisation_figure(runs: Mapping[str, Memorisation]) -> Drawing:
    """The memorisation index by axis and by condition; one group for each run."""
    groups: dict[str, list[Mark]] = {}
    for place, (run, found) in enumerate(runs.items()):
        if len(runs) > 1:
            groups[run] = [
                _mark("all" if not each.group else each.group, each, place)
                for each in (found.overall, *found.axes)
            ]
        else:
            groups["all"] = [_mark("all changes", found.overall, 0)]
            groups["by axis"] = [_mark(axis.group, axis, 0) for axis in found.axes]
            groups["by condition"] = [_mark(condition.group, condition, 1) for condition in found.conditions]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(
            axes,
            groups,
            along="memorisation index (0: reacts to the change, 1: repeats the control)",
            heads=("index", "95 % interval", "n"),
        )
        axes.set_xlim(-0.02, 1.02)

    said = []
    for run, found in runs.items():
        unjudged = listed(f"{count:,} because {why}" for why, count in found.unjudged.items())
        said.append(
            (f"{run}: " if len(runs) > 1 else "")
            + f"{plural(found.overall.count, 'episode')} judged"
            + (f", not judged: {unjudged}" if found.unjudged else "")
        )
    caption = (
        "How often the trajectory cannot be told from the controls' although the change calls for another. "
        f"{'; '.join(said)}. Lines: 95 % Wilson intervals over starts."
    )
    return Drawing("memorisation", "Memorisation index", caption, (WIDTH, height(groups)), paint)


def _mark(label: str, each: Index, place: int) -> Mark:
    look = series(place)
    notes = (number(each.index, 2), between(each.interval, digits=2), f"{each.alike:,}/{each.count:,}")
    return Mark(label, each.index, each.interval, notes, colour=look["color"], shape=look["marker"])


def attribution_figure(found: Attribution, report: RunReport) -> Drawing:
    """Effects of the factors on the log-odds, and their shares of the drop."""
    effects = {
        "": [
            Mark(
                " x ".join(effect.factors),
                effect.log_odds,
                effect.interval,
                (signed(effect.log_odds, 2), p_value(effect.p)),
                sure=effect.p < 0.05,
                colour=BLUE if len(effect.factors) == 1 else ORANGE,
                shape="o" if len(effect.factors) == 1 else "s",
            )
            for effect in found.effects
        ]
    }
    shares = {
        "": [
            Mark(
                share.factor,
                -share.loss,
                turned(share.interval),
                (points(-share.loss), NOT if share.share is None else f"{100 * share.share:.0f} %"),
            )
            for share in found.shares
        ]
    }

    def paint(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        forest(left, effects, along="effect on the log-odds of success", heads=("effect", "p"), zero=0.0)
        left.set_title("Main effects and interactions")
        heads = ("points", "share")
        forest(right, shares, along="change of success, points", heads=heads, zero=0.0, least=0.1)
        right.set_title("Shapley shares of the drop")
        points_axis(right.xaxis)

    drop = f"{points(-found.drop)} points" + (
        f" (95 % interval {between(turned(found.drop_interval), 100)})" if found.drop_interval else ""
    )
    modelled = (
        f" {plural(found.modelled, 'combination')} that the run lacks come from the model."
        if found.modelled
        else ""
    )
    aliased = (
        f" The design cannot tell {listed(' x '.join(each) for each in found.aliased)} from others."
        if found.aliased
        else ""
    )
    caption = (
        f"{plural(found.episodes, 'episode')} of {plural(found.starts, 'start')}. Left: 95 % intervals "
        f"({methods(effect.interval for effect in found.effects)}); squares: how one factor changes another's "
        f"effect; filled: p < 0.05. Right: each factor's part of the change from all off to all on, {drop}; "
        f"lines: 95 % intervals ({methods(share.interval for share in found.shares)})."
        f"{modelled}{aliased}"
    )
    rows = max(height(effects), height(shares))
    return Drawing(
        "attribution",
        "Which factor costs how much",
        caption,
        (WIDTH + 0.6, rows + 0.2),
        paint,
        in_a_column=False,
    )
