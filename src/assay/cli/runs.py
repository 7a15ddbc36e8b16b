"""`assay report`, `assay compare` and `assay runs`: report, compare, list, show and merge recorded runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE
from rich.table import Column

from assay.cli import options as cli
from assay.errors import AssayError, RunError
from assay.support.console import number_of, print_rows, right, say, working

if TYPE_CHECKING:
    from assay.measures.compare import RunContrast
    from assay.measures.failure.near_far import NearFarRule
    from assay.measures.sentences import Diagnosis
    from assay.report.run_report import RunReport

Line = tuple[str, str]
"""A line of terminal output and its style: ``bold``, ``yellow``, ``cyan``, ``dim``, or empty."""


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Run files (NAME.assay), or folders of run files."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page (index.html), figures and tables.")
    ] = None,
    target: cli.JsonFile = None,
    paper: Annotated[
        str | None,
        typer.Option(
            help="Write the tables and figures of this paper instead: cogelot, libero-para, libero-pro or libero-x."
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option("--published", help="Add the published numbers (with --paper)."),
    ] = False,
    near_far: Annotated[
        str,
        typer.Option(
            help="Rule that defines near failures (with a trajectory close to successful ones): ours, paper "
            "(LIBERO-Para's), or ours with changes: 'floor=0&least_successes=3&with_controls=false'."
        ),
    ] = "ours",
    label: cli.Labels = None,
    figures: cli.FigureFormat = None,
    width: cli.FigureWidth = "column",
    font: cli.Font = None,
    font_size: cli.FontSize = 8.0,
    names: cli.Names = None,
    detect: cli.Detect = cli.DETECT_POINTS,
) -> None:
    """Report what broke, how certain that is, and why: in the terminal, as a self-contained page, or as JSON.

    The findings are printed; --out also writes a page with figures and tables. With --paper, write only the tables and
    figures of a published paper, numbered as in the paper.
    """
    from assay.measures.compare import Comparison
    from assay.measures.failure.near_far import near_far_rule
    from assay.report.comparison import as_json, compare_suites
    from assay.report.for_papers import FOLDER, write_for_papers
    from assay.report.page import build
    from assay.report.papers import build_paper
    from assay.report.run_report import name_runs
    from assay.report.summary import banners
    from assay.runs.store import SUFFIX
    from assay.support.files import check_writable

    found: dict[Path, None] = {}
    for path in paths:
        within = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not within:
            raise RunError(f"{path}: the folder contains no runs (*{SUFFIX})")
        found |= dict.fromkeys(within)
    if paper is not None:
        if figures is not None or label or target is not None:
            raise RunError("--figures, --label and --json cannot be combined with --paper")
        if out is None:
            raise RunError("--paper needs --out FOLDER")
        with working("drawing"):
            page = build_paper(paper, name_runs([*found]), published=published).write(out)
        say(f"written to {page}")
        return
    if published:
        raise RunError("--published needs --paper NAME")
    how = cli.print_settings(figures, width, font, font_size, names, out)
    if out is not None:
        check_writable(out, folder=True)
    runs = name_runs([*found], label or ())
    reports, left_out = _read(runs, near_far_rule(near_far), detect / 100)
    compared = compare_suites(runs, reports) if len(reports) > 1 else []
    if target is not None:
        cli.write_json(
            reports[0].as_json() if len(runs) == 1 else as_json(reports, compared, left_out), target
        )
    is_aside = target == "-"  # standard output is for the JSON alone
    if is_aside:
        for report in reports:
            for banner in banners(report):
                say(f"{report.name}: {banner}", aside=True)
    else:
        for place, paragraph in enumerate(_terminal_summary(reports)):
            if place and paragraph:
                say("")
            for line, style in paragraph:
                say(line, style)
        for group in compared:
            if isinstance(group.comparison, Comparison):
                say("")
                for line in group.comparison.verdicts():
                    say(line, "bold")
    if out is not None:
        with working("drawing"):
            built = build(reports, compared, left_out)
            page = built.write(out)
        say(f"report written to {page}", aside=is_aside)
        if how is not None:
            with working("printing"):
                wide = write_for_papers(
                    built, {report.name: runs[report.name] for report in reports}, out, how
                )
            say(f"for a paper: {out / FOLDER}", aside=is_aside)
            if wide:
                say(
                    f"drawn at page width, because a column is too narrow: {', '.join(wide)}",
                    aside=is_aside,
                )
    for reason in left_out.values():
        say(f"left out: {reason}", aside=True)
    if only_errors := all(report.only_errors for report in reports):
        say("nothing can be measured: every episode ended in an error", aside=True)
    if left_out or only_errors:
        raise typer.Exit(1)


def _terminal_summary(reports: Sequence[RunReport]) -> Iterator[list[Line]]:
    """Yield paragraphs on each run, on all runs of a policy together, and on the flaws that no run tests for."""
    from assay.measures.sentences import not_tested
    from assay.report.summary import advice, banners, describe_results, joint_diagnoses

    for report in reports:
        diagnosis = report.conclusions
        title = report.title if report.name in report.title else f"{report.title} ({report.name})"
        results, numbers = describe_results(report.profile)
        widest = max((len(number.name) for number in numbers), default=0)
        last = not_tested([diagnosis.untested]) if len(reports) == 1 else ()
        yield [
            (title, "bold"),
            *((line, "yellow") for line in banners(report)),
            *_diagnosis_lines(diagnosis),
            *((traceback, "") for traceback in (report.tracebacks[:3] if report.only_errors else ())),
            *((f"{step.text} {step.command}".strip(), "cyan") for step in advice(report)),
            *((f"  {item.name:<{widest}}  {item.value}  ({item.detail})", "") for item in numbers),
            *((f"- {line}", "") for line in results),
            *((f"- {line}", "dim") for line in (*diagnosis.others, *last)),
        ]
    if len(reports) == 1:
        return
    for title, diagnosis in joint_diagnoses(reports).items():
        seeds = [(f"{diagnosis.seeds.text}.", "cyan")] if diagnosis.seeds is not None else []
        others = [(f"- {line}", "dim") for line in diagnosis.others]
        yield [(title, "bold"), *_diagnosis_lines(diagnosis), *seeds, *others]
    untested = [report.conclusions.untested for report in reports if not report.only_errors]
    yield [(line, "dim") for line in not_tested(untested, " by any of these runs")]


def _diagnosis_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    yield from ((line, "bold") for line in diagnosis.found)
    yield from ((line, "") for line in (*diagnosis.explained, *diagnosis.unsure))


def _read(runs: dict[str, Path], rule: NearFarRule, detect: float) -> tuple[list[RunReport], dict[str, str]]:
    """Return the readable runs, and the reasons why the others cannot be read."""
    from assay.report.run_report import RunReport

    reports: list[RunReport] = []
    left_out: dict[str, str] = {}
    for name, path in runs.items():
        try:
            with working(f"measuring {path}"):
                reports.append(RunReport.read(path, name, near_far=rule, detect=detect))
        except AssayError as error:
            if len(runs) == 1:
                raise
            left_out[name] = str(error)
    if not reports:
        raise RunError(f"none of {len(runs)} runs can be read: {'; '.join(left_out.values())}")
    return reports, left_out


def compare(
    paths: Annotated[list[Path], typer.Argument(metavar="RUN", help="Two or more run files, NAME.assay.")],
    target: cli.JsonFile = None,
    label: cli.Labels = None,
    margin: Annotated[
        float,
        typer.Option(
            min=0.1, max=99, metavar="POINTS", help="Smallest relevant difference, in percentage points."
        ),
    ] = 5.0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables (LaTeX, CSV, Markdown) and a figure of the losses.")
    ] = None,
    figures: cli.FigureFormat = None,
    width: cli.FigureWidth = "column",
    font: cli.Font = None,
    font_size: cli.FontSize = 8.0,
    names: cli.Names = None,
) -> None:
    """Compare runs on the episodes that all of them contain: success rates, and losses due to perturbations.

    Episodes match if task, seed, assets and perturbations are equal.
    """
    from assay.measures.compare import comparison_tables, robustness_figure
    from assay.measures.ranking import ranking_table
    from assay.measures.result import MeasureError
    from assay.measures.views.wording import between, points
    from assay.report.comparison import compare_runs
    from assay.report.for_papers import write_printed
    from assay.report.run_report import name_runs

    how = cli.print_settings(figures or ("pdf" if out else None), width, font, font_size, names, out)
    if len(paths) < 2:
        raise RunError("compare: expected at least two runs")
    if len(set(paths)) < len(paths):
        raise RunError("compare: expected different runs, but one was given twice")
    runs = name_runs(paths, label or ())
    comparison = compare_runs(runs, margin=margin / 100)
    if out is not None and how is not None:
        try:
            drawings = [robustness_figure(comparison)]
        except MeasureError as error:
            drawings = []
            say(f"no figure: {error}", aside=True)
        write_printed(out, drawings, list(comparison_tables(comparison)), how, every_form=True)
        say(f"written to {out}", aside=True)
    if target is not None:
        cli.write_json(comparison.as_json(), target)
    if target == "-":
        return
    if comparison.ranking:
        cli.print_table(ranking_table(comparison.ranking))
    for pair in combinations(runs, 2):
        say(f"A: {pair[0]}\nB: {pair[1]}\nB - A in percentage points")
        for line in comparison.verdicts(*pair):
            say(line, "bold")
        _show_contrasts(pair, (*comparison.overall, *comparison.conditions))
        drops = (*comparison.robustness, *comparison.robustness_by_condition)
        if drops := tuple(drop for drop in drops if drop.aspect == "drop"):
            say("Drop of each run relative to its controls; a positive difference means that B loses less")
            rows = [
                (
                    drop.condition or "all changes",
                    *(points(value) for value in (drop.first_value, drop.second_value, drop.change)),
                    between(drop.interval, 100),
                    drop.verdict,
                )
                for drop in drops
                if (drop.first, drop.second) == pair
            ]
            print_rows(("condition", *right("A", "B", "B - A", "95 % interval", "B is")), rows)
        if comparison.implausible:
            say("Conditions in which success is not expected, not included above:")
            _show_contrasts(pair, comparison.implausible)
    say(comparison.note)
    for name in runs:
        unmatched, errors = comparison.unmatched[name], comparison.errors[name]
        shared = number_of(comparison.shared, "shared episode")
        say(f"{name}: {shared}, {unmatched} unmatched, {number_of(errors, 'error')}")


def _show_contrasts(pair: tuple[str, str], contrasts: Sequence[RunContrast]) -> None:
    """Print the differences between two runs, one row per condition."""
    from assay.measures.views.wording import between, number, p_value, points

    rows = [
        (
            contrast.condition or "all, including controls",
            f"{contrast.count:,}",
            number(100 * contrast.first_rate),
            number(100 * contrast.second_rate),
            points(contrast.change),
            between(contrast.interval, 100),
            p_value(contrast.p_holm),
        )
        for contrast in contrasts
        if (contrast.first, contrast.second) == pair
    ]
    print_rows(("condition", *right("n", "A %", "B %", "B - A", "95 % interval", "Holm p")), rows)


app = typer.Typer(help="List, show and merge runs.", no_args_is_help=True)


@app.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to search, recursively.")] = Path(
        "runs"
    ),
) -> None:
    """List the runs in a folder."""
    from assay.runs.store import SUFFIX, Store

    if not folder.is_dir():
        raise RunError(f"{folder} is not a folder")
    rows = []
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            with Store.reading(path, whole=False) as store:
                meta = store.meta
                done = f"{store.done}/{store.planned}"
        except (RunError, sqlite3.Error) as error:
            say(f"left out: {path}: {error}", aside=True)
            continue
        policy = meta.get("label") or meta.get("policy", "-")
        names = (str(name) for name in (meta.get("experiment", "-"), policy, meta.get("pack", "-")))
        started = str(meta.get("started", "-"))[:16].replace("T", " ")
        rows.append((str(path.relative_to(folder)), *names, done, started))
    first, last = Column("run", no_wrap=True), Column("started", min_width=10)
    print_rows((first, "experiment", "policy", "assets", "done", last), rows, box=SIMPLE)


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Run file, NAME.assay.")],
    target: cli.JsonFile = None,
) -> None:
    """Show the provenance of a run and its success by condition."""
    from assay.api.recorded import Run
    from assay.runs.certificates import REFUSED, count_reasons, recall
    from assay.runs.provenance import describe_meta
    from assay.runs.store import Store

    with Store.reading(path) as store:
        meta, counts, refused = store.meta, store.counts(), recall(store)
        meta.pop(REFUSED, None)
        if target is not None:
            content = {
                "meta": meta,
                "conditions": counts.to_dicts(),
                "stopped": store.stopped,
                "errors": store.reasons(),
                "tracebacks": store.tracebacks(),
                "clipping": store.clipping()._asdict(),
                "refused": count_reasons(refused),
            }
            if cli.write_json(content, target):
                return
    columns = (Column(justify="right", no_wrap=True), "")
    print_rows(columns, describe_meta(meta), box=None, show_header=False, pad_edge=False)
    if counts.is_empty() and not refused:
        say(
            "no episode has been planned yet, because the run was interrupted; run its command again to resume"
        )
        return
    Run(path).show()


@app.command("merge")
def merge_runs(
    paths: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Run files of the same experiment and policy.")
    ],
    out: Annotated[Path, typer.Option(help="Run file to write, NAME.assay.")],
) -> None:
    """Merge the shards of a run. Exit status 1 if shards or episodes are missing."""
    from assay.runs.shards import MERGED, merge
    from assay.runs.store import Store

    count = merge(paths, out)
    say(f"{number_of(count, 'episode')} in {out}")
    with Store.reading(out) as store:
        shards, left = store.meta.get(MERGED), store.planned - store.done
    missing = sorted({*range(1, shards["of"] + 1)} - {*shards["there"]}) if shards else []
    if missing:
        say(f"the run is not complete: missing shards {', '.join(map(str, missing))}", aside=True)
    if left:
        say(
            f"{number_of(left, 'planned episode')} not executed: run the shard's command again to resume",
            aside=True,
        )
    if missing or left:
        raise typer.Exit(1)
