"""What nobody named beforehand: one task, one condition, one way to say it in one task.

Every candidate has an exact one-sided test; all of them are one family (Holm), with a fifth of the 5 % for all
of it together, and those that so few episodes could not make sure are left out of the count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

import numpy as np
import polars as pl

from assay.measures.enough import least_one_sided, loss_p, telling
from assay.measures.evidence import Among, one_sided_p
from assay.measures.family import SEARCHED, adjusted
from assay.measures.flaws import shown_by
from assay.measures.profile import Profile
from assay.measures.success.drops import AXES, CHANGES, DROPS, Drop, pooled
from assay.measures.success.other_tasks import OTHER_TASKS, fair
from assay.measures.success.task_changes import TASK_CHANGES, by_cell
from assay.measures.words.actions import ACTIONS
from assay.support.stats.significance import SURE, within

FORMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "a question": ("embedded", "permission", "question"),
        "a statement": ("need", "hint"),
        "two clauses": ("coordination", "subordination"),
        "another verb": ("contextual", "habitual"),
    }
)
"""Ways to say what to do that belong together -> the columns of the grid."""
_FEWEST = 2
"""Wordings of either side without which a way to say it is not looked at."""


class Kind(StrEnum):
    """What a pattern is about."""

    AXIS = "axis"
    TOGETHER = "changes made together"
    CONDITION = "condition"
    TASK = "change in one task"
    SAYING = "way to say it"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Where success may be lost."""

    kind: Kind
    run: int
    """Which of the runs, from 0."""
    task: str
    """Empty for all tasks."""
    what: str
    """An axis, a change, a condition, or a way to say what to do."""
    change: str
    """What is changed there; empty where that is not one thing."""
    hits: int
    count: int
    reference_hits: int
    """Of the controls, or of the wordings that say it otherwise."""
    reference_count: int
    p: float
    """One-sided."""
    p_adjusted: float
    """For everything that was looked for."""
    least_p: float

    @property
    def sure(self) -> bool:
        """Whether success is lost there, beyond doubt."""
        return self.p_adjusted < SURE


def search(among: Among) -> tuple[Pattern, ...]:
    """Everything that is looked for besides the flaws, the surest first."""
    found = [drop for run, profile in among for drop in _drops(run, profile)]
    for measure, look in ((TASK_CHANGES, _tasks), (ACTIONS, sayings)):
        parts = [(run, value.rows) for run, profile in among if (value := profile.get(measure)) is not None]
        if parts:
            found += look(parts[0][0], pl.concat(rows for _, rows in parts))
    raised = adjusted([each.p for each in found], [each.least_p for each in found], SEARCHED)
    found = [replace(each, p_adjusted=p) for each, p in zip(found, raised, strict=True)]
    return tuple(sorted(found, key=lambda each: (each.p_adjusted, each.p)))


def _drops(run: int, profile: Profile) -> Iterator[Pattern]:
    """Axes, changes made together, and conditions, each against the controls."""
    if profile.get(CHANGES) is None:  # what stands in for it tests each condition itself
        return
    conditions = fair(profile.get(DROPS) or (), profile.get(OTHER_TASKS))
    together = (drop for drop in profile.get(CHANGES) or () if len(shown_by(str(drop.group["change"]))) > 1)
    parts = ((Kind.AXIS, by_axis(profile)), (Kind.TOGETHER, together), (Kind.CONDITION, conditions))
    for kind, drops in parts:
        for drop in drops:
            if drop.plausible:
                yield _pattern(kind, run, str(next(iter(drop.group.values()))), drop)


def by_axis(profile: Profile) -> tuple[Drop, ...]:
    """What axes cost; without requests for other tasks, which have controls of their own."""
    other, found = profile.get(OTHER_TASKS), profile.get(AXES) or ()
    if other is None or not len(other.rows):
        return found
    parts = [drop for drop in profile.get(DROPS) or () if drop.group["condition"] not in other.conditions]
    same = {
        axis: [drop for drop in parts if drop.plausible and drop.family == axis]
        for axis in (each.group["axis"] for each in found)
    }
    return tuple(
        replace(pooled(same[axis]), group=each.group, family=each.family)
        for each in found
        if same[axis := each.group["axis"]]
    )


def _pattern(kind: Kind, run: int, what: str, drop: Drop) -> Pattern:
    return Pattern(
        kind=kind,
        run=run,
        task="",
        what=what,
        change=what if kind is Kind.TOGETHER else "",
        hits=drop.both + drop.only_perturbed,
        count=drop.pairs,
        reference_hits=drop.both + drop.only_control,
        reference_count=drop.pairs,
        p=one_sided_p(drop.change, drop.p),
        p_adjusted=1.0,
        least_p=least_one_sided(telling(drop.table)),
    )


def _tasks(run: int, rows: pl.DataFrame) -> Iterator[Pattern]:
    """What changes cost in single tasks."""
    if rows["task"].n_unique() < 2:
        return
    for (task, change), table in by_cell(rows).items():
        control, hits, count = map(int, table.sum(axis=0))
        yield Pattern(
            kind=Kind.TASK,
            run=run,
            task=task,
            what=change,
            change=change,
            hits=hits,
            count=count,
            reference_hits=control,
            reference_count=count,
            p=loss_p(table),
            p_adjusted=1.0,
            least_p=least_one_sided(int((table[:, 0] > 0).sum())),
        )


def sayings(run: int, rows: pl.DataFrame) -> Iterator[Pattern]:
    """Ways to say it, alone and those that belong together, in each task and in all."""
    ways: dict[str, tuple[str, ...]] = {name: (name,) for name in sorted(rows["action"].unique())}
    ways |= {name: each for name, each in FORMS.items() if len(set(each) & set(ways)) > 1}
    tasks = list(rows["task"].unique(maintain_order=True))
    for task in tasks:
        mine = rows.filter(pl.col("task") == task)
        for name, actions in ways.items():
            if (found := _saying(run, task, name, actions, mine)) is not None:
                yield found
    if len(tasks) > 1:
        for name, actions in ways.items():
            if len(actions) > 1 and (found := _saying(run, "", name, actions, rows)) is not None:
                yield found


def _saying(run: int, task: str, name: str, actions: Sequence[str], rows: pl.DataFrame) -> Pattern | None:
    rows = rows.with_columns(_mine=pl.col("action").is_in(actions))
    usual = (pl.col("success").mean() > 0.5).cast(pl.Int64).alias("success")
    wordings = rows.group_by("task", "object", "action", "instruction", "_mine", maintain_order=True).agg(
        usual
    )
    if min(wordings["_mine"].sum(), (~wordings["_mine"]).sum()) < _FEWEST:
        return None
    sides = _sides(wordings, ("task",))
    hits, count, others, others_count = _sides(rows, ("task",)).sum(axis=1)
    if not count or not others_count or hits * others_count >= others * count:
        p = 1.0
    else:  # seeds of one wording are no witnesses of their own, nor is another start another way to say it
        p = max(within(*_turned(sides)), within(*_turned(_sides(rows, ("task", "seed"))))) / 2
    return Pattern(
        kind=Kind.SAYING,
        run=run,
        task=task,
        what=name,
        change="",
        hits=int(hits),
        count=int(count),
        reference_hits=int(others),
        reference_count=int(others_count),
        p=p,
        p_adjusted=1.0,
        least_p=_least(sides),
    )


def _sides(rows: pl.DataFrame, by: Sequence[str]) -> np.ndarray:
    """Successes and episodes said so, and otherwise, in each stratum: (4, strata)."""
    mine, success = pl.col("_mine"), pl.col("success")
    sides = {"hits": success * mine, "count": mine, "others": success * ~mine, "others_count": ~mine}
    table = rows.group_by(by, maintain_order=True).agg(**{name: each.sum() for name, each in sides.items()})
    return np.asarray(table.select(*sides).to_numpy().astype(float).T)


def _turned(sides: np.ndarray) -> tuple[np.ndarray, ...]:
    hits, count, others, others_count = sides
    return others, others_count, hits, count


def _least(sides: np.ndarray) -> float:
    """The least one-sided p that the margins allow: all failures fall to one side."""
    hits, count, others, others_count = sides
    lost = (count - hits) + (others_count - others)
    most = np.minimum(lost, count)
    spilled = lost - most
    return within(others_count - spilled, others_count, count - most, count) / 2
