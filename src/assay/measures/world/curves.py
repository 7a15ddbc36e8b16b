"""Curves: success as a change grows, level by level, metre by metre or rung by rung, and the loss at each step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import START, judged, plausible, require
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Missing, Result
from assay.measures.run_data import RunData
from assay.measures.success.drops import DROPS
from assay.measures.success.rates import Rate, rates
from assay.measures.words.names import WORDS
from assay.support.stats.intervals import Interval, stratified, tested
from assay.support.stats.significance import paired


@dataclass(frozen=True, slots=True)
class Step(Result):
    """One point of a curve."""

    at: float
    """The level, metres or the rung; 0 for a control that is none of them."""
    condition: str | None
    """The condition, where all episodes of the point have the same."""
    plausible: bool
    """Whether success is expected there."""
    rate: Rate
    change: float | None
    """Against the point before, over the starts that both have; None where there is none."""
    interval: Interval | None
    """Newcombe's, over starts; reaches to 0 where the test cannot exclude that."""
    starts: int
    """Starts that both have."""
    p: float | None
    """Exact, over starts and within them."""


@dataclass(frozen=True, slots=True)
class Curve(Result):
    """Success along a label that counts upwards."""

    along: str
    steps: tuple[Step, ...]


def curve(frame: pl.DataFrame, along: str) -> Curve:
    """Success along the label ``along`` (``level``, ``distance``, ``rung``, ``dissimilarity``), from the control on.

    The control is that of the tasks which have the label: others say nothing about the curve.
    """
    require(frame, along)
    if not frame[along].dtype.is_numeric():
        raise MeasureError(f"the values of {along} are no numbers")
    grown = pl.col(along).is_not_null()
    there = frame.filter(grown & (pl.col("condition") != CONTROL))[
        "task"
    ].unique()  # a cabinet cannot be moved
    usual = (pl.col("condition") == CONTROL) & pl.col("task").is_in(there.implode())
    rows = frame.filter(usual | grown).with_columns(at=pl.col(along).cast(pl.Float64).fill_null(0.0))
    tables = {
        at: table
        for (at,), table in judged(rows)
        .group_by("at", *START)
        .agg(pl.col("success").sum(), pl.len().alias("count"))
        .sort(START)
        .group_by("at")
    }
    conditions = {at: table["condition"].unique().to_list() for (at,), table in rows.group_by("at")}
    sensible = set(plausible(rows)["at"].to_list())
    steps: list[Step] = []
    before: float | None = None
    for rate in sorted(rates(rows, ("at",)), key=lambda each: float(each.group["at"] or 0.0)):
        at = float(rate.group["at"] or 0.0)
        condition = conditions[at][0] if len(conditions[at]) == 1 else None
        loss = _Loss()
        if rate.count and before is not None:
            loss = _loss(tables[before], tables[at])
        steps.append(Step(at, condition, at in sensible, rate, *loss))
        before = at if rate.count else before
    return Curve(along, tuple(steps))


class _Loss(NamedTuple):
    """What is lost from one point to the next; nothing where they share no start."""

    change: float | None = None
    interval: Interval | None = None
    starts: int = 0
    p: float | None = None


def _loss(before: pl.DataFrame, now: pl.DataFrame) -> _Loss:
    shared = before.join(now, on=START, suffix="_now").select("success", "count", "success_now", "count_now")
    if not len(shared):
        return _Loss()
    hits, counts, hits_now, counts_now = shared.to_numpy().astype(float).T
    found, p = stratified(hits, counts, hits_now, counts_now), paired(hits, counts, hits_now, counts_now)
    return _Loss(found.difference, tested(found.interval, p), len(shared), p)


def of_run(run: RunData, rows: pl.DataFrame, along: str) -> Curve:
    """The same of a run: what is the difference of a condition to the control is that of the other tables."""
    found = curve(rows, along)
    costs = run.attempt(DROPS)
    known = {} if isinstance(costs, Missing) else {str(drop.group["condition"]): drop for drop in costs}
    steps = list(found.steps)
    for place, (before, step) in enumerate(pairwise(found.steps), start=1):
        drop = known.get(step.condition or "")
        if before.condition == CONTROL and drop is not None and step.starts == drop.starts:
            steps[place] = replace(step, change=drop.change, interval=drop.interval, p=drop.p)
    return replace(found, steps=tuple(steps))


TIME = "Time"
"""The section of the report about how long things take."""
WORLD = "World"
"""The section of the report about what grows in the world."""


def _over(label: str, name: str, about: str) -> Measure[Curve]:
    panel = Panel(
        WORLD,
        tables=(f"assay.report.tables:{name}_table",),
        runs=f"assay.report.figures.curves:{name}_figure",
    )
    about = f"{about}; only changes after which success is expected."
    return Measure(
        name, about, lambda run: of_run(run, run.plausible, label), needs=(label,), panels=(panel,)
    )


LEVELS = _over("level", "levels", "Success over levels")
DISPLACEMENT = _over("distance", "displacement", "Success over how far the object was moved, metres")
DISSIMILARITY = _over(
    "dissimilarity",
    "dissimilarity",
    "Success as the object is less and less like the one that the task is about",
)
LATENCY = Measure(
    "latency",
    "Success as decisions come later and later, in control steps.",
    lambda run: of_run(run, run.plausible, "latency"),
    needs=("latency",),
    panels=(
        Panel(
            TIME,
            tables=("assay.report.tables:latency_table",),
            runs="assay.report.figures.curves:latency_figure",
        ),
    ),
)
CORRUPTION = Measure(
    "corruption",
    "Success as less and less is left of the instruction, until success is no longer expected.",
    lambda run: of_run(run, run.frame, "rung"),
    needs=("rung",),
    panels=(
        Panel(
            WORDS,
            tables=("assay.report.tables:corruption_table",),
            runs="assay.report.figures.curves:corruption_figure",
        ),
    ),
)
