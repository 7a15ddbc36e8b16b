"""Paraphrases of a table as an experiment: every row an episode for each seed, beside its task's control."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.episodes.spec import Label
from assay.errors import ExperimentError, PerturbationError
from assay.experiments.base import Experiment, Variant
from assay.perturb import Say
from assay.perturb.words.distance.pride import ALPHA, Distance, cached_attempts
from assay.perturb.words.grid.cells import cell_of
from assay.perturb.words.grid.table import GridRow, plain, with_tasks
from assay.support.streams import stream
from assay.tasks import Task
from assay.tasks.files import display_name
from assay.tasks.formats import instruction

PUBLISHED, COMPUTED, NONE = "published", "computed", "none"
"""Whose similarities an episode is labelled with: the table's, those of our scorer, or nobody's."""
NO_CELL = "no-cell"
"""The condition of paraphrases whose types are not given."""
MOST_NAMED = 6
"""Tasks that an error names."""


@dataclass(frozen=True)
class Wordings:
    """The paraphrases of a table, read when they are first asked for."""

    name: str
    """The experiment's, with which the names of its conditions begin."""
    place: str
    """Where the table is, for errors."""
    load: Callable[[], Sequence[GridRow]]
    per_cell: int | None = None
    """How many paraphrases of each task in each cell; None for all."""
    seed: int = 0
    """Draws them, where they are not all."""

    def __post_init__(self) -> None:
        if self.per_cell is not None and self.per_cell < 1:
            raise ExperimentError(f"{self.name}: per_cell is {self.per_cell}: valid: 1 or more")

    def experiment(self, about: str, seeds: tuple[int, ...]) -> Experiment:
        """Every paraphrase of every task, by default of all tasks that the table speaks of."""
        return Experiment(self.name, about, self.variants, tasks=",".join(self._tasks), seeds=seeds)

    def variants(self, task: Task) -> tuple[Variant, ...]:
        """What the table has for a task. Raises ExperimentError where that is nothing."""
        told = plain(task.instruction.text)
        found = [*self._by_task.get(display_name(task.id), ()), *self._by_original.get(told, ())]
        for row in found:
            if row.original and plain(row.original) != told:
                raise ExperimentError(
                    f"{self.place}:{row.line}: the original is '{row.original[:80]}', but {task.id} is told '{told}'"
                )
        if not found:
            known = sorted(self._tasks)
            more = ", ..." if len(known) > MOST_NAMED else ""
            raise ExperimentError(
                f"{self.place} has no paraphrase of {task.id}; it has: {', '.join(known[:MOST_NAMED])}{more}"
            )
        return variants_of(self.name, self.place, task, self._drawn(task, found))

    @cached_property
    def _rows(self) -> Sequence[GridRow]:
        rows = self.load()
        if not rows:
            raise ExperimentError(f"{self.place} has no rows below its header: there is nothing to run")
        return rows

    @cached_property
    def _by_task(self) -> dict[str, list[GridRow]]:
        found: defaultdict[str, list[GridRow]] = defaultdict(list)
        for row in self._rows:
            if row.task:
                found[display_name(row.task)].append(row)
        return dict(found)

    @cached_property
    def _by_original(self) -> dict[str, list[GridRow]]:
        """Rows that name no task: those of every task with that instruction."""
        found: defaultdict[str, list[GridRow]] = defaultdict(list)
        for row in self._rows:
            if not row.task:
                found[plain(row.original)].append(row)
        return dict(found)

    @cached_property
    def _tasks(self) -> tuple[str, ...]:
        """The ids of the tasks that the table speaks of. Raises ExperimentError for a row that names none."""
        rows = with_tasks(self._rows)
        for row in rows:
            if not row.task:
                raise ExperimentError(
                    f"{self.place}:{row.line}: no task, or more than one, is told '{row.original[:80]}': "
                    "name it in a column 'task'"
                )
        return tuple(dict.fromkeys(row.task for row in rows))

    def _drawn(self, task: Task, rows: Sequence[GridRow]) -> Sequence[GridRow]:
        """``per_cell`` of each cell's, in the table's order."""
        if self.per_cell is None:
            return rows
        cells: defaultdict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            cells[f"{row.object_type},{row.action_type}"].append(number)
        kept: set[int] = set()
        for cell, numbers in cells.items():
            order = stream(self.seed, "words", "table", display_name(task.id), cell).permutation(len(numbers))
            kept.update(numbers[index] for index in order[: self.per_cell])
        return [row for number, row in enumerate(rows) if number in kept]


def variants_of(name: str, place: str, task: Task, rows: Sequence[GridRow]) -> tuple[Variant, ...]:
    """Rows of a task as variants, with the table's similarities or, where it has none, those of our scorer.

    A text that a cell has twice is said twice, which is another spec and the same task.
    """
    texts = [instruction(row.paraphrase, f"{place}:{row.line}") for row in rows]
    unscored = [text for text, row in zip(texts, rows, strict=True) if row.s_k is None]
    original = task.instruction.text
    scored = iter(cached_attempts([(original, text) for text in unscored])) if unscored else iter(())
    said: Counter[tuple[str, str]] = Counter()
    found: list[Variant] = []
    for row, text in zip(rows, texts, strict=True):
        condition, labels = _cell(name, f"{place}:{row.line}", row)
        labels |= _published(row) if row.s_k is not None else _computed(next(scored))
        said[condition, text] += 1
        found.append(Variant(condition, (Say(text),) * said[condition, text], labels))
    return tuple(found)


def _cell(name: str, place: str, row: GridRow) -> tuple[str, dict[str, Label]]:
    """The condition of a row, and what is known of how it was made."""
    labels: dict[str, Label] = {"axis": "words", "plausible": True}
    if row.object_type and row.action_type:
        try:
            cell = cell_of(row.object_type, row.action_type)
        except PerturbationError as error:
            raise ExperimentError(f"{place}: {error}") from None
        return f"{name}/{cell}", labels | {"object": str(cell.object_type), "action": str(cell.action_type)}
    if row.object_type or row.action_type:
        raise ExperimentError(
            f"{place}: only one of object_type and action_type is given; valid: both, or neither"
        )
    return f"{name}/{NO_CELL}", labels


def _published(row: GridRow) -> dict[str, Label]:
    assert row.s_k is not None and row.s_t is not None
    labels: dict[str, Label] = {
        "s_k": row.s_k,
        "s_t": row.s_t,
        "pd": 1 - (ALPHA * row.s_k + (1 - ALPHA) * row.s_t),
    }
    if row.parser:  # they are ours, of ``assay words score``
        return labels | {"parser": row.parser, "scores": COMPUTED}
    return labels | {"scores": PUBLISHED}


def _computed(apart: Distance | Exception) -> dict[str, Label]:
    """No similarity, where the text has no distance: PRIDE leaves it out and counts it."""
    if not isinstance(apart, Distance):
        return {"scores": NONE}
    return {"s_k": apart.s_k, "s_t": apart.s_t, "pd": apart.pd, "parser": apart.parser, "scores": COMPUTED}
