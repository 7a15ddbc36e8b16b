"""What is asked: Tables 7 to 9 and Figure 3 of ActionEQA."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from matplotlib.figure import Figure

from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.question import Kind
from assay.extensions.eqa.scoring.actioneqa.results import Results
from assay.extensions.eqa.wording import action_of
from assay.measures.result import MeasureError
from assay.measures.views.style import HALF, SERIES, Drawing
from assay.measures.views.table import Column, Table, Value


def verbs_table(results: Results) -> Table:
    """The verbs that instructions of each data set begin with."""
    verbs: defaultdict[str, Counter[str]] = defaultdict(Counter)
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for question in results.questions:
        if question.kind.level is Level.HIGH:
            text = action_of(question.text) if question.kind.predicts else question.options[question.right]
            texts[question.dataset].add(text.lower())
    for dataset, found in texts.items():
        verbs[dataset].update(text.split()[0] for text in found if text.split())
    if not verbs:
        raise MeasureError("needs questions of the high level")
    rows = [
        (name, ", ".join(f"{verb} ({count})" for verb, count in found.most_common()), len(texts[name]))
        for name, found in sorted(verbs.items())
    ]
    columns = (Column("data set"), Column("verbs (instructions)"), Column("instructions", "count"))
    return Table(
        "verbs", "Verbs", columns, tuple(rows), "First words of different instructions that were carried out."
    )


def statistics_table(results: Results) -> Table:
    """Questions, different images and different episodes of each data set."""
    rows: list[tuple[Value, ...]] = []
    for name in (*sorted({question.dataset for question in results.questions}), "all"):
        mine = [question for question in results.questions if name in (question.dataset, "all")]
        pictures = {file for each in mine for file in (*each.pictures, *each.option_pictures)}
        episodes = {(each.dataset, each.episode) for each in mine}
        rows.append((name, len(mine), len({each.item for each in mine}), len(pictures), len(episodes)))
    columns = (
        Column("data set"),
        *(Column(name, "count") for name in ("questions", "items", "images", "episodes")),
    )
    return Table(
        "statistics",
        "Statistics",
        columns,
        tuple(rows),
        "An item is a question, whatever views it is asked in.",
    )


def counts_table(results: Results) -> Table:
    """Questions of each data set by level and direction."""
    counts = Counter((question.dataset, question.kind) for question in results.questions)
    rows: list[tuple[Value, ...]] = [
        (name, *(counts[name, kind] for kind in Kind), sum(counts[name, kind] for kind in Kind))
        for name in sorted({dataset for dataset, _ in counts})
    ]
    columns = (Column("data set"), *(Column(str(kind), "count") for kind in Kind), Column("all", "count"))
    return Table("counts", "Questions", columns, tuple(rows))


def counts_figure(results: Results) -> Drawing:
    """Questions by kind, stacked by data set."""
    counts = Counter((question.dataset, question.kind) for question in results.questions)
    datasets = sorted({dataset for dataset, _ in counts})

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        low = np.zeros(len(Kind))
        for place, dataset in enumerate(datasets):
            sizes = np.array([counts[dataset, kind] for kind in Kind])
            axes.bar(
                range(len(Kind)),
                sizes,
                bottom=low,
                color=SERIES[place % len(SERIES)],
                label=dataset[:30],
                width=0.65,
            )
            low = low + sizes
        axes.set_xticks(range(len(Kind)), list(map(str, Kind)))
        axes.set_ylabel("questions")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Drawing("counts", "Questions by kind and data set", "All views counted.", (HALF, 3.0), paint)
