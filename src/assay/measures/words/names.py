"""Cost of other names: instructions that call objects by a name that the original instruction does not use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import polars as pl

from assay.episodes.perturbation import Change
from assay.measures import findings
from assay.measures.findings import Evidence, FlawTest, Profiles, Shows, Untested
from assay.measures.flaws import Flaw
from assay.measures.frames import JOINED, compare_sides, side_counts, two_sides, valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.sample_size import least_one_sided
from assay.measures.views.forest import MOST, Mark, forest_drawing
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table, declared_columns
from assay.measures.views.wording import between, negate, p_value, plural, points
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import SURE, holm

WORDS = "Words"
"""Title of the report section on instructions."""


@dataclass(frozen=True, slots=True)
class NameGap(Result):
    """Wordings that change object names, compared with wordings of the same tasks that keep them."""

    noun: str
    """The only noun that was renamed; empty for any noun."""
    kept: Annotated[int, Column("successes, kept", "count")]
    """Number of successes with all names kept."""
    kept_count: Annotated[int, Column("n, kept", "count")]
    changed: Annotated[int, Column("successes, changed", "count")]
    """Number of successes with the name changed."""
    changed_count: Annotated[int, Column("n, changed", "count")]
    change: Annotated[float, Column("difference", "change")]
    """Success with the name changed minus success with the name kept, within strata weighted by information."""
    interval: Annotated[Interval, Column("95 % interval", "change")]
    """Newcombe interval over strata; includes 0 if the test is not significant."""
    strata: Annotated[int, Column("strata", "count")]
    """Number of strata with both kinds of wording: tasks x phrasings of the action (or, if unlabelled, seeds)."""
    p: Annotated[float, Column("p", "p")]
    """Exact p value, over strata and within them."""
    table: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """Strata, one row each: task, manner, hits, count (names kept), mine_hits, mine_count (names changed)."""


@dataclass(frozen=True, slots=True)
class NameGaps(Result):
    """Cost of other names."""

    overall: NameGap
    one: NameGap | None
    """Cost of wordings that change a single name."""
    several: NameGap | None
    """Cost of wordings that change several names."""
    nouns: tuple[NameGap, ...]
    """Cost by noun, from wordings that rename no other noun, in decreasing order."""


def name_gaps(frame: pl.DataFrame) -> NameGaps:
    """Measure the cost of other names, overall and for each noun. Needs the columns of `label_changes`."""
    rows = frame.filter(pl.col("change").is_in([Change.WORDING, Change.NAMES]))
    if not len(rows):
        raise MeasureError("there is no episode in which only the instruction is changed")
    manner = pl.col("seed").cast(pl.String)
    if "action" in rows.columns:
        manner = pl.coalesce("action", manner)
    rows = valid_rows(rows).with_columns(manner=manner)
    alone = sorted(noun for noun in rows["renamed"].unique() if noun and JOINED not in noun)
    gaps = (_gap(noun, rows.filter(pl.col("renamed").is_in(["", noun]))) for noun in alone)
    nouns = sorted(filter(None, gaps), key=lambda gap: gap.change)
    overall = _gap("", rows)
    if overall is None:
        raise MeasureError("no task has both wordings that keep all names and wordings that change a name")
    several = pl.col("renamed").str.contains(JOINED, literal=True)
    parts = (rows.filter(which | (pl.col("change") == Change.WORDING)) for which in (~several, several))
    one, more = (_gap("", part) for part in parts)
    return NameGaps(overall, one, more, tuple(nouns))


def pool_names(gaps: Sequence[NameGap]) -> NameGap:
    """Pool comparisons, all for the same noun or all for any noun, over several runs of a policy."""
    table = pl.concat([gap.table for gap in gaps])
    return _measure_gap(gaps[0].noun, table.group_by("task", "manner", maintain_order=True).sum())


def _gap(noun: str, rows: pl.DataFrame) -> NameGap | None:
    """Compare kept with changed names within the strata that have both; None if there are no such strata."""
    table = two_sides(rows, ("task", "manner"), pl.col("change") == Change.NAMES)
    return _measure_gap(noun, table) if len(table) else None


def _measure_gap(noun: str, table: pl.DataFrame) -> NameGap:
    """Compare unchanged with changed names in a table of strata."""
    estimate, p = compare_sides(table)
    kept, kept_count, changed, changed_count = (int(side.sum()) for side in side_counts(table))
    numbers = (estimate.difference, estimate.interval, len(table), p, table)
    return NameGap(noun, kept, kept_count, changed, changed_count, *numbers)


def _gap_evidence(runs: tuple[int, ...], gap: NameGap, part: str, **more: Any) -> Evidence:
    p, counts = (
        findings.one_sided_p(gap.change, gap.p),
        (gap.changed, gap.changed_count, gap.kept, gap.kept_count),
    )
    return findings.evidence_from(runs, NAMES.name, part, gap.change, gap.interval, p, *counts, **more)


def _test_names(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test the cost of other names, overall and for each noun."""
    runs, results = findings.select_results(profiles, NAMES)
    if not results:
        return
    overall = pool_names([result.overall for result in results])
    by_noun: dict[str, list[NameGap]] = {}
    for gap in (gap for result in results for gap in result.nouns):
        by_noun.setdefault(gap.noun, []).append(gap)
    nouns = sorted((pool_names(gaps) for gaps in by_noun.values()), key=lambda gap: gap.change)
    adjusted = holm([findings.one_sided_p(gap.change, gap.p) for gap in nouns])
    evidence = [_gap_evidence(runs, overall, "overall", cost=True)]
    for part in ("one", "several"):
        if gaps := [gap for result in results if (gap := getattr(result, part))]:
            evidence.append(_gap_evidence(runs, pool_names(gaps), part))
    for gap, p in zip(nouns, adjusted, strict=True):
        shows = findings.shows_loss(p, gap.interval)
        if shows is Shows.NOTHING and gap.interval.high >= 0 and gap.interval.low > -findings.HARMLESS:
            shows = Shows.NO_HARM
        evidence.append(_gap_evidence(runs, gap, gap.noun, shows=shows))
    p = findings.one_sided_p(overall.change, overall.p)
    least = least_one_sided(int((overall.table["hits"] > 0).sum()))
    yield FlawTest(Flaw.UNKNOWN_NAMES, tuple(evidence), p, negate(overall.interval), least_p=least)


def names_table(result: NameGaps, report: ReportedRun) -> Table:
    """Return a table of the cost of other names."""
    return Table.of(
        "names",
        "Cost of other names",
        (result.overall, *result.nouns),
        Column("name", value=lambda gap: gap.noun or "any"),
        *declared_columns(NameGap),
        note="95 % Newcombe intervals over strata; exact p, two-sided, not adjusted.",
    )


def names_figure(result: NameGaps, report: ReportedRun) -> Drawing:
    """Plot the cost of referring to each object by another name."""
    marks = [
        Mark.of_change(
            f"the {gap.noun}" if gap.noun else "any name",
            gap,
            f"{gap.kept:,}/{gap.kept_count:,}",
            f"{gap.changed:,}/{gap.changed_count:,}",
            p_value(gap.p),
            filled=gap.p < SURE,
        )
        for gap in (result.overall, *result.nouns)
    ]
    caption = (
        f"Wordings that change a name, compared with wordings of the same tasks that keep all names, over "
        f"{plural(result.overall.strata, 'stratum', 'strata')} (task x phrasing of the action); below, for each "
        f"noun: only this noun was renamed. Lines: 95 % Newcombe intervals over strata; p: exact, not adjusted; "
        f"filled marks: p < {SURE:g}."
    )
    along, heads = "change in success with another name, points", ("name kept", "changed", "p")
    groups = {"": marks[:MOST]}
    return forest_drawing("names", "Names it knows", caption, groups, along=along, heads=heads, unit="points")


NAMES = Measure(
    "names",
    "Instructions that keep all names, compared with instructions that change names, overall and for each noun.",
    lambda run: name_gaps(run.changed),
    needs=("instruction",),
    panels=(Panel(WORDS, (names_table,), (names_figure,)),),
    sentences=lambda result, profile: [
        f"With paraphrased instructions it succeeds in {gap.kept:,} of {gap.kept_count:,} that keep all names and in "
        f"{gap.changed:,} of {gap.changed_count:,} that change names: {points(gap.change)} points "
        f"(95 % interval {between(gap.interval, 100)})."
        for gap in (result.overall,)
    ],
    tests=_test_names,
)
