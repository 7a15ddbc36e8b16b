"""Kinds of tasks: does one fall behind the others of its family, more than tasks differ anyway?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
from scipy import stats

from assay.measures.evidence import Evidence, Test, loss
from assay.measures.flaws import Flaw
from assay.measures.profile import Profile
from assay.measures.rates import Rate
from assay.stats.intervals import LEVEL, Interval

MANY = 10
"""Tasks without which a kind of task cannot be told from a task."""


def kinds(run: int, profile: Profile) -> Iterator[Test]:
    """The label whose tasks fall behind the others of its family most clearly; if there are many tasks."""
    shares = np.array([each.rate for each in profile.tasks if each.group["perturbed"] and each.count])
    if len(shares) < MANY:
        return
    found: list[Evidence] = []
    for family, values in profile.labels.items():
        for one in values:
            others = [each for each in values if each is not one and each.count]
            if one.count and others:
                found.append(_behind(run, family, one, others, shares))
    if found:
        best = min(found, key=lambda each: each.p or 0.0)
        assert best.interval is not None and best.p is not None
        yield Test(Flaw.KIND, (best,), min(1.0, best.p * len(found)), loss(best.interval))


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
    p = float(stats.t.cdf(behind / spread, free)) if spread > 0 else float(behind >= 0)
    p = max(p, 1 / comb(tasks, mine))
    half = float(stats.t.ppf((1 + LEVEL) / 2, free)) * spread
    interval = Interval(max(behind - half, -1.0), min(behind + half, 1.0), "student, over tasks")
    (name,) = one.group.values()
    says = f"{one.successes:,} of {one.count:,} where {family} is {name}, {hits:,} of {count:,} elsewhere"
    return Evidence(run, f"labels.{family}", says, behind, interval, p)
