"""`assay report`: what runs say, as a page, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.execution import JsonFile, write_json
from assay.cli.printing import FigureFormat, FigureWidth, Font, FontSize, Names, print_of
from assay.errors import AssayError, RunError
from assay.support.console import output, say, styled, working

if TYPE_CHECKING:
    from assay.measures.failure.near_far import NearFarRule
    from assay.report.comparison import Group
    from assay.report.run_report import RunReport


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="NAME.assay, several side by side; a folder for all in it."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="A folder for the page (index.html), figures and tables.")
    ] = None,
    target: JsonFile = None,
    paper: Annotated[
        str | None,
        typer.Option(
            help="Instead: every table and figure of a paper that these runs can give: "
            "cogelot, libero-para, libero-pro, libero-x."
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="With --paper: its authors' numbers beside those of the runs.")
    ] = False,
    near_far: Annotated[
        str,
        typer.Option(
            help="Which failures are near: ours, paper (LIBERO-Para's), "
            "or fields that differ from ours: 'floor=0&least_successes=3&with_controls=false'."
        ),
    ] = "ours",
    label: Annotated[
        list[str] | None, typer.Option(help="What a run is called, one for each; by default its own label.")
    ] = None,
    figures: FigureFormat = None,
    width: FigureWidth = "column",
    font: Font = None,
    font_size: FontSize = 8.0,
    names: Names = None,
) -> None:
    """Say what broke, how sure that is, and why: in the terminal, as a page that opens offline, or as JSON.

    With --paper: the tables and figures of a published paper, each under the paper's own number.
    """
    from assay.measures.failure.near_far import near_far_rule
    from assay.report.comparison import as_json, compare_suites
    from assay.report.for_papers import FOLDER, write_for_papers
    from assay.report.page import build
    from assay.report.run_report import named
    from assay.report.summary import banners

    paths = _runs(paths)

    if paper is not None:
        if figures is not None or label:
            raise RunError("--figures and --label are for the report itself, not for --paper NAME")
        return _paper(paper, paths, out, target, published)
    if published:
        raise RunError("--published is for --paper NAME")
    how = print_of(figures, width, font, font_size, names, out)
    runs = named(paths, label or ())
    found, left_out = _read(runs, near_far_rule(near_far))
    compared = compare_suites(runs, found)
    if target is not None:
        write_json(found[0].as_json() if len(runs) == 1 else as_json(found, compared, left_out), target)
    if out is not None:
        with working("drawing"):
            built = build(found, compared, left_out)
            page = built.write(out)
        if target != "-":
            say(f"written to {page}")
        if how is not None:
            with working("printing"):
                wide = write_for_papers(built, {each.name: runs[each.name] for each in found}, out, how)
            if target != "-":
                say(f"for a paper: {out / FOLDER}")
                if wide:
                    say(f"as wide as a page, since a column is too narrow for them: {', '.join(wide)}")
    elif target is None:
        _summarise(found, compared)
    lines = [f"{each.name}: {banner}" for each in found for banner in banners(each) if out or target]
    for line in (*lines, *(f"left out: {reason}" for reason in left_out.values())):
        say(line, aside=True)
    if left_out:
        raise typer.Exit(1)


def _runs(paths: list[Path]) -> list[Path]:
    """The runs that are named; of a folder, all in it. Raises RunError for a folder without one."""
    from assay.runs.connections import SUFFIX

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            within = sorted(path.glob(f"*{SUFFIX}"))
            if not within:
                raise RunError(f"{path}: no run (*{SUFFIX}) in this folder")
            found += within
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def _summarise(found: list[RunReport], compared: list[Group]) -> None:
    """What each run says, what those of one policy say together, and who is better, in the terminal."""
    from assay.report.comparison import Compared
    from assay.report.joint import joint_diagnoses
    from assay.report.terminal import joint_summary, summary, untested_summary

    parts = [summary(each, alone=len(found) == 1) for each in found]
    parts += [joint_summary(title, told) for title, told in joint_diagnoses(found).items()]
    if len(found) > 1:
        parts.append(untested_summary(found))
    for place, part in enumerate(list(each) for each in parts):
        if place and part:
            say("")
        for line, style in part:
            output.print(styled(line, style), soft_wrap=True, highlight=False)
    for group in compared:
        if isinstance(group.found, Compared) and group.found.verdicts:
            say("")
            for line in group.found.verdicts:
                output.print(styled(line, "bold"), soft_wrap=True, highlight=False)


def _paper(name: str, paths: list[Path], out: Path | None, target: str | None, published: bool) -> None:
    from assay.report.papers import write_paper
    from assay.report.run_report import named

    if name == "actioneqa":
        raise RunError(
            "actioneqa is made from answers, not runs: assay eqa score DIR ANSWERS... --paper actioneqa"
        )
    if out is None or target is not None:
        raise RunError("--paper needs --out DIR, and has no --json: its tables are CSV files there")
    with working("drawing"):
        page = write_paper(name, named(paths), out, published=published)
    say(f"written to {page}")


def _read(runs: dict[str, Path], rule: NearFarRule) -> tuple[list[RunReport], dict[str, str]]:
    """The runs that can be read, and why the others cannot."""
    from assay.report.run_report import RunReport

    found: list[RunReport] = []
    left_out: dict[str, str] = {}
    for name, path in runs.items():
        try:
            with working(f"measuring {path}"):
                found.append(RunReport.read(path, name, near_far=rule))
        except AssayError as error:
            if len(runs) == 1:
                raise
            left_out[name] = str(error)
    if not found:
        raise RunError(f"none of {len(runs)} runs can be read: {'; '.join(left_out.values())}")
    return found, left_out
