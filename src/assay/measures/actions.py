"""Ways to say what to do: what each of them costs against the others, with every name kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from assay.episodes.perturbation import Change
from assay.measures.measure import Measure
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.table import judged, require
from assay.stats.intervals import Interval, stratified, tested
from assay.stats.significance import holm, within

STRATUM = ("task", "object")


@dataclass(frozen=True, slots=True)
class ActionGap(Result):
    """Wordings that say what to do in one way against those that say it in another; names are kept."""

    action: str
    successes: int
    """Said this way."""
    count: int
    others: int
    """Successes said in any other way."""
    others_count: int
    change: float
    """Success said this way less success said otherwise: within strata, weighted by what both know."""
    interval: Interval
    """Newcombe's, over strata; reaches to 0 where the test cannot exclude that."""
    strata: int
    """Tasks x ways to name things that have both."""
    p: float
    """Exact: the larger of one of wordings within strata, and one of episodes within strata and starts."""
    p_holm: float
    """Adjusted for all ways to say it."""


@dataclass(frozen=True, slots=True, eq=False)
class ActionGaps(Result):
    """What ways to say what to do cost."""

    actions: tuple[ActionGap, ...]
    """The costliest first."""
    rows: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """task, seed, object, action, instruction, success (0 or 1)."""


def action_gaps(frame: pl.DataFrame) -> ActionGaps:
    """What each way to say what to do costs. Needs the columns that ``changes.changed`` adds."""
    require(frame, "action", "object")
    rows = frame.filter(pl.col("change") == Change.WORDING).drop_nulls(["action", "object"])
    if not len(rows):
        raise MeasureError("no paraphrase keeps every name")
    found = pooled([judged(rows)])
    if not found.actions:
        raise MeasureError("no task is said in several ways with every name kept")
    return found


def pooled(parts: Sequence[pl.DataFrame]) -> ActionGaps:
    """The same from the rows of one run, or of several runs of a policy."""
    rows = pl.concat(each.select(*STRATUM, "seed", "action", "instruction", "success") for each in parts)
    gaps = [gap for action in sorted(rows["action"].unique()) if (gap := _gap(action, rows))]
    adjusted = holm([each.p for each in gaps])
    gaps = [replace(each, p_holm=p) for each, p in zip(gaps, adjusted, strict=True)]
    return ActionGaps(tuple(sorted(gaps, key=lambda each: each.change)), rows)


def _gap(action: str, rows: pl.DataFrame) -> ActionGap | None:
    strata = _sides(rows, action, STRATUM)
    if not strata.size:
        return None
    usual = (pl.col("success").mean() > 0.5).cast(pl.Int64).alias("success")
    wordings = rows.group_by(*STRATUM, "action", "instruction", maintain_order=True).agg(usual)
    p = max(
        within(*_sides(wordings, action, STRATUM)),  # seeds of one wording are no witnesses of their own
        within(*_sides(rows, action, (*STRATUM, "seed"))),  # another start is no other way to say it
    )
    hits, count, others, others_count = strata
    found = stratified(others, others_count, hits, count)
    return ActionGap(
        action=action,
        successes=int(hits.sum()),
        count=int(count.sum()),
        others=int(others.sum()),
        others_count=int(others_count.sum()),
        change=found.difference,
        interval=tested(found.interval, p),
        strata=strata.shape[1],
        p=p,
        p_holm=1.0,
    )


def _sides(rows: pl.DataFrame, action: str, by: Sequence[str]) -> np.ndarray:
    """Successes and episodes of either side in each stratum that has both: (4, strata)."""
    mine, success = pl.col("action") == action, pl.col("success")
    sides = {"hits": success * mine, "count": mine, "others": success * ~mine, "others_count": ~mine}
    table = rows.group_by(by, maintain_order=True).agg(**{name: each.sum() for name, each in sides.items()})
    table = table.filter((pl.col("count") > 0) & (pl.col("others_count") > 0))
    return np.asarray(table.select(*sides).to_numpy().astype(float).T)


ACTIONS = Measure(
    "actions",
    "Ways to say what to do, each against the others, with every name kept.",
    lambda run: action_gaps(run.changed),
    needs=("action", "object"),
    tests="assay.measures.hypotheses:ways_to_say_it",
)
