"""LIBERO-X's Tables II to IX: success by level, kind of level 4, form of level 5 and label, within time limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from assay.extensions.papers.libero_x.published import DEFAULT_LIMIT, Row, Shares, published
from assay.measures.frames import require
from assay.measures.result import MeasureError
from assay.measures.success.task_labels import label_families, with_each_label
from assay.measures.time.timing import Limit, limits_by, add_references
from assay.measures.views.table import Column, Table, Value
from assay.report.papers.base import PaperRun, Part, of_each
from assay.measures.time.timing import REFERENCE_NOTE, limit_name
from assay.tasks.labels import COLUMN, CONFOUNDING, UNSEEN, label_order

LIMITS = (1.0, DEFAULT_LIMIT, 1.5, None)
"""The time limits of Tables V to IX, times the reference time."""
ALL = "all"
"""The column of all episodes of a table."""
Cells = dict[str, tuple[Limit, ...]]
"""Column of a table -> success within each limit that the run can tell."""


def level_rows(run: PaperRun, *levels: int) -> pl.DataFrame:
    """The episodes of levels, or of all, in which success is expected, with their reference times.

    Raises MeasureError where there is none.
    """
    require(run.data.plausible, "level")
    rows = add_references(run.data.plausible).drop_nulls("level").with_columns(pl.col("level").cast(pl.Int64))
    rows = rows.filter(pl.col("level").is_in(levels)) if levels else rows
    if not len(rows):
        raise MeasureError(f"no episode is of level {' or '.join(map(str, levels))}")
    return rows


def levels_table(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[Part]:
    """Table II: success on each level."""

    def cells(run: PaperRun) -> Cells:
        found = limits_by(level_rows(run), ("level",), (DEFAULT_LIMIT, None))
        return {
            str(level): limits for (level,), limits in sorted(found.items(), key=lambda each: str(each[0]))
        }

    yield from _tables(runs, cells, "level", published().levels if beside else None)


def unseen_table(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[Part]:
    """Table III: level 4, with unseen and with confounding objects."""

    def cells(run: PaperRun) -> Cells:
        kind = pl.col("condition").str.extract(f"/({UNSEEN}|{CONFOUNDING})(?:/|$)").alias("_kind")
        return _with_all(level_rows(run, 4).with_columns(kind), "_kind", (UNSEEN, CONFOUNDING))

    yield from _tables(runs, cells, "objects", published().unseen if beside else None)


def forms_table(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[Part]:
    """Table IV: level 5, by the form of the rewording."""
    order = tuple(next(iter(published().forms.values())))[1:]

    def cells(run: PaperRun) -> Cells:
        rows = level_rows(run, 5)
        require(rows, "form")
        return _with_all(rows, "form", order)

    yield from _tables(runs, cells, "form", published().forms if beside else None)


def labels_table(runs: Sequence[PaperRun], level: int, *, beside: bool = False) -> Iterator[Part]:
    """Tables V to IX: one level, by label and time limit."""

    def cells(run: PaperRun) -> Cells:
        rows = level_rows(run, level)
        found: Cells = {}
        for family in label_families(rows):
            column = f"{COLUMN}{family}"
            limits = limits_by(with_each_label(rows, family), (column,), LIMITS)
            known = {str(label): each for (label,), each in limits.items()}
            found |= {
                label: known[label] for label in sorted(known, key=lambda each: label_order(family, each))
            }
        if not found:
            raise MeasureError(f"no episode of level {level} has a label family")
        return found

    yield from _tables(runs, cells, "label", published().labels[level] if beside else None)


def _with_all(rows: pl.DataFrame, column: str, order: Sequence[str]) -> Cells:
    """Success of all rows, and of each value of a column: those of the paper first, in its order."""
    factors = (DEFAULT_LIMIT, None)
    everything = limits_by(rows, (), factors)[()]
    parts = limits_by(rows, (column,), factors) if rows[column].null_count() < len(rows) else {}
    named = {str(value): limits for (value,), limits in parts.items()}
    return {ALL: everything} | dict(
        sorted(
            named.items(),
            key=lambda each: (order.index(each[0]) if each[0] in order else len(order), each[0]),
        )
    )


def _tables(
    runs: Sequence[PaperRun],
    cells: Callable[[PaperRun], Cells],
    what: str,
    theirs: Mapping[Row, Shares] | None,
) -> Iterator[Part]:
    """The paper's table, a row for each model and limit; and the same with intervals, a row for each cell."""
    found, missing = of_each(runs, cells)
    theirs = theirs or {}
    heads = dict.fromkeys(name for their in (*theirs.values(), *found.values()) for name in their)
    wide: list[tuple[Value, ...]] = []
    long: list[tuple[Value, ...]] = []
    for model, each in found.items():
        by_limit: dict[float | None, dict[str, Limit]] = {}
        for name, limits in each.items():
            for limit in limits:
                by_limit.setdefault(limit.factor, {})[name] = limit
                long.append(
                    (
                        model,
                        name,
                        limit_name(limit.factor),
                        limit.successes,
                        limit.count,
                        limit.rate,
                        limit.interval,
                    )
                )
        for factor, line in by_limit.items():
            values = (line[name].rate if name in line else None for name in heads)
            wide.append((model, *(("run",) if theirs else ()), limit_name(factor), *values))
    for (model, factor), shares in theirs.items():
        wide.append((model, "published", limit_name(factor), *(shares.get(name) for name in heads)))
    source = (Column("source"),) if theirs else ()
    note = f"Success in per cent; errors are excluded. {REFERENCE} None: no limit but the task's horizon."
    if theirs:
        note += (
            f" Published: {published().source}: limits are multiples of human times, assets LIBERO-X's own."
        )
    yield Table(
        "success",
        f"Success by {what} and time limit",
        (
            Column("model"),
            *source,
            Column("time limit"),
            *(Column(heading(what, name), "share", bare=what == "label") for name in heads),
        ),
        tuple(wide),
        note,
        shown_at_once=True,
    )
    yield Table(
        "intervals",
        f"Success by {what} and time limit, with intervals",
        (
            Column("model"),
            Column(what),
            Column("time limit"),
            Column("successes", "count"),
            Column("n", "count"),
            Column("success", "share"),
            Column("95 % interval", "share"),
        ),
        tuple(long),
        "95 % Wilson intervals, widened for the correlation of episodes of one start or variant."
        + (" An episode counts for each of its labels." if what == "label" else ""),
    )
    yield from missing


def heading(what: str, name: str) -> str:
    """A column's heading: numbers say what they count."""
    if what == "level":
        return f"level {name}"
    if what == "label" and name[0].isdigit():
        return f"{name} {'subtask' if name == '1' else 'subtasks'}"
    return name
