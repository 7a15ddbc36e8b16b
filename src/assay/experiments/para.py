"""Paraphrases as experiments, from a generated grid (object x action, 43 cells) or from a table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from assay.episodes.spec import Label
from assay.errors import ExperimentError, PerturbationError
from assay.experiments.base import Experiment, Variant
from assay.perturb import Say
from assay.perturb.words.distance.pride import DistanceError, cached_attempts
from assay.perturb.words.grid.cells import cell_of
from assay.perturb.words.grid.generate import paraphrases
from assay.perturb.words.grid.table import GridRow, plain, read, with_tasks
from assay.support.streams import stream
from assay.tasks import Task
from assay.tasks.files import display_name
from assay.tasks.formats import instruction

PUBLISHED, COMPUTED, NONE = "published", "computed", "none"
"""Source of the similarities in an episode's labels: the table, Assay's scorer, or none."""
NO_CELL = "no-cell"
"""Condition of paraphrases without object and action types."""
MAX_TASKS_NAMED = 6
"""Maximum number of tasks listed in an error message."""
SEEDS = (7, 8, 9, 10, 11)
"""Seeds used in the paper."""
PER_CELL = 10
"""Default number of paraphrases generated for each task in each cell."""


@dataclass(frozen=True)
class Wordings:
    """The paraphrases of a table, read on first use."""

    name: str
    """Name of the experiment, with which the names of its conditions begin."""
    place: str
    """Path of the table, for error messages."""
    load: Callable[[], Sequence[GridRow]]
    per_cell: int | None = None
    """Number of paraphrases of each task in each cell; None for all."""
    seed: int = 0
    """Random seed of the selection."""

    def __post_init__(self) -> None:
        if self.per_cell is not None and self.per_cell < 1:
            raise ExperimentError(f"{self.name}: per_cell={self.per_cell}: expected 1 or more")

    def experiment(self, about: str, seeds: tuple[int, ...]) -> Experiment:
        """Return the experiment with every paraphrase of every task in the table."""
        return Experiment(self.name, about, self.variants, tasks=",".join(self._tasks), seeds=seeds)

    def variants(self, task: Task) -> tuple[Variant, ...]:
        """Return the variants of a task. Raises ExperimentError if the table contains none."""
        text = plain(task.instruction.text)
        rows = [*self._groups.get((display_name(task.id), ""), ()), *self._groups.get(("", text), ())]
        for row in rows:
            if row.original and plain(row.original) != text:
                raise ExperimentError(
                    f"{self.place}:{row.line}: the original is '{row.original[:80]}', but {task.id} has '{text}'"
                )
        if not rows:
            tasks = sorted(self._tasks)
            more = ", ..." if len(tasks) > MAX_TASKS_NAMED else ""
            listed = ", ".join(tasks[:MAX_TASKS_NAMED])
            raise ExperimentError(
                f"{self.place} has no paraphrase of {task.id}; choose one of {listed}{more}"
            )
        return variants_of(self.name, self.place, task, self._sample(task, rows))

    @cached_property
    def _rows(self) -> Sequence[GridRow]:
        rows = self.load()
        if not rows:
            raise ExperimentError(f"{self.place} has no rows below its header")
        return rows

    @cached_property
    def _groups(self) -> Mapping[tuple[str, str], Sequence[GridRow]]:
        """Rows grouped by task or by original; rows without a task id apply to every task with that instruction."""
        groups: defaultdict[tuple[str, str], list[GridRow]] = defaultdict(list)
        for row in self._rows:
            groups[(display_name(row.task), "") if row.task else ("", plain(row.original))].append(row)
        return dict(groups)

    @cached_property
    def _tasks(self) -> tuple[str, ...]:
        """Ids of the tasks in the table. Raises ExperimentError for a row without a task id."""
        rows = with_tasks(self._rows)
        for row in rows:
            if not row.task:
                raise ExperimentError(
                    f"{self.place}:{row.line}: no task, or more than one, has the instruction "
                    f"'{row.original[:80]}': name it in a column 'task'"
                )
        return tuple(dict.fromkeys(row.task for row in rows))

    def _sample(self, task: Task, rows: Sequence[GridRow]) -> Sequence[GridRow]:
        """Select ``per_cell`` rows of each cell, in the order of the table."""
        if self.per_cell is None:
            return rows
        cells: defaultdict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            cells[f"{row.object_type},{row.action_type}"].append(number)
        chosen: set[int] = set()
        for cell, numbers in cells.items():
            order = stream(self.seed, "words", "table", display_name(task.id), cell).permutation(len(numbers))
            chosen.update(numbers[index] for index in order[: self.per_cell])
        return [row for number, row in enumerate(rows) if number in chosen]


def variants_of(name: str, place: str, task: Task, rows: Sequence[GridRow]) -> tuple[Variant, ...]:
    """Convert the rows of a task to variants, with the table's similarities or, if missing, those from Assay's scorer.

    A text that occurs twice in a cell yields two specs with the same task.
    """
    texts = [instruction(row.paraphrase, f"{place}:{row.line}") for row in rows]
    unscored = [text for text, row in zip(texts, rows, strict=True) if row.s_k is None]
    original = task.instruction.text
    distances = iter(cached_attempts([(original, text) for text in unscored])) if unscored else iter(())
    occurrences: Counter[tuple[str, str]] = Counter()
    variants: list[Variant] = []
    for row, text in zip(rows, texts, strict=True):
        condition, labels = _cell(name, f"{place}:{row.line}", row)
        score = row if row.s_k is not None else next(distances)
        if isinstance(score, DistanceError):  # PRIDE leaves the text out and counts it
            labels["scores"] = NONE
        else:
            labels |= {"s_k": score.s_k, "s_t": score.s_t, "pd": score.pd}
            # A parser is named in tables that `assay words score` wrote.
            labels |= {"parser": score.parser, "scores": COMPUTED} if score.parser else {"scores": PUBLISHED}
        occurrences[condition, text] += 1
        variants.append(Variant(condition, (Say(text),) * occurrences[condition, text], labels))
    return tuple(variants)


def _cell(name: str, place: str, row: GridRow) -> tuple[str, dict[str, Label]]:
    """Return the condition and the labels of a row."""
    labels: dict[str, Label] = {"axis": "words", "plausible": True}
    if row.object_type and row.action_type:
        try:
            cell = cell_of(row.object_type, row.action_type)
        except PerturbationError as error:
            raise ExperimentError(f"{place}: {error}") from None
        return f"{name}/{cell}", labels | {"object": str(cell.object_type), "action": str(cell.action_type)}
    if row.object_type or row.action_type:
        raise ExperimentError(
            f"{place}: only one of object_type and action_type is given: expected both, or neither"
        )
    return f"{name}/{NO_CELL}", labels


def para(per_cell: int | None = None, seed: int = 0, file: str = "") -> Experiment:
    """``per_cell`` paraphrases of each task in each cell, generated or selected from a table with ``seed``.

    ``file``: a CSV file written by ``assay words generate``, LIBERO-Para's metadata.csv, or a CSV file with the columns
    ``task`` or ``original``, and ``paraphrase``.
    """
    if file:
        return Wordings("para", file, lambda: read(Path(file)), per_cell, seed).experiment(
            f"The paraphrases in {Path(file).name}, each with its PRIDE distance.", SEEDS
        )
    return Experiment(
        name="para",
        about="Paraphrases along two axes, object and action: 43 cells, each with its PRIDE distance.",
        variants=lambda task: _generate(task, PER_CELL if per_cell is None else per_cell, seed),
        tasks="libero_goal",
        seeds=SEEDS,
    )


@lru_cache(maxsize=64)
def _generate(task: Task, per_cell: int, seed: int) -> tuple[Variant, ...]:
    rows = [
        GridRow(0, task.id, made.cell.object_type.value, made.cell.action_type.value, "", made.text)
        for made in paraphrases(task, per_cell, seed)
    ]
    return variants_of("para", "", task, rows)
