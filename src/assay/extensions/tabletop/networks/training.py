"""Behaviour cloning: the bins of the teacher's actions by cross-entropy. Needs torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from assay.extensions.tabletop.networks.bins import BINS, nearest_bins, target_shares
from assay.extensions.tabletop.networks.dataset import (
    Batch,
    Dataset,
    Example,
    PromptVocabulary,
    make_batch,
    read_dataset,
)
from assay.extensions.tabletop.networks.network import PromptNetwork
from assay.extensions.tabletop.networks.policy import MODELS, NetworkModel
from assay.support.streams import stream
from assay.support.training import (
    Schedule,
    TrainingProgress,
    count_parameters,
    descend,
    load_checkpoint,
    save_checkpoint,
)

_HELD_OUT = 25
"""One in this many episodes is held out."""
_SHIFTED = 0.7
"""The share of examples that are moved on the table."""
_SORTED = 4
"""Number of batches that are sorted by length together."""


def train(
    dataset: Dataset,
    schedule: Schedule,
    *,
    cross: bool,
    seed: int = 0,
    permute: bool = False,
    watch: Callable[[TrainingProgress], None] = lambda progress: None,
) -> tuple[PromptNetwork, int, dict[str, float]]:
    """A trained network, after how many batches, and how it does on episodes that were held out.

    With ``permute`` objects come in another order each time.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = stream("tabletop", "training", seed)
    network = PromptNetwork(dataset.vocabulary.size, cross=cross, form=dataset.form).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=schedule.rate, weight_decay=0.01)
    learnt = [example for example in dataset.examples if example.seed % _HELD_OUT]
    held_out = [example for example in dataset.examples if not example.seed % _HELD_OUT]
    begun, progress = time.monotonic(), TrainingProgress()
    batches = _batches(learnt, schedule.batch, rng)
    while (share := schedule.share(progress.step, time.monotonic() - begun)) < 1:
        examples = [_augment(example, rng, permute=permute) for example in next(batches)]
        loss = train_step(network, optimizer, examples, dataset.vocabulary, schedule.rate_at(share))
        progress = progress.advance(share, loss)
        watch(progress)
    return network.eval(), progress.step, score_held_out(network, held_out, dataset.vocabulary)


def _batches(examples: Sequence[Example], size: int, rng: np.random.Generator) -> Iterator[list[Example]]:
    """Batches without end, of prompts about as long as each other, so that little is padding."""
    lengths = np.array(
        [sum(1 if isinstance(part, str) else len(part) for part in e.prompt) for e in examples]
    )
    while True:
        order = rng.permutation(len(examples))
        for first in range(0, len(order), size * _SORTED):
            some = order[first : first + size * _SORTED]
            some = some[np.argsort(lengths[some], kind="stable")]
            for batch in rng.permutation(range(0, len(some), size)):
                yield [examples[i] for i in some[batch : batch + size]]


def _augment(example: Example, rng: np.random.Generator, *, permute: bool) -> Example:
    if rng.random() < _SHIFTED:
        example = example.translate_randomly(rng)
    return replace(example, history=example.history.permute(rng)) if permute else example


def train_step(
    network: PromptNetwork,
    optimizer: torch.optim.Optimizer,
    examples: Sequence[Example],
    vocabulary: PromptVocabulary,
    rate: float,
) -> float:
    """One step; returns the loss before it."""
    batch, positions = _batch(examples, vocabulary)
    return descend(network, optimizer, batch_loss(network, batch, positions), rate)


def batch_loss(network: PromptNetwork, batch: Batch, positions: np.ndarray) -> Tensor:
    """Cross-entropy to bins near the truth (examples, axes), the mean over axes."""
    logits, _ = network(batch, torch.from_numpy(nearest_bins(positions)))
    terms = [
        nn.functional.cross_entropy(logits[axis], torch.from_numpy(target_shares(positions[:, axis], axis)))
        for axis in range(len(BINS))
    ]
    return torch.stack(terms).mean()


def score_held_out(
    network: PromptNetwork, examples: Sequence[Example], vocabulary: PromptVocabulary
) -> dict[str, float]:
    """For each task the share of examples in which every axis is at most two bins off."""
    hits: dict[str, list[bool]] = {}
    with torch.inference_mode():
        for first in range(0, len(examples), 64):
            some = examples[first : first + 64]
            batch, positions = _batch(some, vocabulary)
            off = np.abs(network(batch)[1].numpy() - nearest_bins(positions))
            off[:, -1] = np.minimum(off[:, -1], BINS[-1] - off[:, -1])
            for example, hit in zip(some, (off <= 2).all(axis=1), strict=True):
                hits.setdefault(example.task, []).append(bool(hit))
    return {task: float(np.mean(hit)) for task, hit in hits.items()}


def _batch(examples: Sequence[Example], vocabulary: PromptVocabulary) -> tuple[Batch, np.ndarray]:
    batch = make_batch(
        [example.prompt for example in examples],
        [example.history for example in examples],
        [example.tool for example in examples],
        vocabulary,
    )
    return batch, np.array([example.bins for example in examples])


class NetworkDescription(BaseModel):
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


def load_network(path: Path) -> tuple[PromptNetwork, NetworkDescription]:
    """Read a checkpoint. Raises PolicyError if the file is damaged or was not written by ``assay tabletop train``."""
    return load_checkpoint(path, NetworkDescription, _build_network, "assay tabletop train")


def _build_network(description: NetworkDescription) -> PromptNetwork:
    model = MODELS[description.model]
    return PromptNetwork(PromptVocabulary(description.vocabulary).size, cross=model.cross, form=model.form)


def train_and_save(
    folder: Path,
    out: Path,
    model: NetworkModel,
    schedule: Schedule,
    *,
    seed: int = 0,
    permute: bool = False,
    paraphrase: bool = True,
    watch: Callable[[TrainingProgress], None] = lambda progress: None,
) -> NetworkDescription:
    """Train on a folder of demonstrations, and write the network to a file."""
    dataset = read_dataset(folder, model.form, paraphrase=paraphrase)
    begun = time.monotonic()
    network, steps, held_out = train(
        dataset, schedule, cross=model.cross, seed=seed, permute=permute, watch=watch
    )
    seeds = [example.seed for example in dataset.examples]
    description = NetworkDescription(
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
        parameters=count_parameters(network),
        held_out=held_out,
        torch=str(torch.__version__),
    )
    save_checkpoint(out, network, description)
    return description
