"""Which tasks a policy can do with nothing changed: only they can show what a change costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from assay.measures.failure.starts import Starts
from assay.measures.frames import START
from assay.measures.result import Result

DONE = 0.5
"""The share of its controls from which on a task can be done."""


@dataclass(frozen=True, slots=True)
class TaskAbility(Result):
    """How often a task is done with nothing changed."""

    task: str
    successes: int
    count: int

    @property
    def done(self) -> bool:
        """Whether it is done in at least half of its controls."""
        return self.successes >= DONE * self.count


@dataclass(frozen=True, slots=True)
class Ability(Result):
    """What a policy can do with nothing changed."""

    tasks: tuple[TaskAbility, ...]
    starts: int
    telling: int
    """Starts whose control succeeds: only they can show a loss."""

    @property
    def done(self) -> tuple[str, ...]:
        """Tasks that it can do."""
        return tuple(task.task for task in self.tasks if task.done)

    @property
    def never(self) -> tuple[str, ...]:
        """Tasks that it never does."""
        return tuple(task.task for task in self.tasks if not task.successes)


def ability(found: Sequence[Starts]) -> Ability:
    """What the controls of one run, or of several, say; a start counts once."""
    rows = pl.concat(each.rows.select(*START, "success") for each in found)
    starts = rows.unique(START, keep="first", maintain_order=True)
    table = starts.group_by("task", maintain_order=True).agg(pl.col("success").sum(), pl.len().alias("count"))
    tasks = tuple(TaskAbility(*row) for row in table.select("task", "success", "count").iter_rows())
    return Ability(tasks, len(starts), int(starts["success"].sum()))
