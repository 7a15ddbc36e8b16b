"""LIBERO-X's figures: paths (3), decline over levels (5), success by label (6) and time limit (7), contacts (9)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from assay.episodes.episode import Intervals
from assay.extensions.papers.libero_x.tables import DEFAULT_LIMIT, LIMITS, heading, level_rows
from assay.measures.clustering import group_shares
from assay.measures.frames import atoms
from assay.measures.result import MeasureError
from assay.measures.success.rates import Rate
from assay.measures.success.task_labels import label_families, label_rates, radar, spokes_of
from assay.measures.time import timing
from assay.measures.time.timing import Limit
from assay.measures.views import style
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import describe_runs, plural, thing
from assay.measures.world.curves import LEVELS, SuccessCurve, curve
from assay.report.papers import ExhibitPlan, PaperRun, Part, by_run, of_each, unnamed_if_single
from assay.support.stats.intervals import Interval
from assay.tasks.language.lexicon import object_of

CELL_M = 0.015
"""Cell size of the path heat map, in metres."""
PANELS_PER_ROW = 3
WITHIN = f" within {DEFAULT_LIMIT:g} times the reference time, if that is known"
"""Success criterion, for captions."""
MARGIN_M = 0.02
TIMELINES = 4
"""Number of timelines drawn per run."""


def _positions(run: PaperRun) -> np.ndarray:
    """Return all end-effector positions, shape (n, 3). Raises MeasureError if no episode has a trajectory."""
    paths = run.data.paths
    points = paths.part(paths.ids).points
    if not len(points):
        raise MeasureError("no episode has a trajectory")
    return points


@by_run(_positions)
def paths_figure(positions: dict[str, np.ndarray]) -> Drawing:
    """Return Figure 3: heat map of the end effector's positions, seen from above."""
    points = np.concatenate(list(positions.values()))
    low, high = points.min(axis=0) - MARGIN_M, points.max(axis=0) + MARGIN_M
    bins = [np.arange(low[axis], high[axis] + CELL_M, CELL_M) for axis in (0, 1)]
    counts = {name: np.histogram2d(path[:, 0], path[:, 1], bins)[0] for name, path in positions.items()}
    # Fractions, not counts, so that runs of different lengths are comparable.
    shares = {name: count / count.sum() for name, count in counts.items()}
    most = max(float(share.max()) for share in shares.values())
    least = min(float(share[share > 0].min()) for share in shares.values())
    rows, columns = -(-len(shares) // PANELS_PER_ROW), min(len(shares), PANELS_PER_ROW)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        image: Any = None
        for axes, (name, share) in zip(grid.flat, shares.items(), strict=False):
            image = axes.imshow(
                np.where(share > 0, share, np.nan),
                extent=(bins[1][0], bins[1][-1], bins[0][-1], bins[0][0]),
                cmap=style.SHADES,
                norm=LogNorm(least, most),
                interpolation="nearest",
            )
            axes.grid(visible=False)
            axes.set_facecolor("#f4f4f6")
            axes.set_xlabel("y, m")
            axes.set_ylabel("x, m")
            if len(shares) > 1:
                axes.set_title(name, fontsize=8.5)
        for axes in list(grid.flat)[len(shares) :]:
            axes.set_axis_off()
        bar = figure.colorbar(image, ax=list(grid.flat), pad=0.02, aspect=24)
        bar.set_label("fraction of steps in a cell", fontsize=8)
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
        bar.ax.grid(visible=False)

    sizes = {
        name: f"{len(positions[name]):,} steps in {int((count > 0).sum()):,} cells"
        for name, count in counts.items()
    }
    caption = (
        f"Fraction of control steps that the end effector spends in each cell of {100 * CELL_M:g} cm, seen from "
        f"above with the robot at the top; {describe_runs(sizes)}. Logarithmic colour scale."
    )
    ratio = float(np.clip((high[0] - low[0]) / (high[1] - low[1]), 0.5, 1.6))
    wide = style.WIDTH if columns > 1 else style.HALF
    tall = rows * ((wide - 1.2) / columns - 0.5) * ratio + 0.7 * rows
    return Drawing("paths", "Positions of the end effector", caption, (wide, tall), paint)


def _within_limit(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with success defined as in the paper's Tables II to IV: within the default time limit."""
    return timing.within_limit(frame, DEFAULT_LIMIT)


@by_run(lambda run: curve(_within_limit(run.data.plausible), "level"))
def decline_figures(results: dict[str, SuccessCurve]) -> Iterator[Part]:
    """Yield Figure 5: success rate at each level, and the drop from each level to the next."""
    curves = unnamed_if_single(results)
    success = LEVELS.draw_runs(curves)
    yield replace(success, caption=f"Success{WITHIN}. {success.caption}")
    yield _decline(curves)


def _decline(runs: Mapping[str, SuccessCurve]) -> Drawing:
    def name(level: float) -> str:
        return "control" if level == 0 else f"{level:g}"

    names = {
        (before.at, after.at): f"{name(before.at)} to {name(after.at)}"
        for run in runs.values()
        for before, after in zip(run.steps, run.steps[1:], strict=False)
        if after.change is not None
    }
    if not names:
        raise MeasureError("no initial state was run at two or more levels")
    places = {pair: place for place, pair in enumerate(sorted(names))}

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.axhline(0, color="#888890", lw=0.8)
        for number, (name, run) in enumerate(runs.items()):
            look = style.series(number)
            axes.plot([], [], label=name, ls="none", **look)
            for before, after in zip(run.steps, run.steps[1:], strict=False):
                if after.change is None:
                    continue
                x = places[before.at, after.at] + 4 * style.aside(number, len(runs)) * max(len(places) - 1, 1)
                axes.plot(x, after.change, ls="none", **look)
                if after.interval is not None:
                    axes.vlines(x, after.interval.low, after.interval.high, color=look["color"], lw=1.1)
        axes.set_xticks(range(len(places)), [names[pair] for pair in places])
        axes.set_xlim(-0.5, len(places) - 0.5)
        style.points_axis(axes.yaxis)
        axes.set_xlabel("from level to level")
        axes.set_ylabel("change in success, points")
        style.legend_below(figure, len(runs))

    caption = (
        f"Change in success{WITHIN}, from one level to the next over their common initial states. Lines: "
        "95 % Newcombe intervals over initial states, extended to 0 if the exact test cannot exclude it."
    )
    return Drawing("decline", "Cost of each level", caption, (style.HALF, 3.0), paint)


def _rates_by_label(run: PaperRun) -> dict[int, dict[str, tuple[Rate, ...]]]:
    parts = sorted(level_rows(run).group_by("level"), key=lambda part: int(part[0][0]))
    return {
        int(level): {family: label_rates(_within_limit(rows), family) for family in label_families(rows)}
        for (level,), rows in parts
    }


@by_run(_rates_by_label)
def radars(results: dict[str, dict[int, dict[str, tuple[Rate, ...]]]]) -> Drawing:
    """Return Figure 6: success rate by label, one radar chart per level."""
    levels = sorted({level for result in results.values() for level in result})
    spokes = spokes_of([families for result in results.values() for families in result.values()])
    names = [heading("label", label) for _, label in spokes]
    rows = -(-len(levels) // PANELS_PER_ROW)

    def paint(figure: Figure) -> None:
        for place, level in enumerate(levels, start=1):
            axes: Any = figure.add_subplot(rows, PANELS_PER_ROW, place, projection="polar")
            by_run = {name: result.get(level, {}) for name, result in results.items()}
            radar(axes, by_run, spokes, size=7, names=names)
            axes.set_title(f"level {level}", fontsize=9, pad=10)
        style.legend_below(figure, len(results), 5)

    single = "Lines along the spokes: 95 % Wilson intervals."
    intervals = single if len(results) == 1 else "Intervals are in Tables V to IX."
    caption = f"Success by label{WITHIN}; one spoke per label, 100 % at the rim. {intervals}"
    return Drawing(
        "radars", "Success rate by label at each level", caption, (style.WIDTH, 3.2 * rows + 0.3), paint
    )


@by_run(
    lambda run: {
        int(str(level)): limits for (level,), limits in timing.limits_by(level_rows(run), ("level",)).items()
    }
)
def limits_figures(results: dict[str, dict[int, tuple[Limit, ...]]]) -> Drawing:
    """Return Figure 7: success rate against the time limit, for each level."""
    levels = sorted({level for result in results.values() for level in result})
    runs = unnamed_if_single(results)
    rows = -(-len(levels) // PANELS_PER_ROW)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(rows, PANELS_PER_ROW, squeeze=False, sharey=True)
        for axes, level in zip(grid.flat, levels, strict=False):
            timing.limits_axes(
                axes, {name: result[level] for name, result in runs.items() if level in result}
            )
            axes.set_title(f"level {level}", fontsize=9)
            axes.tick_params(axis="x", labelsize=6.5)
        for axes in list(grid.flat)[len(levels) :]:
            axes.set_axis_off()
        style.legend_below(figure, len(results), 4)

    count = sum(limits[0].count for result in results.values() for limits in result.values())
    episodes = plural(count, "episode")
    caption = f"Success under shorter time limits; {episodes}. {timing.REFERENCE_NOTE} Lines: 95 % Wilson intervals."
    return Drawing(
        "limits", "Success rate against the time limit", caption, (style.WIDTH, 2.4 * rows + 0.4), paint
    )


@dataclass(frozen=True, slots=True)
class Touching:
    """Statistics of the objects that the robot touches within a time limit."""

    factor: float | None
    """Time limit as a multiple of the reference time; None if episodes are limited only by the task's horizon."""
    count: int
    objects: float
    """Mean number of distinct objects touched per episode."""
    rate: float
    """Fraction of episodes in which the robot touches an object that the goal does not name."""
    interval: Interval
    """Wilson interval of ``rate``, clustered by initial state and variant."""
    recovered: int
    """Number of episodes counted in ``rate`` that still succeed within the limit."""


def touching(frame: pl.DataFrame) -> tuple[Touching, ...]:
    """Count the objects touched within each time limit for which the run has data.

    Raises MeasureError if contacts are not recorded.
    """
    if "contacts" not in frame.columns or frame["contacts"].null_count() == len(frame):
        raise MeasureError("the run does not record contacts over time")
    rows = timing.with_references(frame).filter(pl.col("truth") != "{}").drop_nulls("contacts")
    result = []
    for factor in timing.possible(rows, timing.FACTORS):
        counted = rows if factor is None else rows.drop_nulls(timing.REFERENCE)
        if not len(counted):
            continue
        end = pl.lit(float("inf")) if factor is None else factor * pl.col(timing.REFERENCE)
        timed = counted.with_columns(
            pl.struct("contacts", "truth", end.alias("end"))
            .map_elements(_within, return_dtype=pl.Struct({"things": pl.Int64, "astray": pl.Boolean}))
            .struct.unnest()
            .name.prefix("_"),
            _in_time=(pl.col("success") == 1) & (pl.col("steps") <= end),
        )
        (other,) = group_shares(timed, "_astray")
        result.append(
            Touching(
                factor,
                len(timed),
                float(timed["_things"].to_numpy().mean()),
                other.share,
                other.interval,
                int((timed["_astray"] & timed["_in_time"]).sum()),
            )
        )
    if not result:
        raise MeasureError("no task has a reference time or a successful control")
    return tuple(result)


@lru_cache(maxsize=65_536)
def contacts_of(text: str | None) -> dict[str, Intervals]:
    """Parse the contact intervals of each object from an episode's record."""
    return json.loads(text) if text else {}


def asked_for(truth: str) -> set[str]:
    """Return the objects that a goal names directly or through their regions."""
    return {object_of(name) for atom in atoms(truth) for name in atom.split()[1:]}


def _within(row: dict[str, object]) -> dict[str, int | bool]:
    end, wanted = float(str(row["end"])), asked_for(str(row["truth"]))
    contacts = contacts_of(str(row["contacts"]))
    touched = [name for name, spans in contacts.items() if spans[0][0] <= end]
    return {"things": len(touched), "astray": any(name not in wanted for name in touched)}


def contact_exhibits(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Yield Figure 9: objects touched within each limit, and timelines of contacts in some episodes of each run."""
    results, missing = of_each(runs, lambda run: touching(level_rows(run)))
    yield Table.of(
        "touched",
        "Objects touched within the time limit",
        [(name, limit) for name, limits in results.items() for limit in limits if limit.factor in LIMITS],
        Column("model", value=lambda row: row[0]),
        Column("time limit", value=lambda row: timing.limit_name(row[1].factor)),
        Column("n", "count", value=lambda row: row[1].count),
        Column("objects touched, mean", "number", value=lambda row: row[1].objects),
        Column("touched another object", "share", value=lambda row: row[1].rate),
        Column("95 % interval", "share", value=lambda row: row[1].interval),
        Column("and still succeeded", "count", value=lambda row: row[1].recovered),
        note=f"Another object: one that the goal does not name. {timing.REFERENCE_NOTE} "
        "95 % Wilson intervals, widened for the correlation of episodes that share an initial state or variant.",
    )
    yield _contacts_figure(unnamed_if_single(results))
    for place, run in enumerate((run for run in runs if run.name in results), start=1):
        with suppress(MeasureError):
            yield _timelines(run, f"timelines-{place}", several=len(results) > 1)
    yield from missing


def _contacts_figure(results: Mapping[str, tuple[Touching, ...]]) -> Drawing:
    def paint(figure: Figure) -> None:
        timing.limits_axes(figure.subplots(), results)
        figure.axes[0].set_ylabel("touched another object")
        style.legend_below(figure, len(results))

    caption = (
        "Fraction of episodes in which the robot touches an object that the goal does not name, within each limit. "
        "Lines: 95 % Wilson intervals."
    )
    return Drawing("astray", "Contacts with other objects, by time limit", caption, (style.HALF, 3.0), paint)


def _timelines(run: PaperRun, name: str, *, several: bool) -> Drawing:
    """Return a figure of contacts over time in the episodes in which the robot touches the most objects."""
    rows = timing.with_references(level_rows(run)).drop_nulls("contacts").filter(pl.col("truth") != "{}")
    count = pl.col("contacts").map_elements(lambda text: len(contacts_of(text)), return_dtype=pl.Int64)
    touches_other = pl.struct("contacts", "truth").map_elements(
        lambda row: any(name not in asked_for(row["truth"]) for name in contacts_of(row["contacts"])),
        return_dtype=pl.Boolean,
    )
    rows = rows.with_columns(_things=count).filter(touches_other)
    rows = rows.sort("_things", "success", "steps", descending=True)
    chosen = rows.unique("task", keep="first", maintain_order=True).head(TIMELINES).to_dicts()
    if not chosen:
        raise MeasureError("the robot never touches an object that the goal does not name")
    limits = [factor for factor in timing.possible(rows, LIMITS) if factor is not None]
    lines = sum(row["_things"] for row in chosen)

    def paint(figure: Figure) -> None:
        heights = [row["_things"] + 0.9 for row in chosen]
        panels = figure.subplots(len(chosen), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
        for axes, row in zip(panels, chosen, strict=True):
            contacts, wanted = contacts_of(row["contacts"]), asked_for(row["truth"])
            for place, (name, spans) in enumerate(contacts.items()):
                colour = style.BLUE if name in wanted else style.ORANGE
                bars = [(first, max(last - first, 1)) for first, last in spans]
                axes.broken_barh(bars, (place - 0.35, 0.7), color=colour, lw=0)
            axes.set_yticks(range(len(contacts)), [thing(name) for name in contacts], fontsize=7.5)
            axes.set_ylim(len(contacts) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            for factor in limits if row[timing.REFERENCE] is not None else ():
                axes.axvline(factor * row[timing.REFERENCE], color=style.FAINT, lw=0.8, ls=":")
                axes.annotate(
                    f"{factor:g}", (factor * row[timing.REFERENCE], 1), xycoords=("data", "axes fraction"),
                    xytext=(2, -7), textcoords="offset points", fontsize=6.5, color=style.FAINT,
                )  # fmt: skip
            axes.axvline(row["steps"], color="#222222", lw=1.2)
            ended = "success" if row["success"] else "failure"
            axes.set_title(
                f"“{row['instruction']}” ({row['condition']}, seed {row['seed']}; {ended} at {row['steps']})",
                fontsize=8, fontweight="normal", loc="left",
            )  # fmt: skip
        panels[-1].set_xlim(left=0)
        panels[-1].set_xlabel("control steps (20 per second)")

    caption = (
        f"Contacts of the robot in {plural(len(chosen), 'episode')} of different tasks, those with the most objects "
        "touched. Blue: named by the goal; orange: not. Dotted: time limits; solid line: end of the episode."
    )
    title = f"{run.name}: contacts over time" if several else "Contacts over time"
    return Drawing(name, title, caption, (style.WIDTH, 0.24 * lines + 0.62 * len(chosen) + 0.5), paint)


EXHIBITS = (
    ExhibitPlan("Figure 3", "Positions of the end effector", paths_figure),
    ExhibitPlan("Figure 5", "Decline over the levels", decline_figures),
    ExhibitPlan("Figure 6", "Success rate by label at each level", radars),
    ExhibitPlan("Figure 7", "Success rate against the time limit", limits_figures),
    ExhibitPlan("Figure 9", "Objects touched under long limits", contact_exhibits),
)
