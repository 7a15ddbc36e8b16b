"""Whether the rows of a grid keep to the rules, as far as rules can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay import tasks
from assay.errors import AssayError
from assay.perturb.words.grid.cells import Cell, cell_of
from assay.perturb.words.grid.names import Finder
from assay.perturb.words.grid.rules import Flaw, flaws
from assay.perturb.words.grid.table import Row
from assay.tasks import Task
from assay.tasks.language import lexicon, read_task


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a row."""

    line: int
    rule: str
    """cell, task, text, grammar, unique, scene, reference, number, object or action."""
    reason: str
    text: str


class Rules:
    """The rules, as they are for the paraphrases of one task; ``words`` is a file with more nouns.

    Raises PerturbationError for a task whose things the lexicon does not know or whose instruction it cannot
    read.
    """

    def __init__(self, task: Task, words: Path | None = None) -> None:
        self._meaning = read_task(task, lexicon(words))
        self._finder = Finder(self._meaning)
        self.original = self._meaning.original
        """The task's instruction."""

    def flaws(self, text: str, cell: Cell) -> Iterator[Flaw]:
        """Everything that is wrong with a paraphrase in a cell: the rule that is broken, and how."""
        return flaws(text, cell, self._meaning, self._finder)


def verify(
    rows: Iterable[Row], *, load: Callable[[str], Task] = tasks.load, words: Path | None = None
) -> Iterator[Fault]:
    """Everything that is wrong with rows, in their order; ``load`` finds a task, ``words`` has more nouns."""
    read: dict[str, Rules | str] = {}
    said: dict[str, int] = {}
    for row in rows:
        if row.task not in read:
            read[row.task] = _read(row.task, load, words)
        rules = read[row.task]
        try:
            cell = cell_of(row.object_type, row.action_type)
        except AssayError as error:
            yield Fault(row.line, "cell", str(error), row.paraphrase)
            continue
        if isinstance(rules, str):
            yield Fault(row.line, "task", rules, row.paraphrase)
            continue
        if row.original and row.original != rules.original:
            reason = f"the original of {row.task} is '{rules.original}', not '{row.original}'"
            yield Fault(row.line, "task", reason, row.paraphrase)
            continue
        before = said.setdefault(" ".join(row.paraphrase.lower().split()), row.line)
        if before != row.line:
            yield Fault(row.line, "unique", f"it is also in line {before}", row.paraphrase)
        for rule, reason in rules.flaws(row.paraphrase, cell):
            yield Fault(row.line, rule, reason, row.paraphrase)


def _read(id: str, load: Callable[[str], Task], words: Path | None) -> Rules | str:
    """The rules for a task; or why there are none."""
    try:
        return Rules(load(id), words)
    except AssayError as error:
        return str(error)
