"""What a visuomotor network was trained on, and the file that says so. Needs torch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict

from assay.extensions.learn.visuomotor.frames import Frames
from assay.extensions.learn.visuomotor.instructions import wordings
from assay.extensions.learn.visuomotor.network import Network
from assay.extensions.learn.visuomotor.settings import Settings
from assay.extensions.learn.visuomotor.training import Examples, open_loop, train
from assay.policies.learned import checkpoint
from assay.policies.learned.loop import size
from assay.policies.learned.schedule import Progress, Schedule


class Description(BaseModel):
    """How a network came about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: Settings
    size: int
    """Height and width in which images are rendered before they are scaled to what the network takes, pixels."""
    data: str
    """Names of the folders of demonstrations."""
    episodes: dict[str, int]
    """Demonstrations by instruction, those held out among them."""
    frames: int
    paraphrases: int
    """Of each cell of the paraphrase grid; 0: each task in its own words alone."""
    seed: int
    steps: int
    batch: int
    processor_minutes: float
    parameters: int
    held_out: dict[str, float]
    """On episodes held out: mean absolute error of translation and rotation, accuracy of the gripper.

    Empty where none were: fewer than 20 episodes.
    """
    torch: str


def load(path: Path) -> tuple[Network, Description]:
    """Read a file. Raises PolicyError if it is none of ours, or damaged."""
    return checkpoint.load(
        path, Description, lambda description: Network(description.settings), "assay learn"
    )


def trained(
    frames: Frames,
    out: Path,
    settings: Settings,
    schedule: Schedule,
    *,
    data: str = "",
    paraphrases: int = 0,
    seed: int = 0,
    every: int = 0,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Description:
    """Train on demonstrations and write the network to a file, and with ``every`` also after so many steps each."""
    said = wordings(frames.instructions, frames.tasks, paraphrases)
    examples = Examples(frames, said, settings)
    identity = _identity(frames, settings, schedule, paraphrases, seed)

    def described(network: Network, steps: int, seconds: float) -> Description:
        counts = dict.fromkeys(frames.instructions, 0)
        for text in frames.instructions:
            counts[text] += 1
        chosen = examples.held_out
        errors = open_loop(network, examples, chosen) if len(chosen) else {}
        return Description(
            settings=settings,
            size=frames.size,
            data=data,
            episodes=counts,
            frames=len(frames),
            paraphrases=paraphrases,
            seed=seed,
            steps=steps,
            batch=schedule.batch,
            processor_minutes=round(seconds / 60, 1),
            parameters=size(network),
            held_out={name: round(value, 4) for name, value in errors.items()},
            torch=str(torch.__version__),
        )

    def saved(steps: int, network: Network) -> None:
        if every and steps % every == 0 and steps < schedule.steps:
            place = out.with_name(f"{out.stem}-{steps}{out.suffix}")
            checkpoint.save(place, network, described(network, steps, 0.0))

    notes = out.with_name(f"{out.name}.training")
    network, seconds = train(
        examples, schedule, seed=seed, notes=notes, identity=identity, watch=watch, checkpoint=saved
    )
    description = described(network, schedule.steps, seconds)
    checkpoint.save(out, network, description)
    return description


def _identity(frames: Frames, settings: Settings, schedule: Schedule, paraphrases: int, seed: int) -> str:
    """Stands for data and options: a training that was interrupted goes on only where all of them are the same."""
    digest = hashlib.sha256()
    for part in (frames.actions, frames.states, frames.episodes, *frames.images.values()):
        digest.update(np.ascontiguousarray(part).data)
    digest.update(repr((frames.instructions, settings, schedule, paraphrases, seed)).encode())
    return digest.hexdigest()
