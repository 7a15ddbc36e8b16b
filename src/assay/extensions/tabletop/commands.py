"""`assay tabletop`: record demonstrations of tabletop tasks and train policies on them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Processes
from assay.errors import PolicyError, did_you_mean
from assay.support.console import number_of, progress_bar, say

app = typer.Typer(help="Demonstrations and training for tabletop tasks.", no_args_is_help=True)


@app.command()
def demos(
    out: Annotated[Path, typer.Option(help="Folder for the demonstrations; an existing one is extended.")],
    per_task: Annotated[int, typer.Option(min=1, help="Number of episodes per task.")] = 1000,
    tasks: Annotated[
        str | None,
        typer.Option(help="Comma-separated tasks, e.g. T1,T3 (default: the thirteen training tasks)."),
    ] = None,
    workers: Processes = None,
) -> None:
    """Record demonstrations for `assay tabletop train`, with the shapes and textures of the training set.

    Some actions are disturbed, so that the demonstrations also show how to recover. Failed episodes are omitted.
    Episodes already in the folder are not recorded again.
    """
    from assay.extensions.tabletop.networks import demos as recording

    names = recording.TASKS if tasks is None else tuple(name.strip() for name in tasks.split(","))
    with progress_bar() as bar:
        progress = bar.add_task("episodes", total=per_task * len(names))
        recorded = 0
        for job, count in recording.record(out, names, per_task, workers or os.cpu_count() or 1):
            recorded += count
            bar.update(progress, advance=len(job.seeds), description=job.task)
    failed = per_task * len(names) - recorded
    say(f"{out}: {number_of(recorded, 'episode')} of {', '.join(names)}; {failed} failed attempts omitted")


@app.command()
def train(
    folder: Annotated[Path, typer.Argument(help="Folder written by assay tabletop demos.")],
    out: Annotated[Path, typer.Option(help="Checkpoint to write, a .safetensors file.")],
    model: Annotated[
        str,
        typer.Option(help="Architecture: cross-objects, cross-patches, concat-objects or concat-patches."),
    ] = "cross-objects",
    minutes: Annotated[
        float | None,
        typer.Option(min=0.01, help="Training time in minutes (default: 20, unless --steps is given)."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of training steps (batches); setting it makes the result reproducible."
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Number of actions per batch.")] = 64,
    seed: Annotated[int, typer.Option(help="Random seed for initialising and training the network.")] = 0,
    permute: Annotated[bool, typer.Option(help="Shuffle the objects each time an example is used.")] = False,
    paraphrase: Annotated[
        bool,
        typer.Option(
            "--paraphrase/--original", help="Train on paraphrased prompts, or on the original wording only."
        ),
    ] = True,
) -> None:
    """Train a small policy to imitate demonstrations, on one CPU core.

    Evaluate it with `assay run tabletop --policy learned?checkpoint=FILE`. Requires torch (extra: learn).
    """
    from assay.extensions.tabletop.networks.dataset import Dataset
    from assay.extensions.tabletop.networks.policy import MODELS
    from assay.support.training import Schedule, require_torch, save_checkpoint

    if model not in MODELS:
        raise PolicyError(f"--model '{model}': {did_you_mean(model, MODELS)}")
    if out.suffix != ".safetensors":
        raise PolicyError(f"--out {out}: expected a file name that ends in .safetensors")
    require_torch()
    from assay.extensions.tabletop.networks.training import train as train_network

    dataset = Dataset.read(folder, MODELS[model][1], paraphrase=paraphrase)
    schedule = Schedule(steps or 0, minutes or (0.0 if steps else 20.0), batch)
    with progress_bar() as bar:
        task = bar.add_task(model, total=100)
        network, record = train_network(
            dataset,
            model,
            schedule,
            seed=seed,
            permute=permute,
            watch=lambda progress: bar.update(
                task,
                completed=round(100 * progress.share),
                description=f"{model}, step {progress.step}, loss {progress.loss:.3f}, percent",
            ),
        )
    save_checkpoint(out, network, record)
    size = f"{record.parameters:,} parameters"
    say(f"{out}: {model}, {size}, {number_of(record.steps, 'step')} with batches of {batch}")
    say("fraction of held-out actions close to the demonstrator's:")
    for name, fraction in record.held_out.items():
        say(f"{name} {fraction:.0%}")
