"""The object axis (alternative names of objects in their scene), and generation of the full paraphrase grid."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.sentences import templates
from assay.support.streams import stream
from assay.tasks import Task
from assay.tasks.language.lexicon import Lexicon, Noun, lexicon
from assay.tasks.language.meaning import Meaning, read_task

Wording = Mapping[str, str]
"""Field of a noun -> name to use: ``{"n0": "basin", "n1": "stove"}``."""


def wordings(meaning: Meaning, type: ObjectType) -> tuple[Wording, ...]:
    """Return all ways to name an instruction's objects with at least one new name; equal nouns get equal names."""
    fields = meaning.fields
    same = {field: mention.original for field, mention in fields.items()}
    if type is ObjectType.NONE:
        return (same,)
    options: dict[str, list[Wording]] = {}
    for field, mention in fields.items():
        names = fitting_names(mention.noun, type, mention.form, meaning.nouns)
        renamed: list[Wording] = [{field: same[field]}, *({field: mention.in_number(name)} for name in names)]
        before = options.get(mention.noun.name)
        # Two forms of one noun ("pot" and "pots") are renamed together.
        options[mention.noun.name] = (
            [{**one, **two} for one, two in zip(before, renamed, strict=False)] if before else renamed
        )
    together = itertools.product(*options.values())
    next(together)
    return tuple({name: word for part in parts for name, word in part.items()} for parts in together)


def new_names(noun: Noun, type: ObjectType, form: str) -> tuple[str, ...]:
    """Return the alternative names of one type for a form of a noun, regardless of the scene."""
    if type is ObjectType.ADDITION:
        words = set(form.split())
        return tuple(f"{word} {form}" for word in noun.functional if words.isdisjoint(word.split()))
    names = {ObjectType.CONTEXTUAL: noun.contextual, ObjectType.HABITUAL: noun.habitual}.get(type, ())
    return tuple(name for name in names if name != form)


def fitting_names(noun: Noun, type: ObjectType, form: str, scene: Iterable[Noun]) -> list[str]:
    """Return the alternative names of one type that could not refer to another object in the scene."""
    others = [other for other in scene if not noun.names_same_thing(other)]
    names = set().union(*(other.all_names for other in others))
    heads = set().union(*(other.original_forms for other in others))
    return [
        name
        for name in new_names(noun, type, form)
        if name.lower() not in names and name.lower().partition(" of ")[0].split()[-1] not in heads
    ]


_T = TypeVar("_T")
DOUBLED = re.compile(r"\b(\w+) \1\b")
"""Matches a repeated word."""
_ECHO = re.compile(r"\b(\w+)\b.*\b\1-\w")
"""Matches a word repeated in a compound: "pull out the pull-out compartment"."""


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A paraphrase of a task's instruction."""

    task: Task
    cell: Cell
    text: str


def paraphrases(task: Task, per_cell: int, seed: int, *, words: Path | None = None) -> Iterator[Paraphrase]:
    """Yield up to ``per_cell`` paraphrases of a task for each cell, or fewer if there are not enough.

    The same seed yields the same paraphrases; a larger ``per_cell`` extends them. No text occurs twice. ``words`` is
    a file with additional nouns. Raises PerturbationError for a task whose objects are not in the lexicon or whose
    instruction cannot be parsed.
    """
    for cell, texts in _by_cell((task,), per_cell, seed, words):
        yield from (Paraphrase(task, cell, text) for _, text in texts)


def grid(
    tasks: Sequence[Task], per_cell: int, seed: int, *, words: Path | None = None
) -> tuple[Paraphrase, ...]:
    """Return ``per_cell`` paraphrases for each cell over several tasks, distributed as evenly as possible.

    No two tasks have the same text. ``words`` is a file with additional nouns. Raises PerturbationError with the
    number available if a cell has too few.
    """
    cells = list(_by_cell(tasks, per_cell, seed, words))
    count, cell = min((len(texts), cell) for cell, texts in cells)
    if count < per_cell:
        many = f"{len(tasks)} task{'s' * (len(tasks) != 1)}"
        raise PerturbationError(f"not every cell has {per_cell} paraphrases for {many}: {cell} has {count}")
    return tuple(Paraphrase(tasks[number], cell, text) for cell, texts in cells for number, text in texts)


def _by_cell(
    tasks: Sequence[Task], per_cell: int, seed: int, words: Path | None
) -> Iterator[tuple[Cell, list[tuple[int, str]]]]:
    """Yield each cell with up to ``per_cell`` texts, taken from the tasks in turn and sorted by task number."""
    if per_cell < 1:
        raise PerturbationError(f"per_cell={per_cell}: expected 1 or more")
    pools = [_Pool(task, lexicon(words)) for task in tasks]
    taken: set[str] = set()
    for cell in CELLS:
        waiting = {number: pool.texts(cell, seed) for number, pool in enumerate(pools)}
        texts: list[tuple[int, str]] = []
        while waiting and len(texts) < per_cell:
            for number in tuple(waiting):
                text = next((text for text in waiting[number] if text not in taken), None)
                if text is None:
                    del waiting[number]
                    continue
                taken.add(text)
                texts.append((number, text))
                if len(texts) == per_cell:
                    break
        yield cell, sorted(texts, key=lambda pair: pair[0])


class _Pool:
    """All paraphrases of a task: every sentence combined with every choice of names."""

    def __init__(self, task: Task, words: Lexicon) -> None:
        self._id, self._meaning = task.id, read_task(task, words)
        self._sentences = {action: templates(self._meaning, action) for action in ActionType}
        self._names = {type: wordings(self._meaning, type) for type in ObjectType}

    def texts(self, cell: Cell, seed: int) -> Iterator[str]:
        """Yield the paraphrases of a cell in random order; every sentence is used once before any is repeated."""
        rng, original = stream(seed, "words", "grid", self._id, str(cell)), self._meaning.original.strip()
        sentences = _shuffle(self._sentences[cell.action_type], rng)
        names = _shuffle(self._names[cell.object_type], rng)
        for turn in range(len(names)):
            for place, sentence in enumerate(sentences):
                text = sentence.format_map(names[(turn + place) % len(names)])
                # The capitalisation and the full stop are those of the original.
                if original[0].isupper():
                    text = text[0].upper() + text[1:]
                if original.endswith(".") and text[-1] not in "?.":
                    text += "."
                # Texts without hyphens skip the slow pattern.
                is_repetitive = DOUBLED.search(text) or ("-" in text and _ECHO.search(text))
                if text != self._meaning.original and not is_repetitive:
                    yield text


def _shuffle(items: Sequence[_T], rng: np.random.Generator) -> list[_T]:
    return [items[index] for index in rng.permutation(len(items))]


def markdown(paraphrases: Sequence[Paraphrase]) -> str:
    """Return a Markdown table with one paraphrase from each cell, cycling through the tasks."""
    cells = dict.fromkeys(paraphrase.cell for paraphrase in paraphrases)
    lines = ["| object | action | original | paraphrase |", "| --- | --- | --- | --- |"]
    for number, cell in enumerate(cells):
        members = [paraphrase for paraphrase in paraphrases if paraphrase.cell == cell]
        one = members[number * 7 % len(members)]
        lines.append(f"| {cell.object_type} | {cell.action_type} | {one.task.instruction} | {one.text} |")
    return "\n".join(lines)
