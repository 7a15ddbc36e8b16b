"""Training data: actions as bins, recorded episodes as examples, and examples as batches of arrays.

Bins are one centimetre wide for x and y of both poses, and five degrees wide for the rotation between them.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.errors import DemonstrationError, one_line
from assay.extensions.tabletop.networks import tokens
from assay.extensions.tabletop.networks.tokens import Segments, TokenForm, ViewTokens
from assay.extensions.tabletop.prompts.prompt import PLACEHOLDER
from assay.extensions.tabletop.world.model import EXTENT
from assay.extensions.tabletop.world.observation import HEIGHT, WIDTH
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW
from assay.extensions.tabletop.world.simulation import action
from assay.support.archives import read_npz

BINS = (50, 100, 50, 100, 72)
"""Number of bins for x and y of both poses, and for the rotation, whose bins are periodic."""
_LOW = np.array([X_LOW, Y_LOW, X_LOW, Y_LOW, -np.pi])
_HIGH = np.array([X_HIGH, Y_HIGH, X_HIGH, Y_HIGH, np.pi])
_WIDE = EXTENT["top"] * WIDTH / HEIGHT
"""Width of the area covered by the top view, in metres."""
_SPREAD = 0.7
"""Standard deviation, in bins, of the Gaussian that spreads a target over neighbouring bins."""


def to_bins(actions: np.ndarray) -> np.ndarray:
    """Convert actions (n, 12) to fractional bin positions, (n, 5)."""
    turn = 2 * (np.arctan2(actions[:, 11], actions[:, 8]) - np.arctan2(actions[:, 5], actions[:, 2]))
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    values = np.column_stack([actions[:, 0:2], actions[:, 6:8], turn])
    return np.asarray((values - _LOW) / (_HIGH - _LOW) * BINS, dtype=np.float32)


def from_bins(chosen: np.ndarray) -> np.ndarray:
    """Return the action (12,) at the centre of bins (5,)."""
    x0, y0, x1, y1, turn = _LOW + (np.asarray(chosen) + 0.5) / BINS * (_HIGH - _LOW)
    # Rotation bins are centred on multiples of five degrees, so that zero is one of them.
    return action((x0, y0), (x1, y1), turn - np.pi / BINS[-1])


def bins_to_fractions(positions: np.ndarray) -> np.ndarray:
    """Convert bin positions (n, 5) to fractions of the top view and of a full turn: float32, (n, 5)."""
    metres = _LOW[:4] + positions[:, :4] / BINS[:4] * (_HIGH - _LOW)[:4]
    middle, covered = np.array([(X_LOW + X_HIGH) / 2, 0.0] * 2), np.array([EXTENT["top"], _WIDE] * 2)
    turns = positions[:, 4:] / BINS[-1]
    return np.concatenate([(metres - middle) / covered + 0.5, turns], axis=1).astype(np.float32)


def target_distribution(positions: np.ndarray, axis: int) -> np.ndarray:
    """Return the smoothed target distribution over an axis's bins for true positions (n,): (n, bins)."""
    count, turns = BINS[axis], axis == len(BINS) - 1
    away = np.arange(count) + (0.0 if turns else 0.5) - positions[:, None]
    if turns:
        away = (away + count / 2) % count - count / 2
    weight = np.exp(-0.5 * (away / _SPREAD) ** 2)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float32)


def nearest_bins(positions: np.ndarray) -> np.ndarray:
    """Return the bins that contain positions (n, 5): int64, (n, 5)."""
    chosen = np.floor(positions)
    chosen[:, -1] = np.round(positions[:, -1]) % BINS[-1]
    return np.asarray(np.clip(chosen, 0, np.array(BINS) - 1), dtype=np.int64)


def move_bins(bins: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Return the bin positions (..., 5) of actions translated by ``way`` (x, y), in metres."""
    by = np.array(way) / (X_HIGH - X_LOW, Y_HIGH - Y_LOW) * BINS[:2]
    return np.asarray(bins + np.array([*by, *by, 0.0]), dtype=np.float32)


LATEST = 3
"""Number of most recent observations that are remembered, in addition to the first one of the episode."""
OLDEST = 15
"""Maximum age of an observation or action, in actions; older ones are treated as having this age."""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Observations and actions in chronological order; the last observation is the current one."""

    seen: tuple[ViewTokens, ...]
    done: np.ndarray
    """Bin indices of the discretised actions between the observations, (len(seen) - 1, 5)."""

    @property
    def remembered(self) -> list[int]:
        """Indices of the remembered observations, latest first."""
        last = len(self.seen) - 1
        return sorted({0, *range(max(0, last + 1 - LATEST), last + 1)}, reverse=True)

    def translate(self, way: np.ndarray) -> History:
        """Return a copy in which everything is translated by ``way`` (x, y), in metres."""
        seen = list(self.seen)
        for place in self.remembered:
            seen[place] = seen[place].translate(way)
        return History(tuple(seen), move_bins(self.done, way))

    def permute(self, rng: np.random.Generator) -> History:
        """Return a copy with a random order of objects at every observation."""
        return replace(self, seen=tuple(view.permute(rng) for view in self.seen))


UNKNOWN_SLOTS = 64
"""Number of hash slots for words that do not occur in training."""
_TASKS_WITH_POSITIONS = ("T4", "T5")
"""Tasks whose prompts show target positions."""


@dataclass(frozen=True, slots=True)
class PromptVocabulary:
    """Word ids: 0 for no word, then words from training, then hashed slots for unknown words."""

    words: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of word ids."""
        return 1 + len(self.words) + UNKNOWN_SLOTS


@dataclass(frozen=True, slots=True, eq=False)
class NetworkInput:
    """Input of the network: everything on which the next action depends."""

    prompt: Segments
    history: History
    tool: int
    """0 for suction, 1 for the spatula."""


@dataclass(frozen=True, slots=True, eq=False)
class Example(NetworkInput):
    """One training example."""

    task: str
    seed: int
    bins: np.ndarray
    """Bins of the next action, (5,)."""
    room: np.ndarray
    """Range of translations that keep all objects on the table: minimum and maximum of x and y, in metres, (2, 2)."""

    def translate_randomly(self, rng: np.random.Generator) -> Example:
        """Return a randomly translated copy; unchanged if the prompt shows positions or there is no room."""
        if self.task in _TASKS_WITH_POSITIONS or (self.room[0] > self.room[1]).any():
            return self
        way = rng.uniform(*self.room)
        return replace(self, history=self.history.translate(way), bins=move_bins(self.bins, way))


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Padded examples. The tokens of all images are concatenated; slots index them from 1."""

    images: ViewTokens
    words: np.ndarray
    """int64, (examples, length of prompts): word id; 0 for no word."""
    shown: np.ndarray
    """int64, (examples, length of prompts): slot; 0 for none."""
    table: np.ndarray
    """int64, (examples, tokens of tables): slot; 0 for none."""
    ages: np.ndarray
    """int64, like ``table``: age of the observation in actions; 0 for the current one."""
    done: np.ndarray
    """float32, (examples, previous actions, 5): fractions of the top view, earliest action first."""
    since: np.ndarray
    """int64, (examples, previous actions): age in actions, from 1; 0 for no action."""
    tools: np.ndarray
    """int64, (examples,): 0 for suction, 1 for the spatula."""


def make_batch(inputs: Sequence[NetworkInput], vocabulary: PromptVocabulary) -> Batch:
    """Convert prompts and histories to padded arrays."""
    numbers = {word: index for index, word in enumerate(vocabulary.words, start=1)}
    first_unknown = 1 + len(vocabulary.words)
    images: list[ViewTokens] = []
    count = 0

    def add_image(image: ViewTokens) -> range:
        """Add the tokens of an image; return their slots."""
        nonlocal count
        image = tokens.cut_pieces(image) if image.form is TokenForm.PATCHES else image
        images.append(image)
        count += len(image)
        return range(count - len(image) + 1, count + 1)

    words: list[list[int]] = []
    shown: list[list[int]] = []
    for prompt in (item.prompt for item in inputs):
        words.append([])
        shown.append([])
        for part in prompt:
            if isinstance(part, str):
                unknown = first_unknown + zlib.crc32(part.encode()) % UNKNOWN_SLOTS
                words[-1].append(numbers.get(part) or unknown)
                shown[-1].append(0)
            else:
                slots = add_image(part)
                shown[-1] += slots
                words[-1] += [0] * len(slots)
    table: list[list[int]] = []
    ages: list[list[int]] = []
    histories = [item.history for item in inputs]
    for history in histories:
        table.append([])
        ages.append([])
        for place in history.remembered:
            slots = add_image(history.seen[place])
            table[-1] += slots
            ages[-1] += [min(len(history.seen) - 1 - place, OLDEST)] * len(slots)
    counts = [len(history.done) for history in histories]
    done = np.zeros((len(histories), max(counts, default=0), 5), dtype=np.float32)
    for index, history in enumerate(histories):
        done[index, : counts[index]] = bins_to_fractions(history.done)
    return Batch(
        ViewTokens.join(images),
        _pad(words),
        _pad(shown),
        _pad(table),
        _pad(ages),
        done,
        _pad([np.minimum(np.arange(count, 0, -1), OLDEST).tolist() for count in counts]),
        np.array([item.tool for item in inputs], dtype=np.int64),
    )


def _pad(rows: Sequence[Sequence[int]]) -> np.ndarray:
    filled = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for index, row in enumerate(rows):
        filled[index, : len(row)] = row
    return filled


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """All examples in a folder, with image tokens of the same form (objects or patches)."""

    form: TokenForm
    examples: tuple[Example, ...]
    vocabulary: PromptVocabulary
    paraphrased: bool
    """Whether prompts are paraphrased."""

    @property
    def episodes(self) -> dict[str, int]:
        """The number of episodes of each task."""
        return dict(Counter(task for task, _ in dict.fromkeys((e.task, e.seed) for e in self.examples)))

    @staticmethod
    def read(folder: Path, form: TokenForm, *, paraphrase: bool = True) -> Dataset:
        """Read a folder of demonstrations, with paraphrased or original prompts.

        Raises DemonstrationError if none exist or a file is invalid.
        """
        files = sorted(folder.glob("T*_*.npz"))
        if not files:
            raise DemonstrationError(
                f"{folder} contains no demonstrations; record some with assay tabletop demos --out {folder}"
            )
        examples: list[Example] = []
        texts: set[str] = set()
        for file in files:
            try:
                arrays = read_npz(file)
                prompts = list(map(str, arrays["reworded" if paraphrase else "texts"]))
                examples.extend(_read(file.stem.split("_")[0], arrays, form, prompts))
                texts.update(prompts)
            except (LookupError, TypeError, ValueError, OSError) as error:
                reason = one_line(str(error), 120)
                raise DemonstrationError(
                    f"{file} was not written by assay tabletop demos: {reason}"
                ) from None
        if not examples:
            raise DemonstrationError(
                f"{folder} contains no successful episodes; record more with assay tabletop demos --out {folder}"
            )
        examples.sort(key=lambda example: (int(example.task[1:]), example.seed))
        words = {word for text in texts for word in tokens.split_words(PLACEHOLDER.sub(" ", text))}
        return Dataset(form, tuple(examples), PromptVocabulary(tuple(sorted(words))), paraphrase)


def _read(
    task: str, arrays: Mapping[str, np.ndarray], form: TokenForm, prompts: Sequence[str]
) -> list[Example]:
    """Read one example for each undisturbed action, with the history before it."""
    seeds = arrays["seeds"]
    if not len(seeds):
        return []
    images, objects = _read_images(arrays, form), _read_images(arrays, TokenForm.OBJECTS)
    pictures_shown = [json.loads(str(text)) for text in arrays["shown"]]
    actions, episodes = arrays["actions"], arrays["episodes"]
    bins = to_bins(actions)
    rooms = np.array([tokens.room(objects[seen], episode_actions[[[0, 1], [6, 7]]])
                      for seen, episode_actions in zip(arrays["pictures"], actions, strict=True)])  # fmt: skip
    examples = []
    for row in np.flatnonzero(~arrays["slips"]).tolist():
        episode = int(episodes[row])
        first = int(np.searchsorted(episodes, episode))
        rooms_so_far = rooms[first : row + 1]
        history = History(
            tuple(images[seen] for seen in arrays["pictures"][first : row + 1]), bins[first:row]
        )
        segments: list[str | ViewTokens] = []
        for index, part in enumerate(PLACEHOLDER.split(prompts[episode])):
            segments += [images[pictures_shown[episode][part]]] if index % 2 else tokens.split_words(part)
        examples.append(
            Example(
                task=task,
                seed=int(seeds[episode]),
                prompt=tuple(segments),
                history=history,
                tool=int(arrays["tools"][row]),
                bins=bins[row],
                room=np.array([rooms_so_far[:, 0].max(axis=0), rooms_so_far[:, 1].min(axis=0)]),
            )
        )
    return examples


def _read_images(arrays: Mapping[str, np.ndarray], form: TokenForm) -> list[ViewTokens]:
    joined = ViewTokens(form=form, **{name: arrays[f"{form}_{name}"] for name in tokens.TOKEN_FIELDS})
    ends = arrays[f"{form}_ends"].tolist()
    return [joined.only(slice(first, end)) for first, end in zip([0, *ends[:-1]], ends, strict=True)]
