"""The smallest change at which success is lost, with its confidence set, as the episodes of a search tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.episodes import Outcome
from assay.episodes.spec import CONTROL
from assay.experiments.axes import AXIS, FRESH, MAGNITUDE
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.measures.run_data import RunData
from assay.support.stats.betting import Wager, share_of
from assay.support.stats.thresholds import ALPHA, LEVEL, Evidence

META = "search"
"""Of the run's meta table: level, confidence, and the ladders that were searched."""
SECTION = "The smallest change that breaks it"


@dataclass(frozen=True, slots=True)
class AtMagnitude(Result):
    """Success at one magnitude, in starts whose control succeeds."""

    magnitude: float
    successes: int
    starts: int


@dataclass(frozen=True, slots=True)
class Threshold(Result):
    """Where success is lost along one axis of one task."""

    task: str
    axis: str
    unit: str
    magnitudes: tuple[float, ...]
    """The ladder."""
    kept: float | None
    """The largest magnitude at which success is known to be kept; 0 where that is known of none; None where
    no threshold fits what was seen."""
    lost: float | None
    """The smallest magnitude at which success is known to be lost; None where that is known of none."""
    best: float | None
    """The likeliest threshold; None where success is likelier not lost at all, none fits, or nothing was played."""
    fits: bool
    """Whether any threshold fits; otherwise success does not fall as the change grows, or chance had it so."""
    points: tuple[AtMagnitude, ...]
    controls: int
    """Of the task, for whichever axis, that ended without an error."""
    succeeded: int
    """Controls that succeeded."""
    episodes: int
    """Of this axis, without the controls."""
    ended: str
    """Why the search ended: settled, budget, controls, starts; empty for a run that is no search."""


@dataclass(frozen=True, slots=True)
class Thresholds(Result):
    """All axes of all tasks."""

    level: float
    """Of the starts that succeed unchanged, the share that must be kept."""
    confidence: float
    """That each interval holds its threshold, whenever one looks."""
    found: tuple[Threshold, ...]
    cannot: tuple[str, ...]
    """Axes that a task cannot have, a sentence each."""


@dataclass(frozen=True, slots=True)
class WorstCase(Result):
    """Small changes together, on starts that they were not found on."""

    task: str
    condition: str
    failures: int
    starts: int
    confirmed: bool
    """Whether success is known to be below the level."""
    example: str
    """The key of an episode that failed; empty where none did."""


def thresholds(run: RunData) -> Thresholds:
    """Every axis of every task that was searched."""
    known: dict[str, Any] = run.meta.get(META, {})
    level, confidence = known.get("level", LEVEL), known.get("confidence", 1 - ALPHA)
    whole = run.whole
    if MAGNITUDE not in whole.columns:  # nothing but controls
        whole = whole.with_columns(
            pl.lit(None, pl.Float64).alias(MAGNITUDE), pl.lit(None, pl.String).alias(AXIS)
        )
    single = whole.filter(pl.col(MAGNITUDE).is_not_null())
    ladders = {(each["task"], each["axis"]): each for each in known.get("pairs", ())}
    for task, axis in single.select("task", AXIS).unique(maintain_order=True).iter_rows():
        if (task, axis) not in ladders:
            here = single.filter((pl.col("task") == task) & (pl.col(AXIS) == axis))
            ladders[task, axis] = {"magnitudes": sorted(here[MAGNITUDE].unique().to_list())}
    usual = _controls(run.whole)
    found = tuple(
        _threshold(single, usual.get(task, {}), task, axis, about, level, 1 - confidence)
        for (task, axis), about in ladders.items()
    )
    if not found:
        raise MeasureError("nothing was searched")
    return Thresholds(level, confidence, found, tuple(known.get("cannot", ())))


def _controls(frame: pl.DataFrame) -> dict[str, dict[int, bool]]:
    """Success of the controls: task -> seed -> success; those that broke are left out."""
    rows = frame.filter((pl.col("condition") == CONTROL) & (pl.col("outcome") != Outcome.ERROR))
    found: dict[str, dict[int, bool]] = {}
    for task, seed, outcome in rows.select("task", "seed", "outcome").iter_rows():
        found.setdefault(task, {})[seed] = outcome == Outcome.SUCCESS
    return found


def _threshold(
    single: pl.DataFrame,
    usual: dict[int, bool],
    task: str,
    axis: str,
    about: dict[str, Any],
    level: float,
    alpha: float,
) -> Threshold:
    rows = single.filter((pl.col("task") == task) & (pl.col(AXIS) == axis))
    ladder = [float(each) for each in about["magnitudes"]]
    evidence = Evidence(len(ladder), level, alpha)
    counts = {each: [0, 0] for each in ladder}
    starts: dict[int, dict[int, bool]] = {}
    for seed, magnitude, outcome in rows.select("seed", MAGNITUDE, "outcome").iter_rows():
        if usual.get(seed) and outcome != Outcome.ERROR and magnitude in counts:
            won = outcome == Outcome.SUCCESS
            counts[magnitude][0] += won
            counts[magnitude][1] += 1
            starts.setdefault(seed, {})[ladder.index(magnitude)] = won
    for outcomes in starts.values():
        evidence.see(outcomes)
    ends, best = evidence.interval, evidence.best
    return Threshold(
        task,
        axis,
        str(about.get("unit", "")),
        tuple(ladder),
        None if ends is None else 0.0 if ends[0] == 0 else ladder[ends[0] - 1],
        None if ends is None or ends[1] == len(ladder) else ladder[ends[1]],
        None if not starts or best is None or best == len(ladder) else ladder[best],
        ends is not None,
        tuple(AtMagnitude(each, *counts[each]) for each in ladder if counts[each][1]),
        len(usual),
        sum(usual.values()),
        len(rows),
        str(about.get("ended", "")),
    )


def worst_cases(run: RunData) -> tuple[WorstCase, ...]:
    """What was played on fresh starts, the surest first."""
    known: dict[str, Any] = run.meta.get(META, {})
    level, alpha = known.get("level", LEVEL), 1 - known.get("confidence", 1 - ALPHA)
    rows = run.whole.filter(pl.col(FRESH).fill_null(False))
    found = []
    tested: Counter[str] = Counter()
    for (task, condition), whole in rows.group_by("task", "condition", maintain_order=True):
        tested[str(task)] += 1
        group = whole.filter(pl.col("outcome") != Outcome.ERROR)
        if group.is_empty():
            continue
        lost = (group["outcome"] == Outcome.FAILURE).to_list()
        failed = group.filter(pl.col("outcome") == Outcome.FAILURE)["key"].to_list()
        found.append(
            WorstCase(
                str(task), str(condition), len(failed), len(lost),
                _known_lost(lost, level, share_of(alpha, tested[str(task)])),
                failed[0] if failed else "",
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda each: (not each.confirmed, -each.failures / each.starts)))


def _known_lost(lost: Iterable[bool], level: float, alpha: float) -> bool:
    wager = Wager(1 - 2 * level)
    for each in lost:
        wager.see(1.0 if each else -1.0)
    return wager.won(alpha)


THRESHOLDS = Measure(
    "thresholds",
    "The smallest change at which success is lost, by task and axis, with an interval that holds at all times.",
    thresholds,
    needs=(AXIS,),
    panels=(
        Panel(
            SECTION,
            tables=("assay.report.thresholds:threshold_table",),
            figures=("assay.report.figures.thresholds:threshold_figure",),
        ),
    ),
    sentences="assay.report.thresholds:threshold_sentences",
)
WORST_CASES = Measure(
    "worst_cases",
    "Small changes that break the policy together, confirmed on fresh starts.",
    worst_cases,
    needs=(FRESH,),
    panels=(Panel(SECTION, tables=("assay.report.thresholds:case_table",)),),
    sentences="assay.report.thresholds:case_sentences",
)
