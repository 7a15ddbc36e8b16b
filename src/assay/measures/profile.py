"""Everything that can be said about one run: each measure, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.actions import ActionGaps, action_gaps
from assay.measures.attribution import Attribution, attribution
from assay.measures.changes import change_drops, changed
from assay.measures.curves import Curve, curve
from assay.measures.drops import Drop, drops
from assay.measures.efficiency import Efficiency, efficiency
from assay.measures.grounding import Confusion, confusion
from assay.measures.memorisation import Memorisation, memorisation
from assay.measures.names import NameGaps, name_gaps
from assay.measures.nearness import Failures, failures
from assay.measures.paraphrase import Correlation, Grid, ObjectGap, distance_correlation, grid, object_gap
from assay.measures.paths import Paths
from assay.measures.pride import Overestimation, Pride, Sweep, overestimation, pride, sweep
from assay.measures.rates import Rate, rates, success_rate
from assay.measures.result import FOR_DRAWING, Missing, Result, attempt
from assay.measures.table import START, controls, judged, perturbed, plausible
from assay.measures.tabletop import Tabletop, tabletop
from assay.measures.tabletop.rows import alike, flawless, on_tables
from assay.measures.timing import (
    Limits,
    NoMistakes,
    TimeToSuccess,
    no_mistakes,
    time_limits,
    time_to_success,
)
from assay.runs.store import Store

FAMILY = "label:"
"""How the columns of label families begin."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile(Result):
    """A run in numbers."""

    planned: int
    done: int
    errors: dict[str, int]
    """What broke, and how often."""
    success_rate: Rate | Missing
    """Of the perturbed episodes in which a good policy should succeed; of all, if nothing is perturbed."""
    control: Rate | Missing
    starts: pl.DataFrame | Missing = field(repr=False, metadata=FOR_DRAWING)
    """The controls: task, seed, success, near (of a failure: to the path of success; null if not judged)."""
    conditions: tuple[Rate, ...]
    tasks: tuple[Rate, ...]
    """By task, perturbed or not: the group's ``perturbed`` tells; where a good policy should succeed."""
    labels: dict[str, tuple[Rate, ...]]
    """By label family; of the same episodes."""
    drops: tuple[Drop, ...] | Missing
    axes: tuple[Drop, ...] | Missing
    """Drops by axis; plausible changes only."""
    changes: tuple[Drop, ...] | Missing
    """Drops by what alone is changed: names, wording, position, appearance, ..."""
    grid: Grid | Missing
    pride: Pride | Missing
    sweep: Sweep | Missing
    overestimation: Overestimation | Missing
    object_gap: ObjectGap | Missing
    names: NameGaps | Missing
    actions: ActionGaps | Missing
    """Ways to say what to do, with every name kept."""
    distance_correlation: Correlation | Missing
    failures: Failures | Missing
    memorisation: Memorisation | Missing
    touched: tuple[Confusion, ...] | Missing
    """What was touched first, by condition."""
    moved: tuple[Confusion, ...] | Missing
    attribution: Attribution | Missing
    levels: Curve | Missing
    displacement: Curve | Missing
    time_limits: Limits | Missing
    time_to_success: tuple[TimeToSuccess, ...] | Missing
    no_mistakes: tuple[NoMistakes, ...] | Missing
    efficiency: Efficiency | Missing
    tabletop: Tabletop | Missing
    """What is measured on tables alone."""


def profile(store: Store, *, with_paths: bool = True) -> Profile:
    """Measure a run."""
    frame = store.frame()
    if on_tables(frame):
        return _on_tables(store, frame)
    sensible = plausible(frame)
    altered = perturbed(sensible)
    told = attempt(changed, store, frame)
    cells = attempt(grid, frame)
    paths = Paths.read(store) if with_paths and len(frame) else None
    where: dict[str, Any] = {
        name: Missing(f"{name}: paths were not read") if paths is None else attempt(measure, frame, paths)
        for name, measure in (("failures", failures), ("memorisation", memorisation))
    }
    return Profile(
        planned=store.planned,
        done=store.done,
        errors=store.reasons(),
        success_rate=attempt(success_rate, altered if len(altered) else frame),
        control=attempt(success_rate, frame.filter(pl.col("condition") == CONTROL), "control"),
        starts=attempt(_starts, frame, where["failures"]),
        conditions=rates(frame, stopped=store.stopped),
        tasks=rates(sensible.with_columns(perturbed=pl.col("condition") != CONTROL), ("task", "perturbed")),
        labels={
            name.removeprefix(FAMILY): rates(altered, (name,))
            for name in frame.columns
            if name.startswith(FAMILY)
        },
        drops=attempt(drops, frame),
        axes=attempt(drops, sensible, ("axis",)),
        changes=told if isinstance(told, Missing) else attempt(change_drops, told),
        grid=cells,
        pride=attempt(pride, frame),
        sweep=attempt(sweep, frame),
        overestimation=attempt(overestimation, frame),
        object_gap=attempt(object_gap, frame),
        names=told if isinstance(told, Missing) else attempt(name_gaps, told),
        actions=told if isinstance(told, Missing) else attempt(action_gaps, told),
        distance_correlation=cells if isinstance(cells, Missing) else attempt(distance_correlation, cells),
        **where,
        touched=attempt(confusion, frame, "touched", ("condition",)),
        moved=attempt(confusion, frame, "moved", ("condition",)),
        attribution=attempt(attribution, frame),
        levels=attempt(curve, sensible, "level"),
        displacement=attempt(curve, sensible, "distance"),
        time_limits=attempt(time_limits, sensible),
        time_to_success=attempt(time_to_success, frame),
        no_mistakes=attempt(no_mistakes, frame),
        efficiency=attempt(efficiency, frame, store.counts(), store.stopped),
        tabletop=Missing("tabletop: this is no run on tables"),
    )


def _starts(frame: pl.DataFrame, judged_paths: Failures | Missing) -> pl.DataFrame:
    """What came of each start with nothing changed."""
    rows = controls(judged(frame, "starts")).select("id", *START, pl.col("success") == 1)
    if isinstance(judged_paths, Missing):
        return rows.select(*START, "success", near=pl.lit(None, pl.Boolean))
    near = judged_paths.episodes.select("id", "near")
    return rows.join(near, on="id", how="left", maintain_order="left").drop("id")


def _on_tables(store: Store, frame: pl.DataFrame) -> Profile:
    """Measure a run on tables: nothing that is about LIBERO's worlds, words and paths."""
    rows = alike(frame)
    sensible = plausible(rows)
    altered = perturbed(sensible)
    strict = rates(alike(flawless(frame)))
    measured: dict[str, Any] = {
        "planned": store.planned,
        "done": store.done,
        "errors": store.reasons(),
        "success_rate": attempt(success_rate, altered if len(altered) else rows),
        "control": attempt(success_rate, rows.filter(pl.col("condition") == CONTROL), "control"),
        "conditions": (usual := rates(rows, stopped=store.stopped)),
        "tasks": rates(
            sensible.with_columns(perturbed=pl.col("condition") != CONTROL), ("task", "perturbed")
        ),
        "labels": {},
        "drops": attempt(drops, rows),
        "axes": attempt(drops, sensible, ("axis",)),
        "no_mistakes": tuple(
            NoMistakes(each.group, one.successes, each.successes, each.count, one.rate, one.interval)
            for each, one in zip(usual, strict, strict=True)
            if one.rate is not None and one.interval is not None
        ),
        "efficiency": attempt(efficiency, rows, store.counts(), store.stopped),
        "tabletop": attempt(tabletop, frame),
    }
    elsewhere = Missing("not measured on tables")
    return Profile(**{each.name: measured.get(each.name, elsewhere) for each in fields(Profile)})
