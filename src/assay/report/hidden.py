"""What success hides: tables and figures of progress, of where failures stop, and of side effects."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib.figure import Figure

from assay.episodes.spec import Label
from assay.measures.conduct.progress import Progress
from assay.measures.conduct.side_effects import LEFT_OPEN, MOVED, TOPPLED, Conduct, Counted, Quantity
from assay.measures.conduct.stops import ORDER, Stop
from assay.measures.views.forest import Mark, fits_a_column, forest, height
from assay.measures.views.style import BLUE, ORANGE, WIDTH, Drawing, percent_axis
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import between, group_name, methods, percent, plural
from assay.report.run_report import RunReport

ALL = "all episodes"
MOST_BARS = 24
"""Conditions in a figure; more cannot be read."""
LIMITS = (
    f"Moved: by more than {100 * MOVED:g} cm; toppled: tilted by more than {TOPPLED:g} degrees, both in the end, of "
    "things that the goal does not name. Left open: drawers, doors and knobs that the goal does not name, by more "
    f"than {100 * LEFT_OPEN:g} % of the way. Arm: a link other than the gripper touched something. Fleeting: the "
    "goal no longer holds when the hand has opened and the arm has held still, for at most 1.5 s."
)


def progress_table(found: Sequence[Progress], report: RunReport) -> Table | None:
    """How much of the goal each condition reaches."""
    if not found:
        return None
    several = any(each.several for each in found)
    staged = any(each.score is not None for each in found)
    note = ""
    if staged:
        note += (
            "Progress: how far the goal's atoms came, by stages, on average; 100 % for a success "
            "(docs/concepts.md defines the stages). "
        )
    if several:
        note += (
            "Atoms: of episodes whose goal has several, the mean share of the atoms that hold at the end, and of the "
            "most that held at one moment. "
        )
    intervals = [each.score_interval if staged else each.at_end_interval for each in found]
    return Table(
        "progress",
        "How much of the goal is reached",
        (
            Column("condition"),
            Column("n", "count"),
            Column("success", "share"),
            *((Column("progress", "share"), Column("its 95 % interval", "share")) if staged else ()),
            *(
                (
                    Column("n with several atoms", "count"),
                    Column("atoms at the end", "share"),
                    Column("its 95 % interval", "share"),
                    Column("most atoms at once", "share"),
                    Column("its 95 % interval", "share"),
                )
                if several
                else ()
            ),
        ),
        tuple(
            (
                group_name(each.group),
                each.count,
                each.success,
                *((each.score, each.score_interval) if staged else ()),
                *(
                    (each.several, each.at_end, each.at_end_interval, each.best, each.best_interval)
                    if several
                    else ()
                ),
            )
            for each in found
        ),
        f"{note}95 % intervals: {methods(intervals)}.",
    )


def stops_table(found: Sequence[Stop], report: RunReport) -> Table | None:
    """Where failures stop."""
    if not found:
        return None
    return Table(
        "stops",
        "Where failures stop",
        (
            Column("condition"),
            Column("furthest stage"),
            Column("failures there", "count"),
            Column("failures", "count"),
            Column("episodes", "count"),
            Column("share of failures", "share"),
            Column("95 % interval", "share"),
        ),
        tuple(
            (
                _named(each.group),
                each.stage,
                each.failures,
                each.of_failures,
                each.count,
                each.share,
                each.interval,
            )
            for each in found
        ),
        "The furthest stage of the atom that was worked on: of those that do not hold in the end, the one that came "
        "furthest. Placed, released or done: it was there, and was lost again. "
        f"95 % intervals: {methods(each.interval for each in found)}.",
    )


def stops_figure(found: Sequence[Stop], report: RunReport) -> Drawing | None:
    """Failures by the stage at which they stop, condition by condition."""
    if not found:
        return None
    names = list(dict.fromkeys(_named(each.group) for each in found))[:MOST_BARS]
    stages = [stage for stage in ORDER if any(each.stage == stage for each in found)]
    colours = matplotlib.colormaps["viridis"]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        left = dict.fromkeys(names, 0.0)
        for stage in stages:
            here = {_named(each.group): each for each in found if each.stage == stage}
            widths = [here[name].failures / here[name].count if name in here else 0.0 for name in names]
            colour = colours(0.08 + 0.86 * ORDER.index(stage) / (len(ORDER) - 1))
            axes.barh(names, widths, left=list(left.values()), color=colour, label=stage, height=0.7)
            left = {name: left[name] + width for name, width in zip(names, widths, strict=True)}
        axes.invert_yaxis()
        axes.set_xlim(0, max(0.05, *left.values()) * 1.02)
        axes.set_xlabel("share of episodes that fail with this as their furthest stage")
        percent_axis(axes.xaxis)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=5)

    failures = next(each.of_failures for each in found)
    episodes = next(each.count for each in found)
    caption = (
        f"{plural(failures, 'failure')} of {plural(episodes, 'episode')}. A bar is as long as the share of episodes "
        "that fail; its colours say how far the atom came that was worked on. Shares with 95 % intervals "
        f"({methods(each.interval for each in found)}) are in the table."
    )
    return Drawing(
        "stops", "Where failures stop", caption, (WIDTH, 1.1 + 0.24 * len(names)), paint, in_a_column=False
    )


def side_effects_table(found: Sequence[Conduct], report: RunReport) -> Table | None:
    """What the successes and the failures of each condition did besides."""
    if not found:
        return None
    names = list(dict.fromkeys(name for each in found for name in (*each.effects, *each.of_failures)))
    rows: list[tuple[Value, ...]] = []
    for each in found:
        rows.append(
            (
                _named(each.group),
                each.success.count,
                each.success.share,
                each.clean.share,
                each.clean.interval,
                each.fleeting.count if each.fleeting else 0,
                *_cells(each.fleeting),
                *(cell for name in names for cell in _cells(each.effects.get(name))),
                *(_cells(each.of_failures.get(name))[0] for name in names),
            )
        )
    pair = (Column("its 95 % interval", "share"),)
    return Table(
        "side_effects",
        "Side effects",
        (
            Column("condition"),
            Column("n", "count"),
            Column("success", "share"),
            Column("clean success", "share"),
            *pair,
            Column("successes that were followed", "count"),
            Column("fleeting", "share"),
            *pair,
            *(column for name in names for column in (Column(f"success, {name}", "share"), *pair)),
            *(Column(f"failure, {name}", "share") for name in names),
        ),
        tuple(rows),
        f"Clean: a success that lasts, without a side effect. {LIMITS} "
        f"95 % intervals: {methods(each.clean.interval for each in found)}.",
    )


def motion_table(found: Sequence[Conduct], report: RunReport) -> Table | None:
    """Forces, jerk, time and path of each condition."""
    if not found:
        return None
    heads = ("peak force, N", "jerk, m/s^3", "time", "path")
    return Table(
        "motion",
        "Forces, jerk, time and path",
        (
            Column("condition"),
            Column("n", "count"),
            *(
                column
                for head in heads
                for column in (
                    Column(head, "number"),
                    Column("its 95 % interval", "number"),
                    Column("nine of ten below", "number"),
                )
            ),
        ),
        tuple(
            (
                _named(each.group),
                each.force.count,
                *(
                    cell
                    for quantity in (each.force, each.jerk, each.time, each.path)
                    for cell in _quantity(quantity)
                ),
            )
            for each in found
        ),
        "Medians over episodes; time and path of successes, as multiples. Time: of the reference time (the "
        "demonstrator's, where the run knows it, else the median of the task's successful controls). Path: of the "
        "median of the task's successful controls. Peak force: the largest of one part of the robot on a thing, of "
        "those at the end of each control step of 50 ms. Jerk: the root of the mean square of the end effector's.",
    )


def side_effects_figure(found: Sequence[Conduct], report: RunReport) -> Drawing | None:
    """Of all episodes: success, clean success, and what else happens in successes."""
    if not found:
        return None
    every = found[0]
    of_all = {"success": every.success, "clean success": every.clean}
    of_successes = {"fleeting": every.fleeting} if every.fleeting else {}
    of_successes |= every.effects
    groups = {
        "of all episodes": [_mark(name, share, BLUE) for name, share in of_all.items()],
        "of successes": [_mark(name, share, ORANGE) for name, share in of_successes.items()],
        "of failures": [_mark(name, share, ORANGE) for name, share in every.of_failures.items()],
    }
    groups = {name: marks for name, marks in groups.items() if marks}

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        heads = ("%", "95 % interval", "episodes")
        forest(axes, groups, along="share of episodes", heads=heads, zero=0.0, least=0.05)
        percent_axis(axes.xaxis)

    caption = (
        f"{plural(every.success.count, 'episode')} in which success is expected. {LIMITS} Lines: 95 % intervals, "
        f"{methods([every.clean.interval])}."
    )
    return Drawing(
        "side_effects",
        "What success hides",
        caption,
        (WIDTH, height(groups)),
        paint,
        in_a_column=fits_a_column(groups),
    )


def _mark(name: str, share: Counted, colour: str) -> Mark:
    notes = (percent(share.share), between(share.interval, 100), f"{share.hits:,}/{share.count:,}")
    return Mark(name, share.share, share.interval, notes, colour=colour)


def _cells(share: Counted | None) -> tuple[Value, Value]:
    return (None, None) if share is None else (share.share, share.interval)


def _quantity(found: Quantity | None) -> tuple[Value, Value, Value]:
    return (None, None, None) if found is None else (found.median, found.interval, found.ninth)


def _named(group: dict[str, Label]) -> str:
    return group_name(group) if group else ALL
