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
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="A model's logs (seed*/eval*.json), or a folder of models' folders."
        ),
    ],
    metadata: Annotated[Path, typer.Option(help="LIBERO-Para's metrics/libero_para_metadata.csv.")],
    out: Annotated[
        Path, typer.Option(help="The new run's file, NAME.assay; or a folder, for one run per model.")
    ],
    controls: Annotated[
        Path | None,
        typer.Option(
            help="Logs of --mode original (seed*/eval_unknown.json); of several models: in folders called as theirs."
        ),
    ] = None,
) -> None:
    """Read LIBERO-Para's official logs: each episode with its trajectory, cell and published similarities."""
    from assay.runs.importing.libero_para import import_models

    for done in import_models(folders, metadata, out, controls):
        seeds = ", ".join(map(str, done.seeds))
        say(
            f"{done.episodes:,} episodes (seeds {seeds}; {done.controls:,} controls; {done.paths:,} with "
            f"trajectories) written to {done.out}"
        )
        missing = done.expected - done.episodes
        for count, what in (
            (done.reworded, "controls were told other words than LIBERO's own instruction of their task"),
            (done.unscored, "episodes have wordings that the metadata lacks: they count, but not for PRIDE"),
            (done.unknown, "episodes left out: the metadata does not say what their task is"),
            (done.unrun, "wordings of the metadata are in no log"),
            (missing, f"of the {done.expected:,} episodes of the evaluation are not there"),
        ):
            if count:
                say(f"{count:,} {what}", aside=True)
