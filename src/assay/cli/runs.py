"""`assay runs`: list, show and merge runs."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Column

from assay.cli.options import JsonFile, write_json
from assay.errors import RunError
from assay.support.console import number_of, output, say, table_of

app = typer.Typer(help="List, show and merge runs.", no_args_is_help=True)


@app.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(help="The folder, searched recursively.")] = Path("runs"),
) -> None:
    """List the runs in a folder."""
    from assay.runs.store import SUFFIX, Store

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
        except (RunError, sqlite3.Error) as error:
            say(f"left out: {path}: {error}", aside=True)
            continue
        policy = meta.get("label") or meta.get("policy", "-")
        names = (str(name) for name in (meta.get("experiment", "-"), policy, meta.get("pack", "-")))
        started = str(meta.get("started", "-"))[:16].replace("T", " ")
        table.add_row(str(path.relative_to(folder)), *names, done, started)
    output.print(table)


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="NAME.assay")],
    target: JsonFile = None,
) -> None:
    """Show the provenance of a run, and success by condition."""
    from assay.api import Run
    from assay.runs.certificates import count_reasons, recall
    from assay.runs.certificates.certify import META
    from assay.runs.description import describe_meta
    from assay.runs.store import Store

    with Store.reading(path) as store:
        meta, counts, refused = store.meta, store.counts(), recall(store)
        meta.pop(META, None)
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
            if write_json(content, target):
                return
    facts = table_of(Column(justify="right", no_wrap=True), "", box=None, show_header=False, pad_edge=False)
    for name, text in describe_meta(meta):
        facts.add_row(name, text)
    output.print(facts)
    if counts.is_empty() and not refused:
        say("no episode is planned yet: the run was interrupted; its command resumes it")
        return
    Run(path).show()


@app.command("merge")
def merge_runs(
    paths: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs of one experiment and policy.")],
    out: Annotated[Path, typer.Option(help="The new run's file, NAME.assay.")],
) -> None:
    """Join the parts of one run. Exit status 1 if shards or episodes are missing."""
    from assay.runs.shards import merge, missing_shards
    from assay.runs.store import Store

    count = merge(paths, out)
    say(f"{number_of(count, 'episode')} in {out}")
    with Store.reading(out) as store:
        missing, left = missing_shards(store.meta), store.planned - store.done
    if missing:
        say(f"the run is not complete: missing shards {', '.join(map(str, missing))}", aside=True)
    if left:
        say(
            f"{number_of(left, 'planned episode')} not executed: resume them with the shard's command",
            aside=True,
        )
    if missing or left:
        raise typer.Exit(1)
