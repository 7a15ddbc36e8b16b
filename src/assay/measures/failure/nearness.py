"""Failures near to the path of success (execution) and far from it (planning): LIBERO-Para's algorithm 1.

For each task and goal the successful paths, as 50 points, are averaged to a reference. A failure is cut at
the length of the longest success, and is near where its distance from the reference (dynamic time warping) is
at most that of the farthest success; 99, 95 and 90 % of the successes give stricter thresholds. A `NearFarRule`
says what else counts: ours never calls a centimetre far, and leaves tasks with few successes unjudged; the
paper's does neither. Only episodes whose world is unchanged can be compared with each other, so those that
perturb the world are left out; so are those in which success is not expected. Who touched and moved
nothing did not follow another plan, and is counted among the far ones apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.errors import did_you_mean
from assay.measures.clustering import shares
from assay.measures.frames import START, goal, in_another_world, judged, perturbed_rows, plausible, sums
from assay.measures.measure import Measure, Panel
from assay.measures.memory.dtw import distances
from assay.measures.memory.paths import Paths
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.views.wording import (
    KeyNumber,
    between,
    percent,
    plural,
)
from assay.measures.words.paraphrase import ACTIONS, NONE, OBJECTS
from assay.support.addresses import configured
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import mostly

if TYPE_CHECKING:
    from assay.measures.profile import Profile

QUANTILES = {"max": 1.0, "p99": 0.99, "p95": 0.95, "p90": 0.9}
"""Name -> share of a task's successes that its threshold covers."""
WIDEST = "max"
"""The threshold that Table 4 of LIBERO-Para uses, and we do where one is needed."""
NEAR = {name: "near" if name == WIDEST else f"near_{name}" for name in QUANTILES}
"""Name of a threshold -> the column that says which failures are near with it."""


@dataclass(frozen=True, slots=True)
class NearFarRule(Result):
    """How near failures are told from far ones, where the algorithm leaves a choice."""

    floor: float = 0.01
    """The least threshold, metres: successes that are even more alike say nothing about failures."""
    least_successes: int = 5
    """Successes of a task, at least one, without which its failures are not judged."""
    with_controls: bool = True
    """Whether controls count: as successes in the mean and the threshold, and as failures to be judged."""

    def __post_init__(self) -> None:
        if not (0 <= self.floor <= 1 and self.least_successes >= 1):
            raise MeasureError(
                f"floor={self.floor:g}, least_successes={self.least_successes}: valid: 0 to 1 m, at least 1"
            )


OURS = NearFarRule()
"""That of every report, unless told otherwise."""
PAPER = NearFarRule(floor=0.0, least_successes=1, with_controls=False)
"""LIBERO-Para's: paraphrases alone, judged wherever the task succeeds once."""
RULES = {"ours": OURS, "paper": PAPER}


def near_far_rule(text: str) -> NearFarRule:
    """A rule by its name, or by the fields that differ from ours: ``floor=0&with_controls=false``.

    Raises MeasureError that says what is valid.
    """
    if text in RULES:
        return RULES[text]
    if "=" not in text:
        raise MeasureError(f"there is no rule '{text}' for near failures: {did_you_mean(text, RULES)}")
    rule: NearFarRule = configured(NearFarRule, text, text, MeasureError)
    return rule


@dataclass(frozen=True, slots=True, eq=False)
class TaskFailures(Result):
    """The failures of one task, with one goal."""

    task: str
    goal: str
    successes: int
    failures: int
    thresholds: dict[str, float]
    """Metres."""
    near: dict[str, int]
    """By threshold; the others are far."""
    reference: np.ndarray = field(repr=False, metadata=FOR_DRAWING)
    """The mean successful path, metres, (50, 3)."""


@dataclass(frozen=True, slots=True)
class NearFar(Result):
    """How the episodes of one group ended; shares are of all its episodes, errors excluded."""

    group: str
    """What they have in common: a task, an object type, an action type; ``all``."""
    episodes: int
    """Successes, near and far failures, and those not judged."""
    successes: int
    near: dict[str, int]
    """Failures near the successful trajectory, by threshold."""
    far: dict[str, int]
    """Failures far from it, by threshold."""
    unjudged: int
    """Failures of a task with too few successes, or without a path."""

    def success_rate(self) -> float:
        """Successes, as a share of all."""
        return self.successes / self.episodes

    def near_share(self, threshold: str = WIDEST) -> float:
        """Near failures, as a share of all."""
        return self.near[threshold] / self.episodes

    def far_share(self, threshold: str = WIDEST) -> float:
        """Far failures, as a share of all."""
        return self.far[threshold] / self.episodes

    def far_of_failures(self, threshold: str = WIDEST) -> float | None:
        """Far failures, as a share of the judged ones; None where no failure was judged."""
        judged = self.near[threshold] + self.far[threshold]
        return self.far[threshold] / judged if judged else None


@dataclass(frozen=True, slots=True, eq=False)
class Failures(Result):
    """The failures of a run."""

    rule: NearFarRule
    """How they were told apart."""
    successes: int
    failures: int
    """Those that could be judged."""
    unjudged: int
    """Failures of tasks and goals with too few successes, or without a path."""
    elsewhere: int
    """Episodes left out because their world is another one."""
    near: dict[str, int]
    far: dict[str, int]
    idle: int | None
    """Of the far ones, with the widest threshold: those that touched nothing and moved nothing. None where
    the run does not say what was touched and moved."""
    far_share: float | None
    """Of the failures, with the widest threshold; None where there is no failure."""
    interval: Interval | None
    close: int
    """Failures that are near, with the widest threshold."""
    close_p: float | None
    """Exact, over starts: that in more than half of them most failures are close; None without a failure."""
    tasks: tuple[TaskFailures, ...]
    overall: NearFar
    """All episodes in an unchanged world: LIBERO-Para's Tables 4 and 16."""
    by_task: tuple[NearFar, ...]
    by_object: tuple[NearFar, ...]
    """By how things are named (Figure 19, left); a control changes nothing, so it is in ``none``."""
    by_action: tuple[NearFar, ...]
    """By how the action is said (Figure 19, right), likewise."""
    episodes: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """id, task, seed, start, goal, success, distance (metres), threshold (the widest), near (null for a success), and
    near_p99, near_p95, near_p90: whether it is near with that threshold."""


def failures(frame: pl.DataFrame, paths: Paths, rule: NearFarRule = OURS) -> Failures:
    """Tell near failures from far ones. Raises MeasureError where there are no paths, or too few successes."""
    labels = {"axis", "object", "action"} & set(frame.columns)
    still = (pl.col("touched").is_null() & pl.col("moved").is_null()).alias("still")
    rows = judged(plausible(frame)).select(
        *("id", "task", "seed", "start", "condition"), goal().alias("goal"), "success", still, *sorted(labels)
    )
    contacts = not rows["still"].all()
    rows = rows if rule.with_controls else perturbed_rows(rows)
    here = rows.filter(~in_another_world()) if "axis" in rows.columns else rows
    known = here.filter(pl.Series(paths.has(here["id"].to_numpy()), dtype=pl.Boolean))
    if not len(known):
        what = "episode" if rule.with_controls else "perturbed episode"
        raise MeasureError(f"no {what} in an unchanged world has a path")
    found: list[TaskFailures] = []
    episodes: list[pl.DataFrame] = []
    for (task, aim), group in known.group_by("task", "goal", maintain_order=True):
        if group["success"].sum() >= max(rule.least_successes, 1):
            one, table = _of_task(str(task), str(aim), group, paths, rule.floor)
            found.append(one)
            episodes.append(table)
    if not found:
        raise MeasureError(f"no task has {rule.least_successes} successes to compare with")
    total = sum(each.failures for each in found)
    near = {name: sum(each.near[name] for each in found) for name in QUANTILES}
    share = (total - near[WIDEST]) / total if total else None
    table = pl.concat(episodes)
    lost = table.filter(~pl.col("success"))
    idle = lost.filter(~pl.col("near")).join(known.filter("still"), on="id", how="semi")
    hits, counts = sums(lost, START, close=pl.col("near"), count=pl.col("id").is_not_null()).T
    ended = here.join(table.select("id", *NEAR.values()), on="id", how="left", maintain_order="left")
    return Failures(
        rule=rule,
        successes=sum(each.successes for each in found),
        failures=total,
        unjudged=int((here["success"] == 0).sum()) - total,
        elsewhere=len(rows) - len(here),
        near=near,
        far={name: total - count for name, count in near.items()},
        idle=len(idle) if contacts else None,
        far_share=share,
        interval=None if share is None else shares(lost.with_columns(_far=~pl.col("near")), "_far")[()][1],
        close=int(hits.sum()),
        close_p=mostly(hits, counts, 0.5) if total else None,
        tasks=tuple(found),
        overall=_grouped(ended, pl.lit("all"))[0],
        by_task=_grouped(ended, pl.col("task")),
        by_object=_by_type(ended, "object", OBJECTS),
        by_action=_by_type(ended, "action", ACTIONS),
        episodes=table,
    )


def _of_task(
    task: str, aim: str, group: pl.DataFrame, paths: Paths, floor: float
) -> tuple[TaskFailures, pl.DataFrame]:
    won, lost = (group.filter(pl.col("success") == value)["id"].to_numpy() for value in (1, 0))
    successful = paths.resampled(won)
    reference = successful.mean(axis=0)
    longest = np.full(len(lost), paths.lengths(won).max())
    off = [
        distances(each, reference[None], np.zeros(len(each), int))
        for each in (successful, paths.resampled(lost, longest))
    ]
    thresholds = {name: max(floor, float(np.quantile(off[0], each))) for name, each in QUANTILES.items()}
    near = {name: int((off[1] <= value).sum()) for name, value in thresholds.items()}
    table = pl.concat([group.filter(pl.col("success") == value) for value in (1, 0)]).select(
        *("id", "task", "seed", "start", "goal"),
        pl.col("success") == 1,
        distance=pl.Series(np.concatenate(off)),
        threshold=pl.lit(thresholds[WIDEST]),
    )
    table = table.with_columns(
        pl.when(~pl.col("success")).then(pl.col("distance") <= thresholds[name]).alias(column)
        for name, column in NEAR.items()
    )
    return TaskFailures(task, aim, len(won), len(lost), thresholds, near, reference), table


def _by_type(ended: pl.DataFrame, label: str, order: tuple[str, ...]) -> tuple[NearFar, ...]:
    """Group by a type of paraphrase; empty where the run has no paraphrases."""
    if label not in ended.columns:
        return ()
    kind = pl.when(pl.col("condition") == CONTROL).then(pl.lit(NONE)).otherwise(pl.col(label))
    groups = {each.group: each for each in _grouped(ended.filter(kind.is_not_null()), kind)}
    return tuple(groups[name] for name in order if name in groups)


def _grouped(ended: pl.DataFrame, by: pl.Expr) -> tuple[NearFar, ...]:
    """How the episodes of each group ended, in the order in which groups come."""
    lost = pl.col("success") == 0
    counts = ended.group_by(by.alias("group"), maintain_order=True).agg(
        episodes=pl.len(),
        successes=pl.col("success").sum(),
        unjudged=(lost & pl.col("near").is_null()).sum(),
        **{f"near {name}": pl.col(column).sum() for name, column in NEAR.items()},
        **{f"far {name}": (~pl.col(column)).sum() for name, column in NEAR.items()},
    )
    return tuple(
        NearFar(
            group=row["group"],
            episodes=row["episodes"],
            successes=row["successes"],
            near={name: row[f"near {name}"] for name in QUANTILES},
            far={name: row[f"far {name}"] for name in QUANTILES},
            unjudged=row["unjudged"],
        )
        for row in counts.iter_rows(named=True)
    )


FAILURES = Measure(
    "failures",
    "Failures close to the successful trajectory (execution) and far from it (planning).",
    lambda run: failures(run.frame, run.paths, run.near_far or OURS),
    continuous=True,
    panels=(
        Panel(
            "How it fails",
            tables=(
                "assay.report.near_far:failures_table",
                "assay.report.near_far:thresholds_table",
                "assay.report.near_far:types_table",
            ),
            figures=(
                "assay.report.figures.near_far:near_far_types_figure",
                "assay.report.figures.paths:success_paths_figure",
                "assay.report.figures.paths:paths_3d_figure",
                "assay.report.figures.paths:paths_top_figure",
            ),
            runs="assay.report.figures.near_far:near_far_figure",
        ),
    ),
    side_by_side=("assay.report.near_far:runs_table", "assay.report.near_far:runs_thresholds_table"),
    sentences="assay.measures.failure.nearness:failures_sentences",
    numbers="assay.measures.failure.nearness:failures_numbers",
)


def failures_sentences(found: Failures, profile: Profile) -> Iterator[str]:
    """Failures of planning and of execution."""
    if found.far_share is not None:
        idle = f"; {found.idle:,} of them touched and moved nothing" if found.idle else ""
        yield (
            f"Of {plural(found.failures, 'failure')} in an unperturbed scene that can be judged, {found.far['max']:,} "
            f"({percent(found.far_share)}, 95 % interval {between(found.interval, 100)}) are far from the "
            f"successful trajectory (planning{idle}), {found.near['max']:,} close to it (execution){_unjudged(found)}."
        )


def failures_numbers(found: Failures, profile: Profile) -> Iterator[KeyNumber]:
    """The share of far failures."""
    if found.far_share is not None:
        about = "Share of failures in an unperturbed scene that are far from the successful trajectory"
        number = KeyNumber.of(
            "far failures",
            percent(found.far_share),
            found.interval,
            found.failures,
            f"{about}{_unjudged(found)}.",
        )
        every = found.failures + found.unjudged
        yield replace(number, detail=f"{number.detail} of {every:,}") if found.unjudged else number


def _unjudged(found: Failures) -> str:
    """How many failures could not be judged, and why."""
    if not found.unjudged:
        return ""
    return (
        f"; {plural(found.unjudged, 'failure')} more could not be judged, for want of "
        f"{found.rule.least_successes} successes of the task to compare with"
    )
