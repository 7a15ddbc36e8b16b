"""Behaviour cloning: the bins of the teacher's actions by cross-entropy. Needs torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from assay.extensions.tabletop.networks.bins import BINS, nearest, shares
from assay.extensions.tabletop.networks.dataset import Batch, Dataset, Example, Vocabulary, batched
from assay.extensions.tabletop.networks.network import Network
from assay.policies.learned.loop import descend
from assay.policies.learned.schedule import BEGUN, Progress, Schedule
from assay.support.streams import stream

_HELD_OUT = 25
"""One episode in so many is not learnt from."""
_SHIFTED = 0.7
"""The share of examples that are moved on the table."""
_SORTED = 4
"""So many batches are sorted by length at a time."""


def train(
    dataset: Dataset,
    schedule: Schedule,
    *,
    cross: bool,
    seed: int = 0,
    permute: bool = False,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> tuple[Network, int, dict[str, float]]:
    """A trained network, after how many batches, and how it does on episodes that were held out.

    With ``permute`` objects come in another order each time.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = stream("tabletop", "training", seed)
    network = Network(dataset.vocabulary.size, cross=cross, form=dataset.form).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=schedule.rate, weight_decay=0.01)
    learnt = [each for each in dataset.examples if each.seed % _HELD_OUT]
    held_out = [each for each in dataset.examples if not each.seed % _HELD_OUT]
    begun, progress = time.monotonic(), BEGUN
    batches = _batches(learnt, schedule.batch, rng)
    while (share := schedule.share(progress.step, time.monotonic() - begun)) < 1:
        examples = [_varied(each, rng, permute=permute) for each in next(batches)]
        loss = learn(network, optimizer, examples, dataset.vocabulary, schedule.rate_at(share))
        progress = progress.next(share, loss)
        watch(progress)
    return network.eval(), progress.step, scores(network, held_out, dataset.vocabulary)


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


def _varied(example: Example, rng: np.random.Generator, *, permute: bool) -> Example:
    if rng.random() < _SHIFTED:
        example = example.shifted(rng)
    return replace(example, history=example.history.permuted(rng)) if permute else example


def learn(
    network: Network,
    optimizer: torch.optim.Optimizer,
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    rate: float,
) -> float:
    """One step; returns the loss before it."""
    batch, positions = _batch(examples, vocabulary)
    return descend(network, optimizer, loss_of(network, batch, positions), rate)


def loss_of(network: Network, batch: Batch, positions: np.ndarray) -> Tensor:
    """Cross-entropy to bins near the truth (examples, axes), the mean over axes."""
    logits, _ = network(batch, torch.from_numpy(nearest(positions)))
    terms = [
        nn.functional.cross_entropy(logits[axis], torch.from_numpy(shares(positions[:, axis], axis)))
        for axis in range(len(BINS))
    ]
    return torch.stack(terms).mean()


def scores(network: Network, examples: Sequence[Example], vocabulary: Vocabulary) -> dict[str, float]:
    """For each task the share of examples in which every axis is at most two bins off."""
    hits: dict[str, list[bool]] = {}
    with torch.inference_mode():
        for first in range(0, len(examples), 64):
            some = examples[first : first + 64]
            batch, positions = _batch(some, vocabulary)
            off = np.abs(network(batch)[1].numpy() - nearest(positions))
            off[:, -1] = np.minimum(off[:, -1], BINS[-1] - off[:, -1])
            for each, hit in zip(some, (off <= 2).all(axis=1), strict=True):
                hits.setdefault(each.task, []).append(bool(hit))
    return {task: float(np.mean(hit)) for task, hit in hits.items()}


def _batch(examples: Sequence[Example], vocabulary: Vocabulary) -> tuple[Batch, np.ndarray]:
    batch = batched(
        [each.prompt for each in examples],
        [each.history for each in examples],
        [each.tool for each in examples],
        vocabulary,
    )
    return batch, np.array([each.bins for each in examples])
