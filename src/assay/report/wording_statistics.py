"""LIBERO-Para's tables and figures of the paraphrases themselves: of a run's wordings, or of a table without a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl

from assay.measures.result import MeasureError
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import plural, task_instruction
from assay.measures.views.heat_map import ACTIONS, OBJECTS
from assay.measures.words.paraphrase import paraphrases
from assay.perturb.words.grid.stats import GridStats, ThingName, Wording, grid_stats, thing_names
from assay.report.figures.heat_map import distance_map
from assay.report.papers.base import PaperRun, of_each

DISTANCES = {
    "pd": ("Figure 5", "Mean distance PD of the paraphrases of each cell"),
    "structural_distance": ("Figure 10", "Mean structural distance, 1 - S_T, of each cell"),
    "keyword_distance": ("Figure 11", "Mean keyword distance, 1 - S_K, of each cell"),
}
"""A distance of `CellStats` -> the figure that shows it, and its title."""


def stats_of(runs: Sequence[PaperRun]) -> GridStats:
    """The paraphrases of all runs, each as often as a run was told it with one seed."""
    found, _ = of_each(runs, wordings_of)
    together: Counter[Wording] = Counter()
    for wordings in found.values():
        together |= wordings
    return grid_stats(together.elements())


def counts_table(found: GridStats) -> Table:
    """Table 8: paraphrases per cell."""
    rows = [
        (
            action,
            *(
                found.cells[key].count if (key := (thing, action)) in found.cells else None
                for thing in OBJECTS
            ),
            found.total(action=action),
        )
        for action in ACTIONS
    ]
    rows.append(("total", *(found.total(object=thing) for thing in OBJECTS), found.paraphrases))
    return Table(
        "counts",
        "Paraphrases of each cell",
        (
            Column("action"),
            *(Column(f"names: {thing}", "count") for thing in OBJECTS),
            Column("total", "count"),
        ),
        tuple(rows),
        "Rows: how the action is said; columns: how objects are named. Seeds and models with the same "
        "wording count once.",
    )


def originals_table(found: GridStats) -> Table:
    """Table 9: paraphrases per original instruction."""
    return Table(
        "originals",
        "Paraphrases of each original instruction",
        (Column("original instruction"), Column("paraphrases", "count")),
        (*found.originals.items(), ("total", found.paraphrases)),
    )


def names_table(found: GridStats, things: Sequence[ThingName] | None = None) -> Table:
    """Figure 12, as a table: what the original instructions call each thing."""
    things = thing_names(found.originals) if things is None else things
    if not things:
        raise MeasureError("needs originals of libero_goal: no instruction of these is one")
    several = [thing.noun for thing in things if len(thing.names) > 1]
    return Table(
        "names",
        "What the original instructions call each thing",
        (Column("thing"), Column("called"), Column("instructions", "count")),
        tuple((thing.noun, name, len(ids)) for thing in things for name, ids in thing.names.items()),
        f"{plural(len(things), 'thing')}; "
        + (
            f"called by several names: {', '.join(several)}."
            if several
            else "each has one name in all instructions."
        ),
    )


def distance_grid(found: GridStats, which: str) -> Drawing:
    """Figures 5, 10 and 11: a mean distance per cell."""
    cells = {key: value for key, each in found.cells.items() if (value := getattr(each, which)) is not None}
    if not cells:
        raise MeasureError("needs both similarities of the paraphrases: add them with `assay words score`")
    scored = sum(cell.scored for cell in found.cells.values())
    left = found.paraphrases - scored
    caption = (
        "Darker is farther from the original instruction. "
        f"{plural(scored, 'paraphrase')} in {plural(len(cells), 'cell')}"
        + (f"; {left:,} without similarities are left out." if left else ".")
    )
    return distance_map(which.replace("_", "-"), DISTANCES[which][1], caption, cells)


def wordings_of(run: PaperRun) -> Counter[Wording]:
    """The paraphrases of a run, each as often as it was told it with one seed."""
    rows = paraphrases(run.data.frame)
    scores = [
        pl.col(name) if name in rows.columns else pl.lit(None, pl.Float64).alias(name)
        for name in ("s_k", "s_t")
    ]
    columns = ["task", "object", "action", "instruction", "s_k", "s_t"]
    told_with_seed = rows.with_columns(scores).group_by(*columns, "seed", maintain_order=True).len()
    table = told_with_seed.group_by(columns, maintain_order=True).agg(pl.col("len").max())
    if not len(table):
        raise MeasureError("there is no paraphrase")
    originals = {task: task_instruction(task) or task for task in table["task"].unique()}
    return Counter(
        {
            Wording(originals[task], thing, action, text.strip(), s_k, s_t): count
            for task, thing, action, text, s_k, s_t, count in table.iter_rows()
        }
    )
