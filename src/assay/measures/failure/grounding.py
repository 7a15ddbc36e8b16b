"""Grounding: what was moved and touched first, against what the goal is about.

What is moved first tells what was meant. A first touch may be a brush in passing: read it beside that of a
policy that errs never.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from assay.episodes.spec import Label
from assay.measures.clustering import shares
from assay.measures.frames import atoms, judged
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.support.stats.intervals import Interval
from assay.tasks.language.lexicon import thing_of

Contact = Literal["touched", "moved"]
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Confusion(Result):
    """Which thing was taken for which."""

    group: dict[str, Label]
    """What the episodes have in common: column -> value; empty for all."""
    contact: Contact
    right: int
    """Episodes in which one of the named things came first."""
    count: int
    accuracy: float
    interval: Interval
    named: tuple[str, ...]
    """Rows: the things that goals are about; two of one goal are joined with +."""
    first: tuple[str, ...]
    """Columns: what came first; ``nothing`` is one of them, if that happened."""
    counts: tuple[tuple[int, ...], ...]
    """Rows x columns."""


def confusion(
    frame: pl.DataFrame, contact: Contact = "touched", by: Sequence[str] = ()
) -> tuple[Confusion, ...]:
    """The confusion matrix of each group of episodes that share the columns ``by``.

    The named things are the first arguments of the goal's atoms, or the label ``named`` where words and goal
    part (several joined with +). Implausible episodes without that label name nothing that could be found,
    and are left out. Raises MeasureError where no episode tells.
    """
    rows = judged(frame)
    lacking = [name for name in by if name not in rows.columns]
    if lacking:
        raise MeasureError(f"the run has no column {lacking[0]}")
    said = pl.col("named") if "named" in rows.columns else pl.lit(None, pl.String)
    plausible = pl.col("plausible").fill_null(True) if "plausible" in rows.columns else pl.lit(True)
    rows = rows.with_columns(
        _named=pl.coalesce(
            said, pl.when(plausible).then(pl.col("truth").map_elements(named, return_dtype=pl.String))
        )
    ).filter(pl.col("_named").fill_null("") != "")
    rows = rows.drop_nulls(by)
    if not len(rows):
        raise MeasureError("no episode says what its goal is about")
    here = pl.col(contact).fill_null("")
    rows = rows.with_columns(_right=here.is_in(pl.col("_named").str.split("+")))
    known = shares(rows, "_right", by)
    groups = rows.group_by(by, maintain_order=True) if by else [((), rows)]
    return tuple(
        _confusion(dict(zip(by, key, strict=True)), contact, group, known[key][1]) for key, group in groups
    )


def named(truth: str) -> str:
    """The things a goal is about, from what is recorded about its atoms; joined with +."""
    things = (atom.split()[1] for atom in sorted(atoms(truth)))
    return "+".join(dict.fromkeys(map(thing_of, things)))


def _confusion(
    group: dict[str, Label], contact: Contact, rows: pl.DataFrame, interval: Interval
) -> Confusion:
    cells = Counter(rows.select("_named", pl.col(contact).fill_null(NOTHING)).iter_rows())
    names = tuple(sorted({name for name, _ in cells}))
    first = tuple(sorted({each for _, each in cells}, key=lambda each: (each == NOTHING, each)))
    right = int(rows["_right"].sum())
    return Confusion(
        group=group,
        contact=contact,
        right=right,
        count=len(rows),
        accuracy=right / len(rows),
        interval=interval,
        named=names,
        first=first,
        counts=tuple(tuple(cells[name, each] for each in first) for name in names),
    )


_PANELS = (
    Panel(
        "Grounding",
        tables=("assay.report.tables:grounding_table",),
        figures=("assay.report.figures.grounding:confusion_figure",),
    ),
)
MOVED = Measure(
    "moved",
    "What moved first, against what the goal is about, by condition.",
    lambda run: confusion(run.frame, "moved", ("condition",)),
    needs=("moved", "truth"),
    panels=_PANELS,
)
TOUCHED = Measure(
    "touched",
    "What was touched first, against what the goal is about, by condition; noisy.",
    lambda run: confusion(run.frame, "touched", ("condition",)),
    needs=("touched", "truth"),
    panels=_PANELS,
)
