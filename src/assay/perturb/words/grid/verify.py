"""Whether the rows of a grid keep to the rules, as far as rules can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay import tasks
from assay.errors import AssayError
from assay.perturb.words.grid.cells import cell_of
from assay.perturb.words.grid.lexicon import lexicon
from assay.perturb.words.grid.meaning import Meaning, meaning
from assay.perturb.words.grid.names import Finder
from assay.perturb.words.grid.rules import flaws
from assay.perturb.words.grid.table import Row
from assay.tasks import Task


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a row."""

    line: int
    rule: str
    """cell, task, text, grammar, unique, scene, reference, number, object or action."""
    reason: str
    text: str


def verify(
    rows: Iterable[Row], *, load: Callable[[str], Task] = tasks.load, words: Path | None = None
) -> Iterator[Fault]:
    """Everything that is wrong with rows, in their order; ``load`` finds a task, ``words`` has more nouns."""
    known = lexicon(words)
    read: dict[str, tuple[Meaning, Finder] | str] = {}
    said: dict[str, int] = {}
    for row in rows:
        if row.task not in read:
            read[row.task] = _read(row.task, load, words)
        task = read[row.task]
        try:
            cell = cell_of(row.object_type, row.action_type)
        except AssayError as error:
            yield Fault(row.line, "cell", str(error), row.paraphrase)
            continue
        if isinstance(task, str):
            yield Fault(row.line, "task", task, row.paraphrase)
            continue
        if row.original != task[0].original:
            reason = f"the original of {row.task} is '{task[0].original}', not '{row.original}'"
            yield Fault(row.line, "task", reason, row.paraphrase)
            continue
        before = said.setdefault(" ".join(row.paraphrase.lower().split()), row.line)
        if before != row.line:
            yield Fault(row.line, "unique", f"it is also in line {before}", row.paraphrase)
        for rule, reason in flaws(row.paraphrase, cell, *task, known):
            yield Fault(row.line, rule, reason, row.paraphrase)


def _read(id: str, load: Callable[[str], Task], words: Path | None) -> tuple[Meaning, Finder] | str:
    """A task's meaning and the names in its scene; or why there are none."""
    try:
        read = meaning(load(id), lexicon(words))
    except AssayError as error:
        return str(error)
    return read, Finder(read)
