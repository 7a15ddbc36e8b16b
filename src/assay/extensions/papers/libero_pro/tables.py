"""The tables of LIBERO-PRO: its leaderboard, and the same with intervals and the gap from the control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.extensions.papers.libero_pro.cells import (
    COLUMNS,
    DIMENSIONS,
    SUITES,
    Cell,
    cells_of,
    published,
    total,
)
from assay.measures.success.rates import Rate
from assay.measures.views.table import Column, Table, Value
from assay.report.papers.base import PaperRun, Part

ALL = "all"
"""In place of a suite: the mean of the suites."""
TOTAL = "total"
"""In place of a dimension: the mean of the dimensions."""


def leaderboard(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[Part]:
    """Success of each model on each suite under each dimension; ``beside``: with what the authors published."""
    found, missing = cells_of(runs)
    rows: list[tuple[Value, ...]] = []
    for name, each in found.items():
        shares = {cell: rate.rate for cell, rate in each.rates.items() if rate.rate is not None}
        rows += _rows(name, shares, "run" if beside else None)
    note = "Success in per cent; errors are excluded; intervals are in the next table. "
    note += "Total: the mean of the dimensions; all: the mean of the suites; each counts alike."
    if beside:
        for model, known in published().models.items():
            rows += _rows(model, known, "published")
        note += (
            f" Published: {published().source}; no intervals are given there. They were measured with the "
        )
        note += "release's draws on LIBERO's own assets. "
        unlike = [run.name for run in runs if run.meta.get("pack") != "libero" or not _is_release(run)]
        if unlike:
            note += (
                f"Not comparable with them, because of other changes or other assets: {', '.join(unlike)}. "
            )
        note += "A total is over the dimensions that a model has; some published ones lack environment."
    yield Table(
        "leaderboard",
        "Success by suite and dimension",
        (
            Column("model"),
            *((Column("source"),) if beside else ()),
            Column("suite"),
            *(Column(name, "share") for name in (*COLUMNS, TOTAL)),
        ),
        tuple(rows),
        note,
    )
    yield from missing


def _rows(model: str, shares: Mapping[Cell, float], source: str | None) -> Iterator[tuple[Value, ...]]:
    """A row for each suite that a model has, and one for their mean."""
    suites = [suite for suite in SUITES if any(where == suite for where, _ in shares)]
    lines = {suite: {name: shares.get((suite, name)) for name in COLUMNS} for suite in suites}
    if len(suites) > 1:
        lines[ALL] = {name: _mean(lines[suite][name] for suite in suites) for name in COLUMNS}
    for suite, line in lines.items():
        mean = _mean(line[name] for name in DIMENSIONS)
        yield model, *((source,) if source else ()), suite, *line.values(), mean


def _mean(values: Iterator[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _is_release(run: PaperRun) -> bool:
    return str(run.meta.get("experiment", "")).partition("?")[0] == "libero-pro"


def gaps(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Each cell of the leaderboard with its interval, and the gap from the controls of the same tasks and seeds."""
    found, missing = cells_of(runs)
    rows: list[tuple[Value, ...]] = []
    for name, each in found.items():
        changed = [rate for (_, column), rate in each.rates.items() if column in DIMENSIONS]
        for (suite, column), rate in sorted(each.rates.items(), key=lambda item: _place(item[0])):
            drop = each.drops.get((suite, column))
            gap = (None,) * 3 if drop is None else (drop.change, drop.interval, drop.p_holm)
            rows.append((name, suite, column, *_counted(rate), *gap))
        mean, interval = total(changed)
        hits, count = (sum(getattr(rate, what) for rate in changed) for what in ("successes", "count"))
        rows.append((name, ALL, TOTAL, hits, count, mean, interval, *(None,) * 3))
    yield Table(
        "gaps",
        "Success with intervals, and the gap from the control",
        (
            Column("model"),
            Column("suite"),
            Column("dimension"),
            Column("successes", "count"),
            Column("n", "count"),
            Column("success", "share"),
            Column("95 % interval", "share"),
            Column("difference", "change"),
            Column("its 95 % interval", "change"),
            Column("Holm p", "p"),
        ),
        tuple(rows),
        "Success: 95 % Wilson intervals, widened for the correlation of episodes of one start or variant. Difference: "
        "paired with the control of the same task and seed; Newcombe over starts, exact p, adjusted within each run "
        "and axis. Total: the mean of the cells, each alike, as if they were independent.",
    )
    yield from missing


def _counted(rate: Rate) -> tuple[Value, ...]:
    return rate.successes, rate.count, rate.rate, rate.interval


def _place(cell: Cell) -> tuple[int, int]:
    return SUITES.index(cell[0]), COLUMNS.index(cell[1])
