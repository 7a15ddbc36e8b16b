"""Objects that the robot touched within a time limit (Figure 9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from assay.episodes.episode import Intervals
from assay.measures.clustering import shares
from assay.measures.frames import atoms
from assay.measures.result import MeasureError
from assay.measures.time.timing import FACTORS, REFERENCE, possible, with_references
from assay.support.stats.intervals import Interval
from assay.tasks.language.lexicon import thing_of


@dataclass(frozen=True, slots=True)
class Touching:
    """Statistics of the objects touched within a time limit."""

    factor: float | None
    """Time limit as a multiple of the reference time; None to limit episodes only by the task's horizon."""
    count: int
    things: float
    """Mean number of different objects touched in an episode."""
    astray: float
    """Share of episodes that touch an object not named by their goal."""
    interval: Interval
    """Wilson interval of ``astray``, clustered by initial state and variant."""
    recovered: int
    """Number of episodes that touch such an object and still succeed within the limit."""


def touching(frame: pl.DataFrame, factors: Sequence[float | None] = FACTORS) -> tuple[Touching, ...]:
    """Measure the objects touched within each limit for which the run has data.

    Raises MeasureError if contacts are not recorded.
    """
    if "contacts" not in frame.columns or frame["contacts"].null_count() == len(frame):
        raise MeasureError("the run does not record contacts over time")
    rows = with_references(frame).filter(pl.col("truth") != "{}").drop_nulls("contacts")
    result = []
    for factor in possible(rows, factors):
        counted = rows if factor is None else rows.drop_nulls(REFERENCE)
        if not len(counted):
            continue
        end = pl.lit(float("inf")) if factor is None else factor * pl.col(REFERENCE)
        timed = counted.with_columns(
            pl.struct("contacts", "truth", end.alias("end"))
            .map_elements(_within, return_dtype=pl.Struct({"things": pl.Int64, "astray": pl.Boolean}))
            .struct.unnest()
            .name.prefix("_"),
            _in_time=(pl.col("success") == 1) & (pl.col("steps") <= end),
        )
        (_, interval) = shares(timed, "_astray")[()]
        result.append(
            Touching(
                factor,
                len(timed),
                float(timed["_things"].to_numpy().mean()),
                float(timed["_astray"].to_numpy().mean()),
                interval,
                int((timed["_astray"] & timed["_in_time"]).sum()),
            )
        )
    if not result:
        raise MeasureError("no task has a reference time or a successful control")
    return tuple(result)


@lru_cache(maxsize=65_536)
def contacts_of(text: str | None) -> dict[str, Intervals]:
    """Parse the contact intervals of each object from an episode's record."""
    return json.loads(text) if text else {}


def asked_for(truth: str) -> set[str]:
    """Return the objects that a goal names directly or through their regions."""
    return {thing_of(name) for atom in atoms(truth) for name in atom.split()[1:]}


def _within(row: dict[str, object]) -> dict[str, int | bool]:
    end, asked = float(str(row["end"])), asked_for(str(row["truth"]))
    contacts = contacts_of(str(row["contacts"]))
    touched = [name for name, spans in contacts.items() if spans[0][0] <= end]
    return {"things": len(touched), "astray": any(name not in asked for name in touched)}
