"""The object axis (alternative names of objects in their scene), and generation of the full paraphrase grid."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.sentences import templates
from assay.support.streams import stream
from assay.tasks import Task
from assay.tasks.language import Lexicon, Meaning, Noun, lexicon, read_task

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
    """Return the names of a type for a form of a noun, regardless of the scene."""
    if type is ObjectType.ADDITION:
        words = set(form.split())
        return tuple(f"{word} {form}" for word in noun.functional if words.isdisjoint(word.split()))
    names = {ObjectType.CONTEXTUAL: noun.contextual, ObjectType.HABITUAL: noun.habitual}.get(type, ())
    return tuple(name for name in names if name != form)


def fitting_names(noun: Noun, type: ObjectType, form: str, scene: Iterable[Noun]) -> list[str]:
    """Return the names of a type that do not fit any other object in the scene."""
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
    pool, taken = _Pool(task, lexicon(words)), set[str]()
    for cell in CELLS:
        for text in islice(_fresh(pool.texts(cell, seed), taken), _at_least_one(per_cell)):
            yield Paraphrase(task, cell, text)


def grid(
    tasks: Sequence[Task], per_cell: int, seed: int, *, words: Path | None = None
) -> tuple[Paraphrase, ...]:
    """Return ``per_cell`` paraphrases for each cell over several tasks, distributed as evenly as possible.

    No two tasks have the same text. ``words`` is a file with additional nouns. Raises PerturbationError with the
    available number if a cell has too few.
    """
    pools = {task.id: _Pool(task, lexicon(words)) for task in tasks}
    order = {task.id: index for index, task in enumerate(tasks)}
    taken: set[str] = set()
    paraphrases: list[Paraphrase] = []
    fewest = (_at_least_one(per_cell), CELLS[0])
    for cell in CELLS:
        waiting = {task.id: _fresh(pools[task.id].texts(cell, seed), taken) for task in tasks}
        got = sorted(islice(_in_turn(tasks, waiting), per_cell), key=lambda turn: order[turn[0].id])
        fewest = min(fewest, (len(got), cell))
        paraphrases += [Paraphrase(task, cell, text) for task, text in got]
    if fewest[0] < per_cell:
        many = f"{len(tasks)} task{'s' * (len(tasks) != 1)}"
        raise PerturbationError(
            f"not every cell has {per_cell} paraphrases over {many}: {fewest[1]} has {fewest[0]}"
        )
    return tuple(paraphrases)


class _Pool:
    """All paraphrases of a task: all sentences with all names."""

    def __init__(self, task: Task, known: Lexicon) -> None:
        self._id, self._meaning = task.id, read_task(task, known)
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


def _at_least_one(per_cell: int) -> int:
    if per_cell < 1:
        raise PerturbationError(f"per_cell={per_cell}: expected 1 or more")
    return per_cell


def _fresh(texts: Iterable[str], said: set[str]) -> Iterator[str]:
    """Yield the texts that are not in ``said``, and add them to it."""
    for text in texts:
        if text not in said:
            said.add(text)
            yield text


def _in_turn(tasks: Sequence[Task], waiting: dict[str, Iterator[str]]) -> Iterator[tuple[Task, str]]:
    """Yield one text from each task in turn, until all are exhausted."""
    going = list(tasks)
    while going:
        for task in tuple(going):
            text = next(waiting[task.id], None)
            if text is None:
                going.remove(task)
            else:
                yield task, text


def markdown(paraphrases: Sequence[Paraphrase]) -> str:
    """Return a Markdown table with one paraphrase from each cell, cycling through the tasks."""
    cells = dict.fromkeys(paraphrase.cell for paraphrase in paraphrases)
    lines = ["| object | action | original | paraphrase |", "| --- | --- | --- | --- |"]
    for number, cell in enumerate(cells):
        members = [paraphrase for paraphrase in paraphrases if paraphrase.cell == cell]
        one = members[number * 7 % len(members)]
        lines.append(f"| {cell.object_type} | {cell.action_type} | {one.task.instruction} | {one.text} |")
    return "\n".join(lines)
