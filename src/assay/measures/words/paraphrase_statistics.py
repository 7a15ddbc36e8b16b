"""Statistics of paraphrases: tables and figures of LIBERO-Para, from runs or from a table of paraphrases."""

from __future__ import annotations

from collections.abc import Sequence

from assay.measures.result import MeasureError
from assay.measures.views.heat_map import ACTIONS, OBJECTS, grid_map
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import number, plural
from assay.perturb.words.grid.table import GridStats, ThingName, thing_names

DISTANCES = {
    "pd": ("Figure 5", "Mean distance PD of the paraphrases of each cell"),
    "structural_distance": ("Figure 10", "Mean structural distance, 1 - S_T, of each cell"),
    "keyword_distance": ("Figure 11", "Mean keyword distance, 1 - S_K, of each cell"),
}
"""Distance of `CellStats` -> its figure in the paper, and its title."""


def counts_table(stats: GridStats) -> Table:
    """Table 8: paraphrases of each cell."""
    counts = {key: cell.count for key, cell in stats.cells.items()}
    rows = [
        (action, *(counts.get((thing, action)) for thing in OBJECTS), stats.total(action=action))
        for action in ACTIONS
    ]
    rows.append(("total", *(stats.total(object=thing) for thing in OBJECTS), stats.paraphrases))
    return Table(
        "counts",
        "Paraphrases of each cell",
        (
            Column("action"),
            *(Column(f"names: {thing}", "count") for thing in OBJECTS),
            Column("total", "count"),
        ),
        tuple(rows),
        "Rows: phrasing of the action; columns: names of objects. Seeds and models with the same wording count once.",
    )


def originals_table(stats: GridStats) -> Table:
    """Table 9: paraphrases of each original instruction."""
    return Table(
        "originals",
        "Paraphrases of each original instruction",
        (Column("original instruction"), Column("paraphrases", "count")),
        (*stats.originals.items(), ("total", stats.paraphrases)),
    )


def names_table(stats: GridStats, things: Sequence[ThingName] | None = None) -> Table:
    """Figure 12 as a table: names of each object in the original instructions."""
    things = thing_names(stats.originals) if things is None else things
    if not things:
        raise MeasureError("needs originals of libero_goal: none of these instructions is one")
    several = [thing.noun for thing in things if len(thing.names) > 1]
    names = f"several names: {', '.join(several)}" if several else "each has one name in all instructions"
    return Table(
        "names",
        "Names of each object in the original instructions",
        (Column("thing"), Column("called"), Column("instructions", "count")),
        tuple((thing.noun, name, len(ids)) for thing in things for name, ids in thing.names.items()),
        f"{plural(len(things), 'object')}; {names}.",
    )


def distance_grid(stats: GridStats, which: str) -> Drawing:
    """Figures 5, 10 and 11: mean distance of each cell."""
    cells = {key: value for key, cell in stats.cells.items() if (value := getattr(cell, which)) is not None}
    if not cells:
        raise MeasureError("needs both similarities of the paraphrases: add them with `assay words score`")
    scored = sum(cell.scored for cell in stats.cells.values())
    unscored = stats.paraphrases - scored
    left = f"; {unscored:,} without similarities are left out" if unscored else ""
    caption = (
        "Darker cells are farther from the original instruction. "
        f"{plural(scored, 'paraphrase')} in {plural(len(cells), 'cell')}{left}."
    )
    farthest = max(cells.values()) or 1.0
    return grid_map(
        which.replace("_", "-"),
        DISTANCES[which][1],
        caption,
        cells,
        text=lambda value: number(value, 2),
        shade=lambda value: 1 - value / farthest,
    )
