"""Search for losses that no named flaw covers: in single tasks, conditions, joint changes or phrasings of the action.

Every candidate has an exact one-sided test against its controls and, as evidence, the capital of a bet that cannot be
expected to grow if nothing is lost (`betting.loss_evidence`). The bet compares an episode with the control *and* the
other changes of its start, which tells more than the control alone: eight lost starts of a task have p = 1/256, but
may have evidence of 10,000. The diagnosis controls the false discovery rate over all candidates.

The null hypothesis is that the outcomes of a start may be exchanged. Changes along one axis may share their luck; of
another axis, at most one episode is used, since several that succeed or fail together would be worth less than they
seem. A candidate whose loss against its controls alone is not significant (5 %, unadjusted) has no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import polars as pl

from assay.episodes.perturbation import TOGETHER
from assay.measures.findings import Profiles, select_results
from assay.measures.flaws import shown_by
from assay.measures.frames import outcome_counts
from assay.measures.multiple_testing import adjust, drops_by_axis
from assay.measures.sample_size import least_one_sided, loss_p, telling
from assay.measures.success.drops import CHANGES, DROPS
from assay.measures.success.other_tasks import OTHER_TASKS, replace_other_tasks
from assay.measures.success.task_changes import TASK_CHANGES, by_cell
from assay.measures.words.phrasing import ACTIONS
from assay.support.stats.betting import evidence, loss_evidence
from assay.support.stats.significance import SURE, within

FORMS: Mapping[str, tuple[str, ...]] = {
    "a question": ("embedded", "permission", "question"),
    "a statement": ("need", "hint"),
    "two clauses": ("coordination", "subordination"),
    "another verb": ("contextual", "habitual"),
}
"""Phrasings of the action (columns of the paraphrase grid), by group."""
_MIN_WORDINGS = 2
"""Minimum number of wordings that use a phrasing, and of wordings that do not."""


_MAX_ROUNDS = 10
"""Maximum number of bets per pattern, each on other episodes of the same starts."""


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
    """``p`` adjusted for all candidates of a table's rows (Holm): conditions, axes and joint changes."""
    log_evidence: float | None = None
    """Logarithm of the e-value: the capital of a bet on a loss.

    None for patterns that are only rows of tables: axes, and conditions that are the only one with their change.
    """


class Outcomes:
    """Outcomes by start, from which the evidence for a loss under one change or condition is computed."""

    def __init__(self, rows: pl.DataFrame) -> None:
        """``rows`` are those of `TaskChanges`."""
        place = ("task", "seed", "condition")
        rows = rows.with_columns(pl.col("axis").fill_null(""), copy=pl.int_range(pl.len()).over(place))
        start = rows.select(pl.struct("task", "seed").rank("dense") - 1).to_series().to_numpy()
        columns = rows.group_by("change", "axis", "condition", "copy", maintain_order=True).len()
        columns = columns.with_columns(number=pl.int_range(pl.len()).over("change")).sort("number", "change")
        self._columns = columns.with_row_index("column")
        joined = rows.join(self._columns, on=("change", "axis", "condition", "copy"), maintain_order="left")
        self._perturbed = np.full((int(start.max()) + 1, len(columns)), np.nan)  # (starts, columns)
        self._control = np.zeros(len(self._perturbed))
        self._task = np.empty(len(self._perturbed), object)
        self._perturbed[start, joined["column"].to_numpy()] = rows["success"].to_numpy()
        self._control[start], self._task[start] = rows["control_success"].to_numpy(), rows["task"].to_numpy()

    def log_evidence(self, change: str = "", task: str = "", condition: str = "") -> float | None:
        """Return the log capital of bets on a loss under a change or in one condition; None without such episodes.

        Each of several rounds uses one episode of the change and at most one of each other change in a start, except
        changes that have a part in common with it: they would share its loss. Half of
        the capital is staked on a comparison with the control alone, in case several changes cost success. The mean of
        the capitals is again that of a valid bet.
        """
        columns = self._columns
        is_own = pl.col("condition") == condition if condition else pl.col("change") == change
        own = columns.filter(is_own)
        if not len(own):
            return None
        axis = own["axis"][0]
        groups = [own["column"].to_list()]
        parts = {part for label in own["change"] for part in label.split(TOGETHER)}
        related = [label for label in columns["change"] if parts & set(label.split(TOGETHER))]
        rest = columns.filter(~pl.col("change").is_in(related))
        for by, part in (("change", pl.col("axis") == axis), ("axis", pl.col("axis") != axis)):
            for _, group in rest.filter(part).group_by(by, maintain_order=True):
                groups.append(group["column"].to_list())
        mine = (self._task == task) | (task == "")
        capitals: list[tuple[float, float]] = []
        for number in range(min(max(map(len, groups)), _MAX_ROUNDS)):
            chosen = self._perturbed[:, [group[number % len(group)] for group in groups]]
            counted = mine & ~np.isnan(chosen[:, 0])
            now, others, control = chosen[counted, 0], chosen[counted, 1:], self._control[counted]
            ones = np.ones(len(now))
            hits, counts = control + np.nansum(others, axis=1), ones + (~np.isnan(others)).sum(axis=1)
            capitals.append((loss_evidence(hits, counts, now, ones), loss_evidence(control, ones, now, ones)))
        return float(np.logaddexp.reduce(capitals, axis=None)) - math.log(2 * len(capitals))


def search(profiles: Profiles) -> tuple[LossPattern, ...]:
    """Return all candidates."""
    runs, results = select_results(profiles, TASK_CHANGES)
    rows = pl.concat(result.rows for result in results) if results else None
    outcomes = None if rows is None else Outcomes(rows)
    alone = set() if rows is None else _only_conditions(rows)
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
            pattern = LossPattern(kind, run, "", what, change, counts, drop.p_loss, least)
            if kind is PatternKind.TOGETHER or (kind is PatternKind.CONDITION and what not in alone):
                log_evidence = outcomes and outcomes.log_evidence(change, condition="" if change else what)
                if log_evidence is None:  # compared with controls alone
                    control, perturbed, count = outcome_counts(drop.table).T
                    log_evidence = evidence((control - perturbed) / count)
                pattern = replace(pattern, log_evidence=log_evidence)
            patterns.append(pattern)
    raised = adjust([pattern.p for pattern in patterns], [pattern.least_p for pattern in patterns])
    patterns = [replace(pattern, p_adjusted=p) for pattern, p in zip(patterns, raised, strict=True)]
    if rows is not None and outcomes is not None and rows["task"].n_unique() > 1:
        for (task, change), table in by_cell(rows).items():
            control, hits, count = map(int, table.sum(axis=0))
            counts = (hits, count, control, count)
            p, least = loss_p(table), least_one_sided(int((table[:, 0] > 0).sum()))
            pattern = LossPattern(PatternKind.TASK, runs[0], task, change, change, counts, p, least)
            patterns.append(replace(pattern, log_evidence=outcomes.log_evidence(change, task) or 0.0))
    runs, phrasings = select_results(profiles, ACTIONS)
    if phrasings:
        patterns += search_phrasings(runs[0], pl.concat(phrasing.rows for phrasing in phrasings))
    return tuple(
        pattern
        if pattern.log_evidence is None or pattern.p < SURE
        else replace(pattern, log_evidence=-math.inf)
        for pattern in patterns
    )


def _only_conditions(rows: pl.DataFrame) -> set[str]:
    """Return the conditions without which no episode has their change: the loss under that change is theirs."""
    conditions = rows.group_by("change").agg(pl.col("condition").unique())["condition"]
    return {names[0] for names in conditions if len(names) == 1}


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
            sides, p, log_evidence = _sides(wordings, ("task",)), 1.0, -math.inf
            if count and others_count and hits * others_count < others * count:
                # Seeds of one wording are not independent, and another start is not another phrasing.
                both = sides, _sides(part, ("task", "seed"))
                p = max(within(*side) for side in both) / 2
                log_evidence = min(loss_evidence(*side) for side in both)
            counts = int(hits), int(count), int(others), int(others_count)
            # The smallest p value that the margins allow, with all failures on one side.
            kept, among_others, won, among = sides
            lost = (among - won) + (among_others - kept)
            most = np.minimum(lost, among)
            least = within(among_others - (lost - most), among_others, among - most, among) / 2
            pattern = LossPattern(PatternKind.SAYING, run, task, name, "", counts, p, least)
            yield replace(pattern, log_evidence=log_evidence)


def _sides(rows: pl.DataFrame, by: Sequence[str]) -> np.ndarray:
    """Count successes and episodes with the other phrasings, then with this one, by stratum: (4, strata)."""
    mine, success = pl.col("_mine"), pl.col("success")
    sides = {"others": success * ~mine, "others_count": ~mine, "hits": success * mine, "count": mine}
    sums = {name: value.sum() for name, value in sides.items()}
    table = rows.group_by(by, maintain_order=True).agg(**sums)
    return np.asarray(table.select(*sides).to_numpy().astype(float).T)
