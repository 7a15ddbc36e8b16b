"""`assay collect`: record demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Assets, Tasks
from assay.runs.options import parse_seeds
from assay.support.console import progress_bar, say


def collect(
    out: Annotated[Path, typer.Option(help="Folder of the dataset: a new one, or one to extend.")],
    selection: Tasks = "all",
    episodes: Annotated[int, typer.Option(min=1, help="Successful episodes of each task.")] = 10,
    seeds: Annotated[
        str | None,
        typer.Option(help="The seeds that are tried, in turn: 7,8,9 or 7-99; from 0 on by default."),
    ] = None,
    size: Annotated[int, typer.Option(help="Height and width of the images; even.")] = 256,
    assets: Assets = None,
    orientation: Annotated[
        str,
        typer.Option(
            help="Which way up images lie: rotated, as policies are evaluated by default and LIBERO's data sets "
            "have them (mirrored); upright, as Observation.image gives them; or raw, as LIBERO's simulator does."
        ),
    ] = "rotated",
    noise: Annotated[
        float, typer.Option(help="Disturb what is executed, not what is recorded; e.g. 0.3 of an action's 1.")
    ] = 0.0,
    starts: Annotated[
        int, typer.Option(help="Only so many initial states, in turn; one for each seed by default.")
    ] = 0,
    relocate: Annotated[
        float, typer.Option(help="Move objects by this share of the distance to their neighbours; e.g. 0.5.")
    ] = 0.0,
) -> None:
    """Record successful episodes of the oracle as a LeRobotDataset v3.0.

    What is in the folder already is kept and not done again, so an interrupted collection is resumed, and a
    finished one extended, by the same command.
    """
    from assay import tasks
    from assay.extensions.learn.demonstrations import Recipe, tries
    from assay.extensions.learn.demonstrations import collect as record
    from assay.policies.remote.pictures import parsed

    lies = parsed(orientation)
    chosen, recipe = tasks.resolve(selection), Recipe(noise, starts, relocate)
    tried = tries(episodes) if seeds is None else len(parse_seeds(seeds))
    with progress_bar() as bar:
        progress = bar.add_task("episodes", total=len(chosen) * episodes)
        there = record(
            out,
            chosen,
            episodes,
            seeds=None if seeds is None else parse_seeds(seeds),
            size=size,
            pack=assets or "primitives",
            recipe=recipe,
            orientation=lies,
            on_episode=lambda task: bar.update(progress, advance=1, description=task),
        )
    say(f"{out}: episodes {there.episodes}, frames {there.frames}, failed attempts left out {there.left_out}")
    for task, got in there.short.items():
        say(f"short: {task}: {got} of {episodes} episodes from {tried} seeds", aside=True)
    if there.short:
        raise typer.Exit(1)
