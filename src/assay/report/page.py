"""The report: one self-contained page, and its figures and tables as files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay import __version__
from assay.measures.measure import MEASURES
from assay.measures.result import Missing, attempt
from assay.measures.sentences import Diagnosis
from assay.measures.success.rates import (
    CONDITIONS,
    CONTROLS,
    SUCCESS_RATE,
    TASKS,
    Rate,
    has_perturbed_episodes,
    rates_drawing,
)
from assay.measures.time.timing import EFFICIENCY
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import KeyNumber, between, natural, percent, plural
from assay.report.comparison import ComparedGroup, comparison_tables
from assay.report.glossary import GLOSSARY
from assay.report.rendering import render
from assay.report.run_report import RunReport
from assay.report.summary import Advice, advice, banners, joint_diagnoses, key_numbers, sentences
from assay.runs.description import in_utc
from assay.runs.provenance import ALL, all_conditions

PAGE = "index.html"
FIGURES, TABLES = "figures", "tables"
"""Folders beside the page."""
BRAND = '<p class="brand">Assay report</p>'
"""HTML element that marks a page as written by Assay."""
SECTIONS = MappingProxyType(
    {
        "Reliance on the prompt": "One question at a time. If the prompt no longer asks for the task, a policy that "
        "follows the prompt succeeds only by chance.",
        "Tasks and levels": "L1 has new positions, L2 new combinations of shapes and textures, L3 new objects, L4 new "
        "tasks. With mistakes allowed an episode has ten actions, or twice the minimum; without, the minimum.",
        "Success and drops": "Every perturbed episode is paired with its control: the same task and "
        "seed without perturbations.",
        "Beyond success": "How far failed episodes come, whether success lasts after the gripper opens, and which "
        "objects are moved, toppled or left open on the way.",
        "Words": "Paraphrases change how objects are named and how the action is expressed; a good policy is invariant "
        "to both. PD is the distance of an instruction from the original; PRIDE is success weighted by it.",
        "World": "The perturbation grows from left to right.",
        "Events": "Changes during the episodes. Whether an event is triggered depends on the policy and is reported "
        "separately from its effect.",
        "Memorisation": "If a change calls for another trajectory, does the policy repeat the control's?",
        "Failures": "Near failures are execution errors: the trajectory stays close to the successful one. Far "
        "failures follow another plan.",
        "Grounding": "The object that the robot went for, against the one in the instruction. The first object moved "
        "is the better evidence; a first touch may be incidental.",
        "Attribution": "If several factors change at once: how much does each of them cost?",
        "Time": "Duration of successes, and the cost of a tighter time limit.",
    }
)
"""Section -> introduction, for Assay's own sections in the order of the page; those of plugins follow."""
INTERVALS_NOTE = (
    "Intervals and p values describe these tasks with new starts and, if a task has several, new wordings. Equal "
    "counts can have different intervals: episodes that share a start or a wording carry less information, and tasks "
    "that succeed with every seed leave less to chance. They do not describe other tasks; an interval for tasks in "
    "general treats these as a sample of all."
)
MAX_LISTED = 10
"""Maximum number of reasons and stopped conditions that are listed individually."""
_FACTS = (
    "policy",
    "experiment",
    "pack",
    "started",
    "imported",
    "assay",
    "mujoco",
    "python",
    "machine",
    "commit",
)


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Figures and tables about one question."""

    title: str
    about: str
    drawings: tuple[Drawing, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class RunBlock:
    """The part of the page about one run."""

    report: RunReport
    anchor: str
    banners: list[str]
    diagnosis: Diagnosis
    advice: list[Advice]
    sentences: list[str]
    numbers: list[KeyNumber]
    facts: list[tuple[str, str]]
    sections: list[ReportSection]
    missing: dict[str, list[str]]
    about_intervals: str = INTERVALS_NOTE


def _counted_in_order(names: Iterable[str]) -> list[str]:
    """Return the distinct names in order of appearance.

    Names that differ only in a number, as L1 and L4, are sorted by that number.
    """
    distinct = list(dict.fromkeys(names))
    alike: dict[str, list[str]] = {}
    for name in distinct:
        alike.setdefault(re.sub(r"[0-9]+", "0", name), []).append(name)
    ordered = {kind: iter(sorted(same, key=natural)) for kind, same in alike.items()}
    return [next(ordered[re.sub(r"[0-9]+", "0", name)]) for name in distinct]


@dataclass(frozen=True, slots=True)
class Report:
    """The content of the page: one run or several, and their comparison."""

    parts: tuple[RunBlock, ...]
    compared: tuple[ComparedGroup, ...]
    shared: tuple[Drawing, ...]
    """Figures of several runs."""
    shared_tables: tuple[Table, ...]
    policies: dict[str, Diagnosis]
    """Joint diagnoses of policies with several runs, by title."""
    left_out: dict[str, str]
    """Runs that cannot be reported, with the reason."""

    @property
    def overview(self) -> Table:
        """Table with one row for each run."""
        columns = _counted_in_order(number.name for part in self.parts for number in part.numbers)
        rows = []
        for part in self.parts:
            numbers = {number.name: f"{number.value} ({number.detail})" for number in part.numbers}
            rows.append((part.report.name, part.report.title, *map(numbers.get, columns)))
        return Table(
            "runs",
            "Runs",
            (Column("run"), Column("what"), *(Column(name) for name in columns)),
            tuple(rows),
            "In brackets: 95 % interval and n.",
        )

    @property
    def comparison_tables(self) -> list[Table]:
        """The tables of each comparison."""
        return [
            table
            for place, group in enumerate(self.compared, start=1)
            if not isinstance(group.found, Missing)
            for table in comparison_tables(group.found, f"-{place}" if len(self.compared) > 1 else "")
        ]

    def html(self) -> str:
        """Return the page as HTML."""
        page = render("page.html.jinja", finalize=keep_units, report=self, version=__version__)
        terms = {term: text for term, text in GLOSSARY.items() if term.lower() in page.lower()}
        return page.replace("<!-- glossary -->", render("glossary.html.jinja", glossary=terms), 1)

    def write(self, folder: Path) -> Path:
        """Write the page, figures (SVG) and tables (CSV, Markdown, LaTeX), those of several runs in separate folders.

        An earlier report in the folder is replaced.
        """
        page = prepare_folder(folder)
        for part in self.parts:
            within = "." if len(self.parts) == 1 else part.anchor
            for section in part.sections:
                write_files(folder, within, section.drawings, section.tables)
        if len(self.parts) > 1:
            write_files(
                folder, ".", self.shared, [self.overview, *self.shared_tables, *self.comparison_tables]
            )
        page.write_text(self.html(), encoding="utf-8")
        return page


def build(
    reports: Sequence[RunReport],
    compared: Sequence[ComparedGroup] = (),
    left_out: Mapping[str, str] | None = None,
) -> Report:
    """Build the report of some runs and of their comparison."""
    reports = [replace(report, beside=tuple(reports)) for report in reports]
    parts = tuple(_build_block(report, f"run-{place}") for place, report in enumerate(reports, start=1))
    drawings, tables = _build_shared(reports) if len(reports) > 1 else ([], [])
    return Report(
        parts, tuple(compared), tuple(drawings), tuple(tables), joint_diagnoses(reports), dict(left_out or {})
    )


def keep_units(value: object) -> object:
    """Return a text with no-break spaces between numbers and their units."""
    if not isinstance(value, str):
        return value
    for sign in (" %", "p = ", "p < ", "n = "):
        value = value.replace(sign, sign.replace(" ", "\N{NO-BREAK SPACE}"))
    return value


def _build_block(report: RunReport, anchor: str) -> RunBlock:
    sections, missing = ([], {}) if report.only_errors else _build_sections(report)
    return RunBlock(
        report=report,
        anchor=anchor,
        banners=banners(report),
        diagnosis=report.conclusions,
        advice=advice(report),
        sentences=sentences(report.profile),
        numbers=key_numbers(report.profile),
        facts=_facts(report),
        sections=sections,
        missing=missing,
    )


def _facts(report: RunReport) -> list[tuple[str, str]]:
    """The configuration of a run, by name."""
    profile, meta = report.profile, report.meta
    values = {**meta, "started": in_utc(str(meta.get("started") or ""))}
    facts = [(name.replace("pack", "assets"), str(values[name])) for name in _FACTS if values.get(name)]
    facts += [
        (f"policy: {name}", str(value)) for name, value in sorted((meta.get("policy_metadata") or {}).items())
    ]
    facts += [
        (f"setting: {name}", ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in sorted((meta.get("settings") or {}).items())
        if value is not None
    ]
    if (chosen := all_conditions(meta)) != [ALL]:
        facts.append(("chosen conditions", ", ".join(chosen)))
    facts.append(("episodes", f"{profile.done:,} done of {profile.planned:,} planned"))
    tasks = {rate.group["task"] for rate in profile.get(TASKS) or ()}
    facts.append(("conditions, tasks", f"{len(profile.get(CONDITIONS) or ()):,}, {len(tasks):,}"))
    facts += [("error", f"{count:,} x {reason}") for reason, count in _first(profile.errors)]
    facts += [("refused", f"{count:,} x {reason}") for reason, count in _first(report.refused)]
    for condition, rule in list(report.stopped.items())[:MAX_LISTED]:
        episodes = plural(int(rule.get("episodes", 0)), "episode")
        facts.append(("stopped early", f"{condition}: {rule.get('rule')} after {episodes}"))
    if len(report.stopped) > MAX_LISTED:
        facts.append(("stopped early", f"and {len(report.stopped) - MAX_LISTED} more conditions"))
    cost = profile.get(EFFICIENCY)
    if cost is not None:
        saved = (
            f"; early stopping saved {cost.saved:,} episodes ({percent(cost.share)})" if cost.saved else ""
        )
        interval = between(cost.decisions_interval)
        number = f"{cost.decisions:,.1f} ({interval}, Student's; n = {cost.episodes:,}){saved}"
        facts.append(("policy calls per episode", number))
    return facts


def _first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    items = list(counts.items())
    rest = items[MAX_LISTED:]
    others = [(f"{len(rest)} other reasons", sum(count for _, count in rest))] if rest else []
    return items[:MAX_LISTED] + others


@dataclass(slots=True)
class _SectionParts:
    """Figures and tables of a section while they are collected."""

    about: str
    drawings: list[Drawing] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def _build_sections(report: RunReport) -> tuple[list[ReportSection], dict[str, list[str]]]:
    """The sections of a run, and the names of missing measures by reason."""
    sections = {title: _SectionParts(about) for title, about in SECTIONS.items()}
    missing: dict[str, list[str]] = {}
    for name in report.profile:
        measure = MEASURES[name]
        for panel in measure.panels:
            parts = sections.setdefault(panel.section, _SectionParts(measure.about))
            result = report.profile.get(name)
            made: list[Any] = [Missing(report.profile.why(name))]
            if result is not None:
                made = [attempt(panel.runs, {"": result})] if panel.runs is not None else []
                made += [attempt(show, result, report) for show in (*panel.figures, *panel.tables)]
            parts.drawings += [part for part in made if isinstance(part, Drawing)]
            parts.tables += [part for part in made if isinstance(part, Table)]
            for reason in dict.fromkeys(part.missing for part in made if isinstance(part, Missing)):
                names = missing.setdefault(reason, [])
                names += [title] if (title := name.replace("_", " ")) not in names else []
    return [
        ReportSection(title, parts.about, tuple(parts.drawings), tuple(parts.tables))
        for title, parts in sections.items()
        if parts.drawings or parts.tables
    ], missing


def _build_shared(reports: Sequence[RunReport]) -> tuple[list[Drawing], list[Table]]:
    """Figures and tables of several runs, for measures that at least two of them have."""
    profiles = {report.name: report.profile for report in reports}
    parts: list[Any] = []

    def add(show: Callable[..., Any], results: Any) -> None:
        parts.append(attempt(show, results))

    add(
        _overview_figure,
        {
            name: (
                profile.get(CONTROLS),
                profile.get(SUCCESS_RATE) if has_perturbed_episodes(profile) else None,
            )
            for name, profile in profiles.items()
        },
    )
    for measure in (MEASURES[name] for name in MEASURES):
        results = {run: result for run, profile in profiles.items() if (result := profile.get(measure.name))}
        if len(results) > 1:
            panels = [panel.runs for panel in measure.panels if panel.runs is not None]
            for show in (*panels, *measure.side_by_side):
                add(show, results)
    drawings = [part for part in parts if isinstance(part, Drawing)]
    return drawings, [part for part in parts if isinstance(part, Table)]


def _overview_figure(runs: Mapping[str, tuple[Rate | None, Rate | None]]) -> Drawing:
    """Success of several runs: controls and perturbed episodes."""
    groups = {
        name: [(run, both[place]) for run, both in runs.items()]
        for place, name in enumerate(("control", "perturbed"))
    }
    caption = (
        "Success of each run, on its controls and on its perturbed episodes in which success is "
        "expected; errors are excluded. Lines: 95 % Wilson intervals."
    )
    return rates_drawing("overview", "Success of the runs", caption, groups)


def prepare_folder(folder: Path) -> Path:
    """Create a folder for a report and remove an earlier report's files; returns the path of the page.

    Files that are not recognised as a report are left alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    if page.is_file() and BRAND in page.read_text(encoding="utf-8", errors="replace"):
        page.unlink()
        for place in (FIGURES, TABLES):
            shutil.rmtree(folder / place, ignore_errors=True)
    return page


def write_files(folder: Path, within: str, drawings: Sequence[Drawing], tables: Sequence[Table]) -> None:
    """Write figures (SVG) and tables (CSV, Markdown, LaTeX) into the subfolders ``within`` of a report."""
    figures, texts = folder / FIGURES / within, folder / TABLES / within
    for place in (figures, texts):
        place.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        (figures / f"{drawing.name}.svg").write_text(drawing.file, encoding="utf-8")
    for table in tables:
        forms = {"csv": table.as_csv(), "md": table.as_markdown(), "tex": table.as_latex()}
        for suffix, text in forms.items():
            (texts / f"{table.name}.{suffix}").write_text(text, encoding="utf-8")
