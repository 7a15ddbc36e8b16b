"""Paired comparison of several runs on the same episodes: its tables, its verdicts as sentences, and its JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import RunError
from assay.measures.compare import (
    COLUMNS,
    MARGIN,
    Aspect,
    Comparison,
    Decision,
    Robustness,
    RunContrast,
    compare,
)
from assay.measures.result import Missing, Result, attempt
from assay.measures.views.table import Column, Kind, Table
from assay.measures.views.wording import between, number, p_phrase, percent, plural, points
from assay.report.run_report import FORMAT, UNREADABLE, RunReport
from assay.runs.description import lateness
from assay.runs.store import Store
from assay.support.stats.significance import SURE

Decided = RunContrast | Robustness

_CLAIMS: Mapping[Aspect | None, Mapping[Decision, str]] = {
    None: {
        Decision.BETTER: "{second} succeeds more often than {first}",
        Decision.WORSE: "{second} succeeds less often than {first}",
        Decision.EQUIVALENT: "{first} and {second} succeed equally often, to within {margin} points",
        Decision.UNDECIDED: "Undecided whether {first} or {second} succeeds more often",
    },
    Aspect.DROP: {
        Decision.BETTER: "{second} has a smaller drop than {first}",
        Decision.WORSE: "{second} has a larger drop than {first}",
        Decision.EQUIVALENT: "{first} and {second} have equal drops, to within {margin} points",
        Decision.UNDECIDED: "Undecided whether {first} or {second} has the larger drop",
    },
    Aspect.KEPT: {
        Decision.BETTER: "{second} retains more of its successes than {first}",
        Decision.WORSE: "{second} retains fewer of its successes than {first}",
        Decision.EQUIVALENT: "{first} and {second} retain equal shares of their successes, to within {margin} points",
        Decision.UNDECIDED: "Undecided whether {first} or {second} retains more of its successes",
    },
}
"""Claims about success (None) and robustness."""


@dataclass(frozen=True, slots=True)
class Compared(Result):
    """A comparison and the episodes that it leaves out."""

    comparison: Comparison
    errors: dict[str, int]
    """Number of episodes of each run that ended in an error."""
    unmatched: dict[str, int]
    """Number of episodes of each run, without errors, that another run did not finish."""

    @property
    def note(self) -> str:
        """Description of the comparison's method."""
        return (
            f"{plural(self.comparison.shared, 'shared episode')}; 95 % Newcombe intervals over starts and wordings; p: "
            "the larger of an exact test over starts (McNemar's, if each has one episode) and a t test over both, "
            "with Holm's correction."
        )

    @property
    def verdicts(self) -> list[str]:
        """Differences in success, drop and retained successes for each pair of runs, in sentences."""
        return verdicts(self.comparison)

    def as_json(self) -> dict[str, Any]:
        """Return the comparison and the counts as plain JSON types."""
        beside = {"errors": self.errors, "unmatched": self.unmatched, "verdicts": self.verdicts}
        return {**self.comparison.as_json(), **beside}


@dataclass(frozen=True, slots=True)
class ComparedGroup(Result):
    """Runs with the same experiment, asset pack and latency; only these share episodes."""

    names: tuple[str, ...]
    found: Compared | Missing


def compare_runs(runs: Mapping[str, Path], *, margin: float = MARGIN) -> Compared:
    """Compare runs by name; differences within ``margin`` (0 to 1) count as equal.

    Raises RunError if one cannot be read, MeasureError if they share no episode.
    """
    frames = {name: read_outcomes(path) for name, path in runs.items()}
    comparison = compare(frames, margin=margin)
    return Compared(
        comparison,
        {name: int((frame["outcome"] == "error").sum()) for name, frame in frames.items()},
        {name: count - comparison.shared for name, count in comparison.runs.items()},
    )


def compare_suites(runs: Mapping[str, Path], reports: Sequence[RunReport]) -> list[ComparedGroup]:
    """Compare those of the reported ``runs`` (paths by name) that share an experiment."""
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
    """Several runs as one JSON object; ``docs/report.md`` describes the keys."""
    return {
        "format": FORMAT,
        "runs": [report.as_json() for report in reports],
        "comparisons": [{"names": group.names, **group.found.as_json()} for group in groups],
        "left_out": dict(left_out),
    }


def read_outcomes(path: Path) -> pl.DataFrame:
    """Return the columns of a run that are compared. Raises RunError if the run cannot be read."""
    with Store.reading(path) as store:
        try:
            frame = store.frame()
            return frame.select(*COLUMNS, *({"plausible"} & set(frame.columns)))
        except UNREADABLE as error:
            raise RunError(f"{path}: damaged: {error}") from None


def comparison_tables(compared: Compared, suffix: str = "") -> Iterator[Table]:
    """Tables of the overall result, robustness, conditions, and unmatched episodes.

    ``suffix`` distinguishes their files.
    """
    comparison, note = compared.comparison, compared.note
    text = " ".join((*compared.verdicts, f"{note} Controls are included."))
    yield _contrast_table(f"comparison{suffix}", "Paired comparison", comparison.overall, text)
    for contrasts, place in (
        (comparison.robustness, suffix),
        (comparison.robustness_by_condition, f"-conditions{suffix}"),
    ):
        for aspect in dict.fromkeys(contrast.aspect for contrast in contrasts):
            rows = [contrast for contrast in contrasts if contrast.aspect is aspect]
            yield robustness_table(f"comparison-{aspect}{place}", aspect, rows)
    title = "Paired comparison by condition"
    yield _contrast_table(f"comparison-conditions{suffix}", title, comparison.conditions, note)
    if comparison.implausible:
        yield _contrast_table(
            f"comparison-implausible{suffix}",
            "Paired comparison where success is not expected",
            comparison.implausible,
            f"Conditions in which success is not expected; they are excluded elsewhere. {note}",
        )
    yield Table(
        f"comparison-matching{suffix}",
        "Matched episodes",
        (Column("run"), *(Column(name, "count") for name in ("shared", "not matched", "errors"))),
        tuple(
            (name, comparison.shared, compared.unmatched[name], compared.errors[name])
            for name in comparison.runs
        ),
        "Not matched: episodes that another run did not finish.",
    )


def _pair_columns(contrasts: Sequence[Decided]) -> list[Column]:
    has_conditions = any(contrast.condition is not None for contrast in contrasts)
    return [
        *([Column("condition", value=lambda contrast: contrast.condition)] if has_conditions else []),
        Column("first", value=lambda contrast: contrast.first),
        Column("second", value=lambda contrast: contrast.second),
    ]


_DIFFERENCE = (
    Column("second less first", "change", value=lambda contrast: contrast.change),
    Column("95 % interval", "change", value=lambda contrast: contrast.interval),
)
_HOLM_P = Column("Holm p", "p", value=lambda contrast: contrast.p_holm)


def robustness_table(name: str, aspect: Aspect, contrasts: Sequence[Robustness]) -> Table:
    """Drops, or shares of retained successes, of each pair of runs and their difference."""
    is_drop = aspect is Aspect.DROP
    title = "Drop of each run" if is_drop else "Successes that each run retains"
    definition = (
        "Drop: success under perturbation minus success of the run's own controls"
        if is_drop
        else "Kept: success under perturbation if the run's own control succeeds"
    )
    by_condition = any(contrast.condition is not None for contrast in contrasts)
    kind: Kind = "change" if is_drop else "share"
    return Table.of(
        name,
        f"{title}, by condition" if by_condition else title,
        contrasts,
        *_pair_columns(contrasts),
        Column("pairs", "count", value=lambda contrast: contrast.pairs),
        Column(f"first's {aspect}", kind, value=lambda contrast: contrast.first_value),
        Column(f"second's {aspect}", kind, value=lambda contrast: contrast.second_value),
        *_DIFFERENCE,
        _HOLM_P,
        Column("second is", value=describe_decision),
        note=f"{definition}. Positive difference: the second run is more robust. Intervals over starts and wordings; "
        "p: exact over starts, with Holm's correction.",
    )


def _contrast_table(name: str, title: str, contrasts: Sequence[RunContrast], note: str) -> Table:
    return Table.of(
        name,
        title,
        contrasts,
        *_pair_columns(contrasts),
        Column("n", "count", value=lambda contrast: contrast.count),
        Column("first's success", "share", value=lambda contrast: contrast.first_rate),
        Column("second's success", "share", value=lambda contrast: contrast.second_rate),
        *_DIFFERENCE,
        Column("only first", "count", value=lambda contrast: contrast.only_first),
        Column("only second", "count", value=lambda contrast: contrast.only_second),
        Column("p", "p", value=lambda contrast: contrast.p),
        _HOLM_P,
        note=note,
    )


def verdicts(comparison: Comparison, first: str | None = None, second: str | None = None) -> list[str]:
    """Sentences on success, drop and retained successes, for each pair of runs or for one pair."""
    sentences = []
    for contrast in comparison.overall:
        pair = (contrast.first, contrast.second)
        if (first, second) in ((None, None), pair):
            sentences.append(_verdict(contrast))
            sentences += [
                _verdict(robustness)
                for robustness in comparison.robustness
                if (robustness.first, robustness.second) == pair
            ]
    return sentences


def _verdict(contrast: Decided) -> str:
    first, second = contrast.first, contrast.second
    if isinstance(contrast, RunContrast):
        claims = _CLAIMS[None]
        values = f"{second} {percent(contrast.second_rate)}, {first} {percent(contrast.first_rate)}"
    elif contrast.aspect is Aspect.KEPT:
        claims = _CLAIMS[Aspect.KEPT]
        values = f"{second} retains {percent(contrast.second_value)}, {first} {percent(contrast.first_value)}"
    else:
        claims = _CLAIMS[Aspect.DROP]
        values = (
            f"success changes by {points(contrast.second_value)} points for {second}, by "
            f"{points(contrast.first_value)} for {first}"
        )
    claim = claims[contrast.decision].format(
        first=first, second=second, margin=number(100 * contrast.margin, 0)
    )
    evidence = (
        f"difference {points(contrast.change)} points (95 % interval {between(contrast.interval, 100)}, "
        f"{p_phrase(contrast.p_holm)})"
    )
    return f"{claim}: {values}; {evidence}{_more_seeds(contrast)}."


def _more_seeds(contrast: Decided) -> str:
    """The number of seeds that would decide an undecided contrast."""
    if contrast.decision is not Decision.UNDECIDED:
        return ""
    text = ""
    if _has_few_starts(contrast):
        text += f"; {plural(contrast.starts, 'start')} are too few for any difference to be significant"
    if seeds := additional_seeds(contrast):
        text += f"; {plural(seeds, 'more seed')} per task would decide a difference of this size"
    return text


def _has_few_starts(contrast: Decided) -> bool:
    """Whether no difference could be significant with this number of starts."""
    return contrast.least_p >= SURE


def additional_seeds(contrast: Decided) -> int | None:
    """Additional seeds per task that would make the observed difference significant; None if none would."""
    needed = contrast.starts_needed
    if needed is None or not contrast.tasks or needed <= contrast.starts:
        return None
    return math.ceil((needed - contrast.starts) / contrast.tasks)


def describe_decision(contrast: Decided) -> str:
    """Describe the decision for a row of a table."""
    if contrast.decision is not Decision.UNDECIDED or not _has_few_starts(contrast):
        return str(contrast.decision)
    seeds = additional_seeds(contrast)
    return "too few starts" + (f": {seeds} more seeds" if seeds else "")
