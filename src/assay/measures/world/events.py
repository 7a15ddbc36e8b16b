"""What happened during episodes, and what came of it: the two are told apart.

An event waits for a trigger, and a policy that never comes near the thing never sees it. So first it is said in how
many episodes it happened; and then how many of *these* succeeded, beside the controls of the same starts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.changes import all_happened
from assay.measures.frames import PAIR
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.measures.run_data import RunData
from assay.measures.success.rates import Rate, rates

LABEL = "event"
"""The label of episodes during which something is to happen: what."""


@dataclass(frozen=True, slots=True)
class EventOutcome(Result):
    """One event over all episodes in which it was to happen."""

    event: str
    trigger: str
    """What it waits for."""
    change: str
    """What it asks for, as findings name it: ``meanwhile``, ``request``, ``cancel``, ``interruption``."""
    happened: Rate
    """In how many episodes it happened; errors are excluded."""
    after: Rate | None
    """How many of these succeeded; None where it never happened."""
    control: Rate | None
    """How many of their controls did; None where there is none."""
    step: float | None
    """When it happened, the median, control steps."""


def events(run: RunData) -> tuple[EventOutcome, ...]:
    """Each event: whether it happened, and what came of it. Raises MeasureError where nothing is known of events."""
    frame = run.plausible
    if "events" not in frame.columns or not (known := frame.drop_nulls(["events", LABEL])).height:
        raise MeasureError("no episode says whether its event happened")
    known = known.with_columns(
        _happened=pl.col("events").map_elements(all_happened, return_dtype=pl.Boolean),
        _step=pl.col("events").map_elements(_last, return_dtype=pl.Float64),
    )
    found = []
    for (name,), rows in known.group_by(LABEL, maintain_order=True):
        told = rows.with_columns(
            outcome=pl.when(pl.col("outcome") == "error")
            .then(pl.col("outcome"))
            .when(pl.col("_happened"))
            .then(pl.lit("success"))
            .otherwise(pl.lit("failure"))
        )
        there = rows.filter("_happened")
        usual = frame.filter(pl.col("condition") == CONTROL).join(
            there.select(PAIR).unique(), on=PAIR, how="semi"
        )
        found.append(
            EventOutcome(
                event=str(name),
                trigger=", ".join(dict.fromkeys(map(str, rows["trigger"])))
                if "trigger" in rows.columns
                else "",
                change=", ".join(dict.fromkeys(map(str, rows["change"]))),
                happened=rates(told, ())[0],
                after=rates(there, ())[0] if len(there) else None,
                control=rates(usual, ())[0] if len(usual) else None,
                step=there["_step"].median() if len(there) else None,  # type: ignore[arg-type]
            )
        )
    return tuple(found)


def _last(events: str) -> float | None:
    """When the last of an episode's events happened."""
    return max((float(load["step"]) for load in json.loads(events) if load["step"] is not None), default=None)


EVENTS = Measure(
    "events",
    "In how many episodes an event happened, and how many of these succeeded, beside their controls.",
    events,
    needs=(LABEL,),
    panels=(
        Panel(
            "Events",
            tables=("assay.report.events:events_table",),
            figures=("assay.report.figures.events:events_figure",),
        ),
    ),
    sentences="assay.report.events:events_sentences",
)
