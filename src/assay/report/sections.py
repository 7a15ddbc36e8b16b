"""The parts of a report: figures with their tables under a heading, and what a run cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from assay.episodes.spec import CONTROL
from assay.measures.curves import Curve
from assay.measures.drops import Drop
from assay.measures.profile import Profile
from assay.measures.rates import Rate
from assay.measures.result import MeasureError, Missing
from assay.measures.tabletop import Tabletop
from assay.report.figures import curves, grounding, memory, paraphrase, paths, success, tabletop
from assay.report.run_report import RunReport
from assay.report.style import Drawing
from assay.report.summary import perturbed
from assay.report.table import Table
from assay.report.tables import tables
from assay.report.tabletop import table_tables

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Section:
    """Figures and tables about one question."""

    title: str
    about: str
    drawings: tuple[Drawing, ...]
    tables: tuple[Table, ...]


@dataclass(slots=True)
class _Gathering:
    """Collects drawings, and why others cannot be drawn."""

    reasons: dict[str, list[str]] = field(default_factory=dict)
    """Why -> titles of what is not there."""

    def draw(self, title: str, paint: Callable[[], Drawing | Missing]) -> list[Drawing]:
        """A drawing, if there is one."""
        try:
            drawing = paint()
        except MeasureError as error:
            drawing = Missing(str(error))
        if isinstance(drawing, Missing):
            self.reasons.setdefault(drawing.missing, []).append(title)
            return []
        return [drawing]


def sections(report: RunReport, chance: Tabletop | None = None) -> tuple[list[Section], dict[str, list[str]]]:
    """What a run says, part by part; and why something is missing -> what.

    ``chance`` is what acting at random comes to on tables, if that was measured.
    """
    gathering = _Gathering()
    known = tables(report.profile)
    parts = _parts(report, gathering)
    if not isinstance(report.profile.tabletop, Missing):
        on_table = report.profile.tabletop
        known |= {each.name: each for each in table_tables(on_table, report.diagnosis, chance)}
        parts = _table_parts(report.profile, on_table, gathering, chance)
    found = []
    for title, about, names, drawings in parts:
        mine = tuple(known[name] for name in names if name in known)
        if drawings or mine:
            found.append(Section(title, about, tuple(drawings), mine))
    return found, gathering.reasons


def _parts(
    report: RunReport, gathering: _Gathering
) -> Iterator[tuple[str, str, tuple[str, ...], list[Drawing]]]:
    profile, draw, one = report.profile, gathering.draw, _one
    yield (
        "Success, and what each change costs",
        "Every perturbed episode is compared with its control: the same task and seed, with nothing changed.",
        ("conditions", "changes", "axes", "drops", "tasks"),
        [
            *draw("changes by kind", lambda: _given(profile.changes, _changes)),
            *draw("drops", lambda: _given(profile.drops, success.drops_figure)),
            *draw("success by task", lambda: success.tasks_figure(profile.tasks)),
        ],
    )
    found = profile.distance_correlation
    distances = partial(paraphrase.distance_figure, correlation=None if isinstance(found, Missing) else found)
    yield (
        "Words",
        "Paraphrases change how things are named and how the action is said; a good policy does not care. "
        "PD is how far the words are from the original's, PRIDE is success weighted by it.",
        ("paraphrase-grid", "names", "pride"),
        [
            *draw("paraphrase grid", lambda: _given(profile.grid, paraphrase.grid_figure)),
            *draw("names", lambda: _given(profile.names, paraphrase.names_figure)),
            *draw("object gap", lambda: _given(profile.object_gap, one(paraphrase.gap_figure))),
            *draw("PRIDE over its weight", lambda: _given(profile.sweep, one(paraphrase.sweep_figure))),
            *draw("distance against success", lambda: _given(profile.grid, distances)),
        ],
    )
    yield (
        "World",
        "The change grows from left to right.",
        ("levels", "displacement", "labels"),
        [
            *draw("level curve", lambda: _given(profile.levels, one(_levels))),
            *draw("displacement curve", lambda: _given(profile.displacement, one(_displacement))),
            *draw("labels", lambda: success.radar_figure({"": profile.labels})),
        ],
    )
    yield (
        "Memory",
        "Under a change that calls for another path, does the hand go where it always goes?",
        ("memorisation",),
        draw("memorisation", lambda: _given(profile.memorisation, one(memory.memorisation_figure))),
    )
    yield (
        "How it fails",
        "Near failures are slips of the hand; far ones follow another plan.",
        ("failures",),
        [
            *draw("near and far failures", lambda: _given(profile.failures, one(paths.near_far_figure))),
            *draw("paths in space", lambda: paths.paths_3d_figure(_some(report))),
            *draw("paths from above", lambda: paths.paths_top_figure(_some(report))),
        ],
    )
    yield (
        "Grounding",
        "Which thing the robot went for, against the one it was told about. What it moved first tells; a "
        "first touch may be a brush in passing.",
        ("grounding-moved", "grounding-touched"),
        [
            *draw("moved first", lambda: _given(profile.moved, grounding.confusion_figure)),
            *draw("touched first", lambda: _given(profile.touched, grounding.confusion_figure)),
        ],
    )
    yield (
        "Attribution",
        "Where several things change at once: which one costs how much?",
        ("effects", "shares"),
        draw("attribution", lambda: _given(profile.attribution, memory.attribution_figure)),
    )
    yield (
        "Time",
        "How long successes take, and what a tighter limit would have cost.",
        ("time-limits",),
        [
            *draw("time limits", lambda: _given(profile.time_limits, one(curves.limits_figure))),
            *draw("time to success", lambda: _given(profile.time_to_success, curves.time_figure)),
        ],
    )


def _table_parts(
    profile: Profile, found: Tabletop, gathering: _Gathering, chance: Tabletop | None
) -> Iterator[tuple[str, str, tuple[str, ...], list[Drawing]]]:
    draw = gathering.draw
    usual = [each for each in chance.levels if each.condition == CONTROL] if chance else []
    random = {each.level: each.allowed.score for each in usual}
    yield (
        "What it goes by",
        "Question by question. Where the prompt no longer asks for the task, whoever goes by it succeeds by "
        "luck alone.",
        ("table-reading",),
        draw("successes kept", lambda: tabletop.kept_figure(found.kept)),
    )
    yield (
        "Tasks and levels",
        "L1 has new places, L2 new combinations of shapes and textures, L3 new objects, L4 new tasks. With "
        "mistakes allowed there are ten actions, or twice the fewest; without, the fewest.",
        ("table-levels", "table-tasks"),
        [
            *draw("success by task and level", lambda: tabletop.tasks_figure(found.tasks)),
            *draw("success by condition and level", lambda: tabletop.levels_figure(found.levels, random)),
        ],
    )
    yield (
        "What each change costs",
        "Every changed episode is compared with its control: the same task and seed, with nothing changed.",
        ("conditions", "table-prompts", "table-order", "table-difficulty"),
        draw("drops", lambda: _given(profile.drops, success.drops_figure)),
    )


def together(reports: Sequence[RunReport]) -> list[Drawing]:
    """Several runs in the same figures: those that at least two of them can give."""
    gathering = _Gathering()
    profiles = {report.name: report.profile for report in reports}
    overview = {
        name: (_rate(each.control), _rate(each.success_rate) if perturbed(each) else None)
        for name, each in profiles.items()
    }
    found = gathering.draw("overview", lambda: success.overview_figure(overview))
    for name, paint in _SHARED.items():
        values = {run: getattr(each, name) for run, each in profiles.items()}
        series = {run: value for run, value in values.items() if value and not isinstance(value, Missing)}
        if len(series) > 1:
            found += gathering.draw(name, partial(paint, series))
    return found


def _rate(found: Rate | Missing) -> Rate | None:
    return None if isinstance(found, Missing) else found


def _changes(found: Sequence[Drop]) -> Drawing:
    return success.drops_figure(found, "changes", "What each kind of change costs")


def _levels(runs: Mapping[str, Curve]) -> Drawing:
    return curves.curve_figure("levels", "Success by level", "level", runs)


def _displacement(runs: Mapping[str, Curve]) -> Drawing:
    return curves.curve_figure("displacement", "Success by displacement", "displacement, m", runs)


def _tables(runs: Mapping[str, Tabletop]) -> Drawing:
    return tabletop.runs_figure({run: found.levels for run, found in runs.items()})


_SHARED: dict[str, Callable[..., Drawing]] = {
    "object_gap": paraphrase.gap_figure,
    "sweep": paraphrase.sweep_figure,
    "levels": _levels,
    "displacement": _displacement,
    "labels": success.radar_figure,
    "time_limits": curves.limits_figure,
    "memorisation": memory.memorisation_figure,
    "failures": paths.near_far_figure,
    "tabletop": _tables,
}
"""Measures that several runs can share a figure for."""


def _given(found: T | Missing, paint: Callable[[T], Drawing]) -> Drawing | Missing:
    return found if isinstance(found, Missing) else paint(found)


def _one(paint: Callable[[Mapping[str, T]], Drawing]) -> Callable[[T], Drawing]:
    """A figure for several runs, of one."""
    return lambda found: paint({"": found})


def _some(report: RunReport) -> Sequence[paths.TaskPaths]:
    if report.paths:
        return report.paths
    found = report.profile.failures
    raise MeasureError(found.missing if isinstance(found, Missing) else "failures: none could be judged")
