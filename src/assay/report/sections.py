"""The parts of a report: what measures show, gathered under headings, and what a run cannot say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from assay.measures.measure import MEASURES
from assay.measures.result import Missing, attempt
from assay.measures.success.rates import CONTROLS, SUCCESS_RATE, has_perturbed_episodes, overview_figure
from assay.measures.views.style import Drawing
from assay.measures.views.table import Table
from assay.report.run_report import RunReport

ABOUT = MappingProxyType(
    {
        "Reliance on the prompt": "If the prompt no longer asks for the task, a policy that relies on it succeeds by "
        "chance only.",
        "Tasks and levels": "L1 has new places, L2 new combinations of shapes and textures, L3 new objects, L4 "
        "new tasks. With mistakes allowed there are ten actions, or twice the fewest; without, the fewest.",
        "Success, and what each change costs": "Every perturbed episode is paired with its control: the same "
        "task and seed, with nothing changed.",
        "What success hides": "How far episodes come that fail, whether success lasts when the hand lets go, and "
        "what is moved, toppled or left open on the way.",
        "Words": "Paraphrases change how objects are named and how the action is said; a good policy is "
        "invariant to both. PD is the distance of an instruction from the original; PRIDE is success weighted "
        "by it.",
        "World": "The change grows from left to right.",
        "Events": "What happened during the episodes. Whether an event happened depends on the policy, and is told "
        "apart from what came of it.",
        "Memory": "When the change calls for another trajectory, does the policy repeat the control's?",
        "How it fails": "Near failures are execution errors: the trajectory stays close to the successful one. "
        "Far failures follow another plan.",
        "Grounding": "Which object the robot went for, against the one it was told about. What it moved first "
        "tells; a first touch may be incidental.",
        "Attribution": "Where several factors change at once: which one costs how much?",
        "Time": "How long successes take, and what a tighter limit would have cost.",
    }
)
"""Assay's own sections, in the order of the page; those of plugins come after them."""


@dataclass(frozen=True, slots=True)
class Section:
    """Figures and tables about one question."""

    title: str
    about: str
    drawings: tuple[Drawing, ...]
    tables: tuple[Table, ...]


@dataclass(slots=True)
class _Gathered:
    """What is shown under one heading."""

    about: str
    drawings: list[Drawing] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def sections(report: RunReport) -> tuple[list[Section], dict[str, list[str]]]:
    """Sections of a run's report; and reason -> measures that are missing for it."""
    gathered = {title: _Gathered(about) for title, about in ABOUT.items()}
    missing: dict[str, list[str]] = {}

    def keep(name: str, made: Any, parts: list[Any]) -> None:
        """Add a table or drawing; or the reason why there is none, once for each measure."""
        if isinstance(made, Missing):
            names = missing.setdefault(made.missing, [])
            names += [title] if (title := name.replace("_", " ")) not in names else []
        elif made is not None:
            parts.append(made)

    for name in report.profile:
        measure, result = MEASURES[name], report.profile.get(name)
        for panel in measure.panels:
            place = gathered.setdefault(panel.section, _Gathered(measure.about))
            if result is None:
                keep(name, Missing(report.profile.why(name)), [])
                continue
            if panel.runs is not None:
                keep(name, attempt(panel.runs, {"": result}), place.drawings)
            for figure in panel.figures:
                keep(name, attempt(figure, result, report), place.drawings)
            for table in panel.tables:
                keep(name, attempt(table, result, report), place.tables)
    shown = [
        Section(title, part.about, tuple(part.drawings), tuple(part.tables))
        for title, part in gathered.items()
        if part.drawings or part.tables
    ]
    return shown, missing


def together(reports: Sequence[RunReport]) -> tuple[list[Drawing], list[Table]]:
    """Several runs in the same figures and tables: those that at least two of them can give."""
    profiles = {report.name: report.profile for report in reports}
    overview = {
        name: (each.get(CONTROLS), each.get(SUCCESS_RATE) if has_perturbed_episodes(each) else None)
        for name, each in profiles.items()
    }
    shown: list[Any] = _draw(overview_figure, overview)
    for measure in (MEASURES[name] for name in MEASURES):
        found = {run: value for run, each in profiles.items() if (value := each.get(measure.name))}
        if len(found) > 1:
            panels = [panel.runs for panel in measure.panels if panel.runs is not None]
            for show in (*panels, *measure.side_by_side):
                shown += _draw(show, found)
    return [each for each in shown if isinstance(each, Drawing)], [
        each for each in shown if isinstance(each, Table)
    ]


def _draw(show: Callable[..., Any], results: Any) -> list[Any]:
    made = attempt(show, results)
    return [] if isinstance(made, Missing) else [made]
