"""The grid: paraphrases of tasks, cell by cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from assay.errors import PerturbationError
from assay.perturb.words.grid.actions import templates
from assay.perturb.words.grid.cells import CELLS, Cell
from assay.perturb.words.grid.lexicon import Lexicon, lexicon
from assay.perturb.words.grid.meaning import Meaning, meaning
from assay.perturb.words.grid.wordings import wordings
from assay.streams import stream
from assay.tasks import Task

DOUBLED = re.compile(r"\b(\w+) \1\b")
"""The same word twice."""


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A task's instruction in other words."""

    task: Task
    cell: Cell
    text: str


def paraphrases(task: Task, per_cell: int, seed: int, *, words: Path | None = None) -> Iterator[Paraphrase]:
    """Up to ``per_cell`` paraphrases of a task for each cell, fewer where there are no more.

    The same seed gives the same ones; more of them begin with the fewer. No text comes twice. ``words`` is a
    file with more nouns. Raises PerturbationError for a task whose things the lexicon does not know or whose
    instruction it cannot read.
    """
    known = lexicon(words)
    read, said = meaning(task, known), set[str]()
    for cell in CELLS:
        for text in islice(_fresh(_texts(task, cell, read, known, seed), said), _at_least_one(per_cell)):
            yield Paraphrase(task, cell, text)


def grid(
    tasks: Sequence[Task], per_cell: int, seed: int, *, words: Path | None = None
) -> tuple[Paraphrase, ...]:
    """``per_cell`` paraphrases for each cell over several tasks, spread as evenly as there are ones.

    Equal texts are never said of two tasks. ``words`` is a file with more nouns. Raises PerturbationError if
    a cell has too few, and says how many there are.
    """
    known = lexicon(words)
    read = {task.id: meaning(task, known) for task in tasks}
    order = {task.id: index for index, task in enumerate(tasks)}
    said: set[str] = set()
    found: list[Paraphrase] = []
    fewest = (_at_least_one(per_cell), CELLS[0])
    for cell in CELLS:
        waiting = {task.id: _fresh(_texts(task, cell, read[task.id], known, seed), said) for task in tasks}
        got = sorted(islice(_in_turn(tasks, waiting), per_cell), key=lambda each: order[each[0].id])
        fewest = min(fewest, (len(got), cell))
        found += [Paraphrase(task, cell, text) for task, text in got]
    if fewest[0] < per_cell:
        many = f"{len(tasks)} task{'s' * (len(tasks) != 1)}"
        raise PerturbationError(
            f"not every cell has {per_cell} paraphrases over {many}: {fewest[1]} has {fewest[0]}"
        )
    return tuple(found)


def shortfalls(
    made: Iterable[Paraphrase], tasks: Sequence[Task], per_cell: int
) -> Iterator[tuple[str, Cell, int]]:
    """Tasks with fewer paraphrases in a cell than their even part: id, cell, and how many."""
    counts = Counter((each.task.id, each.cell) for each in made)
    for cell in CELLS:
        for task in tasks:
            if counts[task.id, cell] < per_cell // len(tasks):
                yield task.id, cell, counts[task.id, cell]


def _texts(task: Task, cell: Cell, read: Meaning, known: Lexicon, seed: int) -> Iterator[str]:
    """Every paraphrase of a task in a cell, in the order of a seed: all sentences before any comes again."""
    every, named = templates(read, cell.action_type, known), wordings(read, cell.object_type)
    rng = stream(seed, "words", "grid", task.id, str(cell))
    sentences = [every[index] for index in rng.permutation(len(every))]
    names = [named[index] for index in rng.permutation(len(named))]
    for turn in range(len(names)):
        for place, sentence in enumerate(sentences):
            text = read.styled(sentence.format_map(names[(turn + place) % len(names)]))
            if text != read.original and not DOUBLED.search(text):
                yield text


def _at_least_one(per_cell: int) -> int:
    if per_cell < 1:
        raise PerturbationError(f"there must be at least one paraphrase per cell, not {per_cell}")
    return per_cell


def _fresh(texts: Iterable[str], said: set[str]) -> Iterator[str]:
    """The texts not said before; what is taken counts as said."""
    for text in texts:
        if text not in said:
            said.add(text)
            yield text


def _in_turn(tasks: Sequence[Task], waiting: dict[str, Iterator[str]]) -> Iterator[tuple[Task, str]]:
    """One text of each task, then another, until all are exhausted."""
    going = list(tasks)
    while going:
        for task in tuple(going):
            text = next(waiting[task.id], None)
            if text is None:
                going.remove(task)
            else:
                yield task, text
