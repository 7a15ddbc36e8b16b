"""Experiments on the instruction alone: paraphrases from a grid (43 cells) or a table, corruption, surface changes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from assay.episodes.spec import Label
from assay.errors import ExperimentError, PerturbationError
from assay.experiments.base import Experiment, Variant
from assay.perturb import Say
from assay.perturb.words.distance.pride import DistanceError, cached_attempts
from assay.perturb.words.grid.cells import cell_of
from assay.perturb.words.grid.generate import paraphrases
from assay.perturb.words.grid.table import GridRow, plain, read, with_tasks
from assay.perturb.words.rewordings.corrupted import Form, Surface
from assay.perturb.words.rewordings.designs import LADDER, STYLES, Counterfactual
from assay.perturb.words.rewordings.goals import alternatives
from assay.support.streams import stream
from assay.tasks import Task
from assay.tasks.files import display_name
from assay.tasks.formats import instruction

PUBLISHED, COMPUTED, NONE = "published", "computed", "none"
"""Source of the similarities in an episode's labels: the table, Assay's scorer, or none."""
NO_CELL = "no-cell"
"""Name of the condition for paraphrases without object and action types."""
MAX_TASKS_NAMED = 6
"""Maximum number of tasks listed in an error message."""
SEEDS = (7, 8, 9, 10, 11)
"""Seeds used in the LIBERO-Para paper."""
PER_CELL = 10
"""Default number of paraphrases generated for each task in each cell."""


def paraphrase_experiment(
    name: str, about: str, file: str, table: Sequence[GridRow], per_cell: int | None, seed: int
) -> Experiment:
    """Return an experiment with the paraphrases in a table.

    ``name`` is also the first part of the names of its conditions, and ``file`` names the table in error messages.
    ``per_cell`` is the number of paraphrases of each task in each cell, selected with ``seed``; None for all. Raises
    ExperimentError for an empty table, and for a row without a task.
    """
    if per_cell is not None and per_cell < 1:
        raise ExperimentError(f"{name}: per_cell={per_cell}: expected 1 or more")
    if not table:
        raise ExperimentError(f"{file} has no rows below its header")
    for row in with_tasks(table):
        if not row.task:
            raise ExperimentError(
                f"{file}:{row.line}: no task, or more than one, has the instruction '{row.original[:80]}': "
                "name the task in a column 'task'"
            )
    tasks = tuple(dict.fromkeys(row.task for row in with_tasks(table)))
    # Rows without a task id apply to every task with that instruction.
    groups: defaultdict[tuple[str, str], list[GridRow]] = defaultdict(list)
    for row in table:
        groups[(display_name(row.task), "") if row.task else ("", plain(row.original))].append(row)

    def variants(task: Task) -> tuple[Variant, ...]:
        text = plain(task.instruction.text)
        rows = [*groups.get((display_name(task.id), ""), ()), *groups.get(("", text), ())]
        for row in rows:
            if row.original and plain(row.original) != text:
                raise ExperimentError(
                    f"{file}:{row.line}: the original is '{row.original[:80]}', "
                    f"but the instruction of {task.id} is '{text}'"
                )
        if not rows:
            more = ", ..." if len(tasks) > MAX_TASKS_NAMED else ""
            listed = ", ".join(sorted(tasks)[:MAX_TASKS_NAMED])
            raise ExperimentError(f"{file} has no paraphrase of {task.id}; choose one of {listed}{more}")
        if per_cell is not None:
            rows = _sample(task, rows, per_cell, seed)
        return variants_of(name, file, task, rows)

    return Experiment(name, about, variants, tasks=",".join(tasks), seeds=SEEDS)


def _sample(task: Task, rows: Sequence[GridRow], per_cell: int, seed: int) -> list[GridRow]:
    """Select ``per_cell`` rows of each cell, in the order of the table."""
    cells: defaultdict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        cells[f"{row.object_type},{row.action_type}"].append(number)
    chosen: set[int] = set()
    for cell, numbers in cells.items():
        order = stream(seed, "words", "table", display_name(task.id), cell).permutation(len(numbers))
        chosen.update(numbers[index] for index in order[:per_cell])
    return [rows[number] for number in sorted(chosen)]


def variants_of(name: str, file: str, task: Task, rows: Sequence[GridRow]) -> tuple[Variant, ...]:
    """Convert the rows of a task to variants, with the table's similarities or, if missing, those from Assay's scorer.

    A text that occurs twice in a cell yields two specs with the same task.
    """
    texts = [instruction(row.paraphrase, f"{file}:{row.line}") for row in rows]
    unscored = [text for text, row in zip(texts, rows, strict=True) if row.s_k is None]
    original = task.instruction.text
    distances = iter(cached_attempts([(original, text) for text in unscored])) if unscored else iter(())
    occurrences: Counter[tuple[str, str]] = Counter()
    variants: list[Variant] = []
    for row, text in zip(rows, texts, strict=True):
        condition, labels = f"{name}/{NO_CELL}", dict[str, Label](axis="words", plausible=True)
        if bool(row.object_type) != bool(row.action_type):
            raise ExperimentError(
                f"{file}:{row.line}: only one of object_type and action_type is given: expected both, or neither"
            )
        if row.object_type:
            try:
                cell = cell_of(row.object_type, row.action_type)
            except PerturbationError as error:
                raise ExperimentError(f"{file}:{row.line}: {error}") from None
            condition = f"{name}/{cell}"
            labels |= {"object": cell.object_type.value, "action": cell.action_type.value}
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


def para(per_cell: int | None = None, seed: int = 0, file: str = "") -> Experiment:
    """``per_cell`` paraphrases of each task in each cell, generated or selected from a table with ``seed``.

    ``file``: a CSV file written by ``assay words generate``, LIBERO-Para's metadata.csv, or a CSV file with the columns
    ``task`` or ``original``, and ``paraphrase``.
    """
    if file:
        about = f"The paraphrases in {Path(file).name}, each with its PRIDE distance."
        return paraphrase_experiment("para", about, file, read(Path(file)), per_cell, seed)
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
        GridRow(
            0,
            task.id,
            paraphrase.cell.object_type.value,
            paraphrase.cell.action_type.value,
            "",
            paraphrase.text,
        )
        for paraphrase in paraphrases(task, per_cell, seed)
    ]
    return variants_of("para", "", task, rows)


def corruption(counterfactual: int = 1) -> Experiment:
    """Corrupted and hurried instructions, and ``counterfactual`` instructions of other tasks, for each task."""

    def variants(task: Task) -> Iterator[Variant]:
        for label, design in (("rung", LADDER), ("style", STYLES)):
            for number, (name, change) in enumerate(design.items(), start=1):
                labels: dict[str, Label] = {"axis": "words", "plausible": change.plausible, label: number}
                yield Variant(f"corruption/{name}", (change,), labels)
        others = alternatives(task)
        # Tasks in the same scene have nearly the same alternatives, so each task uses another order; goals of known
        # tasks come first.
        order = stream("corruption", "counterfactual", task.id).permutation(len(others))
        ranked = sorted((others[place] for place in order), key=lambda other: other.known_from is None)
        for other in ranked[:counterfactual]:
            request: dict[str, Label] = {"axis": "words", "plausible": False, **other.labels}
            yield Variant("corruption/counterfactual", (Counterfactual(other.text, other.atoms),), request)

    return Experiment(
        name="corruption",
        about="Reworded, scrambled, empty or different instructions: does the policy need its instruction?",
        variants=variants,
    )


def surface() -> Experiment:
    """The same words with different punctuation, capitalisation, spacing or politeness, one change at a time."""
    return Experiment(
        name="surface",
        about="Punctuation, capitalisation, spacing, politeness: do they affect the policy?",
        variants=lambda task: (
            Variant(f"surface/{form}", (Surface(form),), {"surface": form.value}) for form in Form
        ),
    )
