"""`assay report`: the results of runs, in the terminal, as a page, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import (
    FigureFormat,
    FigureWidth,
    Font,
    FontSize,
    JsonFile,
    Names,
    print_settings,
    write_json,
)
from assay.errors import AssayError, RunError
from assay.support.console import output, say, styled, working

if TYPE_CHECKING:
    from assay.measures.failure.nearness import NearFarRule
    from assay.report.comparison import ComparedGroup
    from assay.report.run_report import RunReport


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs, NAME.assay, or folders of runs."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="A folder for the page (index.html), figures and tables.")
    ] = None,
    target: JsonFile = None,
    paper: Annotated[
        str | None,
        typer.Option(
            help="Instead: the tables and figures of a paper that these runs allow: cogelot, libero-para, "
            "libero-pro, libero-x."
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option("--published", help="With --paper: the published numbers beside those of the runs."),
    ] = False,
    near_far: Annotated[
        str,
        typer.Option(
            help="Rule for near failures: ours, paper (LIBERO-Para's), or fields that differ from ours: "
            "'floor=0&least_successes=3&with_controls=false'."
        ),
    ] = "ours",
    label: Annotated[
        list[str] | None, typer.Option(help="Names of the runs, one per run (default: their labels).")
    ] = None,
    figures: FigureFormat = None,
    width: FigureWidth = "column",
    font: Font = None,
    font_size: FontSize = 8.0,
    names: Names = None,
) -> None:
    """Report what broke, how certain that is, and why: in the terminal, as an offline page, or as JSON.

    With --paper: the tables and figures of a published paper, under the paper's own numbers.
    """
    from assay.measures.failure.nearness import near_far_rule
    from assay.report.comparison import as_json, compare_suites
    from assay.report.for_papers import FOLDER, write_for_papers
    from assay.report.page import build
    from assay.report.run_report import name_runs
    from assay.report.summary import banners

    paths = _runs(paths)

    if paper is not None:
        if figures is not None or label:
            raise RunError("--figures and --label are for the report itself, not for --paper NAME")
        return _paper(paper, paths, out, target, published)
    if published:
        raise RunError("--published is for --paper NAME")
    how = print_settings(figures, width, font, font_size, names, out)
    runs = name_runs(paths, label or ())
    reports, left_out = _read(runs, near_far_rule(near_far))
    compared = compare_suites(runs, reports)
    if target is not None:
        write_json(reports[0].as_json() if len(runs) == 1 else as_json(reports, compared, left_out), target)
    if out is not None:
        with working("drawing"):
            built = build(reports, compared, left_out)
            page = built.write(out)
        if target != "-":
            say(f"written to {page}")
        if how is not None:
            with working("printing"):
                wide = write_for_papers(
                    built, {report.name: runs[report.name] for report in reports}, out, how
                )
            if target != "-":
                say(f"for a paper: {out / FOLDER}")
                if wide:
                    say(f"as wide as a page, because a column is too narrow: {', '.join(wide)}")
    elif target is None:
        _summarise(reports, compared)
    shown = reports if out or target else []
    lines = [f"{report.name}: {banner}" for report in shown for banner in banners(report)]
    for line in (*lines, *(f"left out: {reason}" for reason in left_out.values())):
        say(line, aside=True)
    if left_out:
        raise typer.Exit(1)


def _runs(paths: list[Path]) -> list[Path]:
    """The named runs, and all runs of named folders. Raises RunError for a folder without one."""
    from assay.runs.store import SUFFIX

    runs: list[Path] = []
    for path in paths:
        if path.is_dir():
            within = sorted(path.glob(f"*{SUFFIX}"))
            if not within:
                raise RunError(f"{path}: no run (*{SUFFIX}) in this folder")
            runs += within
        else:
            runs.append(path)
    return list(dict.fromkeys(runs))


def _summarise(reports: list[RunReport], compared: list[ComparedGroup]) -> None:
    """Print the findings of each run, of all runs of a policy together, and the comparison of policies."""
    from assay.report.comparison import Compared
    from assay.report.summary import terminal_summary

    for place, paragraph in enumerate(terminal_summary(reports)):
        if place and paragraph:
            say("")
        for line, style in paragraph:
            output.print(styled(line, style), soft_wrap=True, highlight=False)
    for group in compared:
        if isinstance(group.found, Compared) and group.found.verdicts:
            say("")
            for line in group.found.verdicts:
                output.print(styled(line, "bold"), soft_wrap=True, highlight=False)


def _paper(name: str, paths: list[Path], out: Path | None, target: str | None, published: bool) -> None:
    from assay.report.papers import write_paper
    from assay.report.run_report import name_runs

    if name == "actioneqa":
        raise RunError(
            "actioneqa is made from answers, not runs: assay eqa score DIR ANSWERS... --paper actioneqa"
        )
    if out is None or target is not None:
        raise RunError("--paper needs --out DIR, and has no --json: its tables are CSV files there")
    with working("drawing"):
        page = write_paper(name, name_runs(paths), out, published=published)
    say(f"written to {page}")


def _read(runs: dict[str, Path], rule: NearFarRule) -> tuple[list[RunReport], dict[str, str]]:
    """The readable runs, and why others are not."""
    from assay.report.run_report import RunReport

    reports: list[RunReport] = []
    left_out: dict[str, str] = {}
    for name, path in runs.items():
        try:
            with working(f"measuring {path}"):
                reports.append(RunReport.read(path, name, near_far=rule))
        except AssayError as error:
            if len(runs) == 1:
                raise
            left_out[name] = str(error)
    if not reports:
        raise RunError(f"none of {len(runs)} runs can be read: {'; '.join(left_out.values())}")
    return reports, left_out
