"""`assay certify`: let the demonstrator show which scenes of an experiment can be solved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column

from assay.cli.options import ExperimentAddress, JsonFile, run_options, write_json
from assay.errors import ExperimentError
from assay.runs.options import RunOptions
from assay.support.console import number_of, output, say, table_of


@run_options("tasks", "seeds", "conditions", "assets", "states", "hold_start", "workers", "ray", "timeout")
def certify(
    experiment: ExperimentAddress,
    options: RunOptions,
    tries: Annotated[
        int,
        typer.Option(min=1, max=10, help="Oracle attempts per scene; after the first, with actuation noise."),
    ] = 1,
    target: JsonFile = None,
) -> None:
    """Let the oracle solve every scene of an experiment, and count. The same command resumes.

    Certificates are cached for all runs, in the user's cache or the folder named by ASSAY_CACHE.
    """
    from assay.experiments import load_experiment
    from assay.runs.certificates import Cache, cache_file, summarise
    from assay.runs.display import RunDisplay, print_counts
    from assay.runs.execute import make_certificates
    from assay.runs.plan import RunPlan
    from assay.support.files import check_writable
    from assay.support.plugins import provided

    world = load_experiment(experiment).played_in
    if world.traits.demonstrator is None:
        raise ExperimentError(
            f"{experiment} needs no certificates: nothing is certified in the world '{world.traits.name}'"
        )
    if tries > 1 and world.traits.name not in provided("disturbance"):
        raise ExperimentError(f"--tries {tries}: the world '{world.traits.name}' has no disturbance to add")
    plan = RunPlan.make(experiment, options)
    world.digest(plan.pack)  # raises if assets are missing
    if target not in (None, "-"):
        check_writable(Path(target))
    with Cache(cache_file(), plan.states_digest) as cache:
        with RunDisplay() as display:
            ending = make_certificates(plan.specs, cache, plan.demonstrator, options, display, tries)
        if ending.left:
            made = number_of(ending.done, "certificate")
            say(f"{made} made, {ending.left} left: run the same command to resume")
            raise typer.Exit(130)
        summaries = summarise(plan.specs, cache, tries)
    if target is not None:
        conditions = [summary.as_json() for summary in summaries]
        if write_json({"experiment": experiment, "tries": tries, "conditions": conditions}, target):
            return
    names = ["certified", "rate", "steps", *(["disturbed"] if tries > 1 else [])]
    table = table_of("condition", *(Column(name, justify="right", no_wrap=True) for name in names))
    *_, whole = summaries
    for summary in summaries:
        if summary is whole:
            table.add_section()
        rate = f"{100 * summary.certified / summary.to_solve:.1f} %" if summary.to_solve else "-"
        median = "-" if summary.median is None else f"{summary.median:.0f}"
        row = [summary.condition, f"{summary.certified}/{summary.to_solve}", rate, median]
        table.add_row(*row, *([f"{summary.solved_again}/{summary.disturbed}"] if tries > 1 else []))
    output.print(table)
    if whole.nothing:
        say(
            f"{number_of(whole.nothing, 'more scene')} unsolvable by design (the target was removed); "
            "their layouts are stable"
        )
    print_counts(dict(whole.refused.most_common()), most=20)
    say(f"{ending.done} certificates made, the others were cached: {cache_file()}")
