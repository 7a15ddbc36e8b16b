"""Kinds of tasks: does one fall behind the others of its family, more than tasks differ anyway?"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np
import polars as pl

from assay.measures.curves import WORLD
from assay.measures.evidence import Among, Evidence, FlawTest, loss
from assay.measures.flaws import Flaw
from assay.measures.measure import Measure, Panel
from assay.measures.rates import TASKS, Rate, rates
from assay.measures.run_data import RunData
from assay.stats.distributions import t_below, t_quantile
from assay.stats.intervals import LEVEL, Interval
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


def by_label(run: RunData) -> dict[str, tuple[Rate, ...]]:
    """Success by label family, where success is expected; an episode counts for each of its labels."""
    return {family: label_rates(run.perturbed, family) for family in label_families(run.frame)}


def label_rates(frame: pl.DataFrame, family: str) -> tuple[Rate, ...]:
    """Success by the labels of a family, in their order."""
    column = f"{COLUMN}{family}"
    found = rates(with_each_label(frame, family), (column,))
    return tuple(sorted(found, key=lambda each: label_order(family, str(each.group[column]))))


def task_kind_tests(among: Among) -> Iterator[FlawTest]:
    """The label whose tasks fall behind those without it most clearly; if there are many tasks."""
    for run, profile in among:
        tasks = profile.get(TASKS) or ()
        perturbed = [rate for rate in tasks if rate.group["perturbed"] and rate.count]
        shares = np.array([rate.rate for rate in perturbed])
        if len(shares) < MANY:
            continue
        behind: list[Evidence] = []
        for family, values in (profile.get(LABELS) or {}).items():
            for one in values:
                # A task may have several labels of a family: what a label is compared with are all tasks without it.
                hits, count = (
                    sum(getattr(rate, what) for rate in perturbed) - getattr(one, what)
                    for what in ("successes", "count")
                )
                if one.count and count > 0:
                    behind.append(_behind(run, family, one, (hits, count), shares))
        if behind:
            best = min(behind, key=lambda evidence: evidence.p or 0.0)
            assert best.interval is not None and best.p is not None
            yield FlawTest(Flaw.KIND, (best,), min(1.0, best.p * len(behind)), loss(best.interval))


def _behind(run: int, family: str, one: Rate, others: tuple[int, int], shares: np.ndarray) -> Evidence:
    """Whether a label goes with failure more than if labels had been dealt to the tasks by chance.

    Labels belong to tasks, and tasks differ: tasks are what is compared, not episodes. Student's test, which
    comes close to dealing anew; ``others`` are the successes and the episodes of tasks without the label,
    ``shares`` (tasks,) the success rates of all tasks.
    """
    hits, count = others
    behind = one.successes / one.count - hits / count
    tasks, free = len(shares), len(shares) - 2
    mine = min(max(round(tasks * one.count / (one.count + count)), 1), tasks - 1)
    sizes = 1 / mine + 1 / (tasks - mine)
    within = max(float(np.square(shares - shares.mean()).sum()) - behind**2 / sizes, 0.0)
    spread = (within / free * sizes) ** 0.5
    p = t_below(behind / spread, free) if spread > 0 else float(behind >= 0)
    p = max(p, 1 / comb(tasks, mine))
    half = t_quantile((1 + LEVEL) / 2, free) * spread
    interval = Interval(max(behind - half, -1.0), min(behind + half, 1.0), "student, over tasks")
    (name,) = one.group.values()
    return Evidence(
        run,
        "labels",
        f"{family}={name}",
        behind,
        interval,
        p,
        hits=one.successes,
        count=one.count,
        reference_hits=hits,
        reference_count=count,
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
    tests="assay.measures.kinds:task_kind_tests",
)
