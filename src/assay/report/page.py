"""Report on runs as one self-contained HTML page, with its figures and tables as files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import __version__
from assay.measures.compare import comparison_tables
from assay.measures.measure import MEASURES
from assay.measures.result import Missing, attempt
from assay.measures.sentences import Diagnosis, not_tested
from assay.measures.success.rates import (
    CONDITIONS,
    CONTROLS,
    SUCCESS_RATE,
    TASKS,
    has_perturbed_episodes,
    rates_drawing,
)
from assay.measures.time.timing import EFFICIENCY
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import KeyNumber, between, percent, plural
from assay.report.comparison import ComparedGroup
from assay.report.rendering import GLOSSARY, render
from assay.report.run_report import RunReport
from assay.report.summary import Advice, advice, banners, describe_results, joint_diagnoses
from assay.runs.provenance import ALL, all_conditions, in_utc
from assay.support.files import naming_full_disk

PAGE = "index.html"
FIGURES, TABLES = "figures", "tables"
"""Names of the folders, beside the page, that contain figures and tables."""
BRAND = '<p class="brand">Assay report</p>'
"""HTML element that marks a page as written by Assay."""
SECTIONS: Mapping[str, str] = {
    "Reliance on the prompt": "If the prompt no longer specifies the task, a policy that "
    "follows the prompt succeeds only by chance.",
    "Tasks and levels": "Level L1 has new positions, L2 new combinations of shape and texture, L3 new objects, and "
    "L4 new tasks. The limit is the minimum number of actions or, if mistakes are allowed, the larger of ten and twice "
    "the minimum.",
    "Success and drops": "Every perturbed episode is paired with its control: the same task and "
    "seed without perturbations.",
    "Beyond success": "The progress of failed episodes, whether success persists after the gripper opens, and the "
    "objects that were moved, toppled or left open along the way.",
    "Words": "Paraphrases change how objects are named and how the action is expressed; a good policy is invariant "
    "to both. PD is the distance of an instruction from the original; PRIDE is success weighted by PD.",
    "World": "The magnitude of the perturbation increases from left to right.",
    "Events": "Changes during an episode. Whether such an event is triggered depends on the policy, so this is "
    "reported separately from the effect of the event.",
    "Memorisation": "How often the policy repeats the control's trajectory although the change requires another one.",
    "Failures": "Near failures are execution errors: the trajectory stays close to the successful ones. Far "
    "failures follow a different plan.",
    "Grounding": "The object that the robot approached, compared with the object named in the instruction. The first "
    "object moved is better evidence than the first object touched, because a touch may be accidental.",
    "Attribution": "The loss of success caused by each factor when several factors change at once.",
    "Time": "The duration of successful episodes, and the successes that would be lost at a tighter time limit.",
}
"""Introduction to each built-in section, in the order of the page; sections added by plugins follow."""
MAX_LISTED = 10
"""Maximum numbers of errors, reasons for refusal and stopped conditions listed in the configuration table."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Figures and tables about one question."""

    title: str
    about: str
    drawings: Sequence[Drawing]
    tables: Sequence[Table]


@dataclass(frozen=True, slots=True)
class RunBlock:
    """Part of the page about one run."""

    report: RunReport
    anchor: str
    """HTML anchor of the run, which is also the name of the subfolder for its figures and tables."""
    banners: list[str]
    advice: list[Advice]
    sentences: list[str]
    numbers: list[KeyNumber]
    facts: list[tuple[str, str]]
    """Configuration of the run, as pairs of name and value."""
    sections: list[ReportSection]
    missing: dict[str, list[str]]
    """Names of the measures without a result, by reason."""


@dataclass(frozen=True, slots=True)
class Report:
    """Content of the page: one or more runs, and their comparison."""

    parts: tuple[RunBlock, ...]
    compared: tuple[ComparedGroup, ...]
    shared: tuple[Drawing, ...]
    """Figures that cover several runs."""
    shared_tables: tuple[Table, ...]
    policies: dict[str, Diagnosis]
    """Joint diagnosis of each policy with several runs, by title."""
    left_out: dict[str, str]
    """Runs that could not be read, by name, with the reason for each."""

    @property
    def overview(self) -> Table:
        """Table with one row for each run."""
        columns = list(dict.fromkeys(number.name for part in self.parts for number in part.numbers))
        rows = []
        for part in self.parts:
            numbers = {number.name: f"{number.value} ({number.detail})" for number in part.numbers}
            rows.append((part.report.name, part.report.title, *map(numbers.get, columns)))
        return Table(
            "runs",
            "Runs",
            (Column("run"), Column("policy and experiment"), *(Column(name) for name in columns)),
            tuple(rows),
            "In brackets: 95 % interval and number of episodes n.",
        )

    @property
    def comparison_tables(self) -> list[Table]:
        """Tables of all comparisons."""
        return [
            table
            for place, group in enumerate(self.compared, start=1)
            if not isinstance(group.comparison, Missing)
            for table in comparison_tables(group.comparison, f"-{place}" if len(self.compared) > 1 else "")
        ]

    def html(self) -> str:
        """Return the page as HTML."""
        values = {"report": self, "version": __version__, "not_tested": not_tested}
        page = render("page.html.jinja", keep_units=True, **values)
        terms = {term: text for term, text in GLOSSARY.items() if term.lower() in page.lower()}
        return page.replace("<!-- glossary -->", render("glossary.html.jinja", glossary=terms), 1)

    def write(self, folder: Path) -> Path:
        """Write the page, figures (SVG) and tables (CSV, Markdown, LaTeX), replacing any earlier report.

        If there are several runs, each has a subfolder for its figures and tables.
        """
        is_single = len(self.parts) == 1
        files = [
            ("." if is_single else part.anchor, section.drawings, section.tables)
            for part in self.parts
            for section in part.sections
        ]
        if not is_single:
            files.append((".", self.shared, [self.overview, *self.shared_tables, *self.comparison_tables]))
        return write_page(folder, self.html(), files)


def build(
    reports: Sequence[RunReport],
    compared: Sequence[ComparedGroup] = (),
    left_out: Mapping[str, str] | None = None,
) -> Report:
    """Build the report on one or more runs, with their comparison."""
    blocks = []
    for place, report in enumerate(reports, start=1):
        sections, missing = ([], {}) if report.only_errors else _build_sections(report)
        results, numbers = describe_results(report.profile)
        blocks.append(
            RunBlock(
                report=report,
                anchor=f"run-{place}",
                banners=banners(report),
                advice=advice(report),
                sentences=results,
                numbers=numbers,
                facts=_facts(report),
                sections=sections,
                missing=missing,
            )
        )
    shared = _build_shared(reports) if len(reports) > 1 else []
    return Report(
        tuple(blocks),
        tuple(compared),
        tuple(part for part in shared if isinstance(part, Drawing)),
        tuple(part for part in shared if isinstance(part, Table)),
        joint_diagnoses(reports) if len(reports) > 1 else {},
        dict(left_out or {}),
    )


def _facts(report: RunReport) -> list[tuple[str, str]]:
    """Return the configuration of a run as pairs of name and value."""
    profile, meta = report.profile, report.meta
    values = {**meta, "started": in_utc(str(meta.get("started") or ""))}
    names = (
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
    facts = [(name.replace("pack", "assets"), str(values[name])) for name in names if values.get(name)]
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
    facts.append(("episodes", f"{profile.done:,} of {profile.planned:,} planned"))
    tasks = {rate.group["task"] for rate in profile.get(TASKS) or ()}
    facts.append(("conditions, tasks", f"{len(profile.get(CONDITIONS) or ()):,}, {len(tasks):,}"))
    lines = {
        "error": [f"{count:,} x {reason}" for reason, count in profile.errors.items()],
        "refused": [f"{count:,} x {reason}" for reason, count in report.refused.items()],
        "stopped early": [
            f"{condition}: {rule.get('rule')} after {plural(int(rule.get('episodes', 0)), 'episode')}"
            for condition, rule in report.stopped.items()
        ],
    }
    for name, entries in lines.items():
        more = [f"and {len(entries) - MAX_LISTED} more"] if len(entries) > MAX_LISTED else []
        facts += [(name, entry) for entry in (*entries[:MAX_LISTED], *more)]
    if (cost := profile.get(EFFICIENCY)) is not None:
        interval = between(cost.decisions_interval)
        text = f"{cost.decisions:,.1f} ({interval}, Student's t; n = {cost.episodes:,})"
        if cost.saved:
            text += f"; early stopping saved {cost.saved:,} episodes ({percent(cost.share)})"
        facts.append(("policy calls per episode", text))
    return facts


def _build_sections(report: RunReport) -> tuple[list[ReportSection], dict[str, list[str]]]:
    """Return the sections of a run, and the names of the measures without a result, by reason."""
    introductions = dict(SECTIONS)
    parts: dict[str, list[Any]] = {}
    missing: dict[str, dict[str, None]] = {}
    for name in report.profile:
        measure, result = MEASURES[name], report.profile.get(name)
        for panel in measure.panels:
            introductions.setdefault(panel.section, measure.about)
            content: list[Any] = [report.profile[name]]
            if result is not None:
                content = [attempt(panel.runs, {"": result})] if panel.runs is not None else []
                content += [attempt(show, result, report) for show in (*panel.figures, *panel.tables)]
            parts.setdefault(panel.section, []).extend(content)
            for part in content:
                if isinstance(part, Missing):
                    missing.setdefault(part.missing, {})[name.replace("_", " ")] = None
    sections = []
    for title, about in introductions.items():
        drawings = [part for part in parts.get(title, ()) if isinstance(part, Drawing)]
        tables = [part for part in parts.get(title, ()) if isinstance(part, Table) and part.rows]
        if drawings or tables:
            sections.append(ReportSection(title, about, drawings, tables))
    return sections, {reason: list(names) for reason, names in missing.items()}


def _build_shared(reports: Sequence[RunReport]) -> list[Any]:
    """Make the figures and tables that cover several runs, for all measures with results in at least two runs."""
    profiles = {report.name: report.profile for report in reports}
    rates = {
        "control": [(name, profile.get(CONTROLS)) for name, profile in profiles.items()],
        "perturbed": [
            (name, profile.get(SUCCESS_RATE))
            for name, profile in profiles.items()
            if has_perturbed_episodes(profile)
        ],
    }
    caption = (
        "Success rate of each run on its controls and on its perturbed episodes in which success is "
        "expected; errors are excluded. Lines: 95 % Wilson intervals."
    )
    parts: list[Any] = [attempt(rates_drawing, "overview", "Success rates of the runs", caption, rates)]
    for measure in (MEASURES[name] for name in MEASURES):
        results = {run: result for run, profile in profiles.items() if (result := profile.get(measure.name))}
        if len(results) > 1:
            panels = [panel.runs for panel in measure.panels if panel.runs is not None]
            parts += [attempt(show, results) for show in (*panels, *measure.side_by_side)]
    return parts


def write_page(
    folder: Path, html: str, files: Iterable[tuple[str, Sequence[Drawing], Sequence[Table]]]
) -> Path:
    """Write a page with its figures and tables to a folder, and return the path of the page.

    ``files`` lists figures and tables with the name of their subfolder. An earlier report in the folder is deleted;
    other files are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    if page.is_file() and BRAND in page.read_text(encoding="utf-8", errors="replace"):
        page.unlink()
        for place in (FIGURES, TABLES):
            shutil.rmtree(folder / place, ignore_errors=True)
    with naming_full_disk(folder):
        for within, drawings, tables in files:
            write_files(folder, within, drawings, tables)
        page.write_text(html, encoding="utf-8")
    return page


def write_files(folder: Path, within: str, drawings: Sequence[Drawing], tables: Sequence[Table]) -> None:
    """Write figures (SVG) and tables (CSV, Markdown, LaTeX) below the folders ``figures`` and ``tables``.

    ``within`` is their subfolder there, or ``.``.
    """
    figures, texts = folder / FIGURES / within, folder / TABLES / within
    for place in (figures, texts):
        place.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        (figures / f"{drawing.name}.svg").write_text(drawing.file, encoding="utf-8")
    for table in tables:
        forms = {"csv": table.as_csv(), "md": table.as_markdown(), "tex": table.as_latex()}
        for suffix, text in forms.items():
            (texts / f"{table.name}.{suffix}").write_text(text, encoding="utf-8")
