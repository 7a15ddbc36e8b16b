"""LIBERO-X's Tables II to IX: success by level, kind (level 4), form (level 5) and label, within time limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

import polars as pl
import yaml

from assay.measures.frames import require
from assay.measures.result import MeasureError
from assay.measures.success.task_labels import label_families, with_each_label
from assay.measures.time.timing import REFERENCE_NOTE, Limit, add_references, limit_name, limits_by
from assay.measures.views.table import Column, Table, Value, declared_columns
from assay.report.papers import ExhibitPlan, PaperRun, Part, of_each
from assay.tasks.labels import COLUMN, CONFOUNDING, FAMILIES, UNSEEN, label_order

DEFAULT_LIMIT = 1.1
"""Time limit of Tables II to IV, as a multiple of the human time."""
LIMITS = (1.0, DEFAULT_LIMIT, 1.5, None)
"""Time limits of Tables V to IX, as multiples of the reference time; None for no limit."""
LABEL_TABLES = {1: "Table V", 2: "Table VI", 3: "Table VII", 4: "Table VIII", 5: "Table IX"}
"""Level -> name of the table in the paper with the results by label."""
ALL = "all"
"""Name of the column for all episodes."""
LimitsByColumn = dict[str, tuple[Limit, ...]]
"""Column of a table -> success rate within each time limit for which the run has data."""
Shares = Mapping[str, float]
"""Column of a table -> success rate, from 0 to 1."""
PublishedTable = Mapping[tuple[str, float | None], Shares]
"""Model and time limit (a multiple of the human time; None for no limit) -> success rates."""


@dataclass(frozen=True, slots=True)
class PublishedTables:
    """Numbers published by the authors."""

    source: str
    levels: PublishedTable
    unseen: PublishedTable
    forms: PublishedTable
    labels: Mapping[int, PublishedTable]
    """Level -> table with the results by label."""


@cache
def load_published() -> PublishedTables:
    """Return the authors' Tables II to IX."""
    content = yaml.safe_load(files(__package__).joinpath("published.yaml").read_text(encoding="utf-8"))
    labels = [label for family in FAMILIES.values() for label in family]

    def shares(columns: Iterable[str], row: Iterable[float]) -> Shares:
        return {name: value / 100 for name, value in zip(columns, row, strict=True)}

    def table(name: str, columns: list[str]) -> PublishedTable:
        return {(model, DEFAULT_LIMIT): shares(columns, row) for model, row in content[name].items()}

    return PublishedTables(
        content["source"],
        table("levels", [str(level) for level in content["labels"]]),
        table("level4", [ALL, UNSEEN, CONFOUNDING]),
        table("level5", [ALL, "synonym", "concise", "reorder", "passive", "verbose"]),
        {
            level: {
                (model, None if factor == "none" else float(factor)): shares(labels, row)
                for model, rows in models.items()
                for factor, row in rows.items()
            }
            for level, models in content["labels"].items()
        },
    )


def level_rows(run: PaperRun, *levels: int) -> pl.DataFrame:
    """Return the episodes at the given (or all) levels in which success is expected, with their reference times.

    Raises MeasureError if no episode matches.
    """
    require(run.data.plausible, "level")
    rows = add_references(run.data.plausible).drop_nulls("level").with_columns(pl.col("level").cast(pl.Int64))
    rows = rows.filter(pl.col("level").is_in(levels)) if levels else rows
    if not len(rows):
        raise MeasureError(f"no episode was run at level {' or '.join(map(str, levels))}")
    return rows


def levels_table(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[Part]:
    """Yield Table II: success rate at each level."""

    def measure(run: PaperRun) -> LimitsByColumn:
        limits = limits_by(level_rows(run), ("level",), (DEFAULT_LIMIT, None))
        return {str(level): limits[level,] for (level,) in sorted(limits, key=str)}

    yield from _tables(runs, measure, "level", load_published().levels if beside else None)


def unseen_table(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[Part]:
    """Yield Table III: success rate at level 4 with unseen and with confounding objects."""

    def measure(run: PaperRun) -> LimitsByColumn:
        kind = pl.col("condition").str.extract(f"/({UNSEEN}|{CONFOUNDING})(?:/|$)").alias("_kind")
        return _with_all(level_rows(run, 4).with_columns(kind), "_kind", (UNSEEN, CONFOUNDING))

    yield from _tables(runs, measure, "objects", load_published().unseen if beside else None)


def forms_table(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[Part]:
    """Yield Table IV: success rate at level 5 by form of rewording."""
    order = tuple(next(iter(load_published().forms.values())))[1:]

    def measure(run: PaperRun) -> LimitsByColumn:
        rows = level_rows(run, 5)
        require(rows, "form")
        return _with_all(rows, "form", order)

    yield from _tables(runs, measure, "form", load_published().forms if beside else None)


def labels_table(runs: Sequence[PaperRun], level: int, *, beside: bool = False) -> Iterator[Part]:
    """Yield one of Tables V to IX: success rate at one level by label and time limit."""

    def measure(run: PaperRun) -> LimitsByColumn:
        rows = level_rows(run, level)
        by_label: LimitsByColumn = {}
        for family in label_families(rows):
            limits = limits_by(with_each_label(rows, family), (f"{COLUMN}{family}",), LIMITS)
            labels = {str(label): values for (label,), values in limits.items()}
            by_label |= {label: labels[label] for label in sorted(labels, key=partial(label_order, family))}
        if not by_label:
            raise MeasureError(f"no episode at level {level} has task labels")
        return by_label

    yield from _tables(runs, measure, "label", load_published().labels[level] if beside else None)


def _with_all(rows: pl.DataFrame, column: str, order: Sequence[str]) -> LimitsByColumn:
    """Return success rates for all rows and for each value of a column, those in the paper first, in its order."""
    factors = (DEFAULT_LIMIT, None)
    parts = limits_by(rows, (column,), factors) if rows[column].null_count() < len(rows) else {}
    by_value = {str(value): limits for (value,), limits in parts.items()}
    first = [name for name in order if name in by_value]
    others = sorted(by_value.keys() - set(order))
    return {ALL: limits_by(rows, (), factors)[()]} | {name: by_value[name] for name in (*first, *others)}


def _tables(
    runs: Sequence[PaperRun],
    measure: Callable[[PaperRun], LimitsByColumn],
    what: str,
    theirs: PublishedTable | None,
) -> Iterator[Part]:
    """Yield the paper's table (one row per model and limit) and a table with intervals (one row per cell)."""
    results, missing = of_each(runs, measure)
    theirs = theirs or {}
    names = dict.fromkeys(name for shares in (*theirs.values(), *results.values()) for name in shares)
    wide: list[tuple[Value, ...]] = []
    long: list[tuple[Value, ...]] = []
    for model, by_column in results.items():
        by_limit: dict[float | None, dict[str, Limit]] = {}
        for name, limits in by_column.items():
            for limit in limits:
                by_limit.setdefault(limit.factor, {})[name] = limit
                counts = (limit.successes, limit.count, limit.rate, limit.interval)
                long.append((model, name, limit_name(limit.factor), *counts))
        for factor, line in by_limit.items():
            values = (line[name].rate if name in line else None for name in names)
            wide.append((model, *(("run",) if theirs else ()), limit_name(factor), *values))
    for (model, factor), shares in theirs.items():
        wide.append((model, "published", limit_name(factor), *(shares.get(name) for name in names)))
    source = (Column("source"),) if theirs else ()
    note = f"Success in per cent; errors are excluded. {REFERENCE_NOTE} none: limited only by the task's horizon."
    if theirs:
        source_name = load_published().source
        note += (
            f" Published: {source_name}; its time limits are multiples of human completion times, and its assets "
            "are LIBERO-X's."
        )
    headings = (Column(heading(what, name), "share", bare=what == "label") for name in names)
    yield Table(
        "success",
        f"Success by {what} and time limit",
        (Column("model"), *source, Column("time limit"), *headings),
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
            *declared_columns(Limit).values(),
        ),
        tuple(long),
        "95 % Wilson intervals, widened for the correlation of episodes that share an initial state or variant."
        + (" An episode counts for each of its labels." if what == "label" else ""),
    )
    yield from missing


def heading(what: str, name: str) -> str:
    """Return the heading of a column; a number is given with its unit: ``2 subtasks``."""
    if what == "level":
        return f"level {name}"
    if what == "label" and name[0].isdigit():
        return f"{name} {'subtask' if name == '1' else 'subtasks'}"
    return name


EXHIBITS = (
    ExhibitPlan("Table II", "Success by level", levels_table, has_published=True),
    ExhibitPlan("Table III", "Level 4: unseen and confounding objects", unseen_table, has_published=True),
    ExhibitPlan("Table IV", "Level 5: forms of rewording", forms_table, has_published=True),
    *(
        ExhibitPlan(
            label,
            f"Level {level}: success by label and time limit",
            partial(labels_table, level=level),
            has_published=True,
        )
        for level, label in LABEL_TABLES.items()
    ),
)
