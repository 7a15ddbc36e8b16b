"""`assay duel`, `assay gate` and `assay search`: compare two policies, or find the smallest change that breaks a
policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column

from assay.cli import options as cli
from assay.errors import RunError
from assay.runs.options import RunOptions
from assay.support.console import number_of, print_rows, say

if TYPE_CHECKING:
    from assay.api.running import SearchResult
    from assay.support.stats.judgement import Judgement


Margin = Annotated[
    float,
    typer.Option(
        metavar="RATE", help="Smallest relevant difference between A and B; 0.05 is five percentage points."
    ),
]
Each = Annotated[
    bool,
    typer.Option("--each", help="Require every condition to pass separately, not only all of them together."),
]


@cli.run_options(
    *("tasks", "seeds", "conditions", "workers", "assets", "states", "steps", "replan", "latency"),
    *("while_waiting", "certified", "retry_errors", "timeout"),
    workers="Number of worker processes per policy (default: one per two cores; 0 runs in this process).",
)
def duel(
    first: Annotated[str, typer.Argument(metavar="A", help="Address of the current (baseline) policy.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Address of the candidate policy.")],
    experiment: Annotated[
        str, typer.Option(help="Name or address of the experiment; see `assay experiments list`.")
    ],
    options: RunOptions,
    margin: Margin = 0.05,
    each: Each = False,
    per_start: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="Number of episodes per task and seed, drawn at random, or `all`.",
        ),
    ] = "1",
    measure: Annotated[
        str,
        typer.Option(
            metavar="success|progress",
            help="Score to compare; progress towards the goal may need fewer episodes than success.",
        ),
    ] = "success",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the run files A.assay and B.assay (default: a folder in runs)."),
    ] = None,
    label_a: Annotated[str | None, typer.Option(help="Name of A in reports.")] = None,
    label_b: Annotated[str | None, typer.Option(help="Name of B in reports.")] = None,
    target: cli.JsonFile = None,
    markdown: cli.Markdown = None,
    yes: cli.Yes = False,
) -> None:
    """Run two policies on the same episodes, and stop as soon as it is clear which one is better.

    The verdict says whether B is better than A, equivalent within the margin, or worse. It is updated after every task
    and seed, and is wrong with a probability of at most 5 %. It makes the most of the planned --seeds; plan as many as
    you can afford. Exit status: 0 if B is better, equivalent or not worse by more than the margin; 1 if it is worse; 3
    if undecided. The same command resumes an interrupted duel; with more --seeds, it extends an undecided duel.
    """
    from assay.cli.confirm import CountingDisplay
    from assay.runs.display import print_errors
    from assay.runs.schedulers.duel import duel as run_duel
    from assay.runs.store import Store

    if per_start != "all" and (not per_start.isdecimal() or int(per_start) < 1):
        raise RunError(f"--per-start '{per_start}': expected an integer >= 1, or all")
    for policy in (first, second):
        cli.note_primitives(policy, options.assets)
    if first == second:
        say(f"note: A and B are the same policy, {first}", aside=True)
    with CountingDisplay(yes=yes) as display:
        result = run_duel(
            first,
            second,
            experiment,
            margin=margin,
            each=each,
            per_start=None if per_start == "all" else int(per_start),
            measure=measure,
            out=out,
            labels=(label_a, label_b),
            observer=display,
            options=options,
        )
    _print_judgement(result.judgement, target, markdown)
    say(f"recorded in {result.runs[0]} and {result.runs[1]}", aside=True)
    broken = []
    for path in result.runs:
        with Store.reading(path) as store:
            if print_errors(store):
                broken.append(str(path))
    if broken:
        names = " and ".join(broken)
        raise RunError(
            f"every episode of {names} ended in an error: fix the cause, then resume with --retry-errors"
        )
    if result.reason:
        raise RunError(cli.STOPPED.format(result.reason))
    if result.left:
        say(f"at most {number_of(result.left, 'episode')} left: run the same command to resume", aside=True)
        raise typer.Exit(130)
    if not result.judgement.verdict.final:
        say("undecided after all planned episodes: pass more --seeds to extend the duel", aside=True)
    raise typer.Exit(result.judgement.status)


def gate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run file to judge, NAME.assay.")],
    baseline: Annotated[Path, typer.Option(metavar="BASE", help="Run file of the baseline.")],
    margin: Margin = 0.05,
    each: Each = False,
    target: cli.JsonFile = None,
    markdown: cli.Markdown = None,
) -> None:
    """Judge whether a run may replace a baseline, on the episodes that both have in common.

    In the output, A is the baseline and B the run. Exit status: 0 if B is better, equivalent or not worse by more than
    the margin; 1 if it is worse; 3 if undecided. With --each, every condition must pass.
    """
    from assay.api import running

    judgement = running.gate(run, baseline, margin=margin, each=each)
    _print_judgement(judgement, target, markdown)
    raise typer.Exit(judgement.status)


def _print_judgement(judgement: Judgement, target: str | None, markdown: Path | None) -> None:
    """Write the output files, and print the verdict, the table and the notes."""
    from assay.measures.gate import judgement_table, verdict_sentences

    results = judgement_table(judgement)
    if markdown is not None:
        cli.write_text(markdown, f"## B is {judgement.verdict}\n\n{results.as_markdown()}")
    if target is not None and cli.write_json(judgement.as_json(), target):
        return
    verdict, *notes = verdict_sentences(judgement)
    say(verdict, "bold")
    condition, *numbers = (column.heading for column in results.columns)
    columns = [Column(head, justify="right", no_wrap=head != "B is") for head in numbers]
    print_rows((condition, *columns), results.formatted_rows)
    for note in notes:
        say(note)


VIDEOS = "videos"


@cli.run_options(
    *("tasks", "seeds", "workers", "assets", "states", "steps", "replan", "certified", "retry_errors"),
    "timeout",
)
def search(
    policy: cli.PolicyAddress,
    options: RunOptions,
    axes: Annotated[
        str,
        typer.Option(
            help="Comma-separated axes of change: distance, camera, light, delay, noise, rewording, size."
        ),
    ] = "distance",
    budget: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of episodes, including controls (default: 90 per task and axis). The minimum is 14, "
            "or more for a higher --level or --confidence."
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Fraction of the controls' success rate below which success counts as lost.")
    ] = 0.5,
    confidence: Annotated[float, typer.Option(help="Confidence level of each interval.")] = 0.95,
    out: cli.RunFile = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Folder for tables (LaTeX, CSV, Markdown), a figure and videos of failures."),
    ] = None,
    videos: Annotated[int, typer.Option(min=0, help="Maximum number of videos (with --report).")] = 6,
    label: cli.PolicyLabel = None,
    target: cli.JsonFile = None,
    yes: cli.Yes = False,
) -> None:
    """Find the smallest change that breaks a policy: a displacement, darkness, a delay, a rewording, ...

    For each task and axis of change, report the magnitude up to which the policy succeeds and the magnitude at which it
    fails. The same command resumes an interrupted search; a larger --budget continues one that used up its budget.
    """
    from assay.api import running
    from assay.cli.confirm import CountingDisplay
    from assay.measures.world.thresholds import thresholds_table
    from assay.runs.certificates import count_reasons, recall
    from assay.runs.display import print_errors, print_refused
    from assay.runs.store import Store

    cli.note_primitives(policy, options.assets)
    with CountingDisplay(yes=yes) as display:
        result = running.search(
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
    if target is None or not cli.write_json(result.as_json() | {"videos": written}, target):
        cli.print_table(thresholds_table(result.thresholds))
        for note in result.notes:
            say(note)
        say(f"{number_of(result.played, 'episode')} in {result.path}")
    with Store.reading(result.path) as store:
        if target is None:
            print_refused(count_reasons(recall(store)))
        has_only_errors = print_errors(store)
    if has_only_errors:
        raise RunError("every episode ended in an error: fix the cause, then resume with --retry-errors")
    if result.reason:
        raise RunError(cli.STOPPED.format(result.reason))
    if not result.played and result.refused:
        raise RunError(
            "no episode was run: the oracle solves none of the scenes; choose other --tasks or more --steps"
        )
    if result.left:
        searches = "one search is" if result.left == 1 else f"{result.left} searches are"
        say(f"{searches} not finished: run the same command to resume", aside=True)
        raise typer.Exit(130)


def write_report(result: SearchResult, folder: Path, videos: int) -> dict[str, str]:
    """Write tables (CSV, Markdown, LaTeX), a figure (SVG) and videos; return the videos' paths by episode key."""
    import polars as pl

    from assay.api.recorded import Run
    from assay.episodes import Outcome
    from assay.experiments.axes import AXIS, MAGNITUDE
    from assay.measures.world.thresholds import thresholds_figure, thresholds_table
    from assay.runs.replay import video_file

    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, str] = {}
    if videos and result.played:
        run = Run(result.path)
        failures = run.frame().filter(pl.col("outcome") == Outcome.FAILURE)
        for threshold in result.thresholds.found if AXIS in failures.columns else ():
            is_larger = pl.col(MAGNITUDE) > (threshold.kept or 0.0)
            rows = failures.filter(
                is_larger, pl.col("task") == threshold.task, pl.col(AXIS) == threshold.axis
            )
            if len(rows) and len(written) < videos:
                key = str(rows.sort(MAGNITUDE, "id")["key"][0])  # a failure at the smallest magnitude
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
