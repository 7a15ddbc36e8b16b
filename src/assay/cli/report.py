"""`assay report`: what runs say, as a page, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.execution import JsonFile, write_json
from assay.console import say, working
from assay.errors import AssayError, RunError

if TYPE_CHECKING:
    from assay.measures.nearness import NearFarRule
    from assay.report.run_report import RunReport


def report(
    paths: Annotated[list[Path], typer.Argument(metavar="RUN...", help="NAME.assay; several side by side.")],
    out: Annotated[
        Path | None, typer.Option(help="A folder for the page (index.html), figures and tables.")
    ] = None,
    target: JsonFile = None,
    paper: Annotated[
        str | None,
        typer.Option(
            help="Instead: every table and figure of a paper that these runs can give: "
            "libero-para, libero-pro, libero-x."
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
) -> None:
    """Say what broke, how sure that is, and why: one page that opens offline, or one JSON object.

    With --paper: the tables and figures of a published paper, each under the paper's own number.
    """
    from assay.measures.nearness import near_far_rule
    from assay.report.comparison import as_json, compare_suites
    from assay.report.page import build
    from assay.report.run_report import named
    from assay.report.summary import banners

    if paper is not None:
        return _paper(paper, paths, out, target, published)
    if published:
        raise RunError("--published is for --paper NAME")
    if out is None and target is None:
        raise RunError("say where to: --out DIR or --json FILE")
    runs = named(paths)
    found, left_out = _read(runs, near_far_rule(near_far))
    compared = compare_suites(runs, found)
    if target is not None:
        write_json(found[0].as_json() if len(runs) == 1 else as_json(found, compared, left_out), target)
    if out is not None:
        with working("drawing"):
            page = build(found, compared, left_out).write(out)
        if target != "-":
            say(f"written to {page}")
    lines = [f"{each.name}: {banner}" for each in found for banner in banners(each)]
    for line in (*lines, *(f"left out: {reason}" for reason in left_out.values())):
        say(line, aside=True)
    if left_out:
        raise typer.Exit(1)


def _paper(name: str, paths: list[Path], out: Path | None, target: str | None, published: bool) -> None:
    from assay.report.papers import write_paper
    from assay.report.run_report import named

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
