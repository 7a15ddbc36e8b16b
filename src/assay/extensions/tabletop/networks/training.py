"""The networks: {cross-attention, concatenation} over {objects, patches}. Needs torch.

The embedding of an image token is the sum of the features of its crop, computed by a small network, and of embeddings
of its box, view and position in the order. A prompt is a sequence of words and image tokens, read by a separate
encoder. The table is represented by the tokens of the current and some earlier observations, and one token for each
previous action, each with its age. They attend to the prompt (cross), or prompt and table are one sequence (concat).
The action is decoded from one further token, coordinate by coordinate, each conditioned on those before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from assay.extensions.tabletop.networks.dataset import (
    BINS,
    OLDEST,
    Batch,
    Dataset,
    Example,
    PromptVocabulary,
    bin_centres,
    make_batch,
    nearest_bins,
    target_shares,
)
from assay.extensions.tabletop.networks.policy import MODELS, NetworkModel
from assay.extensions.tabletop.networks.tokens import MAX_PLACES, PIECE_SIDE, TokenForm, ViewTokens
from assay.support.streams import stream
from assay.support.training import (
    Schedule,
    TrainingProgress,
    count_parameters,
    descend,
    load_checkpoint,
    save_checkpoint,
)

WIDTH = 128
HEADS = 4
READING, DECIDING = 2, 3
"""Number of layers of the prompt encoder and of the layers after it."""
LONGEST = 384
"""Number of prompt positions with an embedding; later tokens share the last one."""
POINTS = 6
"""Number of features of a crop whose positions are encoded."""
WAVES = 40
"""Number of frequencies that encode and decode positions; the highest has a period of five centimetres."""


def waves(shares: Tensor) -> Tensor:
    """Encode positions (..., n), shares of an image, as sines and cosines: (..., n * 2 * WAVES).

    The path of a position from a box to a head is linear, so that copying is learned quickly.
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
            rows, columns = (point[which] for point in self._points(crops))
            points = torch.cat([points, _in_picture(rows, columns, boxes)], dim=1)
        order = self.view(torch.from_numpy(sight.views)) + self.place(torch.from_numpy(sight.places))
        where, extent = self.where(waves(points).flatten(1)), self.extent(4 * boxes[:, 2:])
        return self.norm(self.crop(crops)[which] + where + extent + order)

    def _points(self, fine: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows and columns of some features in each crop, -0.5 to 0.5: (crops, POINTS) each."""
        heat = self.points(fine)
        share = heat.flatten(2).softmax(dim=-1).view_as(heat)
        steps = (torch.arange(heat.shape[-1]) + 0.5) / heat.shape[-1] - 0.5
        return share.sum(dim=3) @ steps, share.sum(dim=2) @ steps


def distinct(crops: np.ndarray) -> tuple[np.ndarray, Tensor]:
    """Return the indices of the distinct crops, and for each crop the index of its distinct crop.

    Static objects look the same in every remembered observation, so the network encodes them once.
    """
    slot_by_crop: dict[bytes, int] = {}
    which = [slot_by_crop.setdefault(crop.tobytes(), len(slot_by_crop)) for crop in crops]
    _, first = np.unique(np.array(which, dtype=np.int64), return_index=True)
    return first, torch.tensor(which, dtype=torch.int64)


def _in_picture(rows: Tensor, columns: Tensor, boxes: Tensor) -> Tensor:
    """Convert positions in crops, (tokens, POINTS) each, to positions in the image, (tokens, POINTS, 2)."""
    # A crop is square: as wide and high as the longer side of its box, in pixels of 1 : 2 pictures.
    side = torch.maximum(boxes[:, 2], 2 * boxes[:, 3])[:, None]
    return boxes[:, None, :2] + torch.stack([columns * side / 2, rows * side], dim=-1)


class AxisHead(nn.Module):
    """Predicts the bins of one axis as a sum of waves."""

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.straight = nn.Linear(WIDTH, 2 * WAVES)
        self.bent = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, 2 * WAVES))
        for last in (self.straight, self.bent[-1]):
            nn.init.zeros_(last.weight)  # so many waves, added up at random, would be a storm
            nn.init.zeros_(last.bias)
        middle = torch.from_numpy(bin_centres(axis)).float()
        # A turn goes round once, a place half way: the ends of the table do not meet.
        self.register_buffer("basis", waves(middle[:, None] * (2 if axis == len(BINS) - 1 else 1)), False)

    def forward(self, state: Tensor) -> Tensor:
        """Logits, (examples, bins)."""
        return (self.straight(state) + self.bent(state)) @ self.basis.T


def _attend(attention: nn.MultiheadAttention, asking: Tensor, asked: Tensor, empty: Tensor) -> Tensor:
    attended: Tensor = attention(asking, asked, asked, key_padding_mask=empty, need_weights=False)[0]
    return attended


class PromptNetwork(nn.Module):
    """Maps a batch to the bins of an action."""

    def __init__(self, words: int, *, cross: bool, form: TokenForm) -> None:
        super().__init__()
        self.cross = cross
        self.pictures = PictureEncoder(form)
        self.words = nn.Embedding(words, WIDTH, padding_idx=0)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.tools = nn.Embedding(2, WIDTH)
        self.ages = nn.Embedding(OLDEST + 1, WIDTH)
        self.done = nn.Linear(len(BINS) * 2 * WAVES, WIDTH)
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
        self.heads = nn.ModuleList(AxisHead(axis) for axis in range(len(BINS)))
        self.chosen = nn.ModuleList(nn.Embedding(count, WIDTH) for count in BINS[:-1])

    def forward(
        self, batch: Batch, chosen: Tensor | None = None, *, rng: np.random.Generator | None = None
    ) -> tuple[list[Tensor], Tensor]:
        """Return for each axis the logits of its bins, (examples, bins), and the bins, (examples, axes).

        Each axis is conditioned on the bins of those before it: the bins in ``chosen`` if given, otherwise bins
        sampled with ``rng`` if given, otherwise the most likely ones.
        """
        state = self._state(batch)
        logits, bins = [], []
        for axis, head in enumerate(self.heads):
            logits.append(head(state))
            if chosen is not None:
                bins.append(chosen[:, axis])
            else:
                # Gumbel's trick: the greatest of logits with such noise is a draw from their distribution.
                noise = 0.0 if rng is None else torch.from_numpy(rng.gumbel(size=logits[-1].shape))
                bins.append((logits[-1] + noise).argmax(dim=1))
            if axis < len(self.chosen):
                state = state + self.chosen[axis](bins[-1])
        return logits, torch.stack(bins, dim=1)

    def _state(self, batch: Batch) -> Tensor:
        seen = torch.cat([torch.zeros(1, WIDTH), self.pictures(batch.sight)])
        prompt, no_prompt = self._read(batch, seen)
        slots = torch.from_numpy(batch.table)
        tools = self.tools(torch.from_numpy(batch.tools))[:, None]
        since = torch.from_numpy(batch.since)
        past = self.done(waves(torch.from_numpy(batch.done))) + self.ages(since)
        table = torch.cat([seen[slots] + self.ages(torch.from_numpy(batch.ages)), past, tools], dim=1)
        no_table = nn.functional.pad(torch.cat([slots == 0, since == 0], dim=1), (0, 1))
        if self.cross:
            return self._decide(table, no_table, {"memory": prompt, "memory_key_padding_mask": no_prompt})
        everything = torch.cat([prompt, table], dim=1)
        return self._decide(everything, torch.cat([no_prompt, no_table], dim=1), {})

    def _decide(self, tokens: Tensor, empty: Tensor, prompt: Mapping[str, Tensor]) -> Tensor:
        """Return the output of the layers at the last token, (examples, WIDTH).

        The last layer computes only this token, because the heads read no other.
        """
        mask = {"tgt_key_padding_mask" if prompt else "src_key_padding_mask": empty}
        *earlier, final = self.decider.layers
        for layer in earlier:
            tokens = layer(tokens, **prompt, **mask)
        normalised = final.norm1(tokens)
        state = tokens[:, -1:] + _attend(final.self_attn, normalised[:, -1:], normalised, empty)
        if prompt:
            memory, no_memory = prompt["memory"], prompt["memory_key_padding_mask"]
            state = state + _attend(final.multihead_attn, final.norm2(state), memory, no_memory)
        normalised = (final.norm3 if prompt else final.norm2)(state)
        state = state + final.linear2(final.activation(final.linear1(normalised)))
        return self.decider.norm(state)[:, 0]

    def _read(self, batch: Batch, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return the encoded prompt, (examples, 1 + length, WIDTH), and its padding mask.

        The first token is never padding.
        """
        words, slots = torch.from_numpy(batch.words), torch.from_numpy(batch.shown)
        positions = torch.arange(words.shape[1]).clamp(max=LONGEST - 1)
        tokens = self.words(words) + seen[slots] + self.positions(positions)
        begin = self.begin.expand(len(words), 1, -1)
        empty = nn.functional.pad((words == 0) & (slots == 0), (1, 0))
        return self.reader(torch.cat([begin, tokens], dim=1), src_key_padding_mask=empty), empty


_HELD_OUT = 25
"""One in this many episodes is held out."""
_SHIFTED = 0.7
"""Share of examples that are translated on the table."""
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
    """Train a network; return it, the number of batches, and its scores on held-out episodes.

    With ``permute``, the order of objects is randomised each time.
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
    """Yield batches indefinitely, each of prompts of similar length to reduce padding."""
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
    """Take one optimisation step; return the loss before it."""
    batch, positions = _batch(examples, vocabulary)
    return descend(network, optimizer, batch_loss(network, batch, positions), rate)


def batch_loss(network: PromptNetwork, batch: Batch, positions: np.ndarray) -> Tensor:
    """Return the mean cross-entropy over axes to smoothed targets at positions (examples, axes)."""
    logits, _ = network(batch, torch.from_numpy(nearest_bins(positions)))
    terms = [
        nn.functional.cross_entropy(logits[axis], torch.from_numpy(target_shares(positions[:, axis], axis)))
        for axis in range(len(BINS))
    ]
    return torch.stack(terms).mean()


def score_held_out(
    network: PromptNetwork, examples: Sequence[Example], vocabulary: PromptVocabulary
) -> dict[str, float]:
    """Return for each task the share of examples in which every axis is at most two bins off."""
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
    """Whether the order of objects was randomised each time."""
    seed: int
    steps: int
    batch: int = 64
    minutes: float
    parameters: int
    held_out: dict[str, float]
    """Task -> share of held-out examples with an action close to the teacher's."""
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
    dataset = Dataset.read(folder, model.form, paraphrase=paraphrase)
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
