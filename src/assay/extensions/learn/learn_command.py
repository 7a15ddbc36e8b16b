"""`assay learn`: train a policy on demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.errors import PolicyError
from assay.extensions.learn.visuomotor.choices import Head, Input
from assay.support.console import number_of, progress_bar, say

SUFFIX = ".safetensors"


def learn(
    folder: Annotated[
        Path, typer.Argument(help="A LeRobotDataset: of assay collect, or another of LIBERO's robot.")
    ],
    out: Annotated[Path, typer.Option(help="The checkpoint to write, a .safetensors.")],
    head: Annotated[
        Head, typer.Option(help="Chunks by regression, actions in bins, or flow matching.")
    ] = Head.REGRESSION,
    without: Annotated[
        list[Input] | None, typer.Option(help="An input that the network never gets; may be given twice.")
    ] = None,
    paraphrases: Annotated[
        int, typer.Option(min=0, help="Train on so many paraphrases of each of 43 kinds; 0: one wording.")
    ] = 0,
    demonstrations: Annotated[
        int, typer.Option(min=0, help="Learn from the first so many of each instruction; 0: from all.")
    ] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Train so many batches.")] = 4000,
    batch: Annotated[int, typer.Option(min=1, help="Frames in a batch.")] = 64,
    pixels: Annotated[int, typer.Option(help="Height and width of what the network sees: 32 to 128.")] = 64,
    chunk: Annotated[int, typer.Option(help="Actions that it predicts at once: 1 to 64.")] = 16,
    seed: Annotated[int, typer.Option(help="Another seed gives another network.")] = 0,
    orientation: Annotated[
        str | None,
        typer.Option(
            help="Which way up images lie in the data: rotated, upright or raw; Assay's own say it."
        ),
    ] = None,
    checkpoints: Annotated[
        int, typer.Option(min=0, help="Write FILE-STEPS.safetensors, too, every so many steps.")
    ] = 0,
    threads: Annotated[
        int, typer.Option(min=1, help="Threads; another number may change the last bits.")
    ] = 1,
) -> None:
    """Train a policy to act as in demonstrations: from two cameras, proprioception and the instruction.

    An interrupted training is resumed by the same command, and ends with the same network as one that was
    not. Run it by `assay run para --policy "learned?checkpoint=FILE"`. Needs torch, the extra learn.
    """
    from pydantic import ValidationError

    from assay.extensions.learn.visuomotor.frames import read
    from assay.extensions.learn.visuomotor.settings import Settings
    from assay.policies.learned import require_torch
    from assay.policies.learned.schedule import Progress, Schedule
    from assay.policies.remote.pictures import parsed

    if out.suffix != SUFFIX:
        raise PolicyError(f"--out {out}: a checkpoint is a {SUFFIX} file")
    try:
        settings = Settings(
            head=head, without=tuple(dict.fromkeys(without or ())), pixels=pixels, chunk=chunk
        )
    except ValidationError as error:
        wrong = error.errors()[0]
        raise PolicyError(f"--{wrong['loc'][0]} {wrong['input']}: {wrong['msg']}") from None
    lies = None if orientation is None else parsed(orientation)
    require_torch()
    import torch

    from assay.extensions.learn.visuomotor.checkpoint import trained

    torch.set_num_threads(threads)
    frames = read(folder, pixels, lies)
    frames = frames.first(demonstrations) if demonstrations else frames
    with progress_bar() as bar:
        task = bar.add_task("steps", total=steps)

        def watch(progress: Progress) -> None:
            bar.update(task, completed=progress.step, description=f"loss {progress.loss:.3f}, step")

        made = trained(
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
        f"{out}: {made.parameters:,} parameters, {number_of(made.steps, 'step')} of {batch}, "
        f"{made.processor_minutes:g} minutes of processor time, "
        f"{number_of(sum(made.episodes.values()), 'demonstration')}"
    )
    if not (off := made.held_out):
        say("no episode was held out: there are fewer than 20")
        return
    say(
        f"on episodes held out: translation off by {off['translation']:.3f}, rotation by {off['rotation']:.3f} "
        f"of an action's 1; gripper right in {off['gripper']:.1%}"
    )
