"""The page of a paper's tables and figures, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from assay import __version__
from assay.episodes import Outcome
from assay.measures.run_data import RunData
from assay.measures.views.wording import plural
from assay.report.page import keep_units, prepare_folder, write_files
from assay.report.papers.base import PAPERS, Paper, PaperError, PaperRun, PaperSection
from assay.report.rendering import render
from assay.report.summary import circumstances
from assay.runs.store import Store
from assay.support.plugins import load_plugins


@dataclass(frozen=True, slots=True)
class PaperReport:
    """The tables and figures of a paper, made from runs."""

    paper: Paper
    runs: tuple[tuple[str, str], ...]
    """Name and description (policy, experiment, episodes) of each run."""
    sections: tuple[PaperSection, ...]
    problems: tuple[str, ...] = ()
    """Limits of each run that affect its interpretation, and plugins that are missing or have changed."""
    made_from: str = ""
    """Source of the tables if they are not generated from a run."""

    def html(self) -> str:
        """Return the page as HTML."""
        return render("paper.html.jinja", finalize=keep_units, report=self, version=__version__)

    def write(self, folder: Path) -> Path:
        """Write the page, figures (SVG) and tables (CSV, Markdown, LaTeX); an earlier report there is replaced."""
        page = prepare_folder(folder)
        for section in self.sections:
            for exhibit in section.exhibits:
                write_files(folder, ".", exhibit.drawings, exhibit.tables)
        page.write_text(self.html(), encoding="utf-8")
        return page


def build_paper(name: str, paths: Mapping[str, Path], *, published: bool = False) -> PaperReport:
    """Build the tables and figures of a paper from runs by name; ``published``: with the authors' numbers.

    Raises PaperError, RunError.
    """
    paper = PAPERS[name]
    make = paper.make_beside_published if published else paper.make
    if make is None:
        raise PaperError(f"--published: Assay has no published numbers of {name}")
    with ExitStack() as opened:
        runs: list[PaperRun] = []
        about: list[tuple[str, str]] = []
        problems: list[str] = []
        for run_name, path in paths.items():
            store = opened.enter_context(Store.reading(path))
            if paper.world not in (None, store.world.name):
                raise PaperError(
                    f"--paper {name}: {path} is a run of the world {store.world.name}; valid: runs of {paper.world}"
                )
            data = RunData(store)
            errors = int((data.whole["outcome"] == Outcome.ERROR).sum())
            lines = circumstances(store.meta, store.planned, store.done, len(store.todo()), errors)
            problems += [f"{run_name}: {line}" for line in lines]
            problems += load_plugins(store.meta.get("plugins", ()))
            runs.append(PaperRun(run_name, store.meta, data))
            about.append((run_name, _describe(runs[-1])))
        sections = tuple(make(runs))
        exhibits = [exhibit for section in sections for exhibit in section.exhibits]
        if not any(exhibit.tables or exhibit.drawings for exhibit in exhibits):
            why = next((line for exhibit in exhibits for line in exhibit.missing), "there is no run")
            raise PaperError(f"none of the tables and figures of {name} can be made: {why}")
        return PaperReport(paper, tuple(about), sections, tuple(problems))


def write_paper(name: str, paths: Mapping[str, Path], folder: Path, *, published: bool = False) -> Path:
    """Write the tables and figures of a paper into a folder; returns the path of the page."""
    return build_paper(name, paths, published=published).write(folder)


def _describe(run: PaperRun) -> str:
    rows = run.data.whole
    seeds = rows["seed"].n_unique() if len(rows) else 0
    return (
        f"{run.meta.get('policy', 'unknown policy')} on {run.meta.get('experiment', 'unknown experiment')}, "
        f"assets {run.meta.get('pack', 'unknown')}: "
        f"{plural(len(rows), 'episode')}, {plural(seeds, 'seed')}"
    )
