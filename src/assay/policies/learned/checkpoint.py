"""Trained networks as files: safetensors with a description in the header. Needs torch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model, save_model

from assay.errors import PolicyError, one_line
from assay.files import replacing
from assay.policies.learned.dataset import Vocabulary
from assay.policies.learned.dataset import load as read
from assay.policies.learned.models import MODELS, Model
from assay.policies.learned.network import Network, size
from assay.policies.learned.training import Progress, Schedule, train

_KEY = "assay"


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
    minutes: float
    parameters: int
    held_out: dict[str, float]
    """By task, the share of held out examples whose action was nearly the teacher's."""
    torch: str


def save(path: Path, network: Network, description: Description) -> None:
    """Write a file that appears when it is whole."""
    with replacing(path) as unfinished:
        save_model(network, str(unfinished), metadata={_KEY: description.model_dump_json()})


def load(path: Path) -> tuple[Network, Description]:
    """Read a file. Raises PolicyError if it is none of ours, or damaged."""
    if not path.is_file():
        raise PolicyError(f"there is no checkpoint {path}; make one: assay tabletop train")
    try:
        with safe_open(str(path), "pt") as file:
            header = file.metadata() or {}
        description = Description.model_validate(json.loads(header[_KEY]))
        model = MODELS[description.model]
        network = Network(Vocabulary(description.vocabulary).size, cross=model.cross, form=model.form)
        load_model(network, str(path))
    except (SafetensorError, RuntimeError, OSError, KeyError, ValueError, ValidationError) as error:
        reason = one_line(str(error), 120)
        raise PolicyError(
            f"{path} is damaged, or not a checkpoint of assay tabletop train: {reason}"
        ) from None
    return network.eval(), description


def trained(
    folder: Path,
    out: Path,
    model: Model,
    schedule: Schedule,
    *,
    seed: int = 0,
    permute: bool = False,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Description:
    """Train on a folder of demonstrations, and write the network to a file."""
    dataset = read(folder, model.form)
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
        minutes=round((time.monotonic() - begun) / 60, 1),
        parameters=size(network),
        held_out=held_out,
        torch=str(torch.__version__),
    )
    save(out, network, description)
    return description
