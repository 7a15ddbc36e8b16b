"""Kinds of tasks: does one fall behind the others of its family, more than tasks differ anyway?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np

from assay.measures.curves import WORLD
from assay.measures.evidence import Among, Evidence, FlawTest, loss
from assay.measures.flaws import Flaw
from assay.measures.measure import Measure, Panel
from assay.measures.rates import TASKS, Rate, rates
from assay.measures.run_data import RunData
from assay.stats.distributions import t_below, t_quantile
from assay.stats.intervals import LEVEL, Interval

MANY = 10
"""Tasks without which a kind of task cannot be told from a task."""
FAMILY = "label:"
"""How the columns of label families begin."""


def by_label(run: RunData) -> dict[str, tuple[Rate, ...]]:
    """Success by label family, where success is expected."""
    families = [name for name in run.frame.columns if name.startswith(FAMILY)]
    return {name.removeprefix(FAMILY): rates(run.perturbed, (name,)) for name in families}


def task_kind_tests(among: Among) -> Iterator[FlawTest]:
    """The label whose tasks fall behind the others of its family most clearly; if there are many tasks."""
    for run, profile in among:
        tasks = profile.get(TASKS) or ()
        shares = np.array([rate.rate for rate in tasks if rate.group["perturbed"] and rate.count])
        if len(shares) < MANY:
            continue
        behind: list[Evidence] = []
        for family, values in (profile.get(LABELS) or {}).items():
            for one in values:
                others = [rate for rate in values if rate is not one and rate.count]
                if one.count and others:
                    behind.append(_behind(run, family, one, others, shares))
        if behind:
            best = min(behind, key=lambda evidence: evidence.p or 0.0)
            assert best.interval is not None and best.p is not None
            yield FlawTest(Flaw.KIND, (best,), min(1.0, best.p * len(behind)), loss(best.interval))


def _behind(run: int, family: str, one: Rate, others: Sequence[Rate], shares: np.ndarray) -> Evidence:
    """Whether a label goes with failure more than if labels had been dealt to the tasks by chance.

    Labels belong to tasks, and tasks differ: tasks are what is compared, not episodes. Student's test, which
    comes close to dealing anew; ``shares`` (tasks,) are the success rates of all of them.
    """
    hits, count = sum(each.successes for each in others), sum(each.count for each in others)
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
    needs=(FAMILY,),
    panels=(
        Panel(
            WORLD,
            tables=("assay.report.tables:labels_table",),
            runs="assay.report.figures.success:radar_figure",
        ),
    ),
    tests="assay.measures.kinds:task_kind_tests",
)
