"""Events: success after each, beside its controls, and in how many episodes it happened."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from assay.measures.result import MeasureError
from assay.measures.views.forest import Mark, fits_a_column, forest, height
from assay.measures.views.style import BLUE, FAINT, WIDTH, Drawing, percent_axis
from assay.measures.views.wording import between, methods, percent
from assay.measures.world.events import EventOutcome
from assay.report.events import by_asking
from assay.report.run_report import RunReport


def events_figure(found: Sequence[EventOutcome], report: RunReport) -> Drawing:
    """Success after each event, and in how many episodes it happened."""
    shown = [each for each in found if each.after is not None and each.after.rate is not None]
    if not shown:
        raise MeasureError("no event happened")
    groups = {asks: [_mark(event) for event in events] for asks, events in by_asking(shown).items()}
    usual = [rate for events in by_asking(shown).values() for rate in (None, *map(_usual, events))]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        heads = ("success", "95 % interval", "succeed", "happened in")
        forest(axes, groups, along="success where it happened (line: their controls)", heads=heads)
        for place, rate in enumerate(usual):
            if rate is not None:
                axes.plot([rate, rate], [place - 0.35, place + 0.35], color=FAINT, linewidth=1.6, zorder=2)
        axes.set_xlim(-0.02, 1.02)
        percent_axis(axes.xaxis)

    caption = (
        "Success of the episodes in which the event happened, with 95 % intervals "
        f"({methods(each.after.interval for each in found if each.after is not None)}); "
        "grey lines: the unchanged episodes of the same tasks and seeds. The last column says in how many "
        "episodes it happened at all. After a request was taken back, success is a safe stop."
    )
    return Drawing(
        "events",
        "Success after something happened during the episode",
        caption,
        (WIDTH, height(groups)),
        paint,
        in_a_column=fits_a_column(groups),
    )


def _mark(each: EventOutcome) -> Mark:
    assert each.after is not None and each.after.rate is not None and each.after.interval is not None
    notes = (
        percent(each.after.rate, 0),
        between(each.after.interval, 100),
        f"{each.after.successes} of {each.after.count}",
        f"{each.happened.successes} of {each.happened.count}",
    )
    return Mark(each.event, each.after.rate, each.after.interval, notes, colour=BLUE)


def _usual(each: EventOutcome) -> float | None:
    return None if each.control is None else each.control.rate
