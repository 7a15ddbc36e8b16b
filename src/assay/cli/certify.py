"""`assay certify`: let the demonstrator show which scenes of an experiment can be solved."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table

from assay.cli.certifying import make_certificates, print_reasons
from assay.cli.console import number_of, output, say, table_of
from assay.cli.execution import (
    ExperimentAddress,
    RayAddress,
    Seeds,
    Selection,
    Silence,
    States,
    Workers,
    executor,
    parse_seeds,
)
from assay.errors import ExperimentError, RunError

if TYPE_CHECKING:
    from assay.runs.certificates import Summary


def certify(
    experiment: ExperimentAddress,
    selection: Selection = None,
    seeds: Seeds = None,
    assets: Annotated[str, typer.Option(help="Asset pack: primitives or libero.")] = "primitives",
    states: States = None,
    tries: Annotated[
        int, typer.Option(min=1, max=10, help="Solve each so often; after the first with the arm disturbed.")
    ] = 1,
    workers: Workers = None,
    ray: RayAddress = None,
    timeout: Silence = 1800.0,
    out: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write JSON to a file, or with - print it.")
    ] = None,
) -> None:
    """Let the demonstrator solve every scene of an experiment, and count. The same command again goes on.

    Certificates are kept in the user's cache (or in the folder that ASSAY_CACHE names), for all runs.
    """
    from assay.experiments import load_experiment
    from assay.runs.certificates import Cache, cache_file, summarise
    from assay.runs.certificates.certify import DEMONSTRATOR
    from assay.runs.stage import Orders
    from assay.sim import load_pack
    from assay.sim.packs.locate import STATES_VARIABLE

    design = load_experiment(experiment)
    if design.on_table:
        raise ExperimentError(
            f"{experiment} needs no certificates: what can be solved on tables is measured (docs/tabletop.md)"
        )
    chosen = design.choose(selection)
    numbers = parse_seeds(seeds) if seeds is not None else design.seeds
    load_pack(assets)
    if out not in (None, "-"):
        _check_writable(Path(out))
    if states is not None:
        os.environ[STATES_VARIABLE] = str(states.absolute())
    plan = partial(
        design.plan, chosen, numbers, pack=assets, initial="sampled" if states is None else "stored"
    )
    demonstrators = partial(executor, Orders(DEMONSTRATOR), ray, workers, timeout)
    with Cache(cache_file()) as cache:
        made = make_certificates(plan(), cache, demonstrators, tries)
        found = summarise(plan(), cache, tries)
    if out is not None:
        text = json.dumps(
            {"experiment": experiment, "tries": tries, "conditions": [each.as_json() for each in found]}
        )
        if out == "-":
            typer.echo(text)
            return
        Path(out).write_text(text + "\n")
    output.print(_table(found, disturbed=tries > 1))
    *_, whole = found
    if whole.nothing:
        say(f"in {number_of(whole.nothing, 'scene')} more there is nothing to solve, on purpose: they stand")
    print_reasons(dict(whole.refused.most_common()), most=20)
    say(f"{made} certificates made, the others were there: {cache_file()}")


def _check_writable(file: Path) -> None:
    """Raise RunError now if a file cannot be written later; leaves it as it is."""
    try:
        is_new = not file.exists()
        file.open("a").close()
        if is_new:
            file.unlink()
    except OSError as error:
        raise RunError(f"--json {file}: cannot be written: {error.strerror}") from None


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
