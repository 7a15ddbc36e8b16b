"""What errors are about, and which kind of mistake they are: Tables 11 to 13 and Figure 7 of ActionEQA."""

from __future__ import annotations

from collections import Counter

import numpy as np
from matplotlib.figure import Figure

from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.annotations import categories
from assay.extensions.eqa.question import Kind
from assay.extensions.eqa.scoring.actioneqa.results import Results, components_of, mean_proportions, means_of
from assay.extensions.eqa.scoring.sheet import COMPONENTS
from assay.measures.result import MeasureError
from assay.measures.views.style import SERIES, WIDTH, Drawing, percent_axis
from assay.measures.views.table import Column, Table, Value


def proportions_table(results: Results) -> Table:
    """Normalised error proportions at the mid level, by model and view."""
    rows: list[tuple[Value, ...]] = []
    for name, model in results.models.items():
        mine = []
        for view in results.score.views:
            parts = components_of(results, model, view)
            if parts and parts[0].proportion is not None:
                mine.append(tuple(part.proportion for part in parts))
                rates = [value for part in parts for value in (part.questions, part.rate, part.interval)]
                rows.append((name, view, *mine[-1], *rates))
        if len(mine) > 1:
            rows.append((name, "average", *means_of(mine), *[None] * (3 * len(COMPONENTS))))
    if not rows:
        raise MeasureError("needs wrong answers at the mid level")
    columns = [Column("model"), Column("view"), *(Column(name, "share") for name in COMPONENTS)]
    for name in COMPONENTS:
        columns += [
            Column(f"{name}: n", "count"),
            Column(f"{name}: error rate", "share"),
            Column("95 % interval", "share"),
        ]
    note = "Errors per question whose action has the component, each rate in the sum of the three; mid level."
    return Table("proportions", "Error proportions", tuple(columns), tuple(rows), note)


def mean_proportions_table(results: Results) -> Table:
    """Normalised error proportions at the mid level by view, mean over models."""
    rows: list[tuple[Value, ...]] = [
        (view, *shares) for view, shares in mean_proportions(results, results.score.views).items()
    ]
    if len(rows) > 1:
        rows.append(("average", *means_of([row[1:] for row in rows])))
    columns = (Column("view"), *(Column(name, "share") for name in COMPONENTS))
    return Table("proportions", "Mean over models", columns, tuple(rows), "As Table 11.")


def mistakes_figure(results: Results) -> Drawing:
    """Shares of the taxonomy's two groups and four parts at each level."""
    parts = [(group, part) for group, category in categories().items() for part in category]
    counts: Counter[tuple[str, str]] = Counter()
    for mistake in results.score.mistakes:
        counts[mistake.level, mistake.part] += mistake.count
    levels = [str(level) for level in Level if any(counts[str(level), part] for _, part in parts)]
    if not levels:
        raise MeasureError("needs marked mistakes: assay eqa judge, or assay eqa annotate --answers")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        low = np.zeros(len(levels))
        for place, (group, part) in enumerate(parts):
            totals = [sum(counts[level, each] for _, each in parts) for level in levels]
            shares = np.array(
                [counts[level, part] / total for level, total in zip(levels, totals, strict=True)]
            )
            axes.bar(
                range(len(levels)),
                shares,
                bottom=low,
                color=SERIES[place],
                label=f"{group}: {part}",
                width=0.6,
            )
            for x, (share, bottom) in enumerate(zip(shares, low, strict=True)):
                if share >= 0.05:
                    axes.text(
                        x,
                        bottom + share / 2,
                        f"{100 * share:.0f} %",
                        ha="center",
                        va="center",
                        fontsize=7,
                        color="white",
                    )
            low = low + shares
        sizes = [sum(counts[level, part] for _, part in parts) for level in levels]
        axes.set_xticks(
            range(len(levels)), [f"{level} (n = {size})" for level, size in zip(levels, sizes, strict=True)]
        )
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7)

    return Drawing(
        "mistakes",
        "Kinds of mistakes by level",
        "Of all that were marked, by hand or by a judge.",
        (WIDTH, 3.6),
        paint,
    )


def mistakes_table(results: Results) -> Table:
    """Every kind of mistake with its count and share at each level and direction."""
    ways = {(str(kind.level), "prediction" if kind.predicts else "inference"): str(kind) for kind in Kind}
    counts: Counter[tuple[str, str]] = Counter()
    for mistake in results.score.mistakes:
        counts[mistake.category, ways[mistake.level, mistake.direction]] += mistake.count
    if not counts:
        raise MeasureError("needs marked mistakes: assay eqa judge, or assay eqa annotate --answers")
    totals = {str(kind): sum(count for key, count in counts.items() if key[1] == kind) for kind in Kind}
    rows: list[tuple[Value, ...]] = []
    for group, parts in categories().items():
        for part, members in parts.items():
            for name in members:
                mine = {kind: counts[name, kind] for kind in totals}
                shares = [mine[kind] / total if total else None for kind, total in totals.items()]
                rows.append((group, part, name, sum(mine.values()), *shares))
    everything = [1.0 if total else None for total in totals.values()]
    rows.append(("all", "", "", sum(totals.values()), *everything))
    columns = (
        *map(Column, ("group", "part", "kind of mistake")),
        Column("marked", "count"),
        *(Column(kind, "share") for kind in totals),
    )
    marked = ", ".join(f"{kind} {total}" for kind, total in totals.items())
    note = f"Shares of what was marked of each kind of question: {marked}."
    return Table("mistakes", "Kinds of mistakes", columns, tuple(rows), note)
