"""LIBERO-X's Figure 9: one thing after the other is tried while time lasts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from assay.extensions.papers.libero_x.tables import LIMITS, level_rows
from assay.measures.conduct.contacts import Touching, asked_for, contacts_of, touching
from assay.measures.result import MeasureError
from assay.measures.time.timing import REFERENCE, possible, with_references
from assay.measures.views.style import (
    BLUE,
    FAINT,
    HALF,
    ORANGE,
    WIDTH,
    Drawing,
    aside,
    series,
    share_limits,
)
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import plural, thing
from assay.measures.time.timing import limit_places
from assay.report.papers.base import PaperRun, Part, of_each
from assay.measures.time.timing import REFERENCE_NOTE as REFERENCE_TIME
from assay.measures.time.timing import limit_name

EPISODES = 4
"""Timelines of a run that are drawn."""


def touched(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """How many things are touched within each limit, and the episodes of each run that touched the most."""
    found, missing = of_each(runs, lambda run: touching(level_rows(run)))
    yield _table(found)
    yield _shares(found if len(found) > 1 else {"": next(iter(found.values()))})
    for place, run in enumerate((run for run in runs if run.name in found), start=1):
        try:
            yield _timelines(run, f"timelines-{place}", several=len(found) > 1)
        except MeasureError:
            continue
    yield from missing


def _table(found: dict[str, tuple[Touching, ...]]) -> Table:
    return Table(
        "touched",
        "Things touched within the time limit",
        (
            Column("model"),
            Column("time limit"),
            Column("n", "count"),
            Column("things touched, mean", "number"),
            Column("touched another thing", "share"),
            Column("95 % interval", "share"),
            Column("and succeeded all the same", "count"),
        ),
        tuple(
            (
                name,
                limit_name(limit.factor),
                limit.count,
                limit.things,
                limit.astray,
                limit.interval,
                limit.recovered,
            )
            for name, limits in found.items()
            for limit in limits
            if limit.factor in LIMITS
        ),
        f"Another thing: one that the goal does not name. {REFERENCE_TIME} "
        "95 % Wilson intervals, widened for the correlation of episodes of one start or variant.",
    )


def _shares(found: dict[str, tuple[Touching, ...]]) -> Drawing:
    factors, places = limit_places(limit.factor for limits in found.values() for limit in limits)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for number, (name, limits) in enumerate(found.items()):
            look = series(number)
            x = np.array([places[limit.factor] for limit in limits]) + aside(number, len(found)) * len(
                factors
            )
            axes.plot(x, [limit.astray for limit in limits], label=name, **look)
            low, high = ([getattr(limit.interval, end) for limit in limits] for end in ("low", "high"))
            axes.vlines(x, low, high, color=look["color"], lw=1.1)
        axes.set_xticks(range(len(factors)), [limit_name(factor) for factor in factors])
        share_limits(axes)
        axes.set_xlabel("time limit, times the reference")
        axes.set_ylabel("touched another thing")
        if len(found) > 1:
            figure.legend(loc="outside lower center", ncols=min(len(found), 2))

    caption = (
        "Share of episodes in which the robot touches something that the goal does not name, within each limit. "
        "Lines: 95 % Wilson intervals."
    )
    return Drawing("astray", "Another thing touched, by time limit", caption, (HALF, 3.0), paint)


def _timelines(run: PaperRun, name: str, *, several: bool) -> Drawing:
    """The episodes that touched the most things: when they touched which."""
    rows = with_references(level_rows(run)).drop_nulls("contacts").filter(pl.col("truth") != "{}")
    count = pl.col("contacts").map_elements(lambda text: len(contacts_of(text)), return_dtype=pl.Int64)
    asked = pl.struct("contacts", "truth").map_elements(
        lambda row: any(each not in asked_for(row["truth"]) for each in contacts_of(row["contacts"])),
        return_dtype=pl.Boolean,
    )
    rows = rows.with_columns(_things=count).filter(asked).sort("_things", "success", "steps", descending=True)
    chosen = rows.unique("task", keep="first", maintain_order=True).head(EPISODES).to_dicts()
    if not chosen:
        raise MeasureError("no episode touches another thing")
    limits = [factor for factor in possible(rows, LIMITS) if factor is not None]
    lines = sum(row["_things"] for row in chosen)

    def paint(figure: Figure) -> None:
        heights = [row["_things"] + 0.9 for row in chosen]
        panels = figure.subplots(len(chosen), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
        for axes, row in zip(panels, chosen, strict=True):
            contacts, wanted = contacts_of(row["contacts"]), asked_for(row["truth"])
            for place, (what, spans) in enumerate(contacts.items()):
                colour = BLUE if what in wanted else ORANGE
                bars = [(first, max(last - first, 1)) for first, last in spans]
                axes.broken_barh(bars, (place - 0.35, 0.7), color=colour, lw=0)
            axes.set_yticks(range(len(contacts)), [thing(what) for what in contacts], fontsize=7.5)
            axes.set_ylim(len(contacts) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            for factor in limits if row[REFERENCE] is not None else ():
                axes.axvline(factor * row[REFERENCE], color=FAINT, lw=0.8, ls=":")
                axes.annotate(
                    f"{factor:g}", (factor * row[REFERENCE], 1), xycoords=("data", "axes fraction"),
                    xytext=(2, -7), textcoords="offset points", fontsize=6.5, color=FAINT,
                )  # fmt: skip
            axes.axvline(row["steps"], color="#222222", lw=1.2)
            ended = "success" if row["success"] else "failure"
            axes.set_title(
                f"“{row['instruction']}” ({row['condition']}, seed {row['seed']}; {ended} at {row['steps']})",
                fontsize=8, fontweight="normal", loc="left",
            )  # fmt: skip
        panels[-1].set_xlim(left=0)
        panels[-1].set_xlabel("control steps (20 a second)")

    caption = (
        f"When the robot touched what, in {plural(len(chosen), 'episode')} of different tasks with the most things "
        "touched. Blue: named by the goal; orange: not. Dotted: time limits, times the reference; line: the end."
    )
    title = f"{run.name}: one thing after the other" if several else "One thing after the other"
    return Drawing(name, title, caption, (WIDTH, 0.24 * lines + 0.62 * len(chosen) + 0.5), paint)
