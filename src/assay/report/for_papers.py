"""Figures and tables of a report in print form, written to the folder ``paper`` beside the page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.episodes import CONTROL, Change
from assay.measures.compare import robustness_figure
from assay.measures.measure import RunData
from assay.measures.result import MeasureError, Missing
from assay.measures.success.drops import Drop, drops
from assay.measures.views.printing import Print
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table, Value
from assay.report.page import Report
from assay.report.samples import MARK, describe_sample, describe_unfinished, explain_marks, shared_keys
from assay.runs.provenance import lateness
from assay.runs.store import Store

FOLDER = "paper"
ALL_SUITES = "all"
"""Name of the table row that covers all task suites."""


def write_for_papers(report: Report, runs: Mapping[str, Path], folder: Path, how: Print) -> list[str]:
    """Write all figures and tables of a report in print form to the subfolder ``paper`` of its folder.

    Returns the names of the figures that span the full page width because they would be illegible in one column.
    """
    place = folder / FOLDER
    shutil.rmtree(place, ignore_errors=True)
    wide: list[str] = []
    unfinished: dict[str, str] = {}
    for part, (name, path) in zip(report.parts, runs.items(), strict=True):
        within = place if len(report.parts) == 1 else place / part.anchor
        with Store.reading(path) as store:
            sample, missing = describe_sample(store.frame(), how.name), describe_unfinished(store)
        if missing:
            unfinished[name] = missing
        caption = f"{name}: {sample}.{f' Unfinished: {missing}.' if missing else ''}"
        for section in part.sections:
            tables = [table.with_note(caption) for table in section.tables]
            wide += write_printed(within, section.drawings, tables, how)
    if len(report.parts) > 1:
        drawings = list(report.shared)
        for number, group in enumerate(report.compared, start=1):
            if not isinstance(group.comparison, Missing):
                with suppress(MeasureError):  # there are no perturbed episodes
                    suffix = f"-{number}" if len(report.compared) > 1 else ""
                    drawings.append(robustness_figure(group.comparison, suffix))
        tables = [table.with_note(explain_marks(unfinished)) for table in report.comparison_tables]
        tables = [table.marked(MARK, unfinished) for table in tables]
        wide += write_printed(place, drawings, tables, how)
    write_printed(place, (), (main_table(runs, how.name),), how)
    return list(dict.fromkeys(wide))


def write_printed(
    folder: Path,
    drawings: Sequence[Drawing],
    tables: Sequence[Table],
    how: Print,
    *,
    every_form: bool = False,
) -> list[str]:
    """Write figures in print form, and tables as LaTeX; with ``every_form``, also write tables as CSV and Markdown.

    Returns the names of the figures that span the full page width because they would be illegible in one column.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        (folder / f"{drawing.name}.{how.format}").write_bytes(drawing.render_print(how))
    for table in tables:
        rows = tuple(
            tuple(how.name(value) if isinstance(value, str) else value for value in row) for row in table.rows
        )
        (folder / f"{table.name}.tex").write_text(replace(table, rows=rows).as_latex(), encoding="utf-8")
        if every_form:
            (folder / f"{table.name}.csv").write_text(table.as_csv(), encoding="utf-8")
            (folder / f"{table.name}.md").write_text(table.as_markdown(), encoding="utf-8")
    return [drawing.name for drawing in drawings if not drawing.in_a_column and how.narrow]


def _describe_samples(samples: Mapping[str, str], shared: Mapping[str, frozenset[str]]) -> str:
    """Describe the episodes of each row, or those that all rows of an experiment share."""
    texts = []
    for name, sample in samples.items():
        which = ""
        if shared.get(name):
            which = ", episodes that all rows completed without an error"
        elif name.rpartition(", ")[2] in shared:
            which = ", no condition in common with the other rows: not comparable"
        texts.append(f"{name}: {sample}{which}")
    return "; ".join(texts) + "." if texts else ""


def main_table(runs: Mapping[str, Path], called: Callable[[str], str] = lambda name: name) -> Table:
    """Make the main table of a paper: success rates of controls and perturbed episodes, by run and task suite.

    ``called`` maps policies, experiments and suites to printed names. A name shared by all rows moves to the
    title.
    """
    rows: list[tuple[str, str, str, Drop]] = []
    read: dict[str, tuple[Mapping[str, Any], pl.DataFrame, Mapping[str, Any], str]] = {}
    for name, path in runs.items():
        with Store.reading(path) as store:
            read[name] = (store.meta, RunData(store).plausible, store.stopped, describe_unfinished(store))
    bases = {name: str(meta.get("experiment", "")).partition("?")[0] for name, (meta, *_) in read.items()}
    shared = shared_keys({name: (bases[name], frame) for name, (_, frame, *_) in read.items()})
    unfinished: dict[str, str] = {}
    samples: dict[str, str] = {}
    for name, path in runs.items():
        meta, frame, stopped, missing = read[name]
        label = str(meta.get("label") or meta.get("policy", path.stem))
        label = ", ".join(filter(None, (label, lateness(meta))))
        policy = label if name in (path.stem, str(path)) else name.removesuffix(f", {meta.get('experiment')}")
        experiment = bases[name]
        if missing:
            unfinished[policy] = missing
        if shared.get(experiment):
            frame = frame.filter(pl.col("key").is_in(list(shared[experiment])))
        if "change" in frame.columns:  # other requested tasks have their own controls
            same_task = pl.col("change").ne_missing(str(Change.TASK)) | (pl.col("condition") == CONTROL)
            frame = frame.filter(same_task)
        frame = frame.with_columns(suite=pl.col("task").str.split("/").list.first(), every=pl.lit(ALL_SUITES))
        which = experiment if shared.get(experiment) else f"{policy}, {experiment}"
        samples[which] = describe_sample(frame, called)
        with suppress(MeasureError):  # there are no perturbed episodes or no controls
            suites, (overall,) = (
                drops(frame, (by,), resampling=False, stopped=stopped) for by in ("suite", "every")
            )
            names = [str(drop.group["suite"]) for drop in suites]
            if len(suites) > 1:
                rows += [(policy, experiment, suite, drop) for suite, drop in zip(names, suites, strict=True)]
            rows.append((policy, experiment, names[0] if len(names) == 1 else ALL_SUITES, overall))
    headings = ("policy", "experiment", "tasks")
    shown = [place for place in range(3) if len({row[place] for row in rows}) > 1] or [0]
    constant = [place for place in range(3) if place not in shown] if rows else []
    same = ", ".join(called(str(rows[0][place])) for place in constant)
    cells: list[tuple[Value, ...]] = []
    for row in rows:
        drop = row[3]
        numbers = (drop.control, drop.perturbed, drop.change, drop.interval, drop.starts, drop.pairs)
        names = [called(str(row[place])) + MARK * (not place and row[0] in unfinished) for place in shown]
        cells.append((*names, *numbers))
    return Table(
        "main",
        "Success with and without perturbations" + (f" ({same})" if same else ""),
        (
            *(Column(headings[place]) for place in shown),
            Column("control", "share", bare=True),
            Column("perturbed", "share", bare=True),
            Column("diff.", "change", bare=True),
            Column("95 % interval", "change", bare=True),
            Column("starts", "count"),
            Column("n", "count"),
        ),
        tuple(cells),
        "Success rate, in per cent, of the controls and of the paired perturbed episodes in which success is expected; "
        "difference in percentage points with its 95 % interval over starts; n: perturbed episodes. Instructions of "
        f"other tasks are excluded. {_describe_samples(samples, shared)} {explain_marks(unfinished)}".strip(),
        narrow=True,
    )
