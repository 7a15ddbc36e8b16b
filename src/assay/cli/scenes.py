"""`assay scenes`: new scenes with tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.execution import Assets, Workers
from assay.console import output, progress_bar, say, table_of

app = typer.Typer(help="New scenes with tasks that can be done.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """New scenes with tasks that can be done."""


@app.command()
def generate(
    out: Annotated[Path, typer.Option(help="Folder for the task files: a new one, or one to extend.")],
    count: Annotated[int, typer.Option(min=1, help="How many scenes.")] = 100,
    seed: Annotated[int, typer.Option(help="Another seed gives other scenes.")] = 0,
    per_scene: Annotated[int, typer.Option(min=1, max=20, help="Tasks of each scene.")] = 6,
    tries: Annotated[
        int, typer.Option(min=1, help="From how many initial states the oracle must do each task.")
    ] = 2,
    assets: Assets = None,
    workers: Workers = None,
) -> None:
    """Make new scenes, each with several tasks that the oracle has done, as task files.

    The same command again goes on where it was interrupted, and with a larger count adds scenes. Where no
    scene is found after many draws, that is said, and there is one less. Name the
    folder after --tasks to use them in assay try, run, collect and certify.
    """
    from assay.generate import Order, write
    from assay.generate.folder import refusals
    from assay.generate.scenes import DRAWS

    order = Order(seed, per_scene, assets or "primitives", tries)
    with progress_bar() as bar:
        progress = bar.add_task("scenes", total=count)
        index = write(
            out,
            order,
            count,
            workers=workers or os.cpu_count() or 1,
            on_scene=lambda number: bar.update(progress, advance=1),
        )
    scenes = index["scenes"].values()
    made = sum(len(scene["tasks"]) for scene in scenes)
    say(f"{out}: scenes {len(scenes)}, tasks {made}")
    if index["failed"]:
        say(f"none of {DRAWS} drawn was worth keeping: {', '.join(index['failed'])}")
    table = table_of("refused", "why")
    for reason, times in refusals(index).most_common():
        table.add_row(str(times), reason)
    output.print(table)
