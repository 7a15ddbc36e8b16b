"""Several runs on the same episodes: who is better, and what did not match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import RunError
from assay.measures.compare import COLUMNS, MARGIN, Aspect, Comparison, Robustness, RunContrast, compare
from assay.measures.result import Missing, Result, attempt
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import plural
from assay.report.run_report import FORMAT, UNREADABLE, RunReport
from assay.report.verdicts import in_a_word, verdicts
from assay.runs.about import lateness
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

    @property
    def verdicts(self) -> list[str]:
        """Who succeeds more often, who loses less to changes and who keeps more, pair by pair, in sentences."""
        return verdicts(self.comparison)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain JSON types."""
        beside = {"errors": self.errors, "unmatched": self.unmatched, "verdicts": self.verdicts}
        return {**self.comparison.as_json(), **beside}


def compare_runs(runs: Mapping[str, Path], *, margin: float = MARGIN) -> Compared:
    """Compare runs by name; differences within ``margin`` (0 to 1) do not matter.

    Raises RunError where one cannot be read, MeasureError where none match.
    """
    frames = {name: outcomes(path) for name, path in runs.items()}
    found = compare(frames, margin=margin)
    return Compared(
        found,
        {name: int((frame["outcome"] == "error").sum()) for name, frame in frames.items()},
        {name: count - found.shared for name, count in found.runs.items()},
    )


@dataclass(frozen=True, slots=True)
class Group(Result):
    """Runs of one experiment with one asset pack and one latency: only these can match."""

    names: tuple[str, ...]
    found: Compared | Missing


def compare_suites(runs: Mapping[str, Path], reports: Sequence[RunReport]) -> list[Group]:
    """Compare those runs that are of the same experiment; ``runs`` says where they are."""
    experiments: dict[tuple[str, str, str], list[str]] = {}
    for report in reports:
        meta = report.meta
        which = str(meta.get("experiment")), str(meta.get("pack")), lateness(meta)
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
    """Overall, robustness, condition by condition, and what did not match; ``suffix`` tells their files apart."""
    found, note = compared.comparison, compared.note
    said = " ".join((*compared.verdicts, f"{note} Controls count too."))
    yield _contrasts(f"comparison{suffix}", "Paired comparison", found.overall, said)
    for every, place in ((found.robustness, suffix), (found.robustness_by_condition, f"-conditions{suffix}")):
        for aspect in dict.fromkeys(each.aspect for each in every):
            rows = [each for each in every if each.aspect is aspect]
            yield robustness_table(f"comparison-{aspect}{place}", aspect, rows)
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


def robustness_table(name: str, aspect: Aspect, found: Sequence[Robustness]) -> Table:
    """What changes cost the runs, pair by pair: their drops, or what they keep, and the difference."""
    conditions = any(each.condition is not None for each in found)
    drop = aspect is Aspect.DROP
    title = "Who loses less to the changes" if drop else "Who keeps more of its successes"
    what = (
        "Drop: success perturbed less success of the run's own controls"
        if drop
        else "Kept: success perturbed where the run's own control succeeds"
    )
    return Table(
        name,
        f"{title}, by condition" if conditions else title,
        (
            *([Column("condition")] if conditions else []),
            Column("first"),
            Column("second"),
            Column("pairs", "count"),
            Column(f"first's {aspect}", "change" if drop else "share"),
            Column(f"second's {aspect}", "change" if drop else "share"),
            Column("second less first", "change"),
            Column("95 % interval", "change"),
            Column("Holm p", "p"),
            Column("second is"),
        ),
        tuple(
            (
                *([each.condition] if conditions else []),
                each.first,
                each.second,
                each.pairs,
                each.first_value,
                each.second_value,
                each.change,
                each.interval,
                each.p_holm,
                in_a_word(each),
            )
            for each in found
        ),
        f"{what}. Positive differences: the second is more robust. Intervals over starts and wordings; p: exact over "
        "starts, adjusted after Holm.",
    )


def _contrasts(name: str, title: str, found: Sequence[RunContrast], note: str) -> Table:
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
