"""`assay certify`: let the demonstrator show which scenes of an experiment can be solved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table

from assay.cli.execution import (
    Assets,
    Conditions,
    ExperimentAddress,
    HoldStart,
    JsonFile,
    RayAddress,
    Seeds,
    Selection,
    Silence,
    States,
    Workers,
    write_json,
)
from assay.errors import ExperimentError
from assay.runs.seeds import parse_seeds
from assay.support.console import number_of, output, say, table_of

if TYPE_CHECKING:
    from assay.runs.certificates import Summary


def certify(
    experiment: ExperimentAddress,
    selection: Selection = None,
    seeds: Seeds = None,
    conditions: Conditions = None,
    assets: Assets = None,
    states: States = None,
    hold_start: HoldStart = None,
    tries: Annotated[
        int,
        typer.Option(min=1, max=10, help="Oracle attempts per scene; after the first, with actuation noise."),
    ] = 1,
    workers: Workers = None,
    ray: RayAddress = None,
    timeout: Silence = 1800.0,
    out: JsonFile = None,
) -> None:
    """Let the oracle solve every scene of an experiment, and count. The same command again goes on.

    Certificates are kept in the user's cache (or in the folder that ASSAY_CACHE names), for all runs.
    """
    from assay.experiments import load_experiment
    from assay.runs.certificates import Cache, cache_file, summarise
    from assay.runs.display import RunDisplay, print_counts
    from assay.runs.execute import Options, make_certificates
    from assay.runs.provenance import states_digest
    from assay.runs.work import plugins_used
    from assay.runs.worker import WorkerConfig
    from assay.support.files import check_writable
    from assay.support.plugins import provided

    design = load_experiment(experiment).only(conditions)
    demonstrator = design.played_in.traits.demonstrator
    if demonstrator is None:
        raise ExperimentError(
            f"{experiment} needs no certificates: nothing is certified in the world '{design.world}'"
        )
    options = Options(workers=workers, ray=ray, timeout=timeout, states=states)
    chosen = design.choose(selection)
    numbers = parse_seeds(seeds) if seeds is not None else design.seeds
    pack = design.checked_pack(assets, options.initial)
    design.played_in.digest(pack)  # assets that are not there are missed now
    if out not in (None, "-"):
        check_writable(Path(out))
    plan = list(design.plan(chosen, numbers, pack=pack, initial=options.initial, start=hold_start))
    plugins = tuple(each.module for each in plugins_used(experiment, design, pack, plan))
    config = WorkerConfig(demonstrator, design.world, states=states and states.absolute(), plugins=plugins)
    if tries > 1 and design.world not in provided("disturbance"):
        raise ExperimentError(f"--tries {tries}: the world '{design.world}' has no disturbance to try with")
    with Cache(cache_file(), "" if states is None else states_digest(states)) as cache:
        with RunDisplay() as display:
            made = make_certificates(plan, cache, config, options, display, tries)
        if made.left:
            done = number_of(made.done, "certificate")
            say(f"{done} made, {made.left} left: the same command goes on")
            raise typer.Exit(130)
        found = summarise(plan, cache, tries)
    if out is not None:
        content = {"experiment": experiment, "tries": tries, "conditions": [each.as_json() for each in found]}
        if write_json(content, out):
            return
    output.print(_table(found, disturbed=tries > 1))
    *_, whole = found
    if whole.nothing:
        say(
            f"{number_of(whole.nothing, 'more scene')} unsolvable by design (the target was removed); "
            "their layouts are stable"
        )
    print_counts(dict(whole.refused.most_common()), most=20)
    say(f"{made.done} certificates made, the others were there: {cache_file()}")


def _table(found: list[Summary], *, disturbed: bool) -> Table:
    names = ["certified", "rate", "steps", *(["disturbed"] if disturbed else [])]
    table = table_of("condition", *(Column(name, justify="right", no_wrap=True) for name in names))
    for each in found:
        if each is found[-1]:
            table.add_section()
        rate = f"{100 * each.certified / each.to_solve:.1f} %" if each.to_solve else "-"
        median = "-" if each.median is None else f"{each.median:.0f}"
        row = [each.condition, f"{each.certified}/{each.to_solve}", rate, median]
        table.add_row(*row, *([f"{each.solved_again}/{each.disturbed}"] if disturbed else []))
    return table
