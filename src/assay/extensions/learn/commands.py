"""`assay collect` records demonstrations; `assay learn` trains a policy on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.options import Assets, Tasks
from assay.errors import PolicyError
from assay.runs.options import parse_seeds
from assay.support.console import number_of, progress_bar, say

SUFFIX = ".safetensors"


def collect(
    out: Annotated[Path, typer.Option(help="Folder of the dataset; an existing one is extended.")],
    selection: Tasks = "all",
    episodes: Annotated[int, typer.Option(min=1, help="Number of successful episodes per task.")] = 10,
    seeds: Annotated[
        str | None,
        typer.Option(help="Seeds to try, in the given order, e.g. 7,8,9 or 7-99 (default: 0, 1, 2, ...)."),
    ] = None,
    size: Annotated[
        int, typer.Option(help="Height and width of the images, in pixels (an even number).")
    ] = 256,
    assets: Assets = None,
    orientation: Annotated[
        str,
        typer.Option(
            help="Orientation of the images: rotated by 180 degrees, as in LIBERO's data sets and for policy servers; "
            "upright, as in Observation.image; or raw, as LIBERO renders them (upside down)."
        ),
    ] = "rotated",
    noise: Annotated[
        float,
        typer.Option(
            help="Standard deviation of the noise added to the executed (not the recorded) actions, e.g. 0.3."
        ),
    ] = 0.0,
    starts: Annotated[
        int, typer.Option(help="Number of different initial states (default: one per seed).")
    ] = 0,
    relocate: Annotated[
        float,
        typer.Option(
            help="Move objects by this fraction of the distance to their nearest neighbours, e.g. 0.5."
        ),
    ] = 0.0,
) -> None:
    """Record successful oracle episodes as a LeRobotDataset v3.0.

    Episodes already in the folder are not recorded again: run the same command to resume an interrupted collection, or
    request more episodes to extend it.
    """
    from assay import tasks
    from assay.extensions.learn.demonstrations.collect import collect as record
    from assay.extensions.learn.demonstrations.collect import max_attempts
    from assay.extensions.learn.demonstrations.dataset import Recipe
    from assay.support.images import parse_orientation

    chosen, recipe = tasks.resolve(selection), Recipe(noise, starts, relocate)
    to_try = range(max_attempts(episodes)) if seeds is None else parse_seeds(seeds)
    with progress_bar() as bar:
        progress = bar.add_task("episodes", total=len(chosen) * episodes)
        collected = record(
            out,
            chosen,
            episodes,
            seeds=to_try,
            size=size,
            pack=assets or "primitives",
            recipe=recipe,
            orientation=parse_orientation(orientation),
            on_episode=lambda task: bar.update(progress, advance=1, description=task),
        )
    say(
        f"{out}: {number_of(collected.episodes, 'episode')} with {number_of(collected.frames, 'frame')}; "
        f"{number_of(collected.left_out, 'failed attempt')} omitted"
    )
    for task, count in collected.short.items():
        say(f"{task}: only {count} of {episodes} episodes recorded with {len(to_try)} seeds", aside=True)
    if collected.short:
        raise typer.Exit(1)


def learn(
    folder: Annotated[
        Path,
        typer.Argument(
            help="LeRobotDataset from assay collect, or another one recorded with LIBERO's robot."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Checkpoint to write, a .safetensors file.")],
    head: Annotated[
        Literal["regression", "bins", "flow"],
        typer.Option(help="Action head: regression, binned actions, or flow matching."),
    ] = "regression",
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="words|images|state", help="Withhold an input from the network; repeatable."),
    ] = None,
    paraphrases: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of paraphrases to train on for each of 43 kinds; 0 for the original wording only.",
        ),
    ] = 0,
    demonstrations: Annotated[
        int, typer.Option(min=0, help="Use only the first N demonstrations per instruction; 0 for all.")
    ] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Number of batches.")] = 4000,
    batch: Annotated[int, typer.Option(min=1, help="Number of frames per batch.")] = 64,
    pixels: Annotated[
        int, typer.Option(help="Height and width of the network's input images, in pixels (32 to 128).")
    ] = 64,
    chunk: Annotated[int, typer.Option(help="Number of actions predicted at once (1 to 64).")] = 16,
    seed: Annotated[int, typer.Option(help="Random seed for initialising and training the network.")] = 0,
    orientation: Annotated[
        str | None,
        typer.Option(
            help="Orientation of the images in the data: rotated, upright or raw (default: as stated in the data)."
        ),
    ] = None,
    checkpoints: Annotated[
        int, typer.Option(min=0, help="Also write FILE-STEPS.safetensors every N steps; 0 for never.")
    ] = 0,
    threads: Annotated[
        int, typer.Option(min=1, help="Number of CPU threads; may change the last digits of the result.")
    ] = 1,
) -> None:
    """Train a policy to imitate demonstrations from two cameras, proprioception and the instruction.

    Run the same command to resume an interrupted training run; the resulting network is the same. Evaluate it with
    `assay run para --policy "learned?checkpoint=FILE"`. Requires torch (extra: learn).
    """
    from pydantic import ValidationError

    from assay.extensions.learn.visuomotor.inputs import Head, Input, NetworkSettings, read
    from assay.support.images import parse_orientation
    from assay.support.training import Schedule, TrainingProgress, require_torch

    if out.suffix != SUFFIX:
        raise PolicyError(f"--out {out}: expected a file name that ends in {SUFFIX}")
    withheld = tuple(dict.fromkeys(without or ()))
    if wrong_input := [name for name in withheld if name not in list(Input)]:
        raise PolicyError(f"--without {wrong_input[0]}: choose one of {', '.join(Input)}")
    try:
        settings = NetworkSettings(
            head=Head(head), without=tuple(map(Input, withheld)), pixels=pixels, chunk=chunk
        )
    except ValidationError as error:
        wrong = error.errors()[0]
        raise PolicyError(f"--{wrong['loc'][0]} {wrong['input']}: {wrong['msg']}") from None
    stored = None if orientation is None else parse_orientation(orientation)
    require_torch()
    import torch

    from assay.extensions.learn.visuomotor.training import train_to_file

    torch.set_num_threads(threads)
    frames = read(folder, pixels, stored)
    frames = frames.first(demonstrations) if demonstrations else frames
    with progress_bar() as bar:
        task = bar.add_task("steps", total=steps)

        def watch(progress: TrainingProgress) -> None:
            bar.update(task, completed=progress.step, description=f"loss {progress.loss:.3f}, step")

        record = train_to_file(
            frames,
            out,
            settings,
            Schedule(steps=steps, batch=batch, rate=1e-3),
            data=folder.name,
            paraphrases=paraphrases,
            seed=seed,
            every=checkpoints,
            watch=watch,
        )
    say(
        f"{out}: {record.parameters:,} parameters, {number_of(record.steps, 'step')} with batches of {batch}, "
        f"{record.processor_minutes:g} minutes of processor time, "
        f"{number_of(sum(record.episodes.values()), 'demonstration')}"
    )
    if not (errors := record.held_out):
        say("no episode was held out for evaluation, because there are fewer than 20")
        return
    say(
        f"mean absolute error on held-out episodes: translation {errors['translation']:.3f}, rotation "
        f"{errors['rotation']:.3f} (actions are in [-1, 1]); gripper correct in {errors['gripper']:.1%}"
    )
