"""LIBERO-PRO: changed objects, positions, wordings, tasks and environments on four LIBERO suites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

import polars as pl
import yaml

from assay.episodes.spec import CONTROL
from assay.measures.memory.memorisation import MEMORISATION
from assay.measures.result import MeasureError, Missing
from assay.measures.success.drops import Drop, drops
from assay.measures.success.rates import Rate, rates
from assay.measures.views.table import Column, Table, Value
from assay.measures.world.curves import CORRUPTION, DISPLACEMENT, DISSIMILARITY
from assay.report.papers import ExhibitPlan, Paper, PaperRun, Part, drawn_by, of_each, plan_sections
from assay.support.stats.intervals import Interval, bernoulli_variance, wilson_interval

SUITES = ("libero_goal", "libero_spatial", "libero_10", "libero_object")
"""LIBERO suites in the order of the paper's table."""
DIMENSIONS = ("object", "position", "semantic", "task", "environment")
"""LIBERO-PRO's perturbation dimensions, after which the conditions of ``pro`` and ``libero-pro`` are named."""
COLUMNS = (CONTROL, *DIMENSIONS)
DRAWS = {
    "": ("pro", "libero-pro"),
    "joint draws": ("libero-pro/joint",),
    "frozen files": ("libero-pro/frozen",),
}
"""Sampling method -> prefixes of its conditions.

Changes under the empty name are rule-based or single entries of the release's tables; the other methods are joint
draws from these tables and the release's frozen files.
"""
ALL_SUITES, TOTAL = "all", "total"
"""Names of the row with the mean over suites and of the column with the mean over dimensions."""

SuiteColumn = tuple[str, str]
"""LIBERO suite, and the control or a perturbation dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class SuiteResults:
    """Results of one run by suite and dimension."""

    rates: Mapping[SuiteColumn, Rate]
    """Success rates, including controls, for cells with at least one episode that finished without an error."""
    drops: Mapping[SuiteColumn, Drop]
    """Paired differences from the controls."""


def suite_results(runs: Sequence[PaperRun]) -> tuple[dict[str, SuiteResults], tuple[Missing, ...]]:
    """Return results by run name and sampling method, and a `Missing` remark for each run without results.

    Raises MeasureError if no run has results.
    """

    def measure(run: PaperRun) -> dict[str, SuiteResults]:
        results = {
            f"{run.name}, {draw}" if draw else run.name: result
            for draw, prefixes in DRAWS.items()
            if (result := _measure(run, prefixes)) is not None
        }
        if not results:
            raise MeasureError("no episode of the four suites was run under a condition of pro or libero-pro")
        return results

    by_run, missing = of_each(runs, measure)
    return {name: result for results in by_run.values() for name, result in results.items()}, missing


def _measure(run: PaperRun, prefixes: Sequence[str]) -> SuiteResults | None:
    """Return the rates and drops for conditions with these prefixes, or None if no episode has such a condition."""
    parts = pl.col("condition").str.extract_groups("^(.+)/([^/]+)$").struct
    prefix, change = parts.field("1"), parts.field("2")
    is_own = prefix.is_in(prefixes) & change.is_in(DIMENSIONS)
    dimension = pl.when(pl.col("condition") == CONTROL).then("condition").when(is_own).then(change)
    rows = run.data.frame.with_columns(
        _suite=pl.col("task").str.split("/").list.first(), _dimension=dimension.otherwise(None)
    )
    rows = rows.filter(pl.col("_suite").is_in(SUITES)).drop_nulls("_dimension")
    if not rows["_dimension"].is_in(DIMENSIONS).any():
        return None
    by = ("_suite", "_dimension")

    def key(group: Mapping[str, object]) -> SuiteColumn:
        return str(group["_suite"]), str(group["_dimension"])

    try:
        paired = {key(drop.group): drop for drop in drops(rows, by, resampling=False)}
    except MeasureError:  # there are no controls
        paired = {}
    return SuiteResults({key(rate.group): rate for rate in rates(rows, by) if rate.count}, paired)


def leaderboard(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[Part]:
    """Yield a table of each model's success rate by suite and dimension; ``beside`` adds the published results."""
    results, missing = suite_results(runs)
    rows: list[tuple[Value, ...]] = []
    for name, result in results.items():
        shares = {key: rate.rate for key, rate in result.rates.items() if rate.rate is not None}
        rows += _leaderboard_rows(name, shares, "run" if beside else None)
    note = (
        "Success in per cent; errors are excluded; intervals are in the next table. Total: unweighted mean of the "
        "dimensions; all: unweighted mean of the suites."
    )
    if beside:
        source, models = load_published()
        for model, values in models.items():
            rows += _leaderboard_rows(model, values, "published")
        note += f" Published: {source}, without intervals, for the release's variants with LIBERO's assets. "
        unlike = [
            run.name
            for run in runs
            if run.meta.get("pack") != "libero"
            or str(run.meta.get("experiment", "")).partition("?")[0] != "libero-pro"
        ]
        if unlike:
            note += f"Not comparable because of different changes or assets: {', '.join(unlike)}. "
        note += "Totals cover the dimensions with results; some published models have none for environment."
    source_column = (Column("source"),) if beside else ()
    shares_columns = (Column(name, "share") for name in (*COLUMNS, TOTAL))
    columns = (Column("model"), *source_column, Column("suite"), *shares_columns)
    yield Table("leaderboard", "Success rate by suite and dimension", columns, tuple(rows), note)
    yield from missing


def _leaderboard_rows(
    model: str, shares: Mapping[SuiteColumn, float], source: str | None
) -> Iterator[tuple[Value, ...]]:
    """Yield a row for each suite of a model and a row for the mean over suites."""
    suites = [suite for suite in SUITES if any(key[0] == suite for key in shares)]
    lines = {suite: {name: shares.get((suite, name)) for name in COLUMNS} for suite in suites}
    if len(suites) > 1:
        lines[ALL_SUITES] = {name: _mean(lines[suite][name] for suite in suites) for name in COLUMNS}
    for suite, line in lines.items():
        mean = _mean(line[name] for name in DIMENSIONS)
        yield model, *((source,) if source else ()), suite, *line.values(), mean


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def gaps(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Yield the leaderboard with intervals and paired differences from the controls."""
    results, missing = suite_results(runs)
    rows: list[tuple[Value, ...]] = []
    for name, result in results.items():
        changed = [rate for (_, column), rate in result.rates.items() if column in DIMENSIONS]
        for suite in SUITES:
            for column in COLUMNS:
                if (rate := result.rates.get((suite, column))) is not None:
                    drop = result.drops.get((suite, column))
                    gap = (None,) * 3 if drop is None else (drop.change, drop.interval, drop.p_holm)
                    rows.append(
                        (name, suite, column, rate.successes, rate.count, rate.rate, rate.interval, *gap)
                    )
        successes, count = sum(rate.successes for rate in changed), sum(rate.count for rate in changed)
        rows.append((name, ALL_SUITES, TOTAL, successes, count, *total(changed), *(None,) * 3))
    yield Table(
        "gaps",
        "Success rate with intervals, and the difference from the control",
        (
            *map(Column, ("model", "suite", "dimension")),
            *(Column(name, "count") for name in ("successes", "n")),
            *(Column(name, "share") for name in ("success", "95 % interval")),
            *(Column(name, "change") for name in ("difference", "its 95 % interval")),
            Column("Holm p", "p"),
        ),
        tuple(rows),
        "Success: 95 % Wilson intervals, widened for the correlation of episodes that share an initial state or "
        "variant. Difference: paired with the control of the same task and seed; Newcombe over initial states, exact "
        "one-sided p of a loss with Holm's correction within each run and axis. Total: unweighted mean of the cells, "
        "treated as independent.",
    )
    yield from missing


def total(cells: Sequence[Rate]) -> tuple[float, Interval]:
    """Return the unweighted mean over cells and its Wilson interval, treating the cells as independent."""
    measured = [(cell.rate, cell.effective) for cell in cells if cell.rate is not None and cell.effective]
    mean = sum(rate for rate, _ in measured) / len(measured)
    variances = [(bernoulli_variance(rate, effective), effective) for rate, effective in measured]
    mean_variance = sum(variance / effective for variance, effective in variances) / len(measured) ** 2
    pooled = sum(variance for variance, _ in variances) / len(measured)
    return mean, wilson_interval(mean, pooled / mean_variance)


@cache
def load_published() -> tuple[str, Mapping[str, Mapping[SuiteColumn, float]]]:
    """Return the source of the authors' results, and their success rates (0 to 1) by model, suite and column."""
    content = yaml.safe_load(files(__package__).joinpath("published.yaml").read_text(encoding="utf-8"))
    return content["source"], {
        model: {
            (suite, column): float(value)
            for suite, values in suites.items()
            for column, value in zip(content["columns"], values, strict=True)
            if value is not None
        }
        for model, suites in content["models"].items()
    }


LAYOUT = (
    (
        "Five dimensions on four suites",
        "Success rate of each model under one change at a time, and without changes (control).",
        ("Leaderboard", "Gaps"),
    ),
    (
        "Memorisation",
        "Similarity of trajectories when objects or instructions change, and how far objects may be moved.",
        ("Figure 1", "Figure 6"),
    ),
    (
        "Severity of changes",
        "Increasingly corrupted instructions, and objects increasingly unlike those in the task.",
        ("Instructions", "Objects"),
    ),
)
EXHIBITS = (
    ExhibitPlan("Leaderboard", "Success rate by suite and dimension", leaderboard, has_published=True),
    ExhibitPlan("Gaps", "Success rates with intervals, and differences from the control", gaps),
    drawn_by(MEMORISATION, "Figure 1", "Repeated trajectories"),
    drawn_by(DISPLACEMENT, "Figure 6", "Success over displacement"),
    drawn_by(CORRUPTION, "Instructions", "Corrupted instructions"),
    drawn_by(DISSIMILARITY, "Objects", "Dissimilar objects"),
)
make = plan_sections(LAYOUT, EXHIBITS)
PAPER = Paper(
    "libero-pro",
    "LIBERO-PRO: Towards Robust and Fair Evaluation of Vision-Language-Action Models Beyond Memorization",
    make,
    partial(make, beside=True),
)
