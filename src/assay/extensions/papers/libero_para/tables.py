"""The tables of LIBERO-Para."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from assay.extensions.papers.libero_para.cells import (
    CATEGORIES,
    CELLS,
    SCOPES,
    average,
    category_means,
    object_means,
    scope_means,
    success_of,
)
from assay.measures.frames import valid_rows
from assay.measures.result import MeasureError, Missing
from assay.measures.success.rates import CONTROLS, Rate, success_rate
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import methods
from assay.measures.views.heat_map import OBJECTS
from assay.measures.words.paraphrase import paraphrases, all_paraphrases
from assay.measures.words.pride import OVERESTIMATION
from assay.report.papers.base import PaperRun, Part, of_each


def success_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Table 2: success in the controls and with paraphrases, and the drop between them."""
    worded, missing = of_each(runs, lambda run: success_rate(all_paraphrases(run.data.frame)))
    usual: dict[str, Rate | Missing] = {run.name: run.data.attempt(CONTROLS) for run in runs}
    rows: list[tuple[Value, ...]] = []
    for name, rate in worded.items():
        control = usual[name]
        before = None if isinstance(control, Missing) else control
        known = (None, None, 0) if before is None else (before.rate, before.interval, before.count)
        drop = None if known[0] is None or rate.rate is None else rate.rate - known[0]
        rows.append((name, *known, rate.rate, rate.interval, rate.count, drop))
    yield Table(
        "success",
        "Success with the original instructions and with paraphrases",
        (
            Column("model"),
            Column("LIBERO-Goal", "share"),
            Column("LIBERO-Goal, interval", "share"),
            Column("LIBERO-Goal, episodes", "count"),
            Column("LIBERO-Para", "share"),
            Column("LIBERO-Para, interval", "share"),
            Column("LIBERO-Para, episodes", "count"),
            Column("drop", "change"),
        ),
        tuple(rows),
        "LIBERO-Goal: the controls, told the original instruction. LIBERO-Para: all paraphrases. Episodes that ended "
        f"in an error are left out. 95 % intervals: {methods(rate.interval for rate in worded.values())}.",
    )
    yield from missing
    for name in worded:
        control = usual[name]
        if isinstance(control, Missing):
            yield Missing(f"of {name}: no LIBERO-Goal and no drop: no episode has the original instruction")


def pride_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Table 3: success, PRIDE and overestimation; the most overestimated first."""
    found, missing = of_each(runs, lambda run: run.data.result(OVERESTIMATION))
    yield Table(
        "pride",
        "Success against PRIDE, the most overestimated first",
        (
            Column("model"),
            Column("success", "share"),
            Column("PRIDE", "share"),
            Column("overestimation", "share"),
            Column("95 % interval", "share"),
            Column("episodes", "count"),
        ),
        tuple(
            (name, each.success_rate, each.pride / 100, each.overestimation, each.interval, each.episodes)
            for name, each in sorted(found.items(), key=lambda item: -item[1].overestimation)
        ),
        "PRIDE at alpha 0.5: success weighted by the distance PD of each paraphrase. Overestimation: "
        "(success - PRIDE) / success. Made of the paraphrases with both similarities. "
        f"95 % intervals: {methods(each.interval for each in found.values())}.",
    )
    yield from missing


def cells_table(run: PaperRun) -> Table:
    """Success of each cell of one model: mean and standard deviation over seeds, and each seed."""
    found = run.data.result(CELLS)
    seeds = sorted({seed for cell in found for seed in cell.seeds})
    return Table(
        "cells",
        "success of each cell, by seed",
        (
            Column("names"),
            Column("action"),
            Column("mean", "share"),
            Column("deviation", "share"),
            *(Column(f"seed {seed}", "share") for seed in seeds),
            Column("episodes", "count"),
            Column("PD", "number"),
        ),
        tuple(
            (
                *cell.key,
                cell.success,
                cell.spread,
                *(cell.seeds.get(seed) for seed in seeds),
                cell.episodes,
                cell.pd,
            )
            for cell in found
        ),
        "Mean over seeds; deviation: standard deviation over seeds, of a population as in the release's analysis.",
    )


def seeds_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Success with paraphrases by seed, and its standard deviation."""

    def by_seed(run: PaperRun) -> dict[int, float]:
        rows = valid_rows(paraphrases(run.data.frame)).group_by("seed").agg(pl.col("success").mean()).sort("seed")
        return dict(rows.iter_rows())

    found, missing = of_each(runs, by_seed)
    seeds = sorted({seed for each in found.values() for seed in each})
    yield Table(
        "seeds",
        "Success with paraphrases, by seed",
        (
            Column("model"),
            *(Column(f"seed {seed}", "share") for seed in seeds),
            Column("mean", "share"),
            Column("deviation", "share"),
        ),
        tuple(
            (
                name,
                *(each.get(seed) for seed in seeds),
                float(np.mean(list(each.values()))),
                float(np.std(list(each.values()))) if len(each) > 1 else None,
            )
            for name, each in found.items()
        ),
        "Deviation: standard deviation over seeds, of a population as in the release's analysis; none with one seed.",
    )
    yield from missing


def scopes_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Means of cells by what a paraphrase changes, and by object type and category of action types."""
    found, missing = of_each(runs, lambda run: success_of(run.data.result(CELLS)))
    models = dict(found)
    if len(found) > 1:
        models["mean"] = average(list(found.values()))
    yield Table(
        "scopes",
        "Success by what the paraphrase changes",
        (
            Column("model"),
            *(
                column
                for scope in SCOPES
                for column in (Column(scope, "share"), Column(f"{scope}, deviation", "share"))
            ),
        ),
        tuple(
            (name, *(value for scope in SCOPES for value in scope_means(cells).get(scope, (None, None))))
            for name, cells in models.items()
        ),
        "Unweighted means of cells, without the original instruction; deviation: standard deviation over cells, of "
        "a sample, as in the release's analysis.",
    )
    yield Table(
        "types",
        "Success by object type and category of action types",
        (
            Column("model"),
            *(Column(f"names: {thing}", "share") for thing in OBJECTS),
            *(Column(f"action: {category}", "share") for category in CATEGORIES),
        ),
        tuple(
            (
                name,
                *(object_means(cells).get(thing) for thing in OBJECTS),
                *(category_means(cells).get(category) for category in CATEGORIES),
            )
            for name, cells in models.items()
        ),
        "Unweighted means of cells, without the original instruction; a category is the mean of its action types.",
    )
    yield from missing


def cost_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Table 11: how long the episodes took."""

    def timed(run: PaperRun) -> pl.DataFrame:
        rows = run.data.whole
        if not rows["seconds"].sum() > 0:
            raise MeasureError("needs the time of episodes, and the run does not say it")
        return rows

    found, missing = of_each(runs, timed)
    yield Table(
        "cost",
        "How long the evaluation took",
        (
            Column("model"),
            Column("episodes", "count"),
            Column("hours", "number"),
            Column("seconds per episode", "number"),
            Column("steps per episode", "number"),
            Column("decisions per episode", "number"),
        ),
        tuple(
            (
                name,
                len(rows),
                float(rows["seconds"].sum()) / 3600,
                float(rows["seconds"].sum()) / len(rows),
                float(rows["steps"].sum()) / len(rows),
                float(rows["decisions"].sum()) / len(rows),
            )
            for name, rows in found.items()
        ),
        "Time of all episodes, added up over workers, simulation included. Graphics cards and their memory are "
        "not recorded.",
    )
    yield from missing
