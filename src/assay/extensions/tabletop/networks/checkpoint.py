"""What a network for tables was trained on, and the file that says so. Needs torch."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict

from assay.extensions.tabletop.networks.dataset import Vocabulary
from assay.extensions.tabletop.networks.dataset import load as read
from assay.extensions.tabletop.networks.models import MODELS, Model
from assay.extensions.tabletop.networks.network import Network
from assay.extensions.tabletop.networks.training import train
from assay.policies.learned import checkpoint
from assay.policies.learned.loop import size
from assay.policies.learned.schedule import Progress, Schedule


class Description(BaseModel):
    """How a network came about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    vocabulary: tuple[str, ...]
    episodes: dict[str, int]
    """Demonstrations by task, those held out among them."""
    first_seed: int
    last_seed: int
    paraphrased: bool
    permuted: bool
    """Whether objects came in another order each time."""
    seed: int
    steps: int
    batch: int = 64
    minutes: float
    parameters: int
    held_out: dict[str, float]
    """By task, the share of held out examples whose action was nearly the teacher's."""
    torch: str


def load(path: Path) -> tuple[Network, Description]:
    """Read a file. Raises PolicyError if it is none of ours, or damaged."""
    return checkpoint.load(path, Description, _made, "assay tabletop train")


def _made(description: Description) -> Network:
    model = MODELS[description.model]
    return Network(Vocabulary(description.vocabulary).size, cross=model.cross, form=model.form)


def trained(
    folder: Path,
    out: Path,
    model: Model,
    schedule: Schedule,
    *,
    seed: int = 0,
    permute: bool = False,
    paraphrase: bool = True,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Description:
    """Train on a folder of demonstrations, and write the network to a file."""
    dataset = read(folder, model.form, paraphrase=paraphrase)
    begun = time.monotonic()
    network, steps, held_out = train(
        dataset, schedule, cross=model.cross, seed=seed, permute=permute, watch=watch
    )
    seeds = [each.seed for each in dataset.examples]
    description = Description(
        model=model.name,
        vocabulary=dataset.vocabulary.known,
        episodes=dataset.episodes,
        first_seed=min(seeds),
        last_seed=max(seeds),
        paraphrased=dataset.paraphrased,
        permuted=permute,
        seed=seed,
        steps=steps,
        batch=schedule.batch,
        minutes=round((time.monotonic() - begun) / 60, 1),
        parameters=size(network),
        held_out=held_out,
        torch=str(torch.__version__),
    )
    checkpoint.save(out, network, description)
    return description
