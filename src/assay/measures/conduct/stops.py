"""Where failures stop: the furthest stage that the atom came to which an episode was working on when it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from assay.episodes.conduct import UNTOUCHED, atom_progress, furthest
from assay.episodes.spec import Label
from assay.measures.clustering import shares
from assay.measures.conduct.progress import HIDDEN, NO_ATOMS
from assay.measures.frames import judged
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.measures.run_data import RunData
from assay.support.stats.intervals import Interval

ORDER = (
    UNTOUCHED,
    "reached",
    "touched",
    "moved",
    "grasped",
    "lifted",
    "carried",
    "placed",
    "released",
    "done",
)
"""Stages as a report shows them: of things and of drawers, doors and knobs. Whoever stops at placed, released or done
had what was asked for, and lost it again."""


@dataclass(frozen=True, slots=True)
class Stop(Result):
    """How many episodes of a group failed at a stage."""

    group: dict[str, Label]
    """What they have in common: column -> value; empty for all."""
    stage: str
    """The furthest that they came to."""
    failures: int
    """That stopped there."""
    of_failures: int
    """Failures of which stages are known."""
    count: int
    """Episodes of which stages are known, successes too."""
    share: float
    """failures / of_failures"""
    interval: Interval
    """Of it: Wilson's, over starts and variants."""


def stops(frame: pl.DataFrame) -> tuple[Stop, ...]:
    """Where failures stop: of all episodes, then of each condition. Raises MeasureError where no stages are known."""
    if "stages" not in frame.columns or frame["stages"].null_count() == len(frame):
        raise MeasureError("the run does not record how far each atom of the goal came")
    rows = judged(frame).filter(pl.col("stages") != NO_ATOMS)
    failed = rows.filter(pl.col("success") == 0)
    if not len(failed):
        return ()
    at = pl.struct("stages", "truth", "steps").map_elements(_stopped, return_dtype=pl.String)
    failed = failed.with_columns(_stage=at)
    found = list(_of_group({}, failed, len(rows)))
    conditions = rows["condition"].unique(maintain_order=True).to_list()
    for condition in conditions if len(conditions) > 1 else ():
        mine = failed.filter(pl.col("condition") == condition)
        if len(mine):
            found += _of_group({"condition": condition}, mine, int((rows["condition"] == condition).sum()))
    return tuple(found)


def _of_group(group: dict[str, Label], failed: pl.DataFrame, count: int) -> list[Stop]:
    found = []
    for stage in ORDER:
        here = failed.with_columns(_here=(pl.col("_stage") == stage).cast(pl.Int64))
        hits = int(here["_here"].sum())
        if hits:
            interval = shares(here, "_here")[()][1]
            found.append(Stop(group, stage, hits, len(failed), count, hits / len(failed), interval))
    return found


def _stopped(row: dict[str, object]) -> str:
    return stopped_at(str(row["stages"]), str(row["truth"]), int(str(row["steps"])))


@lru_cache(maxsize=65_536)
def stopped_at(stages: str, truth: str, steps: int) -> str:
    """The stage at which a failure stopped: of the atoms that do not hold in the end, the one that came furthest."""
    held = json.loads(truth)
    open_atoms = [
        found
        for atom, found in json.loads(stages).items()
        if not any(last > steps for _, last in held.get(atom, ()))
    ]
    return furthest(max(open_atoms, key=atom_progress)) if open_atoms else UNTOUCHED


def _measured(run: RunData) -> tuple[Stop, ...]:
    return stops(run.plausible)


STOPS = Measure(
    "stops",
    "Where failures stop: the furthest stage of the atom that was worked on.",
    _measured,
    needs=("stages",),
    panels=(
        Panel(
            HIDDEN,
            tables=("assay.report.hidden:stops_table",),
            figures=("assay.report.hidden:stops_figure",),
        ),
    ),
)
