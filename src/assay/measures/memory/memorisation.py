"""Memory: does the hand go where it went in the control, although the change calls for another path?

A change calls for another path where it is implausible (words that mean nothing or something else, a target
that is gone), where the goal is another one in the same world, or where a thing that the task is about stands
far enough from where it stood in the control. (Runs record where things stand at the start; those that do not have
the label ``distance``, and what they say of memory rests on that.) Then

    D = distance from the path to the nearest successful control of the same task, own seed or other
        (open-end dynamic time warping, metres: a path may be slower, or begin later)

is compared with the natural spread of the task (``own_paths``). The path is *the control's own* where D is within
95 % of that spread, or a centimetre, where controls are even more alike, and where the changed goal was not reached:
whoever reaches it has taken notice. The index is the share of such paths: 0 for a policy that takes notice, near 1
for one that plays back what it has learnt. It is tested over starts against the share that chance would have: how
often the controls of other tasks could be taken for this one's, 5 % at least.

What is not judged, and counted apart:

- episodes whose control failed or broke: there is nothing well learnt to fall back on; so the index is about starts
  that the policy can do;
- episodes that ask for the control's task, too, as a part of what is to be done: it begins likewise;
- instructions that do not ask for the task any more but let a reader guess it, as its words in another order do;
- episodes whose control is less than twice the spread away from standing still: whoever waits in both cases,
  or acts so erratically that anything is within the spread, is not remembering;
- displacements below ten centimetres or four times the spread, which a path may well follow unnoticed;
- displacements where the end effector starts elsewhere, too, as in a room where the robot stands elsewhere.

Assumptions: seeds vary the layout less than the change does; what the hand does tells what the policy has in
mind. A policy that never listens scores 1 on words, whether it remembers or is told the goal by other means. Only
requests for something else tell whether it listens: whoever hears nonsense may well do what is usual (`Calls`).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.measures.frames import (
    START,
    atoms,
    controls,
    goal,
    guessable,
    in_another_world,
    judged,
    pairs,
    sums,
)
from assay.measures.measure import Measure, Panel
from assay.measures.memory.own_paths import (
    ELSEWHERE,
    FLOOR,
    QUANTILE,
    alike,
    by_chance,
    spreads,
    standing_still,
    starting_elsewhere,
)
from assay.measures.memory.paths import Paths
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.views.wording import (
    KeyNumber,
    between,
    number,
    plural,
)
from assay.support.stats.intervals import Interval, effective_count, wilson_interval
from assay.support.stats.significance import share_above

if TYPE_CHECKING:
    from assay.measures.profile import Profile

__all__ = [
    "ELSEWHERE",
    "MEMORISATION",
    "Calls",
    "Index",
    "Memorisation",
    "along",
    "by_calls",
    "displacement",
    "memorisation",
]

CHANCE = 1 - QUANTILE
"""The share of paths that may be the control's own without telling anything."""
FAR = 0.1
"""How far a target must be moved to call for another path, metres."""
TIMES = 4
"""... and how many times the spread."""


class Calls(StrEnum):
    """What calls for another path."""

    MOVED = "moved"
    """A thing that the task is about stands elsewhere."""
    ASKED = "something else"
    """The instruction asks for something else that can be done in the scene."""
    NONSENSE = "nonsense"
    """The instruction says nothing that could be done."""
    IMPOSSIBLE = "impossible"
    """The task cannot be done: what it is about is gone or another thing, or nothing can be seen."""


@dataclass(frozen=True, slots=True)
class Index(Result):
    """How often the path is the control's own."""

    group: str
    """The axis, the condition or what calls for another path; empty for all."""
    index: float
    interval: Interval
    """Wilson's, over starts."""
    alike: int
    """Episodes whose path is the control's own."""
    count: int
    """Episodes that were judged."""
    starts: int
    p: float
    """One-sided: that the share is above ``chance``, over starts."""
    chance: float
    """The share that chance would have: of other tasks' controls that could be taken for this one's; 5 % at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Memorisation(Result):
    """The memorisation index of a run."""

    overall: Index
    axes: tuple[Index, ...]
    conditions: tuple[Index, ...]
    calls: tuple[Index, ...]
    """By what calls for another path: moved, something else, nonsense, impossible."""
    by_label: int
    """Episodes judged because the target was moved that have that from a label: the run does not record it."""
    reached: int
    """Episodes judged that reached the changed goal: whatever their path, it is not the control's own."""
    unjudged: dict[str, int]
    """Why episodes with such a change were not judged, and how many."""
    spread: dict[str, float]
    """What counts as the control's own path, metres: task -> distance."""
    noise: dict[str, float]
    """The policy's own noise, metres: task -> 95 % of the distances between controls of one start; for tasks that have
    several (``--hold-start``). There it is what counts as the control's own path, with a centimetre at least."""
    episodes: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """id, task, seed, start, condition, axis, calls, spread (metres), alike, chance."""


def memorisation(frame: pl.DataFrame, paths: Paths) -> Memorisation:
    """How much of what a policy does is memory.

    Episodes during which something happens are left out: until then their path is the control's, as it should be.
    """
    rows = judged(frame.filter(pl.col("events").is_null()) if "events" in frame.columns else frame)
    changed = _prepared(pairs(rows, "id", "truth", "initial_positions"))
    changed = changed.filter(pl.col("other") | (pl.col("moved_by") > 0))
    if not len(changed):
        raise MeasureError("no episode with a control has a change that calls for another path")
    known = controls(rows).filter(pl.col("success") == 1)
    known = known.filter(pl.Series(paths.has(known["id"].to_numpy())))
    spread, noise = spreads(known, paths)
    unjudged: Counter[str] = Counter()

    def keep(table: pl.DataFrame, which: np.ndarray | pl.Series, why: str) -> pl.DataFrame:
        kept = table.filter(pl.Series(which))
        unjudged[why] += len(table) - len(kept)
        return kept

    changed = keep(changed, changed["control_success"] == 1, "the control failed")
    changed = keep(changed, ~changed["composed"], "the control's task is a part of what is asked for")
    changed = keep(changed, ~changed["guessable"], "the instruction can be guessed")
    has = paths.has(changed["id"].to_numpy()) & paths.has(changed["control_id"].to_numpy())
    changed = keep(changed, has, "no path")
    within = np.array([spread.get(task, spread[""]) for task in changed["task"]])
    changed = changed.with_columns(spread=within)
    far = (pl.col("moved_by") >= FAR) & (pl.col("moved_by") >= TIMES * pl.col("spread"))
    changed = keep(
        changed,
        changed.select(pl.col("other") | far).to_series(),
        "moved too little, for how much controls differ",
    )
    elsewhere = starting_elsewhere(changed, paths) & ~changed["other"].to_numpy()
    changed = keep(changed, ~elsewhere, "the end effector starts elsewhere")
    changed = keep(changed, ~standing_still(changed, paths), "the control cannot be told from standing still")
    if not len(changed):
        said = ", ".join(f"{count} x {why}" for why, count in unjudged.items() if count)
        raise MeasureError(f"no episode can be judged: {said}")
    chance = by_chance(known, paths, spread)
    changed = pl.concat(
        group.with_columns(
            alike=alike(
                group["id"].to_numpy(),
                group["control_id"].to_numpy(),
                known.filter(pl.col("task") == task)["id"].to_numpy(),
                group["spread"].to_numpy(),
                paths,
            ),
            chance=pl.lit(max(CHANCE, chance.get(str(task), 0.0))),
        )
        for (task,), group in changed.group_by("task", maintain_order=True)
    ).with_columns(pl.col("alike") & ~pl.col("reached"))
    return Memorisation(
        overall=_index("", changed),
        axes=along(changed),
        conditions=_by("condition", changed),
        calls=by_calls(changed),
        by_label=int((~changed["other"] & ~changed["measured"]).sum()),
        reached=int(changed["reached"].sum()),
        unjudged={why: count for why, count in unjudged.items() if count},
        spread={task: value for task, value in spread.items() if task},
        noise=noise,
        episodes=changed.select(
            *("id", "task", "seed", "start", "condition", "axis", "calls", "spread", "alike", "chance")
        ),
    )


def along(episodes: pl.DataFrame) -> tuple[Index, ...]:
    """The index of each axis, from judged episodes of one run or of several."""
    return _by("axis", episodes)


def by_calls(episodes: pl.DataFrame) -> tuple[Index, ...]:
    """The index by what calls for another path (`Calls`), from judged episodes of one run or of several."""
    return _by("calls", episodes)


def _prepared(rows: pl.DataFrame) -> pl.DataFrame:
    """The axis, how far the target was moved, and whether something else calls for another path, and what.

    Where nothing else does, the axis is the world: it is what tells, whatever was said besides.
    """
    have = {name: pl.col(name) for name in rows.columns}
    now, usual = goal(), goal("control_truth")
    measured = pl.struct("initial_positions", "control_initial_positions").map_elements(
        lambda both: displacement(*both.values()), return_dtype=pl.Float64
    )
    label = have.get("distance", pl.lit(0.0)).cast(pl.Float64).fill_null(0.0)
    asked = have.get("asked_goal", pl.lit(None, pl.String)).cast(pl.String)
    sensible = have.get("plausible", pl.lit(True)).fill_null(True)
    guessed = pl.col("condition").is_in(guessable(rows)["condition"].unique().to_list())
    another = ~in_another_world() & (now != usual) & (now != "") & (usual != "")
    composed = pl.struct(asked.alias("asked"), "truth", "control_truth").map_elements(
        lambda each: _composed(**each), return_dtype=pl.Boolean
    )
    world = pl.col("axis").fill_null("") != "words"
    return (
        rows.with_columns(axis=have.get("axis", pl.lit(None, pl.String)), _measured=measured)
        .with_columns(
            measured=pl.col("_measured").is_not_null(),
            moved_by=pl.coalesce("_measured", label),
            other=~sensible | another,
            guessable=~sensible & ~another & guessed,
            composed=(another | asked.is_not_null()) & composed,
            reached=sensible & (pl.col("success") == 1),
        )
        .with_columns(
            calls=pl.when(~pl.col("other"))
            .then(pl.lit(str(Calls.MOVED)))
            .when(another | asked.is_not_null())
            .then(pl.lit(str(Calls.ASKED)))
            .when(world)
            .then(pl.lit(str(Calls.IMPOSSIBLE)))
            .otherwise(pl.lit(str(Calls.NONSENSE)))
        )
        .with_columns(axis=pl.when("other").then("axis").otherwise(pl.lit("world")))
    )


def _composed(asked: str | None, truth: str, control_truth: str) -> bool:
    """Whether all that the control's task asks for is asked for, too."""
    now = set(asked.split(" and ")) if asked else atoms(truth)
    return bool(usual := atoms(control_truth)) and usual <= now


@lru_cache(maxsize=65_536)  # several measures ask
def displacement(now: str | None, usual: str | None) -> float | None:
    """How far that of a task's things which was moved farthest stands from where it stood in the control, metres.

    From what both episodes record of the start (JSON); None where one of them does not. Less than a centimetre
    counts as none: things settle differently.
    """
    if now is None or usual is None:
        return None
    here, there = json.loads(now), json.loads(usual)
    apart = [math.dist(here[name], there[name]) for name in here.keys() & there.keys()]
    farthest = max(apart, default=0.0)
    return farthest if farthest >= FLOOR else 0.0


def _by(column: str, rows: pl.DataFrame) -> tuple[Index, ...]:
    return tuple(
        _index(str(name), group)
        for (name,), group in rows.drop_nulls(column).group_by(column, maintain_order=True)
    )


def _index(group: str, rows: pl.DataFrame) -> Index:
    hits, counts = sums(rows, START, alike=pl.col("alike"), count=pl.col("alike").is_not_null()).T
    share, chance = float(hits.sum() / len(rows)), CHANCE
    if "chance" in rows.columns:
        chance = float(rows["chance"].mean())  # type: ignore[arg-type]
    effective = effective_count(hits, counts, len(rows))
    witnesses = effective if len(hits) > 1 else 1.0  # one start cannot show what its episodes have in common
    return Index(
        group=group,
        index=share,
        interval=wilson_interval(share, effective),
        alike=int(hits.sum()),
        count=len(rows),
        starts=len(hits),
        p=share_above(share, witnesses, chance),
        chance=chance,
    )


MEMORISATION = Measure(
    "memorisation",
    "How often the trajectory is the control's although the change calls for another.",
    lambda run: memorisation(run.frame, run.paths),
    continuous=True,
    panels=(
        Panel(
            "Memory",
            tables=("assay.report.tables:memorisation_table",),
            runs="assay.report.figures.memory:memorisation_figure",
        ),
    ),
    sentences="assay.measures.memory.memorisation:memorisation_sentences",
    numbers="assay.measures.memory.memorisation:memorisation_numbers",
    tests="assay.measures.hypotheses:memory",
)


def memorisation_sentences(found: Memorisation, profile: Profile) -> Iterator[str]:
    """How often the control's trajectory is repeated."""
    index = found.overall
    yield (
        f"In {index.alike:,} of {plural(index.count, 'episode')} whose change calls for another trajectory it "
        f"repeated the control's: memorisation index {number(index.index, 2)} "
        f"({between(index.interval, digits=2)})."
    )


def memorisation_numbers(found: Memorisation, profile: Profile) -> Iterator[KeyNumber]:
    """The memorisation index."""
    index = found.overall
    about = "Share of episodes whose change calls for another trajectory that repeat the control's."
    yield KeyNumber.of("memorisation index", number(index.index, 2), index.interval, index.count, about, 1)
