"""Tasks as a sample of tasks in general: intervals that are about tasks that nobody has tried.

Elsewhere the tasks are given, and what is drawn are starts: "these tasks, new starts". Here each task is one witness,
however many episodes it has: Student's distribution with one degree of freedom less than there are tasks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.support.stats.distributions import t_quantile
from assay.support.stats.intervals import LEVEL, Interval, share_interval
from assay.support.stats.significance import sign_flip

FEWEST = 3
"""Tasks below which nothing is said about others."""


def share_over_tasks(hits: np.ndarray, counts: np.ndarray, effective: float) -> Interval | None:
    """The interval of a share, from successes and episodes of each task (tasks,); None for fewer than three.

    ``effective``: as many independent episodes as know as much about these tasks. Wilson's, so that it stays within
    0 and 1, with the effective sample size that the variance between tasks leaves.
    """
    if len(hits) < FEWEST:
        return None
    return replace(share_interval(hits, counts, effective), method="wilson, over tasks")


def mean_over_tasks(sums: np.ndarray, counts: np.ndarray, given: Interval) -> tuple[Interval, float] | None:
    """The interval of a mean difference, and its p, from sums and counts of each task (tasks,).

    Student's; p is exact, if either sign were as likely for each task. Never narrower than the interval for
    the tasks as ``given``. None for fewer than three tasks.
    """
    tasks = len(sums)
    if tasks < FEWEST:
        return None
    middle = float(sums.sum() / counts.sum())
    off = sums - middle * counts
    error = float(np.sqrt(np.square(off).sum() * tasks / (tasks - 1)) / counts.sum())
    half = t_quantile((1 + LEVEL) / 2, tasks - 1) * error
    low, high = max(-1.0, middle - half), min(1.0, middle + half)
    return Interval(min(low, given.low), max(high, given.high), "student, over tasks"), sign_flip(sums)
