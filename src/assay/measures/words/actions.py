"""Ways to say what to do: what each of them costs against the others, with every name kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from assay.episodes.perturbation import Change
from assay.measures.frames import codes, judged, require
from assay.measures.measure import Measure
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.support.stats.intervals import Interval, stratified, tested
from assay.support.stats.significance import holm, within

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
    rows = pl.concat(part.select(*STRATUM, "seed", "action", "instruction", "success") for part in parts)
    usual = (pl.col("success").mean() > 0.5).cast(pl.Int64).alias("success")
    wordings = rows.group_by(*STRATUM, "action", "instruction", maintain_order=True).agg(usual)
    told = _Told.of(rows, STRATUM)
    # Seeds of one wording are no witnesses of their own, and another start is no other way to say it.
    witnesses = (_Told.of(wordings, STRATUM), _Told.of(rows, (*STRATUM, "seed")))
    gaps = [gap for action in sorted(rows["action"].unique()) if (gap := _gap(action, told, witnesses))]
    adjusted = holm([each.p for each in gaps])
    gaps = [replace(each, p_holm=p) for each, p in zip(gaps, adjusted, strict=True)]
    return ActionGaps(tuple(sorted(gaps, key=lambda each: each.change)), rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """Episodes or wordings, (n,) each: the number of the stratum, the way to say it, success (0 or 1)."""

    stratum: np.ndarray
    action: np.ndarray
    success: np.ndarray

    @classmethod
    def of(cls, rows: pl.DataFrame, strata: Sequence[str]) -> _Told:
        return cls(codes(rows, strata), rows["action"].to_numpy(), rows["success"].to_numpy().astype(float))

    def sides(self, action: str) -> np.ndarray:
        """Successes and how many, said this way and otherwise, in each stratum that has both: (4, strata)."""
        mine = self.action == action
        sums = (self.success * mine, mine, self.success * ~mine, ~mine)
        table = np.array([np.bincount(self.stratum, each) for each in sums])
        return table[:, (table[1] > 0) & (table[3] > 0)]


def _gap(action: str, told: _Told, witnesses: Sequence[_Told]) -> ActionGap | None:
    strata = told.sides(action)
    if not strata.size:
        return None
    p = max(within(*witness.sides(action)) for witness in witnesses)
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


ACTIONS = Measure(
    "actions",
    "Ways to say what to do, each against the others, with every name kept.",
    lambda run: action_gaps(run.changed),
    needs=("action", "object"),
    tests="assay.measures.hypotheses:ways_to_say_it",
)
