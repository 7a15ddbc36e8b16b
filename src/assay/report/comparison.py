"""Several runs on the same episodes: who is better, and what did not match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import RunError
from assay.measures.compare import COLUMNS, Comparison, Contrast, compare
from assay.measures.result import Missing, Result, attempt
from assay.report.run_report import FORMAT, UNREADABLE, RunReport
from assay.report.table import Column, Table
from assay.report.wording import plural
from assay.runs.store import Store


@dataclass(frozen=True, slots=True)
class Compared(Result):
    """A comparison and what it leaves out."""

    comparison: Comparison
    errors: dict[str, int]
    """Episodes of each run that broke."""
    unmatched: dict[str, int]
    """Episodes of each run, no errors, that another run did not do, or broke on."""

    @property
    def note(self) -> str:
        """How it was compared."""
        return (
            f"{plural(self.comparison.shared, 'shared episode')}; 95 % Newcombe intervals over starts and "
            "wordings; p: the larger of an exact one over starts (McNemar's, where each has one episode) and "
            "Student's over both, adjusted after Holm."
        )

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain JSON types."""
        return {**self.comparison.as_json(), "errors": self.errors, "unmatched": self.unmatched}


def compare_runs(runs: Mapping[str, Path]) -> Compared:
    """Compare runs by name. Raises RunError where one cannot be read, MeasureError where none match."""
    frames = {name: outcomes(path) for name, path in runs.items()}
    found = compare(frames)
    return Compared(
        found,
        {name: int((frame["outcome"] == "error").sum()) for name, frame in frames.items()},
        {name: count - found.shared for name, count in found.runs.items()},
    )


@dataclass(frozen=True, slots=True)
class Group(Result):
    """Runs of one experiment with one asset pack: only these can match."""

    names: tuple[str, ...]
    found: Compared | Missing


def compare_suites(runs: Mapping[str, Path], reports: Sequence[RunReport]) -> list[Group]:
    """Compare those runs that are of the same experiment; ``runs`` says where they are."""
    experiments: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        which = str(report.meta.get("experiment")), str(report.meta.get("pack"))
        experiments.setdefault(which, []).append(report.name)
    return [
        Group(tuple(names), attempt(compare_runs, {name: runs[name] for name in names}))
        for names in experiments.values()
        if len(names) > 1
    ]


def as_json(
    reports: Sequence[RunReport], groups: Sequence[Group], left_out: Mapping[str, str]
) -> dict[str, Any]:
    """Several runs as one JSON object; ``docs/report.md`` tells each key."""
    return {
        "format": FORMAT,
        "runs": [report.as_json() for report in reports],
        "comparisons": [{"names": group.names, **group.found.as_json()} for group in groups],
        "left_out": dict(left_out),
    }


def outcomes(path: Path) -> pl.DataFrame:
    """What is compared of a run. Raises RunError where it cannot be read."""
    with Store.reading(path) as store:
        try:
            frame = store.frame()
            return frame.select(*COLUMNS, *({"plausible"} & set(frame.columns)))
        except UNREADABLE as error:
            raise RunError(f"{path}: damaged: {error}") from None


def comparison_tables(compared: Compared, suffix: str = "") -> Iterator[Table]:
    """Overall, condition by condition, and what did not match; ``suffix`` tells their files apart."""
    found, note = compared.comparison, compared.note
    yield _contrasts(f"comparison{suffix}", "Paired comparison", found.overall, f"{note} Controls count too.")
    yield _contrasts(
        f"comparison-conditions{suffix}", "Paired comparison by condition", found.conditions, note
    )
    if found.implausible:
        yield _contrasts(
            f"comparison-implausible{suffix}",
            "Paired comparison where success is not expected",
            found.implausible,
            f"Conditions in which success is not expected; they enter nothing else. {note}",
        )
    yield Table(
        f"comparison-matching{suffix}",
        "What was compared",
        (Column("run"), *(Column(name, "count") for name in ("shared", "not matched", "errors"))),
        tuple((name, found.shared, compared.unmatched[name], compared.errors[name]) for name in found.runs),
        "Not matched: episodes that another run did not do, or broke on.",
    )


def _contrasts(name: str, title: str, found: Sequence[Contrast], note: str) -> Table:
    conditions = any(each.condition is not None for each in found)
    return Table(
        name,
        title,
        (
            *([Column("condition")] if conditions else []),
            Column("first"),
            Column("second"),
            Column("n", "count"),
            Column("first's success", "share"),
            Column("second's success", "share"),
            Column("second less first", "change"),
            Column("95 % interval", "change"),
            Column("only first", "count"),
            Column("only second", "count"),
            Column("p", "p"),
            Column("Holm p", "p"),
        ),
        tuple(
            (
                *([each.condition] if conditions else []),
                each.first,
                each.second,
                each.count,
                each.first_rate,
                each.second_rate,
                each.change,
                each.interval,
                each.only_first,
                each.only_second,
                each.p,
                each.p_holm,
            )
            for each in found
        ),
        note,
    )
