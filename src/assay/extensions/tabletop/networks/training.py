"""The networks: {cross-attention, concatenation} over {objects, patches}. Needs torch.

The embedding of an image token is the sum of the features of its crop, computed by a small network, and of embeddings
of its box, view and position in the order. A prompt is a sequence of words and image tokens, read by a separate
encoder. The table is represented by the tokens of the current and some earlier observations, and one token for each
previous action, each with its age. These attend to the prompt (cross), or prompt and table are one sequence
(concat). The action is decoded from one further token, coordinate by coordinate, each given those before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from assay.extensions.tabletop.networks import dataset
from assay.extensions.tabletop.networks.dataset import Batch, Dataset, Example, PromptVocabulary
from assay.extensions.tabletop.networks.policy import MODELS
from assay.extensions.tabletop.networks.tokens import MAX_PLACES, PIECE_SIDE, TokenForm, ViewTokens
from assay.support import training
from assay.support.streams import stream
from assay.support.training import Schedule, TrainingProgress

WIDTH = 128
HEADS = 4
READING, DECIDING = 2, 3
"""Number of layers in the prompt encoder, and number of layers after it."""
LONGEST = 384
"""Number of prompt positions with an embedding; later tokens share the last one."""
POINTS = 6
"""Number of feature points in a crop whose positions are encoded."""
WAVES = 40
"""Number of frequencies that encode and decode positions; the highest has a period of five centimetres."""


def waves(shares: Tensor) -> Tensor:
    """Encode positions (..., n), fractions of an image, as sines and cosines: (..., n * 2 * WAVES).

    The path from a box's position to an output head is linear, so that copying positions is learned quickly.
    """
    angles = shares[..., None] * torch.pi * torch.arange(WAVES)
    return torch.cat([angles.cos(), angles.sin()], dim=-1).flatten(-2)


class PictureEncoder(nn.Module):
    """Encodes image tokens as vectors."""

    def __init__(self, form: TokenForm) -> None:
        super().__init__()
        self.form = form
        if form is TokenForm.OBJECTS:
            self.fine = nn.Sequential(nn.Conv2d(3, 32, 4, 4), nn.GELU())
            self.points = nn.Conv2d(32, POINTS, 3, 1, 1)
            self.crop = nn.Sequential(
                nn.Conv2d(32, 64, 3, 2, 1), nn.GELU(), nn.Flatten(), nn.Linear(64 * 4 * 4, WIDTH)
            )
        else:
            self.crop = nn.Sequential(
                nn.Flatten(), nn.Linear(3 * PIECE_SIDE**2, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
            )
        self.where = nn.Linear((1 + POINTS * (form is TokenForm.OBJECTS)) * 4 * WAVES, WIDTH)
        self.extent = nn.Sequential(nn.Linear(2, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        self.view = nn.Embedding(2, WIDTH)
        self.place = nn.Embedding(MAX_PLACES, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, sight: ViewTokens) -> Tensor:
        """Return token embeddings, (tokens, WIDTH)."""
        first, which = distinct(sight.crops)
        crops = torch.from_numpy(sight.crops[first]).permute(0, 3, 1, 2).float() / 127.5 - 1
        boxes = torch.from_numpy(sight.boxes)
        points = boxes[:, None, :2]
        if self.form is TokenForm.OBJECTS:
            crops = self.fine(crops)
            # Each feature's position in its crop is the mean position under its heat map, -0.5 to 0.5.
            heat = self.points(crops)
            weights = heat.flatten(2).softmax(dim=-1).view_as(heat)
            steps = (torch.arange(heat.shape[-1]) + 0.5) / heat.shape[-1] - 0.5
            rows, columns = (weights.sum(dim=3) @ steps)[which], (weights.sum(dim=2) @ steps)[which]
            # A crop is square: as wide and high as the longer side of its box, in pixels of 1 : 2 images.
            side = torch.maximum(boxes[:, 2], 2 * boxes[:, 3])[:, None]
            inside = boxes[:, None, :2] + torch.stack([columns * side / 2, rows * side], dim=-1)
            points = torch.cat([points, inside], dim=1)
        order = self.view(torch.from_numpy(sight.views)) + self.place(torch.from_numpy(sight.places))
        where, extent = self.where(waves(points).flatten(1)), self.extent(4 * boxes[:, 2:])
        return self.norm(self.crop(crops)[which] + where + extent + order)


def distinct(crops: np.ndarray) -> tuple[np.ndarray, Tensor]:
    """Return the indices of the distinct crops, and for each crop the position of the identical one among them.

    Static objects look the same in every remembered observation, so the network encodes them once.
    """
    slot_by_crop: dict[bytes, int] = {}
    which = [slot_by_crop.setdefault(crop.tobytes(), len(slot_by_crop)) for crop in crops]
    _, first = np.unique(np.array(which, dtype=np.int64), return_index=True)
    return first, torch.tensor(which, dtype=torch.int64)


class AxisHead(nn.Module):
    """Predicts logits over the bins of one axis as a weighted sum of sines and cosines."""

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.straight = nn.Linear(WIDTH, 2 * WAVES)
        self.bent = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, 2 * WAVES))
        for last in (self.straight, self.bent[-1]):
            nn.init.zeros_(last.weight)  # random weights on all frequencies would give erratic logits
            nn.init.zeros_(last.bias)
        turns = axis == len(dataset.BINS) - 1
        positions = np.arange(dataset.BINS[axis]) + (0.0 if turns else 0.5)
        middle = dataset.bins_to_fractions(np.repeat(positions[:, None], len(dataset.BINS), axis=1))[:, axis]
        # Rotations are periodic; positions are not, so they span half a period.
        basis = waves(torch.from_numpy(middle).float()[:, None] * (2 if turns else 1))
        self.register_buffer("basis", basis, persistent=False)

    def forward(self, state: Tensor) -> Tensor:
        """Return the logits, (examples, bins)."""
        return (self.straight(state) + self.bent(state)) @ self.basis.T


class PromptNetwork(nn.Module):
    """Maps a batch to the bins of an action."""

    def __init__(self, words: int, *, cross: bool, form: TokenForm) -> None:
        super().__init__()
        self.cross = cross
        self.pictures = PictureEncoder(form)
        self.words = nn.Embedding(words, WIDTH, padding_idx=0)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.tools = nn.Embedding(2, WIDTH)
        self.ages = nn.Embedding(dataset.OLDEST + 1, WIDTH)
        self.done = nn.Linear(len(dataset.BINS) * 2 * WAVES, WIDTH)
        self.begin = nn.Parameter(torch.randn(WIDTH) * 0.02)
        settings = {"dim_feedforward": 2 * WIDTH, "dropout": 0.0, "activation": "gelu",
                    "batch_first": True, "norm_first": True}  # fmt: skip
        self.reader = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(WIDTH, HEADS, **settings), READING, nn.LayerNorm(WIDTH),
            enable_nested_tensor=False,
        )  # fmt: skip
        self.decider: nn.Module
        if cross:
            layer = nn.TransformerDecoderLayer(WIDTH, HEADS, **settings)
            self.decider = nn.TransformerDecoder(layer, DECIDING, nn.LayerNorm(WIDTH))
        else:
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, **settings)
            self.decider = nn.TransformerEncoder(
                layer, DECIDING, nn.LayerNorm(WIDTH), enable_nested_tensor=False
            )
        self.heads = nn.ModuleList(AxisHead(axis) for axis in range(len(dataset.BINS)))
        self.chosen = nn.ModuleList(nn.Embedding(count, WIDTH) for count in dataset.BINS[:-1])

    def forward(self, batch: Batch, chosen: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        """Return for each axis the logits of its bins, (examples, bins), and the bins, (examples, axes).

        Each axis is conditioned on the bins of those before it: the bins in ``chosen`` if given, otherwise the most
        likely ones.
        """
        state = self._state(batch)
        logits, bins = [], []
        for axis, head in enumerate(self.heads):
            logits.append(head(state))
            bins.append(logits[-1].argmax(dim=1) if chosen is None else chosen[:, axis])
            if axis < len(self.chosen):
                state = state + self.chosen[axis](bins[-1])
        return logits, torch.stack(bins, dim=1)

    def _state(self, batch: Batch) -> Tensor:
        """Return the output of the layers at the last token, which is never padding, (examples, WIDTH)."""
        seen = torch.cat([torch.zeros(1, WIDTH), self.pictures(batch.images)])
        words, shown = torch.from_numpy(batch.words), torch.from_numpy(batch.shown)
        positions = torch.arange(words.shape[1]).clamp(max=LONGEST - 1)
        tokens = self.words(words) + seen[shown] + self.positions(positions)
        begin = self.begin.expand(len(words), 1, -1)  # this first token is never padding
        no_prompt = nn.functional.pad((words == 0) & (shown == 0), (1, 0))
        prompt = self.reader(torch.cat([begin, tokens], dim=1), src_key_padding_mask=no_prompt)
        slots = torch.from_numpy(batch.table)
        tools = self.tools(torch.from_numpy(batch.tools))[:, None]
        since = torch.from_numpy(batch.since)
        past = self.done(waves(torch.from_numpy(batch.done))) + self.ages(since)
        table = torch.cat([seen[slots] + self.ages(torch.from_numpy(batch.ages)), past, tools], dim=1)
        no_table = nn.functional.pad(torch.cat([slots == 0, since == 0], dim=1), (0, 1))
        state: Tensor
        if self.cross:
            state = self.decider(
                table, prompt, tgt_key_padding_mask=no_table, memory_key_padding_mask=no_prompt
            )
        else:
            state = self.decider(
                torch.cat([prompt, table], dim=1),
                src_key_padding_mask=torch.cat([no_prompt, no_table], dim=1),
            )
        return state[:, -1]


_HELD_OUT = 25
"""Interval between held-out seeds: every 25th is held out."""
_TRANSLATED_FRACTION = 0.7
"""Fraction of training examples that are randomly translated on the table."""
_SORTED = 4
"""Number of batches' worth of examples that are sorted by length together."""


class NetworkDescription(BaseModel):
    """Training data and options of a network, stored in its checkpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    vocabulary: tuple[str, ...]
    episodes: dict[str, int]
    """Number of demonstrations by task, including held-out ones."""
    first_seed: int
    last_seed: int
    paraphrased: bool
    permuted: bool
    """Whether the objects were shuffled each time an example was used."""
    seed: int
    steps: int
    batch: int = 64
    minutes: float
    parameters: int
    held_out: dict[str, float]
    """Task -> fraction of held-out examples with an action close to the teacher's."""
    torch: str


def train(
    data: Dataset,
    model: str,
    schedule: Schedule,
    *,
    seed: int = 0,
    permute: bool = False,
    watch: Callable[[TrainingProgress], None] = lambda progress: None,
) -> tuple[PromptNetwork, NetworkDescription]:
    """Train a network and score it on held-out episodes.

    With ``permute``, the objects are shuffled each time an example is used.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = stream("tabletop", "training", seed)
    network = _build_network(model, data.vocabulary.size).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=schedule.rate, weight_decay=0.01)
    begun, progress = time.monotonic(), TrainingProgress()
    batches = _batches(
        [example for example in data.examples if example.seed % _HELD_OUT], schedule.batch, rng
    )
    while (share := schedule.share(progress.step, time.monotonic() - begun)) < 1:
        examples = []
        for example in next(batches):
            if rng.random() < _TRANSLATED_FRACTION:
                example = example.translate_randomly(rng)
            examples.append(replace(example, history=example.history.permute(rng)) if permute else example)
        loss = train_step(network, optimizer, examples, data.vocabulary, schedule.rate_at(share))
        progress = progress.advance(share, loss)
        watch(progress)
    network.eval()
    held_out = [example for example in data.examples if not example.seed % _HELD_OUT]
    seeds = [example.seed for example in data.examples]
    return network, NetworkDescription(
        model=model,
        vocabulary=data.vocabulary.words,
        episodes=data.episodes,
        first_seed=min(seeds),
        last_seed=max(seeds),
        paraphrased=data.paraphrased,
        permuted=permute,
        seed=seed,
        steps=progress.step,
        batch=schedule.batch,
        minutes=round((time.monotonic() - begun) / 60, 1),
        parameters=training.count_parameters(network),
        held_out=score_held_out(network, held_out, data.vocabulary),
        torch=str(torch.__version__),
    )


def _batches(examples: Sequence[Example], size: int, rng: np.random.Generator) -> Iterator[list[Example]]:
    """Yield batches indefinitely, each with prompts of similar length to reduce padding."""
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


def train_step(
    network: PromptNetwork,
    optimizer: torch.optim.Optimizer,
    examples: Sequence[Example],
    vocabulary: PromptVocabulary,
    rate: float,
) -> float:
    """Take one optimisation step; return the loss before it.

    The loss is the cross-entropy with smoothed targets, averaged over axes.
    """
    positions = np.array([example.bins for example in examples])
    logits, _ = network(
        dataset.make_batch(examples, vocabulary), torch.from_numpy(dataset.nearest_bins(positions))
    )
    terms = [
        nn.functional.cross_entropy(
            logits[axis], torch.from_numpy(dataset.target_distribution(positions[:, axis], axis))
        )
        for axis in range(len(dataset.BINS))
    ]
    return training.descend(network, optimizer, torch.stack(terms).mean(), rate)


def score_held_out(
    network: PromptNetwork, examples: Sequence[Example], vocabulary: PromptVocabulary
) -> dict[str, float]:
    """Return for each task the fraction of examples in which the error is at most two bins on every axis."""
    hits: dict[str, list[bool]] = {}
    with torch.inference_mode():
        for first in range(0, len(examples), 64):
            some = examples[first : first + 64]
            true = dataset.nearest_bins(np.array([example.bins for example in some]))
            off = np.abs(network(dataset.make_batch(some, vocabulary))[1].numpy() - true)
            off[:, -1] = np.minimum(off[:, -1], dataset.BINS[-1] - off[:, -1])
            for example, hit in zip(some, (off <= 2).all(axis=1), strict=True):
                hits.setdefault(example.task, []).append(bool(hit))
    return {task: float(np.mean(hit)) for task, hit in hits.items()}


def _build_network(model: str, words: int) -> PromptNetwork:
    cross, form = MODELS[model]
    return PromptNetwork(words, cross=cross, form=form)


def load_network(path: Path) -> tuple[PromptNetwork, NetworkDescription]:
    """Read a checkpoint. Raises PolicyError if the file is damaged or was not written by ``assay tabletop train``."""
    return training.load_checkpoint(
        path,
        NetworkDescription,
        lambda description: _build_network(description.model, PromptVocabulary(description.vocabulary).size),
        "assay tabletop train",
    )
