"""`assay runs`: list, show and merge runs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Column

from assay.cli.execution import JsonFile, write_json
from assay.errors import RunError
from assay.support.console import number_of, output, say, table_of

app = typer.Typer(help="List, show and merge runs.", no_args_is_help=True)


@app.command("list")
def list_(
    folder: Annotated[Path, typer.Argument(help="Where to look, and below.")] = Path("runs"),
) -> None:
    """List the runs in a folder."""
    from assay.runs.connections import SUFFIX
    from assay.runs.display import print_damage
    from assay.runs.store import Store

    if not folder.is_dir():
        raise RunError(f"{folder} is not a folder")
    columns = (
        Column("run", no_wrap=True),
        "experiment",
        "policy",
        "assets",
        "done",
        Column("started", min_width=10),
    )
    table = table_of(*columns, box=SIMPLE)
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            with Store.reading(path) as store:
                meta = store.meta
                done = f"{store.done}/{store.planned}"
                print_damage(store)
        except (RunError, sqlite3.Error) as error:
            say(f"left out: {path}: {error}", aside=True)
            continue
        policy = meta.get("label") or meta.get("policy", "-")
        shown = (str(each) for each in (meta.get("experiment", "-"), policy, meta.get("pack", "-")))
        table.add_row(
            str(path.relative_to(folder)), *shown, done, str(meta.get("started", "-"))[:16].replace("T", " ")
        )
    output.print(table)


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="NAME.assay")],
    out: JsonFile = None,
) -> None:
    """Show what a run is, and success for each condition."""
    from assay.runs.about import about
    from assay.runs.certificates import counted, recall
    from assay.runs.certificates.serve import META
    from assay.runs.display import (
        condition_table,
        print_clipping,
        print_damage,
        print_reasons,
        print_refused,
        print_tracebacks,
    )
    from assay.runs.store import Store

    with Store.reading(path) as store:
        meta, counts, stopped = store.meta, store.counts(), store.stopped
        reasons, refusals = store.reasons(), recall(store)
        tracebacks, clipping, damaged = store.tracebacks(), store.clipping(), store.damaged()
        print_damage(store)
    refused = counted(refusals)
    meta.pop(META, None)
    if out is not None:
        content = {"meta": meta, "conditions": counts.to_dicts(), "stopped": stopped, "errors": reasons}
        content |= {"tracebacks": tracebacks, "clipping": clipping._asdict(), "damaged": damaged}
        if write_json(content | {"refused": refused}, out):
            return
    facts = table_of(Column(justify="right", no_wrap=True), "", box=None, show_header=False, pad_edge=False)
    for name, text in about(meta):
        facts.add_row(name, text)
    output.print(facts)
    if counts.is_empty() and not refusals:
        say("no episode is planned yet: the run was interrupted before; its command goes on")
        return
    output.print(condition_table(counts, set(stopped), Counter(refusal.condition for refusal in refusals)))
    print_reasons(reasons)
    print_tracebacks(tracebacks.values())
    print_clipping(clipping)
    print_refused(refused)


@app.command("merge")
def merge_(
    paths: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs of one experiment and policy.")],
    out: Annotated[Path, typer.Option(help="The new run's file, NAME.assay.")],
) -> None:
    """Put the parts of one experiment together. Exit status 1 where shards or episodes are missing."""
    from assay.runs.display import print_damage
    from assay.runs.merge import merge
    from assay.runs.shards import missing
    from assay.runs.store import Store

    for path in paths:
        with Store.reading(path) as store:
            print_damage(store)
    count = merge(paths, out)
    say(f"{number_of(count, 'episode')} in {out}")
    with Store.reading(out) as store:
        lacking, left = missing(store.meta), store.planned - store.done
    if lacking:
        say(f"the run is not whole: shards that were not given: {', '.join(map(str, lacking))}", aside=True)
    if left:
        say(
            f"{number_of(left, 'planned episode')} not done: the shard's own command goes on with it",
            aside=True,
        )
    if lacking or left:
        raise typer.Exit(1)
