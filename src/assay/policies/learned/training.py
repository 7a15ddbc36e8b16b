"""Behaviour cloning: the bins of the teacher's actions by cross-entropy. Needs torch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from assay.policies.learned.bins import BINS, nearest, shares
from assay.policies.learned.dataset import Batch, Dataset, Example, Vocabulary, batched
from assay.policies.learned.network import Network
from assay.streams import stream

_HELD_OUT = 25
"""One episode in so many is not learnt from."""
_SHIFTED = 0.7
"""The share of examples that are moved on the table."""
_SORTED = 4
"""So many batches are sorted by length at a time."""
_WARM_UP = 0.03
"""The share of the training in which the rate rises."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long to train: until one of both is used up."""

    steps: int = 0
    """Batches; 0 for any number."""
    minutes: float = 0.0
    """0 for any time."""
    batch: int = 64
    rate: float = 1.5e-3

    def share(self, step: int, seconds: float) -> float:
        """How much of it is over, from 0 to 1."""
        by_steps = step / self.steps if self.steps else 0.0
        by_time = seconds / (60 * self.minutes) if self.minutes else 0.0
        return min(1.0, max(by_steps, by_time))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is."""

    step: int
    share: float
    loss: float
    """The mean of late, nats for each axis."""


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
    begun, step, late = time.monotonic(), 0, math.nan
    batches = _batches(learnt, schedule.batch, rng)
    while (share := schedule.share(step, time.monotonic() - begun)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = schedule.rate * _rate(share)
        examples = [_varied(each, rng, permute=permute) for each in next(batches)]
        loss = learn(network, optimizer, examples, dataset.vocabulary)
        late = loss if math.isnan(late) else 0.98 * late + 0.02 * loss
        step += 1
        watch(Progress(step, share, late))
    return network.eval(), step, scores(network, held_out, dataset.vocabulary)


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
    return replace(example, table=example.table.permuted(rng)) if permute else example


def _rate(share: float) -> float:
    """The share of the learning rate: up, then down along a cosine."""
    if share < _WARM_UP:
        return max(share / _WARM_UP, 0.02)
    return 0.5 + 0.5 * math.cos(math.pi * (share - _WARM_UP) / (1 - _WARM_UP))


def learn(
    network: Network,
    optimizer: torch.optim.Optimizer,
    examples: Sequence[Example],
    vocabulary: Vocabulary,
) -> float:
    """One step; returns the loss before it."""
    batch, positions = _batch(examples, vocabulary)
    loss = loss_of(network, batch, positions)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


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
        [each.table for each in examples],
        [each.tool for each in examples],
        vocabulary,
    )
    return batch, np.array([each.bins for each in examples])
