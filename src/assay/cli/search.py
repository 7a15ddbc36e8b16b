"""`assay search`: the smallest change that breaks a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.box
import typer

from assay.cli.options import (
    JsonFile,
    PolicyAddress,
    PolicyLabel,
    RunFile,
    Yes,
    note_primitives,
    run_options,
    write_json,
)
from assay.errors import RunError
from assay.runs.options import RunOptions
from assay.support.console import number_of, output, say, table_of

if TYPE_CHECKING:
    from assay.api import SearchResult

VIDEOS = "videos"


@run_options(
    *("tasks", "seeds", "workers", "assets", "states", "steps", "replan", "certified", "retry_errors"),
    "timeout",
)
def search(
    policy: PolicyAddress,
    options: RunOptions,
    axes: Annotated[
        str,
        typer.Option(
            help="Axes of change: distance, camera, light, delay, noise, rewording, size, with commas."
        ),
    ] = "distance",
    budget: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of episodes, controls included (default: 30 per task and axis; at least 12, more "
            "for a higher --level or --confidence)."
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Success counts as lost if less than this share of it is kept.")
    ] = 0.5,
    confidence: Annotated[float, typer.Option(help="Confidence of each interval.")] = 0.95,
    out: RunFile = None,
    report: Annotated[
        Path | None,
        typer.Option(help="A folder for tables (LaTeX, CSV, Markdown), the figure and videos of failures."),
    ] = None,
    videos: Annotated[int, typer.Option(min=0, help="With --report: maximum number of videos.")] = 6,
    label: PolicyLabel = None,
    target: JsonFile = None,
    yes: Yes = False,
) -> None:
    """Find the smallest change that breaks a policy: how far, how dark, how late, how differently worded.

    For each task and axis: the magnitude up to which success is kept, and the one at which it is lost. The same command
    resumes an interrupted search; with a larger --budget, one whose budget was used up.
    """
    from assay import api
    from assay.cli.confirm import CountingDisplay
    from assay.measures.world.thresholds import thresholds_table
    from assay.runs.certificates import count_reasons, recall
    from assay.runs.display import print_errors, print_refused
    from assay.runs.store import Store

    note_primitives(policy, options.assets)
    with CountingDisplay(yes=yes) as display:
        result = api.search(
            policy,
            axes,
            budget=budget,
            level=level,
            confidence=confidence,
            out=out,
            label=label,
            observer=display,
            options=options,
        )
    written: dict[str, str] = {}
    if report is not None:
        written = write_report(result, report, videos)
        say(f"written to {report}", aside=True)
    if target is None or not write_json(result.as_json() | {"videos": written}, target):
        table = thresholds_table(result.thresholds)
        headings = (column.heading for column in table.columns)
        shown = table_of(*headings, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for row in table.formatted_rows:
            shown.add_row(*row)
        output.print(shown)
        say(table.note)
        for note in result.notes:
            say(note)
        say(f"{number_of(result.played, 'episode')} in {result.path}")
    with Store.reading(result.path) as store:
        if target is None:
            print_refused(count_reasons(recall(store)))
        print_errors(store)
    if api.Run(result.path).has_only_errors:
        raise RunError("every episode ended in an error: fix the cause, then resume with --retry-errors")
    if result.reason:
        raise RunError(
            f"stopped: {result.reason}; run the same command to resume once the policy server is reachable"
        )
    if not result.played and result.refused:
        raise RunError(
            "no episode was run: the oracle solves none of the scenes; valid: other tasks, more --steps"
        )
    if result.left:
        searches = "one search is" if result.left == 1 else f"{result.left} searches are"
        say(f"{searches} not finished: run the same command to resume", aside=True)
        raise typer.Exit(130)


def write_report(result: SearchResult, folder: Path, videos: int) -> dict[str, str]:
    """Write tables (CSV, Markdown, LaTeX), the figure (SVG) and videos; returns the videos by key of their episode."""
    from assay.api import Run
    from assay.measures.world.thresholds import thresholds_figure, thresholds_table
    from assay.runs.replay import video_file
    from assay.runs.schedulers.search import first_failure

    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, str] = {}
    if videos and result.played:
        run = Run(result.path)
        frame = run.frame()
        for threshold in result.thresholds.found:
            key = first_failure(frame, threshold.task, threshold.axis, threshold.kept)
            if key and len(written) < videos:
                episode = run.episodes[key]
                path = video_file(folder / VIDEOS, episode.spec, episode.row["outcome"])
                episode.replay(path)
                written[key] = f"{VIDEOS}/{path.name}"
    table = thresholds_table(result.thresholds)
    for suffix, text in (("csv", table.as_csv()), ("md", table.as_markdown()), ("tex", table.as_latex())):
        (folder / f"{table.name}.{suffix}").write_text(text, encoding="utf-8")
    if result.thresholds.found:
        drawing = thresholds_figure(result.thresholds)
        (folder / f"{drawing.name}.svg").write_text(drawing.file, encoding="utf-8")
    return written
