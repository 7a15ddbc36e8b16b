"""Grounding: the object that the robot moves or touches first, compared with the objects of the goal.

The object moved first reveals the intention. The first touch may be incidental and should be compared with that of a
perfect policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL, Label
from assay.measures.clustering import group_shares
from assay.measures.frames import CLUSTER, atoms, narrow, valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.result import MeasureError, Result
from assay.measures.views.style import HALF, ORANGE, WIDTH, Drawing, Figure, bare_axes, fill_cell
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import group_name, percent, plural, thing
from assay.support.stats.intervals import Interval
from assay.tasks.language.lexicon import object_of

OTHERS = "others"
MOST_NAMES = 14
"""Maximum number of rows and of columns in the figure; the remaining objects are merged."""
NARROW_COLUMNS = 7
"""Maximum number of columns in a figure that takes half the page width."""
Contact = Literal["touched", "moved"]
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Confusion(Result):
    """Confusion matrix of goal objects against objects moved or touched first."""

    group: Annotated[dict[str, Label], Column("condition")]
    """Columns that define the group, and their values; empty for all episodes."""
    contact: Contact
    right: Annotated[int, Column("right", "count")]
    """Number of episodes in which a goal object was moved or touched first."""
    count: Annotated[int, Column("n", "count")]
    accuracy: Annotated[float, Column("accuracy", "share")]
    interval: Annotated[Interval, Column("95 % interval", "share")]
    named: tuple[str, ...]
    """Row labels: the goal objects, joined with + if a goal has several."""
    first: tuple[str, ...]
    """Column labels: the first object; ``nothing`` if no object was moved or touched."""
    counts: tuple[tuple[int, ...], ...]
    """Number of episodes in each cell, (rows, columns)."""


def confusion(
    frame: pl.DataFrame, contact: Contact = "touched", by: Sequence[str] = ()
) -> tuple[Confusion, ...]:
    """Return the confusion matrix of each group of episodes that share the columns ``by``.

    The objects of a goal are the first arguments of its atoms, or the label ``named`` if instruction and goal differ
    (several joined with +). Implausible episodes without that label are left out. Raises MeasureError if no episode
    has an object.
    """
    used = ("outcome", "named", "plausible", "truth", contact)
    rows = valid_rows(narrow(frame, *CLUSTER, *by, *used))
    if absent := set(by) - set(rows.columns):
        raise MeasureError(f"the run has no column {min(absent)}")
    label = pl.col("named") if "named" in rows.columns else pl.lit(None, pl.String)
    plausible = pl.col("plausible").fill_null(True) if "plausible" in rows.columns else pl.lit(True)
    rows = rows.with_columns(
        _named=pl.coalesce(
            label,
            pl.when(plausible).then(pl.col("truth").map_elements(goal_objects, return_dtype=pl.String)),
        )
    ).filter(pl.col("_named").fill_null("") != "")
    rows = rows.drop_nulls(by)
    if not len(rows):
        raise MeasureError("no episode records the objects of its goal")
    here = pl.col(contact).fill_null("")
    rows = rows.with_columns(_right=here.is_in(pl.col("_named").str.split("+")))
    result = []
    for part in group_shares(rows, "_right", by):
        cells = Counter(part.rows.select("_named", pl.col(contact).fill_null(NOTHING)).iter_rows())
        names = tuple(sorted({name for name, _ in cells}))
        first = tuple(sorted({name for _, name in cells}, key=lambda name: (name == NOTHING, name)))
        counts = tuple(tuple(cells[name, other] for other in first) for name in names)
        numbers = part.hits, len(part.rows), part.share, part.interval
        result.append(Confusion(part.group, contact, *numbers, names, first, counts))
    return tuple(result)


def goal_objects(truth: str) -> str:
    """Return the objects of a goal, joined with +, from the record of its atoms."""
    things = (atom.split()[1] for atom in sorted(atoms(truth)))
    return "+".join(dict.fromkeys(map(object_of, things)))


def grounding_table(matrices: Sequence[Confusion], report: ReportedRun) -> Table:
    """Return a table of the accuracy in each condition."""
    contact = matrices[0].contact
    title = f"An object named in the goal was {contact} first"
    return Table.of(f"grounding-{contact}", title, matrices, note="95 % Wilson intervals.")


def confusion_figure(matrices: Sequence[Confusion], report: ReportedRun) -> Drawing:
    """Plot the confusion matrix over all perturbed conditions or, if there are none, over the controls."""
    perturbed = [matrix for matrix in matrices if group_name(matrix.group) != CONTROL]
    used = perturbed or list(matrices)
    cells: Counter[tuple[str, str]] = Counter()
    for matrix in used:
        for name, row in zip(matrix.named, matrix.counts, strict=True):
            cells.update({(name, first): count for first, count in zip(matrix.first, row, strict=True)})
    rows, other_rows = _most_frequent(cells, 0)
    columns, other_columns = _most_frequent(cells, 1)
    table = np.zeros((len(rows), len(columns)), int)
    right = np.zeros(table.shape, bool)
    for (name, first), count in cells.items():
        named, moved = (name if name in rows else OTHERS), (first if first in columns else OTHERS)
        place = rows.index(named), columns.index(moved)
        table[place] += count
        right[place] |= first in name.split("+")
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    contact = used[0].contact

    def paint(figure: Figure) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.subplots()
        for (row, column), count in np.ndenumerate(table):
            ink = fill_cell(axes, row, column, shares[row, column] if count else None)
            if count:
                look: Any = {"ha": "center", "va": "center", "color": ink, "fontsize": 7.5}
                axes.text(column + 0.5, row + 0.5, f"{count:,}", **look)
        for row, column in np.argwhere(right):
            corner = (column + 0.03, row + 0.04)
            axes.add_patch(Rectangle(corner, 0.94, 0.92, fill=False, edgecolor=ORANGE, linewidth=1.6))
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(rows), 0)
        look = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(np.arange(len(columns)) + 0.5, [thing(name) for name in columns], **look)
        axes.set_yticks(np.arange(len(rows)) + 0.5, [thing(name) for name in rows])
        axes.set_xlabel(f"{contact} first")
        axes.set_ylabel("named")
        bare_axes(axes)

    hits, count = sum(matrix.right for matrix in used), sum(matrix.count for matrix in used)
    usual = next((matrix for matrix in matrices if group_name(matrix.group) == CONTROL), None)
    beside = together = ""
    if usual and perturbed:
        beside = f" In the controls: {usual.right:,} of {usual.count:,} ({percent(usual.accuracy)})."
    if other_rows or other_columns:
        together = (
            " Others: less frequent objects, merged "
            f"({other_rows:,} in the instruction, {other_columns:,} {contact} first)."
        )
    caption = (
        f"Object {contact} first, compared with the object in the instruction; "
        f"{plural(count, 'perturbed episode' if perturbed else 'episode')}. Framed: the two agree, in {hits:,} "
        f"of {count:,} episodes ({percent(hits / count)}).{beside} Shade: fraction of the row's episodes. Wilson "
        f"intervals are in the table.{together}"
    )
    size = (HALF if len(columns) <= NARROW_COLUMNS else WIDTH, 1.7 + 0.3 * len(rows))
    return Drawing(f"grounding-{contact}", f"Object {contact} first", caption, size, paint)


def _most_frequent(cells: Counter[tuple[str, str]], side: int) -> tuple[list[str], int]:
    """Return the most frequent names on one axis, in alphabetical order, and the number of merged names."""
    totals: Counter[str] = Counter()
    for pair, count in cells.items():
        totals[pair[side]] += count
    totals = +totals
    names = sorted(
        (name for name, _ in totals.most_common(MOST_NAMES)), key=lambda name: (name == NOTHING, name)
    )
    left = len(totals) - len(names)
    return (names + [OTHERS] if left else names), left


_PANELS = (Panel("Grounding", (grounding_table,), (confusion_figure,)),)
MOVED = Measure(
    "moved",
    "Object moved first, compared with the objects in the goal, by condition.",
    lambda run: confusion(run.frame, "moved", ("condition",)),
    needs=("moved", "truth"),
    panels=_PANELS,
)
TOUCHED = Measure(
    "touched",
    "Object touched first, compared with the objects in the goal, by condition. This measure is noisy.",
    lambda run: confusion(run.frame, "touched", ("condition",)),
    needs=("touched", "truth"),
    panels=_PANELS,
)
