"""The tables of a search: where success is lost, and which small changes break it together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.measures.profile import Profile
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import NOT, listed, percent, plural
from assay.measures.world.thresholds import Threshold, Thresholds, WorstCase
from assay.report.run_report import RunReport

_ENDED = {
    "settled": "",
    "": "",
    "budget": "the budget is used up",
    "starts": "the seeds are used up",
    "controls": "fails its controls: there is nothing to lose",
    "refused": "the oracle solves none of its scenes",
    "going on": "not finished",
}


def in_words(found: Threshold) -> str:
    """Where the threshold is: ``0.175 to 0.2 m``, ``above 0.4 m``, ``up to 0.025 m``."""
    unit = f" {found.unit}" if found.unit else ""
    if not found.fits:
        return "none fits"
    if found.lost is None:
        return f"above {found.kept:g}{unit}" if found.kept else "unknown"
    return f"{found.kept:g} to {found.lost:g}{unit}" if found.kept else f"up to {found.lost:g}{unit}"


def remark(found: Threshold) -> str:
    """What else must be known."""
    if not found.fits:
        return "success does not fall as the change grows"
    return _ENDED.get(found.ended, found.ended)


def threshold_sentences(found: Thresholds, profile: Profile) -> Iterator[str]:
    """Where success is lost, and where that is not known, an axis at a time; equal answers of tasks together."""
    for axis in dict.fromkeys(each.axis for each in found.found):
        lost: dict[str, list[str]] = {}
        unknown: dict[str, list[str]] = {}
        for each in (each for each in found.found if each.axis == axis):
            why, known = remark(each), each.fits and each.lost is not None
            told = f"{in_words(each)}{f' ({why})' if why else ''}"
            (lost if known else unknown).setdefault(told, []).append(each.task)
        if lost:
            yield f"Success is lost along {axis} at: {_where(lost)}; each holds with {percent(found.confidence, 0)}."
        if unknown:
            yield f"Where success is lost along {axis} is not settled: {_where(unknown)}."
    if found.cannot:
        yield f"Not searched: {'; '.join(found.cannot)}."


def case_sentences(found: Sequence[WorstCase], profile: Profile) -> Iterator[str]:
    """Which small changes break it together."""
    sure = [each for each in found if each.confirmed]
    if found and not sure:
        yield f"Of {plural(len(found), 'combination')} of small changes none is known to break it."
    for each in sure:
        yield (
            f"Together break it, though each alone does not: {_changes(each)} in {each.task} "
            f"({each.failures} of {plural(each.starts, 'fresh start')} fail)."
        )


def _where(tasks: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{told} in {listed(which)}" for told, which in tasks.items())


def _changes(case: WorstCase) -> str:
    return case.condition.partition("/")[2]


def table_of_thresholds(found: Thresholds) -> Table:
    """Where success is lost, by task and axis."""
    kept = percent(found.level, 0)
    note = (
        f"The threshold is the smallest magnitude at which less than {kept} of the starts that succeed unchanged still "
        f"do. At the lower end success is known to be kept, at the upper end to be lost; each interval holds with "
        f"{percent(found.confidence, 0)}, whenever one looks."
    )
    if found.cannot:
        note += f" Left out: {'; '.join(found.cannot)}."
    return Table(
        "thresholds",
        "The smallest change that breaks it",
        (
            Column("task"),
            Column("axis"),
            Column("success is lost"),
            Column("likeliest"),
            Column("controls"),
            Column("episodes", "count"),
            Column("remark"),
        ),
        tuple(
            (
                each.task,
                each.axis,
                in_words(each),
                "not lost"
                if each.best is None and each.fits and each.points
                else NOT
                if each.best is None
                else f"{each.best:g}",
                f"{each.succeeded}/{each.controls}",
                each.episodes,
                remark(each),
            )
            for each in found.found
        ),
        note,
        shown_at_once=True,
    )


def threshold_table(found: Thresholds, report: RunReport) -> Table:
    """The same for a report."""
    return table_of_thresholds(found)


def table_of_cases(found: Sequence[WorstCase], videos: dict[str, str] | None = None) -> Table | None:
    """Small changes that break the policy together; ``videos`` by key of the episode."""
    if not found:
        return None
    shown = videos or {}
    columns = [
        Column("task"),
        Column("changes"),
        Column("failures on fresh starts"),
        Column("confirmed"),
        *([Column("video")] if shown else []),
    ]
    rows: list[tuple[Value, ...]] = [
        (
            each.task,
            _changes(each),
            f"{each.failures}/{each.starts}",
            each.confirmed,
            *([shown.get(each.example, NOT)] if shown else []),
        )
        for each in found
    ]
    note = (
        "With each change alone success is known to be kept. Confirmed: success is known to be lost, on starts that it "
        "was not found on."
    )
    return Table(
        "worst_cases",
        "Small changes that break it together",
        tuple(columns),
        tuple(rows),
        note,
        shown_at_once=True,
    )


def case_table(found: Sequence[WorstCase], report: RunReport) -> Table | None:
    """The same for a report."""
    return table_of_cases(found)
