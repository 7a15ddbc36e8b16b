"""Recorded episodes as examples, and examples as batches of arrays."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.errors import DemonstrationError, one_line
from assay.extensions.tabletop.networks.bins import bins_to_shares, to_bins
from assay.extensions.tabletop.networks.tokens import (
    Segments,
    TokenForm,
    ViewTokens,
    cut_pieces,
    join_tokens,
    move_bins,
    move_table,
    room,
    split_words,
)
from assay.extensions.tabletop.prompts.prompt import PLACEHOLDER

LATEST = 3
"""Number of remembered observations, including the current one, in addition to the first of the episode."""
OLDEST = 15
"""Actions ago; what is older counts as this old."""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Observations and actions in their order; the last observation is the present."""

    seen: tuple[ViewTokens, ...]
    done: np.ndarray
    """Where the actions between them lay in bins, (len(seen) - 1, 5)."""

    @property
    def now(self) -> ViewTokens:
        """The present."""
        return self.seen[-1]

    def iter_remembered(self) -> Iterator[tuple[int, ViewTokens]]:
        """Yield the remembered observations as (age in actions, at most `OLDEST`, tokens)."""
        last = len(self.seen) - 1
        for place in sorted({0, *range(max(0, len(self.seen) - LATEST), len(self.seen))}, reverse=True):
            yield min(last - place, OLDEST), self.seen[place]

    def translate(self, way: np.ndarray) -> History:
        """Return a copy in which everything is translated by (x, y), metres."""
        seen = list(self.seen)
        for place in {0, *range(max(0, len(seen) - LATEST), len(seen))}:
            seen[place] = move_table(seen[place], way)
        return History(tuple(seen), move_bins(self.done, way))

    def permute(self, rng: np.random.Generator) -> History:
        """Return a copy with a random order of objects at every observation."""
        return replace(self, seen=tuple(tokens.permute(rng) for tokens in self.seen))


STRANGE = 64
"""Places for words that training did not know; each has one of them by its letters."""


_PLACES = ("T4", "T5")
"""Tasks whose prompts show where things are to be."""


@dataclass(frozen=True, slots=True)
class PromptVocabulary:
    """Word ids: 0 for no word, then training words, then hashed slots for unknown words."""

    known: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return 1 + len(self.known) + STRANGE

    def numbers(self) -> Mapping[str, int]:
        """The numbers of known words."""
        return {word: index for index, word in enumerate(self.known, start=1)}

    @staticmethod
    def of(texts: Iterable[str]) -> PromptVocabulary:
        """All words of some texts."""
        return PromptVocabulary(tuple(sorted({word for text in texts for word in split_words(text)})))


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One training example: prompt, history of observations and actions, and the bins of the next action, (5,)."""

    task: str
    seed: int
    prompt: Segments
    history: History
    tool: int
    """0 for suction, 1 for the spatula."""
    bins: np.ndarray
    room: np.ndarray
    """How far the whole table can be moved: least and most, x and y, metres, (2, 2)."""

    def translate_randomly(self, rng: np.random.Generator) -> Example:
        """Return a randomly translated copy; unchanged if the prompt shows positions or there is no room."""
        if self.task in _PLACES or (self.room[0] > self.room[1]).any():
            return self
        way = rng.uniform(*self.room)
        return replace(self, history=self.history.translate(way), bins=move_bins(self.bins, way))


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Examples side by side. Pictures' tokens come one after the other; slots count them from 1."""

    sight: ViewTokens
    words: np.ndarray
    """int64, (examples, length of prompts): word id; 0 for no word."""
    shown: np.ndarray
    """int64, (examples, length of prompts): slot; 0 for none."""
    table: np.ndarray
    """int64, (examples, tokens of tables): slot; 0 for none."""
    ages: np.ndarray
    """int64, like ``table``: how many actions ago it was seen; 0 for the present."""
    done: np.ndarray
    """float32, (examples, actions so far, 5): shares of the view from above, the earliest action first."""
    since: np.ndarray
    """int64, (examples, actions so far): age in actions, from 1; 0 for no action."""
    tools: np.ndarray
    """int64, (examples,)."""


def make_batch(
    prompts: Sequence[Segments],
    histories: Sequence[History],
    tools: Sequence[int],
    vocabulary: PromptVocabulary,
) -> Batch:
    """Prompts and histories as arrays."""
    numbers = vocabulary.numbers()
    strange = 1 + len(vocabulary.known)
    sights: list[ViewTokens] = []
    count = 0

    def slots(sight: ViewTokens) -> range:
        nonlocal count
        sight = cut_pieces(sight) if sight.form is TokenForm.PATCHES else sight
        sights.append(sight)
        count += len(sight)
        return range(count - len(sight) + 1, count + 1)

    word_ids: list[list[int]] = []
    slot_ids: list[list[int]] = []
    for prompt in prompts:
        actions_so_far: list[tuple[int, int]] = []
        for part in prompt:
            if isinstance(part, str):
                actions_so_far.append((numbers.get(part) or strange + zlib.crc32(part.encode()) % STRANGE, 0))
            else:
                actions_so_far.extend((0, slot) for slot in slots(part))
        word_ids.append([word for word, _ in actions_so_far])
        slot_ids.append([slot for _, slot in actions_so_far])
    laid: list[list[int]] = []
    ages: list[list[int]] = []
    for history in histories:
        table_slots = [(slot, age) for age, sight in history.iter_remembered() for slot in slots(sight)]
        laid.append([slot for slot, _ in table_slots])
        ages.append([age for _, age in table_slots])
    counts = [len(history.done) for history in histories]
    done = np.zeros((len(histories), max(counts, default=0), 5), dtype=np.float32)
    for index, history in enumerate(histories):
        done[index, : counts[index]] = bins_to_shares(history.done)
    return Batch(
        join_tokens(sights),
        _pad(word_ids),
        _pad(slot_ids),
        _pad(laid),
        _pad(ages),
        done,
        _pad([np.minimum(np.arange(count, 0, -1), OLDEST).tolist() for count in counts]),
        np.array(tools, dtype=np.int64),
    )


def _pad(rows: Sequence[Sequence[int]]) -> np.ndarray:
    filled = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for index, row in enumerate(rows):
        filled[index, : len(row)] = row
    return filled


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """All examples of a folder in one form."""

    form: TokenForm
    examples: tuple[Example, ...]
    vocabulary: PromptVocabulary
    paraphrased: bool
    """Whether prompts are in other words than the tasks' own."""

    @property
    def episodes(self) -> dict[str, int]:
        """How many there are of each task."""
        return dict(Counter(task for task, _ in {(example.task, example.seed) for example in self.examples}))


def read_dataset(folder: Path, form: TokenForm, *, paraphrase: bool = True) -> Dataset:
    """Read what was recorded, with its prompts in many wordings or in their own. Raises DemonstrationError."""
    files = sorted(folder.glob("T*_*.npz"))
    if not files:
        raise DemonstrationError(
            f"{folder} holds no demonstrations; record some: assay tabletop demos --out {folder}"
        )
    examples: list[Example] = []
    texts: set[str] = set()
    for file in files:
        try:
            with np.load(file) as arrays:
                prompts = list(map(str, arrays["reworded" if paraphrase else "texts"]))
                examples.extend(_read(file.stem.split("_")[0], arrays, form, prompts))
                texts.update(prompts)
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            reason = "no arrays" if "pickle" in str(error) else one_line(str(error), 120)
            raise DemonstrationError(f"{file} is not what assay tabletop demos wrote: {reason}") from None
    if not examples:
        raise DemonstrationError(f"{folder} holds not a single episode; record more")
    examples.sort(key=lambda each: (int(each.task[1:]), each.seed))
    vocabulary = PromptVocabulary.of(PLACEHOLDER.sub(" ", text) for text in texts)
    return Dataset(form, tuple(examples), vocabulary, paraphrase)


def _read(task: str, arrays: Mapping[str, np.ndarray], form: TokenForm, said: Sequence[str]) -> list[Example]:
    """An example for each action that was no slip, with all that came before it."""
    seeds = arrays["seeds"]
    if not len(seeds):
        return []
    sights, objects = _sights(arrays, form), _sights(arrays, TokenForm.OBJECTS)
    pictures_shown = [json.loads(str(text)) for text in arrays["shown"]]
    actions, episodes = arrays["actions"], arrays["episodes"]
    bins = to_bins(actions)
    rooms = np.array([room(objects[seen], episode_actions[[[0, 1], [6, 7]]])
                      for seen, episode_actions in zip(arrays["pictures"], actions, strict=True)])  # fmt: skip
    examples = []
    for row in np.flatnonzero(~arrays["slips"]).tolist():
        episode = int(episodes[row])
        first = int(np.searchsorted(episodes, episode))
        so_far = rooms[first : row + 1]
        history = History(
            tuple(sights[seen] for seen in arrays["pictures"][first : row + 1]), bins[first:row]
        )
        examples.append(
            Example(
                task=task,
                seed=int(seeds[episode]),
                prompt=_segments(
                    said[episode], {name: sights[seen] for name, seen in pictures_shown[episode].items()}
                ),
                history=history,
                tool=int(arrays["tools"][row]),
                bins=bins[row],
                room=np.array([so_far[:, 0].max(axis=0), so_far[:, 1].min(axis=0)]),
            )
        )
    return examples


def _segments(text: str, shown: Mapping[str, ViewTokens]) -> Segments:
    parts: list[str | ViewTokens] = []
    for index, part in enumerate(PLACEHOLDER.split(text)):
        parts.extend([shown[part]] if index % 2 else split_words(part))
    return tuple(parts)


def _sights(arrays: Mapping[str, np.ndarray], form: TokenForm) -> list[ViewTokens]:
    crops, boxes, views, places = (arrays[f"{form}_{name}"] for name in ("crops", "boxes", "views", "places"))
    every = ViewTokens(crops, boxes, views, places, form)
    ends = arrays[f"{form}_ends"].tolist()
    return [every.only(slice(first, end)) for first, end in zip([0, *ends[:-1]], ends, strict=True)]
