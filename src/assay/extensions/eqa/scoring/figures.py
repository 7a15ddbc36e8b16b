"""The figures of the ActionEQA paper."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.annotations import error_categories
from assay.extensions.eqa.question import QuestionKind
from assay.extensions.eqa.scoring import results
from assay.extensions.eqa.scoring.accuracy import COMPONENTS, Standing
from assay.extensions.eqa.scoring.results import ReportData
from assay.measures.result import MeasureError
from assay.measures.views import style
from assay.measures.views.forest import Mark, forest_drawing
from assay.measures.views.style import Drawing
from assay.measures.views.wording import percent

MAX_MODELS = 5
"""Maximum number of models of each type in a figure."""
MIN_LABELLED_SHARE = 0.05
"""Minimum height of a labelled segment in a stacked bar, as a fraction of the axis."""
_CHANCE = "the dashed line is chance."


def best_figures(data: ReportData) -> Iterator[Drawing]:
    """Plot the best models and people by kind, and the best open and proprietary models overall."""
    rows = {name: data.shares_by_kind(model) for name, model in data.best_models()[:MAX_MODELS]}
    if data.people:
        shares = [data.shares_by_kind(person) for person in data.people.values()]
        means = {kind: results.mean_of([person.get(kind) for person in shares]) for kind in QuestionKind}
        rows["people, mean"] = {kind: mean for kind, mean in means.items() if mean is not None}
    yield _grouped_bars(f"Accuracy by kind: the best {MAX_MODELS} models and people", rows, data.score.chance)
    groups: dict[str, list[Mark]] = {"open weights": [], "proprietary": []}
    for name, model in data.best_models():
        if len(marks := groups.get(data.fact(name).type, [])) < MAX_MODELS:
            marks.append(overall_mark(name, data.standing(model)))
    groups = {name: marks for name, marks in groups.items() if marks}
    if not groups:
        raise MeasureError("part (b) requires facts about models: --facts FILE with NAME: {open: true}")
    yield overall_figure("open", "Open and proprietary models", groups, data.score.chance)


def overall_mark(name: str, standing: Standing) -> Mark:
    """Return the overall accuracy of a model as a row of `overall_figure`."""
    overall = standing.overall
    notes = percent(overall.share), f"{standing.questions:,}"
    return Mark(name, overall.share, overall.interval, notes)


def overall_figure(name: str, title: str, groups: Mapping[str, Sequence[Mark]], chance: float) -> Drawing:
    """Plot overall accuracies with their intervals."""
    return forest_drawing(
        name,
        title,
        "Mean over data sets for each kind, then over kinds, with 95 % intervals clustered by episode. "
        "The vertical line is the chance level.",
        groups,
        along="right answers",
        heads=("mean", "n"),
        unit="share",
        zero=chance,
    )


def kinds_figure(data: ReportData) -> Drawing:
    """Plot the accuracy of the best models by kind, averaged over data sets."""
    rows = {name: data.shares_by_kind(model) for name, model in data.best_models()[: len(style.SERIES)]}
    return _grouped_bars("Accuracy of the best models by kind, mean over data sets", rows, data.score.chance)


def size_figure(data: ReportData) -> Drawing:
    """Plot the overall mean against the number of parameters, with one line per model family."""
    families: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, model in data.models.items():
        fact = data.fact(name)
        if fact.size is not None and data.standing(model).questions:
            families[fact.family or name].append((fact.size, data.overall(model)))
    if not families:
        raise MeasureError("requires facts about models: --facts FILE with NAME: {size: 7}")
    lines = {family: sorted(points) for family, points in sorted(families.items())}
    return _lines("size", "Performance and size", lines, data.score.chance, "parameters, billions", "log")


def camera_figures(data: ReportData) -> Iterator[Drawing]:
    """Plot the overall mean by number of cameras, and mid-level errors by component, averaged over models."""
    views = data.several_views(results.STATIC_VIEWS)
    lines = {
        name: [(float(results.camera_count(view)), data.overall(model, view)) for view in views]
        for name, model in data.best_models()
    }
    yield _lines(
        "views", "Overall accuracy by number of static cameras", lines, data.score.chance, "static cameras"
    )
    proportions = data.mean_proportions(views)
    yield _stacked_bars(
        "components",
        "Errors by component",
        "Error rates on mid-level questions that involve each component, normalised to sum to 1; means over models.",
        dict(zip(COMPONENTS, np.transpose(list(proportions.values())), strict=True)),
        [
            f"{results.camera_count(view)} view{'s' * (results.camera_count(view) > 1)}"
            for view in proportions
        ],
    )


def mistakes_figure(data: ReportData) -> Drawing:
    """Plot the proportions of the taxonomy's two groups and four parts at each level."""
    counts: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for mistake in data.score.mistakes:
        counts[mistake.level, mistake.part] += mistake.count
        totals[mistake.level] += mistake.count
    levels = [str(level) for level in ActionLevel if totals[str(level)]]
    if not levels:
        raise MeasureError(results.NEEDS_MARKS)
    stacks = {
        f"{group}: {part}": np.array([counts[level, part] / totals[level] for level in levels])
        for group, part, _ in error_categories().values()
    }
    caption = "Proportions of all mistakes categorised by people or a judge model."
    ticks = [f"{level} (n = {totals[level]})" for level in levels]
    return _stacked_bars("mistakes", "Error categories by level", caption, stacks, ticks, style.WIDTH)


def counts_figure(data: ReportData) -> Drawing:
    """Plot the number of questions by kind, stacked by data set."""
    counts = Counter((question.dataset, question.kind) for question in data.questions)
    stacks = {
        dataset[:30]: np.array([counts[dataset, kind] for kind in QuestionKind]) for dataset in data.datasets
    }
    title = "Questions by kind and data set"
    return _stacked_bars(
        "counts",
        title,
        "Each question is counted once per view.",
        stacks,
        list(QuestionKind),
        shares=False,
    )


def _lines(
    name: str,
    title: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    chance: float,
    label: str,
    scale: str = "linear",
) -> Drawing:
    """Plot one line per label through points (x, accuracy)."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (model, points) in enumerate(list(lines.items())[: len(style.SERIES)]):
            axes.plot(*zip(*points, strict=True), label=model[:34], **style.series(place))
        axes.axhline(chance, color=style.FAINT, linewidth=0.9, linestyle="--")
        style.share_limits(axes)
        axes.set_xscale(scale)
        ticks = sorted({x for points in lines.values() for x, _ in points})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel(label)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))

    return Drawing(name, title, f"Overall means; {_CHANCE}", (style.HALF, 3.8), paint)


def _stacked_bars(
    name: str,
    title: str,
    caption: str,
    stacks: Mapping[str, np.ndarray],
    ticks: Sequence[str],
    width: float = style.HALF,
    *,
    shares: bool = True,
) -> Drawing:
    """Plot stacked bars, segment by segment from the bottom: labelled fractions, or counts of questions."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        low = np.zeros(len(ticks))
        for place, (label, sizes) in enumerate(stacks.items()):
            bars = axes.bar(
                ticks,
                sizes,
                bottom=low,
                color=style.SERIES[place % len(style.SERIES)],
                label=label,
                width=0.6,
            )
            if shares:
                texts = [f"{100 * size:.1f}" if size >= MIN_LABELLED_SHARE else "" for size in sizes]
                axes.bar_label(bars, texts, label_type="center", fontsize=7, color="white")
            low = low + sizes
        if shares:
            axes.set_ylim(0, 1)
            style.percent_axis(axes.yaxis)
        else:
            axes.set_ylabel("questions")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(len(stacks), 3), fontsize=7)

    return Drawing(name, title, caption, (width, 3.6), paint)


def _grouped_bars(title: str, rows: Mapping[str, Mapping[QuestionKind, float]], chance: float) -> Drawing:
    """Plot one bar per model, grouped by kind."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        width = 0.82 / len(rows)
        for place, (model, shares) in enumerate(rows.items()):
            offset = (place - (len(rows) - 1) / 2) * width
            present = {number: shares[kind] for number, kind in enumerate(QuestionKind) if kind in shares}
            left = [number + offset for number in present]
            colour = style.SERIES[place % len(style.SERIES)]
            axes.bar(left, list(present.values()), width, color=colour, label=model[:34])
        axes.axhline(chance, color=style.FAINT, linewidth=0.9, linestyle="--")
        axes.set_xticks(range(len(QuestionKind)), list(map(str, QuestionKind)))
        axes.set_ylim(0, 1)
        style.percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Drawing("kinds", title, f"Means over data sets; {_CHANCE}", (style.WIDTH, 3.4), paint)


FIGURES: Mapping[str, tuple[str, Callable[[ReportData], Drawing | Iterator[Drawing]]]] = {
    "Figure 5": ("The best models compared with people", best_figures),
    "Figure 20": ("The best models across the six kinds", kinds_figure),
    "Figure 19": ("Performance and size", size_figure),
    "Figure 6": ("One to four static cameras: overall accuracy, and errors by component", camera_figures),
    "Figure 7": ("Error categories by level", mistakes_figure),
    "Figure 3": ("Questions by kind and data set", counts_figure),
}
"""Title and function of each figure by its label in the paper."""
