"""Kinds of tasks: does one fall behind the others of its family, more than tasks differ anyway?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from assay.measures.evidence import Among, Evidence, FlawTest, loss
from assay.measures.flaws import Flaw
from assay.measures.frames import judged
from assay.measures.measure import Measure, Panel
from assay.measures.run_data import RunData
from assay.measures.success.rates import Rate, rates
from assay.measures.world.curves import WORLD
from assay.support.stats.intervals import LEVEL, Interval
from assay.support.stats.resampling import labels_behind
from assay.support.stats.significance import t_quantile
from assay.tasks.labels import COLUMN, family_order, label_order, read

MANY = 10
"""Tasks without which a kind of task cannot be told from a task."""


def label_families(frame: pl.DataFrame) -> list[str]:
    """The names of a frame's label families, in their order."""
    names = (name.removeprefix(COLUMN) for name in frame.columns if name.startswith(COLUMN))
    return sorted(names, key=family_order)


def with_each_label(frame: pl.DataFrame, family: str) -> pl.DataFrame:
    """A row for each label that an episode has in a family, with that label alone in the family's column."""
    name = f"{COLUMN}{family}"
    each = pl.col(name).map_elements(lambda text: list(read(text)), return_dtype=pl.List(pl.String))
    return frame.drop_nulls(name).with_columns(each).explode(name)


@dataclass(frozen=True, slots=True)
class LabelRate(Rate):
    """How often tasks with a label succeed, and whether they fall behind those without it."""

    others: int | None = None
    """Successes of tasks without the label; None where there are fewer than ten tasks, or none without it."""
    others_count: int | None = None
    behind: float | None = None
    """Success with the label less success without."""
    behind_interval: Interval | None = None
    """Student's, over tasks."""
    p: float | None = None
    """One-sided: how often labels that are dealt to the tasks by chance fall as far behind."""


def by_label(run: RunData) -> dict[str, tuple[Rate, ...]]:
    """Success by label family, where success is expected; an episode counts for each of its labels."""
    many = run.perturbed["task"].n_unique() >= MANY
    found = {family: label_rates(run.perturbed, family) for family in label_families(run.frame)}
    return {
        family: tuple(_against_others(run.perturbed, family, rate) for rate in values)
        if many and _is_of_tasks(run.perturbed, family)
        else values
        for family, values in found.items()
    }


def _against_others(frame: pl.DataFrame, family: str, rate: Rate) -> Rate:
    """A rate beside that of the tasks without its label. Tasks are what is compared, not episodes."""
    (label,) = rate.group.values()
    column = f"{COLUMN}{family}"
    has = (
        pl.col(column)
        .map_elements(lambda text: label in read(text), return_dtype=pl.Boolean)
        .fill_null(False)
    )
    tasks = (
        judged(frame)
        .group_by("task", maintain_order=True)
        .agg(hits=pl.col("success").sum(), count=pl.len(), mine=has.any())
    )
    hits, counts = tasks.select("hits", "count").to_numpy().astype(float).T
    mine = tasks["mine"].to_numpy()
    if not rate.count or mine.all() or not mine.any():
        return rate
    return LabelRate(
        **{field.name: getattr(rate, field.name) for field in fields(rate)},
        others=int(hits[~mine].sum()),
        others_count=int(counts[~mine].sum()),
        behind=float(hits[mine].sum() / counts[mine].sum() - hits[~mine].sum() / counts[~mine].sum()),
        behind_interval=_interval(hits / counts, mine),
        p=labels_behind(hits, counts, mine),
    )


def _interval(shares: np.ndarray, mine: np.ndarray) -> Interval:
    """Student's, for two means of tasks' shares (tasks,)."""
    free = len(shares) - 2
    sizes = 1 / mine.sum() + 1 / (~mine).sum()
    off = np.where(mine, shares - shares[mine].mean(), shares - shares[~mine].mean())
    half = t_quantile((1 + LEVEL) / 2, free) * float(np.sqrt(off @ off / free * sizes))
    middle = float(shares[mine].mean() - shares[~mine].mean())
    return Interval(max(middle - half, -1.0), min(middle + half, 1.0), "student, over tasks")


def _is_of_tasks(frame: pl.DataFrame, family: str) -> bool:
    """Whether the episodes of each task all have the same labels of a family.

    Where a change names other things, as LIBERO-X's level 4 does, its episodes have other labels than the rest of
    their task: these tell what was changed, not which kind of task it is.
    """
    labels = frame.group_by("task").agg(pl.col(f"{COLUMN}{family}").drop_nulls().n_unique().alias("labels"))
    return bool((labels["labels"] <= 1).all())


def label_rates(frame: pl.DataFrame, family: str) -> tuple[Rate, ...]:
    """Success by the labels of a family, in their order."""
    column = f"{COLUMN}{family}"
    found = rates(with_each_label(frame, family), (column,))
    return tuple(sorted(found, key=lambda each: label_order(family, str(each.group[column]))))


def task_kind_tests(among: Among) -> Iterator[FlawTest]:
    """The label whose tasks fall behind those without it most clearly; if there are many tasks."""
    for run, profile in among:
        found = profile.get(LABELS) or {}
        behind = [
            _evidence(run, family, value)
            for family, values in found.items()
            for value in values
            if isinstance(value, LabelRate)
        ]
        if behind:
            best = min(behind, key=lambda evidence: evidence.p or 0.0)
            assert best.interval is not None and best.p is not None
            yield FlawTest(Flaw.KIND, (best,), min(1.0, best.p * len(behind)), loss(best.interval))


def _evidence(run: int, family: str, one: LabelRate) -> Evidence:
    assert one.behind is not None
    (name,) = one.group.values()
    return Evidence(
        run,
        "labels",
        f"{family}={name}",
        one.behind,
        one.behind_interval,
        one.p,
        hits=one.successes,
        count=one.count,
        reference_hits=one.others,
        reference_count=one.others_count,
    )


LABELS = Measure(
    "labels",
    "Success by kind of task: label family -> rates.",
    by_label,
    needs=(COLUMN,),
    panels=(
        Panel(
            WORLD,
            tables=("assay.report.tables:labels_table",),
            runs="assay.report.figures.success:radar_figure",
        ),
    ),
    tests="assay.measures.success.labels:task_kind_tests",
)
