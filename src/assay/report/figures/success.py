"""Success: what each change costs, task by task, and label by label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from assay.measures.result import MeasureError
from assay.measures.success.drops import Drop
from assay.measures.success.rates import Rate
from assay.measures.views.forest import MOST, Mark, fits_a_column, forest, height
from assay.measures.views.style import (
    BLUE,
    FAINT,
    HALF,
    ORANGE,
    RULE,
    WIDTH,
    Drawing,
    percent_axis,
    points_axis,
    series,
)
from assay.measures.views.wording import between, group_name, natural, p_value, percent, plural, points
from assay.report.run_report import RunReport
from assay.tasks.labels import family_order, label_order

SURE = 0.05
"""Adjusted p below which a drop is taken for real."""
_FEWEST_SPOKES = 3


def drops_figure(found: Sequence[Drop], report: RunReport) -> Drawing:
    """What each condition costs against its controls."""
    return _drops_figure(found, "drops", "What each condition costs")


def changes_figure(found: Sequence[Drop], report: RunReport) -> Drawing:
    """What each kind of change costs against its controls."""
    return _drops_figure(found, "changes", "What each kind of change costs")


def _drops_figure(found: Sequence[Drop], name: str, title: str) -> Drawing:
    shown = found
    if len(found) > MOST:
        largest = sorted(found, key=lambda each: each.change)[:MOST]
        shown = [each for each in found if each in largest]
    groups: dict[str, list[Mark]] = {}
    for each in shown:
        groups.setdefault(each.family, []).append(
            Mark(
                group_name(each.group),
                each.change,
                each.interval,
                (points(each.change), between(each.interval, 100), f"{each.pairs:,}", p_value(each.p_holm)),
                sure=each.p_holm < SURE,
                colour=BLUE if each.plausible else FAINT,
                shape="o" if each.plausible else "D",
            )
        )

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        heads = ("points", "95 % interval", "pairs", "Holm p")
        along = "paired difference to the control, points"
        forest(axes, groups, along=along, heads=heads, zero=0.0, least=0.1)
        points_axis(axes.xaxis)

    pairs = sum(each.pairs for each in found)
    left = (
        f" Of {len(found)} conditions the {MOST} with the largest drops are shown."
        if len(shown) < len(found)
        else ""
    )
    grey = (
        " Grey diamonds: changes after which success is not expected."
        if not all(each.plausible for each in shown)
        else ""
    )
    caption = (
        f"{plural(pairs, 'pair')} of a perturbed episode and the control of the same task and seed. Lines: "
        "95 % Newcombe intervals over starts. p: of a loss, exact, by flips over starts and permutation within them "
        "(McNemar's where each has one pair), adjusted for everything that was tested; "
        f"filled marks: p < {SURE:g}.{grey}{left}"
    )
    size, fits = (WIDTH, height(groups)), fits_a_column(groups)
    return Drawing(name, title, caption, size, paint, in_a_column=fits)


def tasks_figure(found: Sequence[Rate], report: RunReport) -> Drawing:
    """Success on each task, perturbed or not."""
    found = sorted(found, key=lambda each: natural(str(each.group["task"])))
    tasks = list(dict.fromkeys(str(each.group["task"]) for each in found if each.count))
    if not tasks:
        raise MeasureError("no episode counts")
    perturbed = {False: [each for each in found if not each.group["perturbed"]]}
    perturbed[True] = [each for each in found if each.group["perturbed"]]
    groups: dict[str, list[Mark]] = {}
    for changed, name in ((False, "control"), (True, "perturbed")):
        marks = [
            Mark(
                str(each.group["task"]),
                each.rate,
                each.interval,
                (percent(each.rate), between(each.interval, 100), f"{each.successes:,}/{each.count:,}"),
                colour=ORANGE if changed else BLUE,
                shape="s" if changed else "o",
            )
            for each in perturbed[changed][:MOST]
            if each.rate is not None
        ]
        if marks:
            groups[name] = marks

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(axes, groups, along="success", heads=("success", "95 % interval", "n"))
        axes.set_xlim(-0.02, 1.02)
        percent_axis(axes.xaxis)

    caption = (
        f"{plural(sum(each.count for each in found), 'episode')} of {plural(len(tasks), 'task')}; errors "
        "excluded. Lines: 95 % Wilson intervals, widened for the correlation of episodes of one start or variant."
    )
    return Drawing("tasks", "Success by task", caption, (WIDTH, height(groups)), paint)


Spoke = tuple[str, str]
"""A family and a label."""


def spokes_of(runs: Iterable[Mapping[str, Sequence[Rate]]]) -> list[Spoke]:
    """The labels that some run has, in order. Raises MeasureError where they are too few for a radar."""
    spokes = list(
        dict.fromkeys(
            (family, group_name(each.group))
            for families in runs
            for family, found in families.items()
            for each in found
            if each.rate is not None
        )
    )
    if not spokes:
        raise MeasureError("no episode has a label family")
    if len(spokes) < _FEWEST_SPOKES:
        raise MeasureError(f"{plural(len(spokes), 'label')}; a radar needs {_FEWEST_SPOKES} at least")
    return sorted(spokes, key=lambda spoke: (family_order(spoke[0]), label_order(*spoke)))


def radar(
    axes: Any,
    runs: Mapping[str, Mapping[str, Sequence[Rate]]],
    spokes: Sequence[Spoke],
    *,
    size: float = 7.5,
    names: Sequence[str] | None = None,
) -> None:
    """Success by label on polar axes, one line for each run; ``size`` of the labels' text, points."""
    angles = np.linspace(0, 2 * np.pi, len(spokes), endpoint=False)
    for place, (run, families) in enumerate(runs.items()):
        rates = {
            (family, group_name(each.group)): each
            for family, found in families.items()
            for each in found
            if each.rate is not None
        }
        known = [number for number, spoke in enumerate(spokes) if spoke in rates]
        if not known:
            continue
        look = series(place)
        values = [rates[spokes[each]].rate or 0.0 for each in known]
        around = [*angles[known], angles[known[0]]]
        axes.plot(around, [*values, values[0]], **look, markersize=size / 2, clip_on=False, label=run)
        for each in known if len(runs) == 1 else ():
            if (interval := rates[spokes[each]].interval) is not None:
                axes.plot(
                    [angles[each]] * 2, [interval.low, interval.high], color=look["color"], lw=1.1, alpha=0.6
                )
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    axes.set_xticks(angles, names or [f"{family}:\n{label}" for family, label in spokes], fontsize=size)
    axes.tick_params(axis="x", pad=size if names else 2 * size)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.25, 0.5, 0.75] if names else [0.25, 0.5, 0.75, 1.0])
    axes.tick_params(axis="y", labelsize=size - 0.5, labelcolor=FAINT)
    percent_axis(axes.yaxis)
    axes.set_rlabel_position(180 / len(spokes))
    axes.spines["polar"].set_color(RULE)


def radar_figure(runs: Mapping[str, Mapping[str, Sequence[Rate]]]) -> Drawing:
    """Success by label: one spoke for each label of each family; one line for each run."""
    spokes = spokes_of(runs.values())

    def paint(figure: Figure) -> None:
        radar(figure.add_subplot(projection="polar"), runs, spokes)
        if len(runs) > 1:
            figure.legend(loc="outside lower center", ncols=min(len(runs), 3))

    def counted(families: Mapping[str, Sequence[Rate]]) -> str:
        counts = [each.count for family in families.values() for each in family if each.count]
        return f"{min(counts, default=0):,} to {max(counts, default=0):,} perturbed episodes a label"

    said = "; ".join(
        f"{name}: {counted(families)}" if len(runs) > 1 else counted(families)
        for name, families in runs.items()
    )
    lines = (
        " Lines along the spokes: 95 % Wilson intervals."
        if len(runs) == 1
        else " Wilson intervals are in the tables."
    )
    caption = f"Success by label, {said}, in which success is expected.{lines}"
    return Drawing("labels", "Success by label", caption, (HALF + 0.4, 3.6), paint)


def overview_figure(runs: Mapping[str, tuple[Rate | None, Rate | None]]) -> Drawing:
    """Success of several runs: controls and perturbed."""
    groups: dict[str, list[Mark]] = {}
    for place, name in enumerate(("control", "perturbed")):
        marks = [
            Mark(
                run,
                each.rate,
                each.interval,
                (percent(each.rate), between(each.interval, 100), f"{each.successes:,}/{each.count:,}"),
                colour=series(place)["color"],
                shape=series(place)["marker"],
            )
            for run, both in runs.items()
            if (each := both[place]) is not None and each.rate is not None
        ]
        if marks:
            groups[name] = marks
    if not groups:
        raise MeasureError("no run has an episode that counts")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(axes, groups, along="success", heads=("success", "95 % interval", "n"))
        axes.set_xlim(-0.02, 1.02)
        percent_axis(axes.xaxis)

    caption = (
        "Success of each run, on its controls and on its perturbed episodes in which success is "
        "expected; errors are excluded. Lines: 95 % Wilson intervals."
    )
    return Drawing("overview", "Success of the runs", caption, (WIDTH, height(groups)), paint)
