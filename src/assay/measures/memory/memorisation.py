"""Memorisation: does the policy repeat the control's trajectory although the change calls for a different one?

A change calls for a different trajectory if it is implausible (a meaningless or different instruction, a missing
target), if the goal is a different one in the same world, or if an object of the task is far from its position in the
control.
(Runs record the initial positions of objects; otherwise the label ``distance`` is used.) Then

    D = distance from the trajectory to the nearest successful control of the same task, with any seed
        (open-end dynamic time warping, metres: a trajectory may be slower, or begin later)

is compared with the natural spread of the task (``paths``). A trajectory is *repeated* if D is at most the 95 %
quantile of that spread (or a centimetre, if larger) and the changed goal was not reached. It is also repeated if the
recorded actions are those of such a control (``same_actions``): an arm that replays actions follows another path if a
displaced object blocks it. The index is the fraction of repeated trajectories: 0 for a policy that reacts, near 1 for
one that replays what it has learnt. It is tested over starts against chance: the fraction of other tasks' controls
that count as repeating this task's controls, but at least 5 %.

Not judged, and counted separately:

- episodes whose control failed or ended in an error, so that the index covers only starts that the policy can solve;
- episodes whose goal includes the control's task;
- instructions that no longer ask for the task but can be guessed, such as its words in another order;
- episodes whose control differs from standing still by less than twice the spread;
- displacements below ten centimetres or four times the spread;
- displacements together with a different initial end-effector position, such as in a room with another robot position.

Assumptions: seeds vary the layout less than the change does, and the trajectory reveals the intention. A policy that
ignores instructions scores 1 on changed instructions, whether it replays trajectories or infers the goal from the
scene. Only requests for something else show whether a policy follows instructions: under nonsense, the trained
task is a reasonable default (`Calls`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

import numpy as np
import polars as pl
import scipy

from assay.measures import frames
from assay.measures.findings import FlawTest, Profiles, Untested, evidence_from, select_results
from assay.measures.flaws import Flaw
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.memory.paths import (
    QUANTILE,
    AnyPaths,
    ReadTrajectories,
    alike,
    by_chance,
    displacement,
    distances,
    same_actions,
    spreads,
    starting_elsewhere,
)
from assay.measures.result import FOR_DRAWING, MeasureError, Missing, Result
from assay.measures.views.forest import SHARES, Mark, forest_drawing
from assay.measures.views.style import Drawing, series
from assay.measures.views.table import Column, Table, declared_columns
from assay.measures.views.wording import KeyNumber, between, describe_runs, listed, number, plural
from assay.support.stats.intervals import Interval, effective_count, share_over_tasks, wilson_interval

CHANCE = 1 - QUANTILE
"""Minimum fraction of trajectories that are expected to be repeated by chance."""
FAR = 0.1
"""Minimum displacement, in metres, that requires a different trajectory."""
MIN_SPREADS = 4
"""Minimum displacement that requires a different trajectory, as a multiple of the spread."""
MIN_CONTROL_SPREADS = 2
"""Minimum distance between a control's trajectory and standing still, as a multiple of the spread."""
_USED = (
    *("id", "task", "seed", "start", "condition", "outcome", "truth", "initial_positions", "events"),
    *("axis", "plausible", "guessable", "distance", "asked_goal"),
)
"""Columns of a run that are read."""


class Calls(StrEnum):
    """Reasons why an episode requires a different trajectory from its control's."""

    MOVED = "moved"
    """An object of the task is at another position."""
    ASKED = "something else"
    """The instruction requests something else that is possible in the scene."""
    NONSENSE = "nonsense"
    """The instruction has no executable meaning."""
    IMPOSSIBLE = "impossible"
    """The task is impossible: its object is missing or replaced, or nothing is visible."""


@dataclass(frozen=True, slots=True)
class Index(Result):
    """Fraction of repeated trajectories in a group of episodes."""

    group: str
    """Name of the axis, condition or reason for a different trajectory; empty for all episodes."""
    index: Annotated[float, Column("index", "number")]
    interval: Annotated[Interval, Column("95 % interval", "number")]
    """Wilson interval of the index over starts."""
    alike: Annotated[int, Column("alike", "count")]
    """Number of episodes that repeat the control's trajectory."""
    count: Annotated[int, Column("n", "count")]
    """Number of judged episodes."""
    starts: Annotated[int, Column("starts", "count")]
    p: float
    """One-sided p value, over starts, for an index above ``chance``; at least ``chance ** starts``."""
    chance: float
    """Fraction expected by chance: share of other tasks' controls that would count as repeated; at least 5 %."""
    tasks: int
    over_tasks: Interval | None
    """Wilson interval for tasks in general, treating these tasks as a sample; None for fewer than three tasks."""


@dataclass(frozen=True, slots=True)
class TaskRepeats(Result):
    """Repeated trajectories of one task."""

    task: str
    alike: int
    count: int
    """Number of judged episodes."""


@dataclass(frozen=True, slots=True)
class CalledBy(Result):
    """Index by condition and by task, for each reason for a different trajectory (`Calls`)."""

    conditions: dict[str, tuple[str, ...]]
    tasks: dict[str, tuple[TaskRepeats, ...]]
    of: int
    """Number of tasks in the runs, including those without a judged episode."""


@dataclass(frozen=True, slots=True, eq=False)
class Memorisation(Result):
    """Memorisation index of a run."""

    overall: Index
    axes: tuple[Index, ...]
    conditions: tuple[Index, ...]
    calls: tuple[Index, ...]
    """Index by reason for a different trajectory: moved, something else, nonsense, impossible."""
    by_label: int
    """Number of judged episodes whose displacement is known only from a label."""
    by_actions: int
    """Number of repeated trajectories that are recognised only by their actions."""
    reached: int
    """Number of judged episodes that reached the changed goal, which therefore do not count as repeated."""
    unjudged: dict[str, int]
    """Reason why episodes were not judged -> number of episodes."""
    spread: dict[str, float]
    """Task -> maximum distance of a repeated trajectory, in metres."""
    noise: dict[str, float]
    """Task -> noise of the policy, in metres.

    The noise is the 95 % quantile of the distances between controls with the same start, for tasks with several
    (``--repeats``, ``--hold-start``). For these tasks, a trajectory counts as repeated up to this distance (or up to a
    centimetre, if larger).
    """
    episodes: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """Judged episodes. Columns: id, task, seed, start, condition, axis, calls, spread (metres), alike, chance."""


def memorisation(
    frame: pl.DataFrame, paths: AnyPaths, read: ReadTrajectories = lambda ids: ()
) -> Memorisation:
    """Compute the memorisation index of a run; ``read`` yields trajectories with their actions.

    Episodes with an event are left out, because the control's trajectory is correct until the event.
    """
    frame = frames.narrow(frame, *_USED)
    rows = frames.valid_rows(frame.filter(pl.col("events").is_null()) if "events" in frame.columns else frame)
    changed = _classify(frames.pairs(rows, "id", "truth", "initial_positions"))
    changed = changed.filter(pl.col("other") | (pl.col("moved_by") > 0))
    if not len(changed):
        raise MeasureError("no episode with a control has a change that calls for a different trajectory")
    successful = frames.controls(rows, repeats=True).filter(pl.col("success") == 1)
    successful = successful.filter(pl.Series(paths.has(successful["id"].to_numpy())))
    spread, noise = spreads(successful, paths)
    unjudged: Counter[str] = Counter()  # the reasons are keys of the JSON report

    def keep(table: pl.DataFrame, which: np.ndarray | pl.Series, why: str) -> pl.DataFrame:
        remaining = table.filter(pl.Series(which))
        unjudged[why] += len(table) - len(remaining)
        return remaining

    changed = keep(changed, changed["control_success"] == 1, "the control failed")
    changed = keep(changed, ~changed["composed"], "the control's task is a part of what is asked for")
    changed = keep(changed, ~changed["guessable"], "the instruction can be guessed")
    has = paths.has(changed["id"].to_numpy()) & paths.has(changed["control_id"].to_numpy())
    changed = keep(changed, has, "no path")
    within = [spread.get(task, spread[""]) for task in changed["task"]]
    changed = changed.with_columns(spread=pl.Series(within, dtype=pl.Float64))
    far = (pl.col("moved_by") >= FAR) & (pl.col("moved_by") >= MIN_SPREADS * pl.col("spread"))
    enough = changed.select(pl.col("other") | far).to_series()
    changed = keep(changed, enough, "moved too little, for how much controls differ")
    here = ~starting_elsewhere(changed, paths) | changed["other"].to_numpy()
    changed = keep(changed, here, "the end effector starts elsewhere")
    ids, which = np.unique(changed["control_id"].to_numpy(), return_inverse=True)
    control = paths.resample(ids)
    still = np.repeat(control[:, :1], control.shape[1], axis=1)
    moves = distances(still, control)[which] >= MIN_CONTROL_SPREADS * changed["spread"].to_numpy()
    changed = keep(changed, moves, "the control cannot be told from standing still")
    if not len(changed):
        reasons = ", ".join(f"{count} x {why}" for why, count in unjudged.items() if count)
        raise MeasureError(f"no episode can be judged: {reasons}")
    chance = by_chance(successful, paths, spread, read)
    judged = []
    for (task,), group in changed.group_by("task", maintain_order=True):
        ids, usual = group["id"].to_numpy(), successful.filter(pl.col("task") == task)["id"].to_numpy()
        own, same = group["control_id"].to_numpy(), np.zeros(len(ids), bool)
        near = alike(ids, own, usual, group["spread"].to_numpy(), paths)
        left = ~near & ~group["reached"].to_numpy()
        same[left] = same_actions(ids[left], own[left], usual, read)
        least = pl.lit(max(CHANCE, chance.get(str(task), 0.0)))
        judged.append(group.with_columns(alike=pl.Series(near | same), same=pl.Series(same), chance=least))
    changed = pl.concat(judged).with_columns(pl.col("alike") & ~pl.col("reached"))
    return Memorisation(
        overall=_index("", changed),
        axes=indices_by("axis", changed),
        conditions=indices_by("condition", changed),
        calls=indices_by("calls", changed),
        by_label=int((~changed["other"] & ~changed["measured"]).sum()),
        by_actions=int(changed["same"].sum()),
        reached=int(changed["reached"].sum()),
        unjudged={why: count for why, count in unjudged.items() if count},
        spread={task: value for task, value in spread.items() if task},
        noise=noise,
        episodes=changed.select(
            *("id", "task", "seed", "start", "condition", "axis", "calls", "spread", "alike", "chance")
        ),
    )


def _classify(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the axis, the displacement of the target, and the reason for a different trajectory.

    If the displacement is the only reason, the axis is ``world``, even if other axes were changed.
    """
    have = {name: pl.col(name) for name in rows.columns}
    now, usual = frames.goal(), frames.goal("control_truth")
    measured = pl.struct("initial_positions", "control_initial_positions").map_elements(
        lambda both: displacement(*both.values()), return_dtype=pl.Float64
    )
    label = have.get("distance", pl.lit(0.0)).cast(pl.Float64).fill_null(0.0)
    requested = have.get("asked_goal", pl.lit(None, pl.String)).cast(pl.String)
    sensible = have.get("plausible", pl.lit(True)).fill_null(True)
    guessed = pl.col("condition").is_in(frames.guessable(rows)["condition"].unique().to_list())
    another = ~frames.IN_ANOTHER_WORLD & (now != usual) & (now != "") & (usual != "")

    def includes_control_task(row: dict[str, str]) -> bool:
        """Return whether the request includes the goal of the control."""
        now, usual = row["asked"], frames.atoms(row["control_truth"])
        return bool(usual) and usual <= (set(now.split(" and ")) if now else frames.atoms(row["truth"]))

    composed = pl.struct(requested.alias("asked"), "truth", "control_truth").map_elements(
        includes_control_task, return_dtype=pl.Boolean
    )
    world = pl.col("axis").fill_null("") != "words"
    return (
        rows.with_columns(axis=have.get("axis", pl.lit(None, pl.String)), _measured=measured)
        .with_columns(
            measured=pl.col("_measured").is_not_null(),
            moved_by=pl.coalesce("_measured", label),
            other=~sensible | another,
            guessable=~sensible & ~another & guessed,
            composed=(another | requested.is_not_null()) & composed,
            reached=sensible & (pl.col("success") == 1),
        )
        .with_columns(
            calls=pl.when(~pl.col("other"))
            .then(pl.lit(str(Calls.MOVED)))
            .when(another | requested.is_not_null())
            .then(pl.lit(str(Calls.ASKED)))
            .when(world)
            .then(pl.lit(str(Calls.IMPOSSIBLE)))
            .otherwise(pl.lit(str(Calls.NONSENSE)))
        )
        .with_columns(axis=pl.when("other").then("axis").otherwise(pl.lit("world")))
    )


def indices_by(column: str, rows: pl.DataFrame) -> tuple[Index, ...]:
    """Return the memorisation index for each value of a column (axis, condition or calls).

    ``rows`` are the judged episodes of one or several runs.
    """
    return tuple(
        _index(str(name), group)
        for (name,), group in rows.drop_nulls(column).group_by(column, maintain_order=True)
    )


def share_above(share: float, effective: float, chance: float) -> float:
    """Return the one-sided p value for a fraction above ``chance``, observed in ``effective`` independent episodes.

    It is the tail of the binomial distribution, interpolated between integers by the incomplete beta function.
    """
    hits = share * effective
    return 1.0 if hits <= 0 else float(scipy.special.betainc(hits, effective - hits + 1, chance))


def _index(group: str, rows: pl.DataFrame) -> Index:
    hits, counts = frames.sums(
        rows, frames.START, alike=pl.col("alike"), count=pl.col("alike").is_not_null()
    ).T
    by_task = frames.sums(rows, ["task"], alike=pl.col("alike"), count=pl.col("alike").is_not_null())
    share, chance = float(hits.sum() / len(rows)), CHANCE
    if "chance" in rows.columns:
        chance = float(rows["chance"].mean())  # type: ignore[arg-type]
    effective = effective_count(hits, counts, len(rows))
    independent = effective if len(hits) > 1 else 1.0  # the correlation within a single start is unknown
    return Index(
        group=group,
        index=share,
        interval=wilson_interval(share, effective),
        alike=int(hits.sum()),
        count=len(rows),
        starts=len(hits),
        p=max(share_above(share, independent, chance), chance ** len(hits)),
        chance=chance,
        tasks=len(by_task),
        over_tasks=share_over_tasks(*by_task.T, effective),
    )


def _test_memory(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test whether trajectories are repeated although the object was moved or something else was requested."""
    runs, results = select_results(profiles, MEMORISATION)
    calls: dict[str, Index] = {}
    detail = CalledBy({}, {}, 0)
    if results:
        episodes = pl.concat(result.episodes for result in results)
        calls = {index.group: index for index in indices_by("calls", episodes)}
        controls = [profile.get("control") for _, profile in profiles]
        tasks = max(0 if control is None else control.tasks for control in controls)
        names = pl.col("condition").unique(maintain_order=True)
        conditions = episodes.group_by("calls", maintain_order=True).agg(names)
        counts = episodes.group_by("calls", "task", maintain_order=True).agg(pl.col("alike").sum(), pl.len())
        by_task: dict[str, tuple[TaskRepeats, ...]] = {}
        for call, *counted in counts.iter_rows():
            by_task[call] = (*by_task.get(call, ()), TaskRepeats(*counted))
        detail = CalledBy({call: tuple(used) for call, used in conditions.iter_rows()}, by_task, tasks)
    evidence = {}
    for call, index in calls.items():
        part = (index.group, index.index, index.interval, index.p, index.alike, index.count)
        evidence[call] = evidence_from(runs, MEMORISATION.name, *part, over_tasks=index.over_tasks)
    missing = (profile[MEMORISATION.name] for _, profile in profiles)
    notes = tuple(dict.fromkeys(result.missing for result in missing if isinstance(result, Missing)))

    def test(flaw: Flaw, call: str, *order: str) -> FlawTest:
        index = calls[call]
        ordered = tuple(evidence[name] for name in order if name in evidence)
        least = index.chance**index.starts
        return FlawTest(flaw, ordered, index.p, index.interval, least_p=least, detail=detail)

    if Calls.MOVED in calls:
        yield test(Flaw.MEMORISES, Calls.MOVED, Calls.MOVED, Calls.ASKED, Calls.NONSENSE)
    yield Untested(Flaw.MEMORISES, MEMORISATION.name, notes=notes)
    # A policy that falls back on the trained task under nonsense may still listen: other requests decide.
    call = Calls.ASKED if Calls.ASKED in calls else Calls.NONSENSE
    if call in calls:
        yield test(Flaw.IGNORES_WORDS, call, Calls.ASKED, Calls.NONSENSE, Calls.MOVED)
    yield Untested(Flaw.IGNORES_WORDS, MEMORISATION.name, notes=notes)


def memorisation_table(result: Memorisation, report: ReportedRun) -> Table:
    """Return a table of the memorisation index by axis and condition."""
    rows = [(result.overall, "all"), *((index, "axis") for index in result.axes)]
    rows += [(index, "condition") for index in result.conditions]
    note = "Alike: number of trajectories that repeat that of the control. 95 % Wilson intervals over starts."
    if result.by_actions:
        note += f" Of these, {result.by_actions:,} take another path, with the actions of a control."
    if result.by_label:
        note += (
            " The run does not record initial positions; in "
            f"{result.by_label:,} of the {result.overall.count:,} episodes, the displacement is taken from a label."
        )
    names = ("alike", "count", "starts", "index", "interval")
    columns = declared_columns(Index)
    return Table(
        "memorisation",
        "Memorisation index",
        (Column("by"), Column("change"), *(columns[name] for name in names)),
        tuple((by, index.group or "all", *(getattr(index, name) for name in names)) for index, by in rows),
        note,
    )


def memorisation_figure(runs: Mapping[str, Memorisation]) -> Drawing:
    """Plot the memorisation index by axis and by condition, with one group for each run."""

    def mark(index: Index, place: int, label: str = "") -> Mark:
        notes = number(index.index, 2), between(index.interval, digits=2), f"{index.alike:,}/{index.count:,}"
        return Mark(label or index.group, index.index, index.interval, notes, **series(place))

    groups: dict[str, list[Mark]] = {}
    sizes = {}
    for place, (run, result) in enumerate(runs.items()):
        reasons = listed(f"{count:,} because {why}" for why, count in result.unjudged.items())
        sizes[run] = f"{plural(result.overall.count, 'episode')} judged"
        sizes[run] += f", not judged: {reasons}" if reasons else ""
        if len(runs) > 1:
            groups[run] = [mark(result.overall, place, "all"), *(mark(index, place) for index in result.axes)]
        else:
            groups["all"] = [mark(result.overall, 0, "all changes")]
            groups["by axis"] = [mark(index, 0) for index in result.axes]
            groups["by condition"] = [mark(index, 1) for index in result.conditions]
    caption = (
        "Fraction of trajectories that cannot be distinguished from that of the control although the change "
        f"calls for another one. {describe_runs(sizes)}. Lines: 95 % Wilson intervals over starts."
    )
    return forest_drawing(
        "memorisation",
        "Memorisation index",
        caption,
        groups,
        along="memorisation index (0: reacts to the change, 1: repeats the control)",
        heads=("index", "95 % interval", "n"),
        limits=SHARES,
    )


MEMORISATION = Measure(
    "memorisation",
    "Fraction of trajectories that repeat that of the control although the change calls for another one.",
    lambda run: memorisation(run.frame, run.paths, run.trajectories),
    continuous=True,
    panels=(Panel("Memorisation", (memorisation_table,), runs=memorisation_figure),),
    sentences=lambda result, profile: [
        f"In {index.alike:,} of {plural(index.count, 'episode')} whose change calls for another trajectory, it "
        f"repeated the control's: memorisation index {number(index.index, 2)} ({between(index.interval, digits=2)})."
        for index in (result.overall,)
    ],
    numbers=lambda result, profile: [
        KeyNumber.of(
            "memorisation index",
            number(result.overall.index, 2),
            result.overall.interval,
            result.overall.count,
            "Fraction of the episodes whose change calls for another trajectory that repeat the control's trajectory.",
            scale=1,
            over_tasks=result.overall.over_tasks,
        )
    ],
    tests=_test_memory,
)
