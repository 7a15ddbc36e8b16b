"""How often each model is right: Table 1, Figures 5, 19 and 20, Sections 3.2 and C.4 of ActionEQA."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from assay.extensions.eqa.baselines import BASELINES
from assay.extensions.eqa.question import Kind
from assay.extensions.eqa.scoring.actioneqa.results import (
    SHARE,
    Facts,
    Results,
    best_models,
    cells_of,
    mean_of,
    means_of,
    overall_share,
    shares_by_kind,
)
from assay.extensions.eqa.scoring.score import ModelScore
from assay.extensions.eqa.scoring.sheet import HUMAN
from assay.measures.result import MeasureError
from assay.measures.views.style import (
    FAINT,
    HALF,
    SERIES,
    WIDTH,
    Drawing,
    percent_axis,
    series,
    share_limits,
)
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import plural

SHOWN = 5
"""Models in a figure of several."""


def main_table(results: Results) -> Table:
    """Every model's shares by data set and kind, data sets' averages and the overall mean; people last."""
    cells = [
        (dataset, kind)
        for dataset in sorted({question.dataset for question in results.questions})
        for kind in Kind
        if any((question.dataset, question.kind) == (dataset, kind) for question in results.questions)
    ]
    datasets = list(dict.fromkeys(dataset for dataset, _ in cells))
    columns = [Column("type"), Column("model")]
    for dataset in datasets:
        columns += [
            Column(f"{dataset} {kind}", "share", bare=True) for name, kind in cells if name == dataset
        ]
        columns.append(Column(f"{dataset} avg.", "share", bare=True))
    columns += [Column("overall", "share", bare=True), Column("rank", "count")]

    def row(kind: str, name: str, each: ModelScore, rank: int | None) -> tuple[Value, ...]:
        found = results.standing(each)
        shares = {} if found is None else cells_of(found)
        values: list[Value] = [kind, name]
        for dataset in datasets:
            mine = [shares.get(cell) for cell in cells if cell[0] == dataset]
            there = [value for value in mine if value is not None]
            values += [*mine, float(np.mean(there)) if there else None]
        return (*values, None if found is None else found.overall.share, rank)

    ranks = {name: place for place, (name, _) in enumerate(best_models(results), 1)}
    models = sorted(results.models.items(), key=lambda each: ranks.get(each[0], len(ranks) + 1))
    rows = [row(_type(results.fact(name)), name, each, ranks.get(name)) for name, each in models]
    rows.sort(key=lambda each: str(each[0]))
    rows.append(("mean", f"of {plural(len(ranks), 'model')}", *means_of([row[2:-1] for row in rows]), None))
    rows += [
        row("baseline", name, model, None)
        for name, model in results.score.models.items()
        if name in BASELINES
    ]
    people = [
        row("people", name.removeprefix(HUMAN), person, None) for name, person in results.people.items()
    ]
    rows += people
    if len(people) > 1:
        rows.append(("people", "mean", *means_of([person[2:-1] for person in people]), None))
    note = f"{SHARE} View: {results.main_view}. Overall: mean over data sets of each kind, then over kinds."
    return Table("main", "Models, data sets and kinds", tuple(columns), tuple(rows), note)


def best_figures(results: Results) -> Iterator[Drawing]:
    """By kind, the best models and people; and the best open and proprietary models overall."""
    rows = {name: shares_by_kind(results, each) for name, each in best_models(results)[:SHOWN]}
    if results.people:
        rows["people, mean"] = _mean_by_kind(results, list(results.people.values()))
    yield _by_kinds("kinds", f"The best {SHOWN} models and people, by kind", rows, results.score.chance)
    known = [(name, each) for name, each in best_models(results) if results.fact(name).open is not None]
    if not known:
        raise MeasureError("(b) needs to know which models are open: --facts FILE")
    kept = [
        (name, overall_share(results, each), is_open)
        for is_open in (True, False)
        for name, each in [pair for pair in known if results.fact(pair[0]).open is is_open][:SHOWN]
    ]
    kept.sort(key=lambda each: each[1])

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        colours = [SERIES[0] if is_open else SERIES[1] for _, _, is_open in kept]
        axes.barh(range(len(kept)), [share for _, share, _ in kept], color=colours)
        axes.set_yticks(range(len(kept)), [name[:34] for name, _, _ in kept])
        axes.axvline(results.score.chance, color=FAINT, linewidth=0.9, linestyle="--")
        axes.set_xlim(0, 1)
        percent_axis(axes.xaxis)
        for place, (_, share, _) in enumerate(kept):
            axes.text(share + 0.01, place, f"{100 * share:.1f}", va="center", fontsize=7)

    caption = "Blue: open weights; orange: proprietary. Overall means; the dashed line is chance."
    yield Drawing("open", "Open and proprietary models", caption, (HALF, 1.0 + 0.26 * len(kept)), paint)


def kinds_figure(results: Results) -> Drawing:
    """The best models by kind, mean over data sets."""
    rows = {name: shares_by_kind(results, each) for name, each in best_models(results)[: len(SERIES)]}
    return _by_kinds("kinds", "The best models by kind, mean over data sets", rows, results.score.chance)


def size_figure(results: Results) -> Drawing:
    """Overall mean against the number of parameters, a line for each family."""
    families: defaultdict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for name, model in results.models.items():
        fact = results.fact(name)
        if fact.size is not None and results.standing(model) is not None:
            families[fact.family or name].append((fact.size, overall_share(results, model), name))
    if not families:
        raise MeasureError("needs the sizes of models: --facts FILE")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (family, points) in enumerate(sorted(families.items())[: len(SERIES)]):
            points.sort()
            axes.plot(
                [point[0] for point in points],
                [point[1] for point in points],
                label=family[:30],
                **series(place),
            )
        axes.set_xscale("log")
        sizes = sorted({size for points in families.values() for size, _, _ in points})
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("parameters, billions")
        axes.axhline(results.score.chance, color=FAINT, linewidth=0.9, linestyle="--")
        share_limits(axes)
        axes.legend(loc="best")

    caption = "Overall means; the dashed line is chance."
    return Drawing("size", "Performance and size", caption, (HALF, 3.4), paint)


def asymmetry_table(results: Results) -> Table:
    """Means by level and direction, and inference less prediction with its interval."""
    rows: list[tuple[Value, ...]] = []
    for name, each in (*results.models.items(), *results.people.items()):
        found = results.standing(each)
        if found is not None:
            gap = found.asymmetry.get("overall")
            parts = ("high", "mid", "low", "prediction", "inference")
            shares = [found.means[part].share if part in found.means else None for part in parts]
            rows.append((name, *shares, gap.share if gap else None, gap.interval if gap else None))
    columns = (
        Column("model"),
        *(Column(part, "share") for part in ("high", "mid", "low", "prediction", "inference")),
        Column("inference less prediction", "change"),
        Column("95 % interval", "change"),
    )
    return Table(
        "asymmetry", "Levels and directions", columns, tuple(rows), "Mean over data sets, then over kinds."
    )


def consistency_table(results: Results) -> Table:
    """Each model's averages over data sets, and how far they lie apart."""
    datasets = sorted({question.dataset for question in results.questions})
    if len(datasets) < 2:
        raise MeasureError("needs questions from two data sets")
    shared = [
        kind
        for kind in Kind
        if {question.dataset for question in results.questions if question.kind is kind} == set(datasets)
    ]
    rows: list[tuple[Value, ...]] = []
    for name, model in results.models.items():
        found = results.standing(model)
        if found is not None:
            shares = cells_of(found)
            means = [mean_of([shares.get((dataset, kind)) for kind in shared]) for dataset in datasets]
            known = [mean for mean in means if mean is not None]
            rows.append((name, *means, max(known) - min(known) if len(known) > 1 else None))
    columns = (
        Column("model"),
        *(Column(dataset, "share") for dataset in datasets),
        Column("largest less smallest", "change"),
    )
    return Table(
        "consistency",
        "By data set",
        columns,
        tuple(rows),
        f"Over the kinds that all have: {', '.join(shared)}.",
    )


def _by_kinds(name: str, title: str, rows: Mapping[str, Mapping[Kind, float]], chance: float) -> Drawing:
    """Grouped bars: kinds along the axis, a bar for each model."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        width = 0.82 / len(rows)
        for place, (model, shares) in enumerate(rows.items()):
            there = [kind for kind in Kind if kind in shares]
            left = [list(Kind).index(kind) + (place - (len(rows) - 1) / 2) * width for kind in there]
            axes.bar(
                left,
                [shares[kind] for kind in there],
                width,
                color=SERIES[place % len(SERIES)],
                label=model[:34],
            )
        axes.axhline(chance, color=FAINT, linewidth=0.9, linestyle="--")
        axes.set_xticks(range(len(Kind)), list(map(str, Kind)))
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    caption = "Mean over data sets; the dashed line is chance."
    return Drawing(name, title, caption, (WIDTH, 3.4), paint)


def _mean_by_kind(results: Results, some: Sequence[ModelScore]) -> dict[Kind, float]:
    found = [shares_by_kind(results, each) for each in some]
    means = {kind: mean_of([each.get(kind) for each in found]) for kind in Kind}
    return {kind: mean for kind, mean in means.items() if mean is not None}


def _type(fact: Facts) -> str:
    return "model" if fact.open is None else "open weights" if fact.open else "proprietary"
