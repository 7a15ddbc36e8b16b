"""Curves: success as a change grows, and as time runs out; how long successes take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from assay.episodes.spec import CONTROL
from assay.measures.time.timing import Limit, Limits, TimeToSuccess
from assay.measures.views.forest import MOST, Mark, fits_a_column, forest, height
from assay.measures.views.style import BLUE, HALF, ORANGE, WIDTH, Drawing, aside, series, share_limits
from assay.measures.views.wording import between, group_name, listed, number, p_phrase, plural, points
from assay.measures.world.curves import Curve
from assay.report.run_report import RunReport
from assay.report.tables import REFERENCE, limit_name


def curve_figure(
    name: str, title: str, along: str, runs: Mapping[str, Curve], *, named: bool = False
) -> Drawing:
    """Success along a label that counts upwards; one line for each run.

    ``named``: points are called by their conditions.
    """
    places = [step.at for curve in runs.values() for step in curve.steps]
    whole = all(at == int(at) for at in places)
    reach = max(places, default=0.0) - min(places, default=0.0)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (run, curve) in enumerate(runs.items()):
            steps = [step for step in curve.steps if step.rate.rate is not None]
            x = np.array([step.at for step in steps]) + aside(place, len(runs)) * reach
            look = series(place)
            axes.plot(x, [step.rate.rate or 0.0 for step in steps], label=run, **look)
            beyond = [number for number, step in enumerate(steps) if not step.plausible]
            hollow = {
                "marker": look["marker"],
                "mec": look["color"],
                "mfc": "white",
                "ls": "none",
                "zorder": 3,
            }
            axes.plot(x[beyond], [steps[number].rate.rate or 0.0 for number in beyond], **hollow)
            for at, step in zip(x, steps, strict=True):
                if step.rate.interval is not None:
                    axes.vlines(
                        at, step.rate.interval.low, step.rate.interval.high, color=look["color"], lw=1.1
                    )
        share_limits(axes)
        if whole:
            axes.set_xticks(sorted(set(places)))
            axes.xaxis.set_major_formatter("{x:g}")
        if named:
            names = {step.at: _short(step.condition) for curve in runs.values() for step in curve.steps}
            axes.set_xticks(
                list(names), list(names.values()), rotation=35, ha="right", rotation_mode="anchor"
            )
        axes.set_xlabel(along if named or 0 not in places else f"{along} (0: control)")
        axes.set_ylabel("success")
        if len(runs) > 1:
            figure.legend(loc="outside lower center", ncols=min(len(runs), 2))

    said = []
    for run, curve in runs.items():
        counted = [step.rate.count for step in curve.steps if step.rate.count]
        few, many = min(counted, default=0), max(counted, default=0)
        said.append(
            (f"{run}: " if len(runs) > 1 else "")
            + (f"{few:,} to {many:,}" if few < many else f"{few:,}")
            + " episodes at each point"
        )
    broken = sorted({step.at for curve in runs.values() for step in curve.steps if not step.rate.count})
    broke = f" At {listed(f'{at:g}' for at in broken)} all episodes broke." if broken else ""
    worst = "" if len(runs) > 1 else _worst(next(iter(runs.values())), named)
    sensible = all(step.plausible for curve in runs.values() for step in curve.steps)
    beyond = "" if sensible else " Hollow: where success is not expected."
    caption = f"{'; '.join(said)}. Lines: 95 % Wilson intervals.{beyond}{worst}{broke}"
    return Drawing(name, title, caption, (HALF, 3.0), paint)


def levels_figure(runs: Mapping[str, Curve]) -> Drawing:
    """Success by level."""
    return curve_figure("levels", "Success by level", "level", runs)


def displacement_figure(runs: Mapping[str, Curve]) -> Drawing:
    """Success by displacement."""
    return curve_figure("displacement", "Success by displacement", "displacement, m", runs)


def dissimilarity_figure(runs: Mapping[str, Curve]) -> Drawing:
    """Success by how unlike the usual object is."""
    title = "Success by how unlike the usual object is"
    return curve_figure("dissimilarity", title, "another object", runs, named=True)


def corruption_figure(runs: Mapping[str, Curve]) -> Drawing:
    """Success by how little is left of the instruction."""
    title = "Success by how little is left of the instruction"
    return curve_figure("corruption", title, "instruction", runs, named=True)


def latency_figure(runs: Mapping[str, Curve]) -> Drawing:
    """Success by how late decisions come."""
    return curve_figure("latency", "Success by latency", "latency, control steps of 50 ms", runs)


def _short(condition: str | None) -> str:
    """A condition without its experiment: ``pro/words=xxx`` and ``corruption/xxx`` are xxx."""
    return (condition or "").rpartition("/")[2].rpartition("=")[2].replace("_", " ")


def _worst(curve: Curve, named: bool) -> str:
    """The largest loss from one point to the next."""
    steps = [step for step in curve.steps if step.change is not None and step.p is not None]
    if not steps:
        return ""
    worst = min(steps, key=lambda step: step.change or 0.0)
    if worst.change is None or worst.p is None or worst.change >= 0:
        return ""
    at = _short(worst.condition) if named else f"{worst.at:g}"
    return (
        f" The largest loss from one point to the next is at {at}: {points(worst.change)} points "
        f"(95 % interval {between(worst.interval, 100)}, Newcombe's over {plural(worst.starts, 'start')}; "
        f"{p_phrase(worst.p)}, exact)."
    )


def limit_places(
    factors: Iterable[float | None],
) -> tuple[list[float | None], dict[float | None, int]]:
    """The limits of all runs on one axis, and the place of each; none comes last."""
    found = sorted(set(factors), key=lambda factor: math.inf if factor is None else factor)
    return found, {factor: place for place, factor in enumerate(found)}


def limits_axes(axes: Axes, runs: Mapping[str, Sequence[Limit]]) -> None:
    """Success against the time limit, one line for each run, every run's limits on the same axis; none comes last."""
    factors, places = limit_places(limit.factor for limits in runs.values() for limit in limits)
    for place, (run, limits) in enumerate(runs.items()):
        look = series(place)
        x = np.array([places[limit.factor] for limit in limits])
        x = x + aside(place, len(runs)) * max(len(factors) - 1, 1)
        axes.plot(x, [limit.rate for limit in limits], label=run, **look)
        low, high = ([getattr(limit.interval, end) for limit in limits] for end in ("low", "high"))
        axes.vlines(x, low, high, color=look["color"], linewidth=1.1)
    axes.set_xticks(range(len(factors)), [limit_name(factor) for factor in factors])
    share_limits(axes)
    axes.set_xlabel("time limit, times the reference")


def limits_figure(runs: Mapping[str, Limits]) -> Drawing:
    """Success against the time limit; one line for each run."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        limits_axes(axes, {run: found.limits for run, found in runs.items()})
        axes.set_ylabel("success")
        if len(runs) > 1:
            figure.legend(loc="outside lower center", ncols=min(len(runs), 2))

    said = "; ".join(
        (f"{run}: " if len(runs) > 1 else "")
        + plural(limits.limits[0].count, "episode")
        + (f" ({limits.unknown:,} of tasks without a reference left out)" if limits.unknown else "")
        for run, limits in runs.items()
    )
    caption = (
        f"Success, had the time been shorter; {said}, controls among them. {REFERENCE} "
        "Lines: 95 % Wilson intervals."
    )
    return Drawing("time-limits", "Success against the time limit", caption, (HALF, 3.0), paint)


def time_figure(found: Sequence[TimeToSuccess], report: RunReport) -> Drawing:
    """How long successes take, condition by condition."""
    groups = {
        "": [
            Mark(
                group_name(each.group),
                each.median,
                each.interval,
                (number(each.median, 0), between(each.interval, digits=0), f"{each.successes:,}"),
                colour=ORANGE if group_name(each.group) == CONTROL else BLUE,
                shape="s" if group_name(each.group) == CONTROL else "o",
            )
            for each in found[:MOST]
        ]
    }

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(
            axes,
            groups,
            along="control steps to success (20 a second)",
            heads=("median", "95 % interval", "successes"),
        )
        ends = [mark.interval.high if mark.interval else mark.value for mark in groups[""]]
        axes.set_xlim(0, 1.05 * max(ends, default=1.0))

    left = f" The first {MOST} of {len(found)} conditions." if len(found) > MOST else ""
    caption = (
        f"Median time of {plural(sum(each.successes for each in found), 'success', 'successes')}; failures "
        f"have none. Lines: 95 % intervals from order statistics, from six successes on.{left}"
    )
    size, fits = (WIDTH, height(groups)), fits_a_column(groups)
    return Drawing("time-to-success", "Time to success", caption, size, paint, in_a_column=fits)
