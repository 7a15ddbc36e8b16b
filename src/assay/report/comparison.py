"""Compare run files, and export several runs as one JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import RunError
from assay.measures.compare import MARGIN, Comparison, compare
from assay.measures.result import Missing, Result, attempt
from assay.report.run_report import FORMAT, UNREADABLE, RunReport
from assay.runs.provenance import lateness
from assay.runs.store import Store


@dataclass(frozen=True, slots=True)
class ComparedGroup(Result):
    """Comparison of runs with the same experiment, asset pack and latency, which therefore share episodes."""

    names: tuple[str, ...]
    comparison: Comparison | Missing


def compare_runs(runs: Mapping[str, Path], *, margin: float = MARGIN) -> Comparison:
    """Compare runs by name; differences within ``margin`` (0 to 1) count as equal.

    Raises RunError if a run cannot be read, MeasureError if the runs share no episode.
    """
    return compare({name: read_outcomes(path) for name, path in runs.items()}, margin=margin)


def compare_suites(runs: Mapping[str, Path], reports: Sequence[RunReport]) -> list[ComparedGroup]:
    """Compare the runs of each experiment that has several ``reports``. ``runs``: run files by name."""
    experiments: dict[tuple[str, str, str], list[str]] = {}
    for report in reports:
        meta = report.meta
        key = str(meta.get("experiment")), str(meta.get("pack")), lateness(meta)
        experiments.setdefault(key, []).append(report.name)
    return [
        ComparedGroup(tuple(names), attempt(compare_runs, {name: runs[name] for name in names}))
        for names in experiments.values()
        if len(names) > 1
    ]


def as_json(
    reports: Sequence[RunReport], groups: Sequence[ComparedGroup], left_out: Mapping[str, str]
) -> dict[str, Any]:
    """Return reports and comparisons as one JSON object; ``docs/report.md`` describes the keys."""
    return {
        "format": FORMAT,
        "runs": [report.as_json() for report in reports],
        "comparisons": [{"names": group.names, **group.comparison.as_json()} for group in groups],
        "left_out": dict(left_out),
    }


def read_outcomes(path: Path) -> pl.DataFrame:
    """Read the episode columns that a comparison needs. Raises RunError if the run cannot be read."""
    with Store.reading(path) as store:
        try:
            return store.outcome_frame()
        except UNREADABLE as error:
            raise RunError(f"{path}: damaged: {error}") from None
