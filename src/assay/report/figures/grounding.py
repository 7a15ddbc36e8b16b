"""Grounding: which thing was taken for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from assay.episodes.spec import CONTROL
from assay.measures.failure.grounding import NOTHING, Confusion
from assay.measures.views.style import BLACK, EMPTY, HALF, ORANGE, SHADES, WIDTH, Drawing
from assay.measures.views.wording import group_name, percent, plural, thing
from assay.report.run_report import RunReport

MOST = 14
"""Rows, and columns; the others are put together."""
OTHERS = "others"
NARROW = 7
"""Columns up to which half a page will do."""


def confusion_figure(found: Sequence[Confusion], report: RunReport) -> Drawing:
    """The confusion matrix of all perturbed conditions; of the control, if there is no other."""
    changed = [each for each in found if group_name(each.group) != CONTROL]
    used = changed or list(found)
    cells: Counter[tuple[str, str]] = Counter()
    for each in used:
        for name, row in zip(each.named, each.counts, strict=True):
            cells.update({(name, first): count for first, count in zip(each.first, row, strict=True)})
    rows, rest = _kept(cells, 0)
    columns, elsewhere = _kept(cells, 1)
    table = np.zeros((len(rows), len(columns)), int)
    right = np.zeros(table.shape, bool)
    for (name, first), count in cells.items():
        place = (
            rows.index(name if name in rows else OTHERS),
            columns.index(first if first in columns else OTHERS),
        )
        table[place] += count
        right[place] |= first in name.split("+")
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    contact = used[0].contact

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for (row, column), count in np.ndenumerate(table):
            share = shares[row, column]
            shade = colormaps[SHADES](share) if count else EMPTY
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=1.0))
            if count:
                ink = "white" if share < 0.55 else BLACK
                axes.text(
                    column + 0.5, row + 0.5, f"{count:,}", ha="center", va="center", color=ink, fontsize=7.5
                )
        for row, column in np.argwhere(right):
            axes.add_patch(
                Rectangle(
                    (column + 0.03, row + 0.04), 0.94, 0.92, fill=False, edgecolor=ORANGE, linewidth=1.6
                )
            )
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(rows), 0)
        axes.set_xticks(
            np.arange(len(columns)) + 0.5,
            [thing(each) for each in columns],
            rotation=40,
            ha="right",
            rotation_mode="anchor",
        )
        axes.set_yticks(np.arange(len(rows)) + 0.5, [thing(each) for each in rows])
        axes.set_xlabel(f"{contact} first")
        axes.set_ylabel("named")
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for side in axes.spines.values():
            side.set_visible(False)

    hits, count = sum(each.right for each in used), sum(each.count for each in used)
    usual = next((each for each in found if group_name(each.group) == CONTROL), None)
    beside = (
        f" In the controls it was right in {usual.right:,} of {usual.count:,} ({percent(usual.accuracy)})."
        if usual and changed
        else ""
    )
    together = (
        f" {OTHERS.capitalize()}: {plural(rest, 'name')} and {plural(elsewhere, 'thing')} more."
        if rest or elsewhere
        else ""
    )
    caption = (
        f"What the robot {contact} first, against what it was told about; "
        f"{plural(count, 'perturbed episode' if changed else 'episode')}. Framed: a named thing, in {hits:,} "
        f"of {count:,} ({percent(hits / count)}).{beside} Shade: share of the row. Intervals (Wilson) are in "
        f"the table.{together}"
    )
    size = (HALF if len(columns) <= NARROW else WIDTH, 1.7 + 0.3 * len(rows))
    return Drawing(f"grounding-{contact}", f"What was {contact} first", caption, size, paint)


def _kept(cells: Counter[tuple[str, str]], side: int) -> tuple[list[str], int]:
    """The most frequent names on one side, in their own order, and how many are put together as others."""
    totals: Counter[str] = Counter()
    for pair, count in cells.items():
        if count:
            totals[pair[side]] += count
    kept = sorted((name for name, _ in totals.most_common(MOST)), key=lambda name: (name == NOTHING, name))
    left = len(totals) - len(kept)
    return (kept + [OTHERS] if left else kept), left
