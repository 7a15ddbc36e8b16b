"""Ranking of three or more policies on the same episodes: letters for what is certain, strengths for how much.

*Letters* (compact letter display) summarise the paired tests of all pairs with Holm's correction: policies that share a
letter are not significantly different.

*Strengths* are those of the Bradley-Terry model: where exactly one of two policies succeeds in an episode, the first
one does with probability 1 / (1 + exp(s2 - s1)). Episodes in which both succeed or both fail are ties, which say
nothing about the order. Half a win is added for each policy of a pair, so that strengths are finite.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Annotated

import numpy as np
import polars as pl
import scipy

from assay.measures.frames import START, sums
from assay.measures.result import Result
from assay.measures.views.table import Column, Table
from assay.support.stats.intervals import Interval, Z
from assay.support.streams import stream

FEWEST_RUNS = 3
"""Minimum number of runs that are ranked."""
_RESAMPLES = 1000
_ROUNDS = 200
"""Maximum number of iterations for the strengths."""


@dataclass(frozen=True, slots=True)
class Ranked(Result):
    """A run's place among several on the same episodes."""

    name: Annotated[str, Column("run")]
    rate: Annotated[float, Column("success", "share")]
    """Success rate in the shared episodes."""
    letters: Annotated[str, Column("letters")]
    """Runs that share a letter are not significantly different (paired tests, Holm)."""
    wins: Annotated[float, Column("wins against the average", "share")]
    """Probability of being the one that succeeds where exactly one of this run and an average one does.

    Its log-odds are the Bradley-Terry strength, which is 0 for the average of the runs.
    """
    interval: Annotated[Interval, Column("95 % interval", "share")]
    """Bootstrap interval of ``wins`` over starts, within tasks."""


def rank(
    rows: pl.DataFrame, names: Sequence[str], different: Collection[tuple[str, str]]
) -> tuple[Ranked, ...]:
    """Rank runs by their success in shared episodes, whose columns ``_0``, ``_1``, ... are 0 or 1.

    ``different`` are the pairs of runs with a significant difference.
    """
    columns = [f"_{place}" for place in range(len(names))]
    pairs = {f"{a}>{b}": pl.col(a) * (1 - pl.col(b)) for a in columns for b in columns}
    only = sums(rows, START, **pairs).reshape(-1, len(names), len(names))  # (starts, runs, runs)
    tasks = rows.select(START).unique(maintain_order=True)["task"].rank("dense").to_numpy().astype(int)
    if np.unique(tasks, return_counts=True)[1].min() < 2:  # a start without a second one cannot be resampled
        tasks = np.ones_like(tasks)
    random, drawn = stream("ranking", *only.shape[:2]), np.zeros((_RESAMPLES, *only.shape[1:]))
    for task in np.unique(tasks):
        own = only[tasks == task]
        times = random.multinomial(len(own), np.full(len(own), 1 / len(own)), _RESAMPLES)
        drawn += np.tensordot(times, own, 1)
    # Resamples within tasks vary less than samples, by one start per task.
    few = len(tasks) / max(1, len(tasks) - len(np.unique(tasks)))
    estimate = strengths(only.sum(axis=0))
    # Resamples of few differences may all be alike: the error is at least that of independent episodes.
    chance = scipy.special.expit(estimate[:, None] - estimate[None, :])
    games = np.where(np.eye(len(names)), 0.0, 1 + (only + only.transpose(0, 2, 1)).sum(axis=0))
    least = (games * chance * (1 - chance)).sum(axis=1) ** -0.5
    half = Z * np.maximum(few**0.5 * strengths(drawn).std(axis=0), least)
    rates = rows.select(columns).mean().row(0)
    order = sorted(range(len(names)), key=lambda place: (-rates[place], names[place]))
    letters = dict(zip(order, letter_display([names[place] for place in order], different), strict=True))
    ends = scipy.special.expit(np.stack([estimate - half, estimate, estimate + half], axis=1))
    return tuple(
        Ranked(
            name=names[place],
            rate=float(rates[place]),
            letters=letters[place],
            wins=float(ends[place, 1]),
            interval=Interval(float(ends[place, 0]), float(ends[place, 2]), "bootstrap, over starts"),
        )
        for place in order
    )


def strengths(only: np.ndarray) -> np.ndarray:
    """Return Bradley-Terry strengths (..., runs) in log-odds, with mean 0.

    ``only`` (..., runs, runs) counts the episodes in which the run of the row succeeds and that of the column fails.
    """
    count = only.shape[-1]
    only = only + 0.5 * (1 - np.eye(count))
    games, won = only + np.swapaxes(only, -1, -2), only.sum(axis=-1)
    skill = np.ones(won.shape)
    for _ in range(_ROUNDS):  # Hunter (2004): every step increases the likelihood
        before = skill
        skill = won / (games / (skill[..., :, None] + skill[..., None, :])).sum(axis=-1)
        skill = skill / np.exp(np.log(skill).mean(axis=-1, keepdims=True))
        if np.abs(np.log(skill / before)).max() < 1e-6:
            break
    return np.asarray(np.log(skill))


def letter_display(names: Sequence[str], different: Collection[tuple[str, str]]) -> list[str]:
    """Return the letters of each name, such as "a", "ab" and "b", given the pairs that differ (Piepho, 2004)."""
    groups = [set(names)]
    for first, second in different:
        for group in [group for group in groups if {first, second} <= group]:
            groups.remove(group)
            groups += [group - {first}, group - {second}]
        groups = [
            group
            for place, group in enumerate(groups)
            if not any(group < other or (group == other and at < place) for at, other in enumerate(groups))
        ]
    groups.sort(key=lambda group: sorted(names.index(name) for name in group))
    letters = [chr(ord("a") + place % 26) + "'" * (place // 26) for place in range(len(groups))]
    return ["".join(compress(letters, (name in group for group in groups))) for name in names]


def ranking_table(ranking: Sequence[Ranked], suffix: str = "") -> Table:
    """Make the table of a ranking; ``suffix`` is appended to its file name."""
    return Table.of(
        f"ranking{suffix}",
        "Ranking",
        ranking,
        note="Runs that share a letter do not differ significantly in success (paired tests over starts, Holm over all "
        "pairs). Wins against the average: of the episodes in which exactly one of the run and an average run "
        "succeeds, the share in which the run does (Bradley-Terry, without ties; bootstrap intervals over starts).",
        shown_at_once=True,
    )
