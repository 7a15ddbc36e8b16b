"""Events in tables and sentences: whether they happened, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from assay.measures.profile import Profile
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import listed, methods
from assay.measures.world.events import EventOutcome
from assay.report.run_report import RunReport

ASKS: Mapping[str, str] = MappingProxyType(
    {
        "meanwhile": "to look again",
        "request": "to listen again",
        "cancel": "to stop",
        "interruption": "to go on",
    }
)
"""What kind of event -> what it asks for; the order of tables and figures."""


def by_asking(found: Sequence[EventOutcome]) -> dict[str, list[EventOutcome]]:
    """Events by what they ask for."""
    groups: dict[str, list[EventOutcome]] = {asks: [] for asks in ASKS.values()}
    for each in found:
        groups.setdefault(ASKS.get(each.change, each.change), []).append(each)
    return {asks: events for asks, events in groups.items() if events}


def events_table(found: Sequence[EventOutcome], report: RunReport) -> Table | None:
    """Each event: in how many episodes it happened, and how many of these succeeded."""
    if not found:
        return None
    return Table(
        "events",
        "What happened during the episodes, and what came of it",
        (
            Column("event"),
            Column("asks"),
            Column("waits for"),
            Column("happened", "count"),
            Column("episodes", "count"),
            Column("at step", "count"),
            Column("successes after it", "count"),
            Column("success after it", "share"),
            Column("95 % interval", "share"),
            Column("success of their controls", "share"),
        ),
        tuple(
            (
                event.event,
                asks,
                event.trigger,
                event.happened.successes,
                event.happened.count,
                event.step,
                None if event.after is None else event.after.successes,
                None if event.after is None else event.after.rate,
                None if event.after is None else event.after.interval,
                None if event.control is None else event.control.rate,
            )
            for asks, events in by_asking(found).items()
            for event in events
        ),
        "Success is that of the episodes in which the event happened; after a request was taken back it is a safe "
        "stop. At step: the median. 95 % intervals: "
        f"{methods(each.after.interval for each in found if each.after is not None)}; errors are excluded.",
    )


def events_sentences(found: Sequence[EventOutcome], profile: Profile) -> Iterator[str]:
    """In how many episodes something happened, and what came of it."""
    happened, count = sum(e.happened.successes for e in found), sum(e.happened.count for e in found)
    kept = [each.after for each in found if each.after is not None]
    if not count:
        return
    said = f"Events happened in {happened:,} of {count:,} episodes"
    if kept:
        said += f"; of these {sum(e.successes for e in kept):,} succeed"
    yield f"{said}."
    absent = [
        f"{each.event} (in {each.happened.successes} of {each.happened.count})"
        for each in found
        if each.happened.count and each.happened.successes < each.happened.count / 2
    ]
    if absent:
        yield f"In most episodes these did not happen, so that little is known of them: {listed(absent)}."
