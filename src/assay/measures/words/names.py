"""Names: what it costs to call a thing by a name that the task's own instruction does not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from assay.episodes.perturbation import Change
from assay.measures.changes import JOINED
from assay.measures.frames import judged
from assay.measures.measure import Measure, Panel
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.views.wording import (
    between,
    points,
)
from assay.support.stats.intervals import Interval, stratified, tested
from assay.support.stats.significance import paired

if TYPE_CHECKING:
    from assay.measures.profile import Profile

WORDS = "Words"
"""The section of the report about instructions."""


@dataclass(frozen=True, slots=True)
class NameGap(Result):
    """Wordings that keep names against wordings of the same tasks that change them."""

    noun: str
    """The one noun that was renamed; empty for any."""
    kept: int
    """Successes with every name kept."""
    kept_count: int
    changed: int
    """Successes with the name changed."""
    changed_count: int
    change: float
    """Success with the name changed less success with it kept: within strata, weighted by what both know."""
    interval: Interval
    """Newcombe's, over strata; reaches to 0 where the test cannot exclude that."""
    strata: int
    """Tasks x ways to say what to do (or seeds, where that has no label) that have both."""
    p: float
    """Exact, over strata and within them."""
    table: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """Stratum by stratum: task, manner; successes and episodes of either side."""


@dataclass(frozen=True, slots=True)
class NameGaps(Result):
    """What new names cost."""

    overall: NameGap
    one: NameGap | None
    """Wordings that change one name alone."""
    several: NameGap | None
    """Wordings that change more than one."""
    nouns: tuple[NameGap, ...]
    """Each noun that was renamed alone somewhere, the costliest first."""


def name_gaps(frame: pl.DataFrame) -> NameGaps:
    """What new names cost, in all and noun by noun. Needs the columns that ``changes.changed`` adds."""
    rows = frame.filter(pl.col("change").is_in([Change.WORDING, Change.NAMES]))
    if not len(rows):
        raise MeasureError("no episode has its instruction changed alone")
    manner = pl.col("seed").cast(pl.String)
    if "action" in rows.columns:
        manner = pl.coalesce("action", manner)
    rows = judged(rows).with_columns(manner=manner)
    alone = sorted(each for each in rows["renamed"].unique() if each and JOINED not in each)
    gaps = (_gap(noun, rows.filter(pl.col("renamed").is_in(["", noun]))) for noun in alone)
    nouns = [gap for gap in gaps if gap is not None]
    overall = _gap("", rows)
    if overall is None:
        raise MeasureError("no task has wordings that keep the names and others that change them")
    several = pl.col("renamed").str.contains(JOINED, literal=True)
    parts = (rows.filter(each | (pl.col("change") == Change.WORDING)) for each in (~several, several))
    one, more = (_gap("", part) for part in parts)
    return NameGaps(overall, one, more, tuple(sorted(nouns, key=lambda each: each.change)))


def pooled(found: Sequence[NameGap]) -> NameGap:
    """The same gap in several runs of a policy as one."""
    first, *rest = found
    if not rest:
        return first
    table = pl.concat([each.table for each in found])
    return _measured(first.noun, table.group_by("task", "manner", maintain_order=True).sum())


def _gap(noun: str, rows: pl.DataFrame) -> NameGap | None:
    """Kept against changed, within the strata that have both."""
    new, success = pl.col("change") == Change.NAMES, pl.col("success")
    table = rows.group_by("task", "manner", maintain_order=True).agg(
        hits=success.filter(~new).sum(),
        count=(~new).sum(),
        new_hits=success.filter(new).sum(),
        new_count=new.sum(),
    )
    table = table.filter((pl.col("count") > 0) & (pl.col("new_count") > 0))
    return _measured(noun, table) if len(table) else None


def _measured(noun: str, table: pl.DataFrame) -> NameGap:
    columns = ("hits", "count", "new_hits", "new_count")
    hits, count, new_hits, new_count = table.select(columns).to_numpy().astype(float).T
    found, p = stratified(hits, count, new_hits, new_count), paired(hits, count, new_hits, new_count)
    return NameGap(
        noun=noun,
        kept=int(hits.sum()),
        kept_count=int(count.sum()),
        changed=int(new_hits.sum()),
        changed_count=int(new_count.sum()),
        change=found.difference,
        interval=tested(found.interval, p),
        strata=len(table),
        p=p,
        table=table,
    )


NAMES = Measure(
    "names",
    "Instructions that keep every name against instructions that change one, and noun by noun.",
    lambda run: name_gaps(run.changed),
    needs=("instruction",),
    panels=(
        Panel(
            WORDS,
            tables=("assay.report.tables:names_table",),
            figures=("assay.report.figures.paraphrase:names_figure",),
        ),
    ),
    sentences="assay.measures.words.names:names_sentences",
    tests="assay.measures.hypotheses:names_kept",
)


def names_sentences(names: NameGaps, profile: Profile) -> Iterator[str]:
    """What other names cost."""
    gap = names.overall
    yield (
        f"With paraphrased instructions it succeeds in {gap.kept:,} of {gap.kept_count:,} that keep every name "
        f"and in {gap.changed:,} of {gap.changed_count:,} that change one: {points(gap.change)} points "
        f"(95 % interval {between(gap.interval, 100)})."
    )
