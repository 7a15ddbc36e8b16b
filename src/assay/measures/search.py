"""Search for losses that no named flaw covers: in single tasks, conditions, joint changes or phrasings of the action.

Every candidate has an exact one-sided test. All candidates are adjusted together (Holm) for a fifth of the 5 % error
rate; candidates with too few episodes to reach significance are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import polars as pl

from assay.measures.findings import Profiles, select_results
from assay.measures.flaws import shown_by
from assay.measures.multiple_testing import SEARCHED_SHARE, adjust, drops_by_axis
from assay.measures.sample_size import least_one_sided, loss_p, telling
from assay.measures.success.drops import CHANGES, DROPS
from assay.measures.success.other_tasks import OTHER_TASKS, replace_other_tasks
from assay.measures.success.task_changes import TASK_CHANGES, by_cell
from assay.measures.words.phrasing import ACTIONS
from assay.support.stats.significance import within

FORMS: Mapping[str, tuple[str, ...]] = {
    "a question": ("embedded", "permission", "question"),
    "a statement": ("need", "hint"),
    "two clauses": ("coordination", "subordination"),
    "another verb": ("contextual", "habitual"),
}
"""Phrasings of the action (columns of the paraphrase grid), by group."""
_MIN_WORDINGS = 2
"""Minimum number of wordings that use a phrasing, and of wordings that do not."""


class PatternKind(StrEnum):
    """Kind of pattern in which the search looks for a loss."""

    AXIS = "axis"
    TOGETHER = "changes made together"
    CONDITION = "condition"
    TASK = "change in one task"
    SAYING = "way to say it"


@dataclass(frozen=True, slots=True)
class LossPattern:
    """Pattern in which success may be lost, with its test."""

    kind: PatternKind
    run: int
    """Index of the run, from 0."""
    task: str
    """Task; empty for all tasks."""
    what: str
    """Name of the axis, change, condition or phrasing of the action."""
    change: str
    """Change made in the episodes; empty if there are several."""
    counts: tuple[int, int, int, int]
    """Numbers of successes and episodes, followed by the same numbers for the controls or the other phrasings."""
    p: float
    """One-sided p value of a loss, unadjusted."""
    least_p: float
    """Smallest attainable ``p``."""
    p_adjusted: float = 1.0
    """``p`` adjusted for all candidates in the search."""


def search(profiles: Profiles) -> tuple[LossPattern, ...]:
    """Return all candidates, most significant first."""
    patterns = []
    for run, profile in profiles:
        changes = profile.get(CHANGES)
        if changes is None:  # the measure that replaces it tests each condition itself
            continue
        kinds = {
            PatternKind.AXIS: drops_by_axis(profile),
            PatternKind.TOGETHER: [drop for drop in changes if len(shown_by(str(drop.group["change"]))) > 1],
            PatternKind.CONDITION: replace_other_tasks(profile.get(DROPS) or (), profile.get(OTHER_TASKS)),
        }
        tested = ((kind, drop) for kind, drops in kinds.items() for drop in drops if drop.plausible)
        for kind, drop in ((kind, drop) for kind, drop in tested if drop.p is not None):
            what = str(next(iter(drop.group.values())))
            change = what if kind is PatternKind.TOGETHER else ""
            counts = drop.both + drop.only_perturbed, drop.pairs, drop.both + drop.only_control, drop.pairs
            least = least_one_sided(telling(drop.table))
            patterns.append(LossPattern(kind, run, "", what, change, counts, drop.p_loss, least))
    runs, results = select_results(profiles, TASK_CHANGES)
    rows = pl.concat(result.rows for result in results) if results else None
    if rows is not None and rows["task"].n_unique() > 1:
        for (task, change), table in by_cell(rows).items():
            control, hits, count = map(int, table.sum(axis=0))
            counts = (hits, count, control, count)
            p, least = loss_p(table), least_one_sided(int((table[:, 0] > 0).sum()))
            patterns.append(LossPattern(PatternKind.TASK, runs[0], task, change, change, counts, p, least))
    runs, phrasings = select_results(profiles, ACTIONS)
    if phrasings:
        patterns += search_phrasings(runs[0], pl.concat(phrasing.rows for phrasing in phrasings))
    raised = adjust(
        [pattern.p for pattern in patterns], [pattern.least_p for pattern in patterns], SEARCHED_SHARE
    )
    patterns = [replace(pattern, p_adjusted=p) for pattern, p in zip(patterns, raised, strict=True)]
    return tuple(sorted(patterns, key=lambda pattern: (pattern.p_adjusted, pattern.p)))


def search_phrasings(run: int, rows: pl.DataFrame) -> Iterator[LossPattern]:
    """Yield candidates for action phrasings: each phrasing and group by task, and each group over all tasks."""
    ways: dict[str, tuple[str, ...]] = {name: (name,) for name in sorted(rows["action"].unique())}
    ways |= {name: actions for name, actions in FORMS.items() if len(set(actions) & set(ways)) > 1}
    tasks = list(rows["task"].unique(maintain_order=True))
    scopes = [(task, rows.filter(pl.col("task") == task)) for task in tasks]
    for task, part in [*scopes, *([("", rows)] if len(tasks) > 1 else [])]:
        for name, actions in ways.items():
            part = part.with_columns(_mine=pl.col("action").is_in(actions))
            usual = (pl.col("success").mean() > 0.5).cast(pl.Int64).alias("success")
            by_wording = ("task", "object", "action", "instruction", "_mine")
            wordings = part.group_by(by_wording, maintain_order=True).agg(usual)
            fewest = min(wordings["_mine"].sum(), (~wordings["_mine"]).sum())
            if fewest < _MIN_WORDINGS or not (task or len(actions) > 1):
                continue
            others, others_count, hits, count = _sides(part, ("task",)).sum(axis=1)
            sides, p = _sides(wordings, ("task",)), 1.0
            if count and others_count and hits * others_count < others * count:
                # Seeds of one wording are not independent, and another start is not another phrasing.
                p = max(within(*sides), within(*_sides(part, ("task", "seed")))) / 2
            counts = int(hits), int(count), int(others), int(others_count)
            # The smallest p value that the margins allow, with all failures on one side.
            kept, among_others, won, among = sides
            lost = (among - won) + (among_others - kept)
            most = np.minimum(lost, among)
            least = within(among_others - (lost - most), among_others, among - most, among) / 2
            yield LossPattern(PatternKind.SAYING, run, task, name, "", counts, p, least)


def _sides(rows: pl.DataFrame, by: Sequence[str]) -> np.ndarray:
    """Count successes and episodes with the other phrasings, then with this one, by stratum: (4, strata)."""
    mine, success = pl.col("_mine"), pl.col("success")
    sides = {"others": success * ~mine, "others_count": ~mine, "hits": success * mine, "count": mine}
    sums = {name: value.sum() for name, value in sides.items()}
    table = rows.group_by(by, maintain_order=True).agg(**sums)
    return np.asarray(table.select(*sides).to_numpy().astype(float).T)
