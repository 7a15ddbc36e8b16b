"""`assay export`: a run's episodes for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.console import say
from assay.errors import RunError


def export(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="NAME.assay")],
    parquet: Annotated[Path | None, typer.Option(help="Write a Parquet file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a CSV file, or print it: -")] = None,
    json: Annotated[Path | None, typer.Option(help="Write a JSON array, or print it: -")] = None,
) -> None:
    """Write the episodes of a run as a table: key, experiment, condition, task, seed, outcome, steps and more."""
    from assay.runs.export import Format, written
    from assay.runs.export import export as write
    from assay.runs.store import Store

    wanted: list[tuple[Format, Path | None]] = [("parquet", parquet), ("csv", csv), ("json", json)]
    if not any(target for _, target in wanted):
        raise RunError("say where to: --parquet FILE, --csv FILE or --json FILE")
    with Store.reading(path) as store:
        for form, target in wanted:
            if target is not None and str(target) == "-":
                typer.echo(written(store, form)[1])
            elif target is not None:
                count = write(store, target, form)
                say(f"{count} episodes written to {target}")
