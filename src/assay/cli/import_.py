"""`assay import`: other people's logs as runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.console import say

app = typer.Typer(help="Turn other people's logs into runs.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Turn other people's logs into runs."""


@app.command("libero-para")
def libero_para(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="LIBERO-Para's logs: seed*/eval*.json.")],
    metadata: Annotated[Path, typer.Option(help="LIBERO-Para's metadata.csv.")],
    out: Annotated[Path, typer.Option(help="The new run's file, NAME.assay.")],
) -> None:
    """Read LIBERO-Para's official logs, each episode with its cell and its published similarities."""
    from assay.runs.importing.libero_para import import_libero_para

    done = import_libero_para(folder, metadata, out)
    seeds = ", ".join(map(str, done.seeds))
    say(f"{done.episodes} episodes (seeds {seeds}) written to {out}")
    for count, what in (
        (done.unscored, "episodes have wordings that the metadata lacks: they count, but not for PRIDE"),
        (done.unknown, "episodes left out: the metadata does not say what their task is"),
        (done.unrun, "wordings of the metadata are in no log"),
        (done.expected - done.episodes, f"of the {done.expected} episodes of the evaluation are not there"),
    ):
        if count:
            say(f"{count} {what}", aside=True)
