"""Events during episodes, and success after them.

An event waits for a trigger, and a policy that never comes near the object never triggers it. The report therefore
contains two numbers: the fraction of episodes in which the event happened, and the success rate of these episodes
next to the success rate of their controls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import PAIR, all_happened
from assay.measures.measure import Measure, Panel, Profile, ReportedRun, RunData
from assay.measures.result import MeasureError, Result
from assay.measures.success.rates import Rate, rates
from assay.measures.views.forest import SHARES, Mark, forest_drawing
from assay.measures.views.style import FAINT, Drawing
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import between, listed, methods, percent

LABEL = "event"
"""Label of episodes with a planned event; its value is the name of the event."""
REACTIONS: Mapping[str, str] = {
    "meanwhile": "to look again",
    "request": "to follow the new instruction",
    "cancel": "to stop",
    "interruption": "to continue",
}
"""Required reaction by kind of event, in the order of tables and figures."""


@dataclass(frozen=True, slots=True)
class EventOutcome(Result):
    """Outcome of one event over all episodes for which it was planned."""

    event: Annotated[str, Column("event")]
    trigger: Annotated[str, Column("waits for")]
    change: str
    """Kind of event: ``meanwhile``, ``request``, ``cancel``, ``interruption``."""
    happened: Rate
    """Fraction of episodes in which the event happened; errors are excluded."""
    after: Rate | None
    """Success rate of these episodes; None if the event never happened."""
    control: Rate | None
    """Success rate of their controls; None if there are no controls."""
    step: Annotated[float | None, Column("at step", "count")]
    """Median control step at which the event happened."""


def events(run: RunData) -> tuple[EventOutcome, ...]:
    """Measure the outcome of each event. Raises MeasureError if no episode records whether its event happened."""
    frame = run.plausible
    if "events" not in frame.columns or not (planned := frame.drop_nulls(["events", LABEL])).height:
        raise MeasureError("no episode records whether its event happened")

    def last_step(events: str) -> float | None:
        steps = (event["step"] for event in json.loads(events))
        return max((float(step) for step in steps if step is not None), default=None)

    planned = planned.with_columns(
        _happened=pl.col("events").map_elements(all_happened, return_dtype=pl.Boolean),
        _step=pl.col("events").map_elements(last_step, return_dtype=pl.Float64),
    )
    outcomes = []
    for (name,), rows in planned.group_by(LABEL, maintain_order=True):
        happened = pl.when("_happened").then(pl.lit("success")).otherwise(pl.lit("failure"))
        is_error = pl.col("outcome") == "error"
        as_outcome = rows.with_columns(outcome=pl.when(is_error).then("outcome").otherwise(happened))
        there = rows.filter("_happened")
        usual = frame.filter(pl.col("condition") == CONTROL).join(there, on=PAIR, how="semi")
        triggers = rows["trigger"] if "trigger" in rows.columns else ()
        outcomes.append(
            EventOutcome(
                event=str(name),
                trigger=", ".join(dict.fromkeys(map(str, triggers))),
                change=", ".join(dict.fromkeys(map(str, rows["change"]))),
                happened=rates(as_outcome, ())[0],
                after=rates(there, ())[0] if len(there) else None,
                control=rates(usual, ())[0] if len(usual) else None,
                step=there["_step"].median() if len(there) else None,  # type: ignore[arg-type]
            )
        )
    return tuple(outcomes)


def _by_reaction(outcomes: Sequence[EventOutcome]) -> dict[str, list[EventOutcome]]:
    """Group events by the required reaction."""
    groups: dict[str, list[EventOutcome]] = {reaction: [] for reaction in REACTIONS.values()}
    for outcome in outcomes:
        groups.setdefault(REACTIONS.get(outcome.change, outcome.change), []).append(outcome)
    return {reaction: events for reaction, events in groups.items() if events}


def events_table(outcomes: Sequence[EventOutcome], report: ReportedRun) -> Table:
    """Make the table of the number of episodes in which each event happened, with their success rate."""
    return Table.of(
        "events",
        "Events during the episodes, and success after them",
        [outcome for events in _by_reaction(outcomes).values() for outcome in events],
        "event",
        Column("asks", value=lambda outcome: REACTIONS.get(outcome.change, outcome.change)),
        "trigger",
        *("happened.successes as happened", "happened.count as episodes", "step"),
        *("after.successes as successes after it", "after.rate as success after it", "after.interval"),
        "control.rate as success of their controls",
        note="Success rate of the episodes in which the event happened; after a cancelled instruction, success means a "
        "safe stop. At step: median over these episodes. 95 % intervals: "
        f"{methods(outcome.after.interval for outcome in outcomes if outcome.after)}; errors are excluded.",
    )


def events_figure(outcomes: Sequence[EventOutcome], report: ReportedRun) -> Drawing:
    """Draw the success rate after each event, with the number of episodes in which it happened."""
    happened = [
        outcome for outcome in outcomes if outcome.after is not None and outcome.after.rate is not None
    ]
    if not happened:
        raise MeasureError("no event happened")
    groups: dict[str, list[Mark]] = {}
    controls: list[float | None] = []  # one for each row of the plot
    for reaction, events in _by_reaction(happened).items():
        controls += [None, *(event.control.rate if event.control else None for event in events)]
        for event in events:
            assert event.after is not None and event.after.rate is not None
            numbers = (
                percent(event.after.rate, 0),
                between(event.after.interval, 100),
                f"{event.after.successes} of {event.after.count}",
                f"{event.happened.successes} of {event.happened.count}",
            )
            groups.setdefault(reaction, []).append(
                Mark(event.event, event.after.rate, event.after.interval, numbers)
            )

    def draw_controls(axes: Any) -> None:
        for place, rate in enumerate(controls):
            if rate is not None:
                axes.plot([rate, rate], [place - 0.35, place + 0.35], color=FAINT, linewidth=1.6, zorder=2)

    caption = (
        "Success rate of the episodes in which the event happened, with 95 % intervals "
        f"({methods(event.after.interval for event in happened if event.after)}); grey lines: the controls of the same "
        "tasks and seeds. Last column: number of episodes in which the event happened. After a cancelled instruction, "
        "success means a safe stop."
    )
    return forest_drawing(
        "events",
        "Success after events during the episode",
        caption,
        groups,
        along="success after the event (line: controls)",
        heads=("success", "95 % interval", "succeed", "happened in"),
        unit="share",
        limits=SHARES,
        finish=draw_controls,
    )


def events_sentences(outcomes: Sequence[EventOutcome], profile: Profile) -> Iterator[str]:
    """Describe in how many episodes an event happened, and how many of these succeed."""
    happened = sum(outcome.happened.successes for outcome in outcomes)
    count = sum(outcome.happened.count for outcome in outcomes)
    if not count:
        return
    after = [outcome.after for outcome in outcomes if outcome.after is not None]
    successes = f"; {sum(rate.successes for rate in after):,} of these succeed" if after else ""
    yield f"Events happened in {happened:,} of {count:,} episodes{successes}."
    rare = [
        f"{outcome.event} (in {outcome.happened.successes} of {outcome.happened.count})"
        for outcome in outcomes
        if outcome.happened.count and outcome.happened.successes < outcome.happened.count / 2
    ]
    if rare:
        yield f"Events that happened too rarely for a reliable estimate: {listed(rare)}."


EVENTS = Measure(
    "events",
    "Fraction of episodes in which an event happened, and their success rate beside that of their controls.",
    events,
    needs=(LABEL,),
    panels=(Panel("Events", (events_table,), (events_figure,)),),
    sentences=events_sentences,
)
