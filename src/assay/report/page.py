"""The report: one page that needs nothing else, and its figures and tables as files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay import __version__
from assay.measures.result import Missing
from assay.measures.sentences import Diagnosis
from assay.measures.success.rates import CONDITIONS, TASKS
from assay.measures.time.efficiency import EFFICIENCY
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import KeyNumber, between, counted_in_order, percent, plural
from assay.report.advice import Advice, advice
from assay.report.comparison import Group, comparison_tables
from assay.report.joint import joint_diagnoses
from assay.report.rendering import render
from assay.report.run_report import RunReport
from assay.report.sections import Section, sections, together
from assay.report.summary import banners, key_numbers, sentences
from assay.runs.about import in_utc
from assay.runs.provenance import ALL, all_conditions

PAGE = "index.html"
FIGURES, TABLES = "figures", "tables"
"""Folders beside it."""
BRAND = '<p class="brand">Assay report</p>'
"""What every page of ours has."""
ABOUT_INTERVALS = (
    "Intervals and p values are about these tasks, with new starts and, where a task has several, new wordings. Equal "
    "counts may have different intervals: episodes that share a start or a wording tell less, and where the same tasks "
    "succeed with every seed less is left to chance. They say nothing about other tasks; an interval about tasks in "
    "general takes these for a sample of all."
)
"""What is drawn by chance, and what is given."""
_MOST_SHOWN = 10
"""Reasons and stopped conditions that are listed one by one."""
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
class Part:
    """One run's part of the page."""

    report: RunReport
    anchor: str
    banners: list[str]
    diagnosis: Diagnosis
    advice: list[Advice]
    sentences: list[str]
    numbers: list[KeyNumber]
    facts: list[tuple[str, str]]
    sections: list[Section]
    missing: dict[str, list[str]]
    about_intervals: str = ABOUT_INTERVALS


@dataclass(frozen=True, slots=True)
class Report:
    """Everything on the page: one run or several, and their comparison."""

    parts: tuple[Part, ...]
    compared: tuple[Group, ...]
    shared: tuple[Drawing, ...]
    """Figures of several runs."""
    shared_tables: tuple[Table, ...]
    policies: dict[str, Diagnosis]
    """Of policies with several runs: title -> what these say together."""
    left_out: dict[str, str]
    """Runs that cannot be reported, and why."""

    @property
    def overview(self) -> Table:
        """One row for each run."""
        columns = counted_in_order(number.name for part in self.parts for number in part.numbers)
        rows = []
        for part in self.parts:
            known = {number.name: number for number in part.numbers}
            shown = (
                f"{known[name].value} ({known[name].detail})" if name in known else None for name in columns
            )
            rows.append((part.report.name, part.report.title, *shown))
        return Table(
            "runs",
            "The runs",
            (Column("run"), Column("what"), *(Column(name) for name in columns)),
            tuple(rows),
            "In brackets: 95 % interval and n.",
        )

    @property
    def comparison_tables(self) -> list[Table]:
        """Of each comparison: overall, by condition, what did not match."""
        return [
            table
            for place, group in enumerate(self.compared, start=1)
            if not isinstance(group.found, Missing)
            for table in comparison_tables(group.found, f"-{place}" if len(self.compared) > 1 else "")
        ]

    def html(self) -> str:
        """The page."""
        return render("page.html.jinja", finalize=unbroken, report=self, version=__version__)

    def write(self, folder: Path) -> Path:
        """Write the page, figures (SVG) and tables (CSV, Markdown, LaTeX); those of several runs apart.

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
    reports: Sequence[RunReport], compared: Sequence[Group] = (), left_out: Mapping[str, str] | None = None
) -> Report:
    """A report of runs that were read, and of their comparison."""
    reports = [replace(report, beside=tuple(reports)) for report in reports]
    parts = tuple(_part(report, f"run-{place}") for place, report in enumerate(reports, start=1))
    drawings, tables = together(reports) if len(reports) > 1 else ([], [])
    return Report(
        parts, tuple(compared), tuple(drawings), tuple(tables), joint_diagnoses(reports), dict(left_out or {})
    )


def unbroken(value: object) -> object:
    """A text whose numbers and signs stay on one line."""
    if not isinstance(value, str):
        return value
    for sign in (" %", "p = ", "p < ", "n = "):
        value = value.replace(sign, sign.replace(" ", "\N{NO-BREAK SPACE}"))
    return value


def _part(report: RunReport, anchor: str) -> Part:
    found, missing = ([], {}) if report.only_errors else sections(report)
    return Part(
        report=report,
        anchor=anchor,
        banners=banners(report),
        diagnosis=report.told,
        advice=advice(report),
        sentences=sentences(report.profile),
        numbers=key_numbers(report.profile),
        facts=list(_facts(report)),
        sections=found,
        missing=missing,
    )


def _facts(report: RunReport) -> list[tuple[str, str]]:
    """What was run."""
    profile, meta = report.profile, report.meta
    told = {**meta, "started": in_utc(str(meta.get("started") or ""))}
    facts = [(name.replace("pack", "assets"), str(told[name])) for name in _FACTS if told.get(name)]
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
    for condition, rule in list(report.stopped.items())[:_MOST_SHOWN]:
        facts.append(
            (
                "stopped early",
                f"{condition}: {rule.get('rule')} after {plural(int(rule.get('episodes', 0)), 'episode')}",
            )
        )
    if len(report.stopped) > _MOST_SHOWN:
        facts.append(("stopped early", f"and {len(report.stopped) - _MOST_SHOWN} conditions more"))
    cost = profile.get(EFFICIENCY)
    if cost is not None:
        saved = (
            f"; stopping early saved {cost.saved:,} episodes ({percent(cost.share)})" if cost.saved else ""
        )
        facts.append(
            (
                "decisions per episode",
                f"{cost.decisions:,.1f} ({between(cost.decisions_interval)}, Student's; "
                f"n = {cost.episodes:,}){saved}",
            )
        )
    return facts


def _first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    shown = list(counts.items())[:_MOST_SHOWN]
    rest = list(counts.values())[_MOST_SHOWN:]
    return [*shown, (f"{len(rest)} other reasons", sum(rest))] if rest else shown


def prepare_folder(folder: Path) -> Path:
    """Make a folder for a report, without an earlier one's figures and tables; returns where the page belongs.

    What nobody knows to be a report is left alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    if page.is_file() and BRAND in page.read_text(encoding="utf-8", errors="replace"):
        page.unlink()
        for place in (FIGURES, TABLES):
            shutil.rmtree(folder / place, ignore_errors=True)
    return page


def write_files(folder: Path, within: str, drawings: Sequence[Drawing], tables: Sequence[Table]) -> None:
    """Write figures (SVG) and tables (CSV, Markdown, LaTeX) into the folders ``within`` of a report's."""
    figures, texts = folder / FIGURES / within, folder / TABLES / within
    for place in (figures, texts):
        place.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        (figures / f"{drawing.name}.svg").write_text(drawing.file, encoding="utf-8")
    for table in tables:
        for suffix, text in (
            (".csv", table.as_csv()),
            (".md", table.as_markdown()),
            (".tex", table.as_latex()),
        ):
            (texts / f"{table.name}{suffix}").write_text(text, encoding="utf-8")
