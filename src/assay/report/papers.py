"""Tables and figures of published papers, computed from a user's runs: ``assay report RUN... --paper NAME``.

    def make(runs):  # one `PaperRun` for each model
        yield PaperSection("Results", "Success rate of each model.", (
            exhibit("Table 2", "Success with and without paraphrases", success_table, runs),
        ))

    PAPER = Paper("libero-para", "LIBERO-Para: ...", make)

A function that makes a table or a figure raises MeasureError if the runs lack the data; the page then shows the reason
in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from assay import __version__
from assay.episodes import Outcome
from assay.errors import AssayError
from assay.measures.measure import Measure, RunData
from assay.measures.result import MeasureError, Missing
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import describe_runs, plural
from assay.report.page import write_page
from assay.report.rendering import render
from assay.report.samples import MARK, describe_sample, describe_unfinished, explain_marks, shared_keys
from assay.report.summary import circumstances
from assay.runs.store import Store
from assay.support.plugins import Registry, load_plugins

T = TypeVar("T")


class PaperError(AssayError):
    """Raised when a paper is unknown, or when its tables and figures cannot be made from the runs."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperRun:
    """A run with its name in tables and figures, metadata, episodes and measures."""

    name: str
    """Name of the model in tables and figures, by default the file name."""
    meta: dict[str, Any]
    """Metadata as recorded when the run began: experiment, policy, versions, ..."""
    data: RunData
    """Episodes (``data.frame``) and results of measures (``data.result(PRIDE)``), each computed once."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One table or figure of a paper, with the parts for which the runs have data."""

    label: str
    """Label in the paper, for example Table 3 or Figure 6."""
    title: str
    """Content of the table or figure, in a few words."""
    tables: tuple[Table, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    missing: tuple[str, ...] = ()
    """Reasons why parts are missing, one line each."""
    titled: bool = False
    """Whether each part is shown with its own title, because there are several parts or one part per run."""

    def captioned(self, sentence: str, unfinished: Collection[str]) -> Exhibit:
        """Return the exhibit with a sentence added to its tables' captions, and unfinished runs marked in them."""
        tables = (table.marked(MARK, unfinished).with_note(sentence) for table in self.tables)
        return replace(self, tables=tuple(tables))

    @property
    def anchor(self) -> str:
        """Anchor on the page and prefix of the file names, such as ``table-3``."""
        return self.label.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class PaperSection:
    """Tables and figures about one question."""

    title: str
    about: str
    exhibits: tuple[Exhibit, ...]


@dataclass(frozen=True, slots=True)
class Paper:
    """Paper whose tables and figures can be made from runs."""

    name: str
    """Name on the command line, such as ``libero-para``."""
    about: str
    """Title of the paper."""
    make: Callable[[Sequence[PaperRun]], Iterable[PaperSection]]
    make_beside_published: Callable[[Sequence[PaperRun]], Iterable[PaperSection]] | None = None
    """Like ``make``, but adds the numbers published by the authors; None if Assay does not have them."""
    world: str | None = None
    """Name of the world that contains the paper's tasks; runs in other worlds are rejected. None for any world."""


PAPERS: Registry[Paper] = Registry("paper", PaperError, {})
"""Papers by name, registered by extensions and plugins: ``assay.register("paper", "mine")(Paper(...))``."""
Part = Table | Drawing | Missing
"""Part of an exhibit; a missing part is shown as one line."""
Make = Callable[..., Part | Iterable[Part]]
"""Function that returns one or more parts, given all runs (or one run) and further arguments."""


def exhibit(
    label: str, title: str, make: Make, runs: Any, *args: Any, per_run: bool = False, **options: Any
) -> Exhibit:
    """Make a table or figure from all runs together, or from each run if ``per_run``.

    A part that cannot be made is replaced by the reason. Files are named after the label.
    """
    shown: list[Table | Drawing] = []
    missing: list[str] = []
    for place, run in enumerate(runs if per_run else [runs], start=1):
        prefix = f"of {run.name}: " if per_run else ""
        try:
            result = make(run, *args, **options)
            # A generator may raise after its first parts, which are shown.
            for part in [result] if isinstance(result, Table | Drawing | Missing) else result:
                if isinstance(part, Missing):
                    missing.append(f"{prefix}{part.missing}")
                elif per_run:
                    title_with_run = f"{run.name}: {part.title}"
                    shown.append(replace(part, name=f"{part.name}-run-{place}", title=title_with_run))
                else:
                    shown.append(part)
        except MeasureError as error:
            missing.append(f"{prefix}{error}")
    anchor, several = Exhibit(label, title).anchor, len(shown) > 1
    shown = [replace(part, name=f"{anchor}-{part.name}" if several else anchor) for part in shown]
    return Exhibit(
        label,
        title,
        tables=tuple(part for part in shown if isinstance(part, Table)),
        drawings=tuple(part for part in shown if isinstance(part, Drawing)),
        missing=tuple(missing),
        titled=several or (per_run and len(runs) > 1),
    )


@dataclass(frozen=True, slots=True)
class ExhibitPlan:
    """Table or figure of a paper, with the function that makes it from runs."""

    label: str
    title: str
    make: Make
    """Function that makes the table or figure from all runs, or from one run if ``of_each``."""
    of_each: bool = False
    has_published: bool = False
    """Whether ``make`` has a keyword ``beside``, which adds the published numbers."""


def plan_sections(
    layout: Sequence[tuple[str, str, Sequence[str]]], plans: Iterable[ExhibitPlan]
) -> Callable[..., Iterator[PaperSection]]:
    """Return a function that makes the sections of a paper from runs.

    ``layout`` gives the title, the introduction and the labels of the exhibits of each section.
    """
    by_label = {plan.label: plan for plan in plans}

    def make(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[PaperSection]:
        for title, about, labels in layout:
            exhibits = []
            for plan in (by_label[label] for label in labels):
                options = {"beside": beside} if plan.has_published else {}
                part = exhibit(plan.label, plan.title, plan.make, runs, per_run=plan.of_each, **options)
                exhibits.append(part)
            yield PaperSection(title, about, tuple(exhibits))

    return make


def of_each(
    runs: Sequence[PaperRun], measure: Callable[[PaperRun], T]
) -> tuple[dict[str, T], tuple[Missing, ...]]:
    """Return the results by run name, and the reasons why the other runs have no result.

    Raises MeasureError if no run has a result.
    """
    results: dict[str, T] = {}
    missing: list[Missing] = []
    for run in runs:
        try:
            results[run.name] = measure(run)
        except MeasureError as error:
            missing.append(Missing(f"of {run.name}: {error}"))
    if not results:
        raise MeasureError("; ".join(line.missing for line in missing) or "there are no runs")
    return results, tuple(missing)


def by_run(measure: Callable[[PaperRun], Any]) -> Callable[[Make], Callable[..., Iterator[Part]]]:
    """Make a function of {run name: result} a function of runs; runs without a result are shown as missing."""

    def decorate(make: Make) -> Callable[..., Iterator[Part]]:
        @wraps(make)
        def build(runs: Sequence[PaperRun], /, *args: Any, **options: Any) -> Iterator[Part]:
            results, missing = of_each(runs, measure)
            parts = make(results, *args, **options)
            yield from [parts] if isinstance(parts, Table | Drawing | Missing) else parts
            yield from missing

        return build

    return decorate


def unnamed_if_single(results: Mapping[str, T]) -> Mapping[str, T]:
    """Return results by run name; for a single run the name is empty, because its figure needs no legend."""
    return results if len(results) > 1 else {"": next(iter(results.values()))}


def drawn_by(measure: Measure[Any], label: str, title: str) -> ExhibitPlan:
    """Plan a figure that a measure draws for several runs."""

    @by_run(lambda run: run.data.result(measure))
    def make(results: dict[str, Any]) -> Drawing:
        drawing: Drawing = measure.draw_runs(unnamed_if_single(results))
        return drawing

    return ExhibitPlan(label, title, make)


def model_table(name: str, title: str, results: Mapping[str, Any], *columns: Column, note: str = "") -> Table:
    """Make a table with one row per model; each column reads its value from the model's result."""
    reads = [column.value for column in columns if column.value is not None]
    rows = tuple((model, *(read(result) for read in reads)) for model, result in results.items())
    return Table(name, title, (Column("model"), *columns), rows, note)


@dataclass(frozen=True, slots=True)
class PaperReport:
    """Tables and figures of a paper, made from runs."""

    paper: Paper
    runs: tuple[tuple[str, str], ...]
    """Name and description (policy, experiment, number of episodes) of each run."""
    sections: tuple[PaperSection, ...]
    problems: tuple[str, ...] = ()
    """Warnings about the runs, such as missing episodes, and about plugins that are missing or have changed."""
    made_from: str = ""
    """Source of the numbers, if they do not come from runs."""

    def html(self) -> str:
        """Return the page as HTML."""
        return render("paper.html.jinja", keep_units=True, report=self, version=__version__)

    def write(self, folder: Path) -> Path:
        """Write the page, figures (SVG) and tables (CSV, Markdown, LaTeX), replacing any earlier report."""
        exhibits = [exhibit for section in self.sections for exhibit in section.exhibits]
        files = [(".", exhibit.drawings, exhibit.tables) for exhibit in exhibits]
        return write_page(folder, self.html(), files)


def build_paper(name: str, paths: Mapping[str, Path], *, published: bool = False) -> PaperReport:
    """Build a paper's tables and figures from run files, by run name; ``published`` adds the authors' numbers.

    Raises PaperError or RunError.
    """
    paper = PAPERS.load(name)
    make = paper.make_beside_published if published else paper.make
    if make is None:
        raise PaperError(f"--published: Assay has no published numbers for {name}")
    with ExitStack() as opened:
        runs: list[PaperRun] = []
        stores: dict[str, Store] = {}
        unfinished: dict[str, str] = {}
        about: list[tuple[str, str]] = []
        problems: list[str] = []
        for run_name, path in paths.items():
            store = opened.enter_context(Store.reading(path))
            if paper.world not in (None, store.world.name):
                raise PaperError(
                    f"--paper {name}: expected runs in the world {paper.world}, but {path} is in {store.world.name}"
                )
            stores[run_name] = store
            if missing := describe_unfinished(store):
                unfinished[run_name] = missing
        own = {name: (str(store.meta.get("experiment", "")), store.frame()) for name, store in stores.items()}
        suites = {
            (name, str(suite)): (f"{experiment} {suite}", rows)
            for name, (experiment, frame) in own.items()
            for (suite,), rows in frame.group_by(pl.col("task").str.split("/").list.first())
        }  # rows of different suites are not compared
        shared = shared_keys(suites)
        samples: dict[str, str] = {}
        for run_name, store in stores.items():
            meta, whole = store.meta, own[run_name][1]
            mine = [group for (name, _), group in suites.items() if name == run_name]
            only = {key for group, frame in mine for key in shared.get(group) or frame["key"]}
            data = RunData(store, only=only if len(only) < len(whole) else None)
            rows = data.whole
            samples[run_name] = describe_sample(rows)
            if any(group in shared and not shared[group] for group, _ in mine):
                samples[run_name] += (
                    ", not all comparable: no condition in common with the other runs of a suite"
                )
            if len(rows) < len(whole):
                samples[run_name] += f", of its {len(whole):,} episodes those that all runs completed"
            errors = int((whole["outcome"] == Outcome.ERROR).sum())
            lines = circumstances(meta, store.planned, store.done, len(store.todo()), errors)
            problems += [f"{run_name}: {line}" for line in lines]
            problems += load_plugins(meta.get("plugins", ()))
            runs.append(PaperRun(run_name, meta, data))
            seeds = rows["seed"].n_unique() if len(rows) else 0
            description = (
                f"{meta.get('policy', 'unknown policy')} on {meta.get('experiment', 'unknown experiment')}, assets "
                f"{meta.get('pack', 'unknown')}: {plural(len(rows), 'episode')}, {plural(seeds, 'seed')}"
            )
            about.append((run_name, description))
        notes = f"{describe_runs(samples)}. {explain_marks(unfinished)}"
        sections = tuple(
            replace(
                section, exhibits=tuple(exhibit.captioned(notes, unfinished) for exhibit in section.exhibits)
            )
            for section in make(runs)
        )
        exhibits = [exhibit for section in sections for exhibit in section.exhibits]
        if not any(exhibit.tables or exhibit.drawings for exhibit in exhibits):
            why = next((line for exhibit in exhibits for line in exhibit.missing), "there are no runs")
            raise PaperError(f"none of the tables and figures of {name} can be generated: {why}")
        return PaperReport(paper, tuple(about), sections, tuple(problems))
