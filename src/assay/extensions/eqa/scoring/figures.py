"""The figures of the ActionEQA paper."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.annotations import error_categories
from assay.extensions.eqa.question import QuestionKind
from assay.extensions.eqa.scoring.answer_sheet import COMPONENTS
from assay.extensions.eqa.scoring.results import (
    NEEDS_MARKS,
    STATIC_VIEWS,
    ReportData,
    camera_count,
    mean_of,
)
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

MAX_MODELS = 5
"""Maximum number of models of a type in a figure."""
MIN_LABELLED_SHARE = 0.05
"""Minimum height of a labelled segment in a stacked bar, as a fraction of the axis."""
_CHANCE = "the dashed line is chance."


def best_figures(results: ReportData) -> Iterator[Drawing]:
    """Draw the best models and people by kind, and the best open and proprietary models overall."""
    rows = {name: results.shares_by_kind(model) for name, model in results.best_models()[:MAX_MODELS]}
    if results.people:
        shares = [results.shares_by_kind(person) for person in results.people.values()]
        means = {kind: mean_of([person.get(kind) for person in shares]) for kind in QuestionKind}
        rows["people, mean"] = {kind: mean for kind, mean in means.items() if mean is not None}
    yield _grouped_bars(f"The best {MAX_MODELS} models and people, by kind", rows, results.score.chance)
    models = [(name, model) for name, model in results.best_models() if results.fact(name).open is not None]
    if not models:
        raise MeasureError("(b) needs to know which models are open: --facts FILE")
    bars = [
        (name, results.overall(model), is_open)
        for is_open in (True, False)
        for name, model in [pair for pair in models if results.fact(pair[0]).open is is_open][:MAX_MODELS]
    ]
    bars.sort(key=lambda bar: bar[1])

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        colours = [SERIES[0] if is_open else SERIES[1] for _, _, is_open in bars]
        axes.barh(range(len(bars)), [share for _, share, _ in bars], color=colours)
        axes.set_yticks(range(len(bars)), [name[:34] for name, _, _ in bars])
        axes.axvline(results.score.chance, color=FAINT, linewidth=0.9, linestyle="--")
        axes.set_xlim(0, 1)
        percent_axis(axes.xaxis)
        for place, (_, share, _) in enumerate(bars):
            axes.text(share + 0.01, place, f"{100 * share:.1f}", va="center", fontsize=7)

    caption = f"Blue: open weights; orange: proprietary. Overall means; {_CHANCE}"
    yield Drawing("open", "Open and proprietary models", caption, (HALF, 1.0 + 0.26 * len(bars)), paint)


def kinds_figure(results: ReportData) -> Drawing:
    """Draw the accuracy of the best models by kind, mean over data sets."""
    rows = {name: results.shares_by_kind(model) for name, model in results.best_models()[: len(SERIES)]}
    return _grouped_bars("The best models by kind, mean over data sets", rows, results.score.chance)


def size_figure(results: ReportData) -> Drawing:
    """Draw the overall mean against the number of parameters, one line per model family."""
    families: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, model in results.models.items():
        fact = results.fact(name)
        if fact.size is not None and results.standing(model) is not None:
            families[fact.family or name].append((fact.size, results.overall(model)))
    if not families:
        raise MeasureError("needs the sizes of models: --facts FILE")
    lines = {family[:30]: sorted(points) for family, points in sorted(families.items())[: len(SERIES)]}

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        _plot_lines(axes, lines, results.score.chance)
        axes.set_xscale("log")
        sizes = sorted({size for points in families.values() for size, _ in points})
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("parameters, billions")
        axes.legend(loc="best")

    return Drawing("size", "Performance and size", f"Overall means; {_CHANCE}", (HALF, 3.4), paint)


def camera_figures(results: ReportData) -> Iterator[Drawing]:
    """Draw the overall mean against the number of cameras, and mid-level errors by component, mean over models."""
    views = results.several_views(STATIC_VIEWS)
    models = results.best_models()[: len(SERIES)]
    lines = {
        name[:34]: [(camera_count(view), results.overall(model, view)) for view in views]
        for name, model in models
    }

    def paint_lines(figure: Figure) -> None:
        axes = figure.subplots()
        _plot_lines(axes, lines, results.score.chance)
        axes.set_xticks([camera_count(view) for view in views])
        axes.set_xlabel("static cameras")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)

    yield Drawing(
        "views", "Overall by static cameras", "The dashed line is chance.", (HALF, 3.8), paint_lines
    )
    proportions = results.mean_proportions(views)

    def paint_stacks(figure: Figure) -> None:
        axes = figure.subplots()
        stacks = dict(zip(COMPONENTS, np.transpose(list(proportions.values())), strict=True))
        _stack_bars(axes, stacks, "{:.1f}")
        counts = [camera_count(view) for view in proportions]
        axes.set_xticks(range(len(counts)), [f"{count} view{'s' * (count > 1)}" for count in counts])
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    caption = (
        "Mid level, mean over models: error rates of questions with each component, normalised to their sum."
    )
    yield Drawing("components", "Errors by component", caption, (HALF, 3.4), paint_stacks)


def mistakes_figure(results: ReportData) -> Drawing:
    """Draw the proportions of the taxonomy's two groups and four parts at each level."""
    parts = {part: f"{group}: {part}" for group, members in error_categories().items() for part in members}
    counts: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for mistake in results.score.mistakes:
        counts[mistake.level, mistake.part] += mistake.count
        totals[mistake.level] += mistake.count
    levels = [str(level) for level in ActionLevel if totals[str(level)]]
    if not levels:
        raise MeasureError(NEEDS_MARKS)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        stacks = {
            label: np.array([counts[level, part] / totals[level] for level in levels])
            for part, label in parts.items()
        }
        _stack_bars(axes, stacks, "{:.0f} %")
        axes.set_xticks(range(len(levels)), [f"{level} (n = {totals[level]})" for level in levels])
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7)

    caption = "Of all categorised mistakes, by people or a judge model."
    return Drawing("mistakes", "Error categories by level", caption, (WIDTH, 3.6), paint)


def counts_figure(results: ReportData) -> Drawing:
    """Draw the number of questions by kind, stacked by data set."""
    counts = Counter((question.dataset, question.kind) for question in results.questions)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        stacks = {
            dataset[:30]: np.array([counts[dataset, kind] for kind in QuestionKind])
            for dataset in results.datasets
        }
        _stack_bars(axes, stacks)
        axes.set_xticks(range(len(QuestionKind)), list(map(str, QuestionKind)))
        axes.set_ylabel("questions")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Drawing("counts", "Questions by kind and data set", "All views counted.", (HALF, 3.0), paint)


def _plot_lines(axes: Any, lines: Mapping[str, Sequence[tuple[float, float]]], chance: float) -> None:
    for place, (label, points) in enumerate(lines.items()):
        axes.plot([x for x, _ in points], [y for _, y in points], label=label, **series(place))
    axes.axhline(chance, color=FAINT, linewidth=0.9, linestyle="--")
    share_limits(axes)


def _stack_bars(axes: Any, stacks: Mapping[str, np.ndarray], label: str = "") -> None:
    """Draw stacked bars, segment by segment from below; ``label`` formats the percentages inside them."""
    low = np.zeros(len(next(iter(stacks.values()))))
    for place, (name, sizes) in enumerate(stacks.items()):
        axes.bar(range(len(low)), sizes, bottom=low, color=SERIES[place % len(SERIES)], label=name, width=0.6)
        for x, (size, bottom) in enumerate(zip(sizes, low, strict=True)):
            if label and size >= MIN_LABELLED_SHARE:
                style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "color": "white"}
                axes.text(x, bottom + size / 2, label.format(100 * size), **style)
        low = low + sizes


def _grouped_bars(title: str, rows: Mapping[str, Mapping[QuestionKind, float]], chance: float) -> Drawing:
    """Draw bars of each model, grouped by kind."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        width = 0.82 / len(rows)
        for place, (model, shares) in enumerate(rows.items()):
            offset = (place - (len(rows) - 1) / 2) * width
            present = {number: shares[kind] for number, kind in enumerate(QuestionKind) if kind in shares}
            left = [number + offset for number in present]
            colour = SERIES[place % len(SERIES)]
            axes.bar(left, list(present.values()), width, color=colour, label=model[:34])
        axes.axhline(chance, color=FAINT, linewidth=0.9, linestyle="--")
        axes.set_xticks(range(len(QuestionKind)), list(map(str, QuestionKind)))
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Drawing("kinds", title, f"Mean over data sets; {_CHANCE}", (WIDTH, 3.4), paint)


FIGURES: Mapping[str, tuple[str, Callable[[ReportData], Drawing | Iterator[Drawing]]]] = {
    "Figure 5": ("The best models against people", best_figures),
    "Figure 20": ("The best models across the six kinds", kinds_figure),
    "Figure 19": ("Performance and size", size_figure),
    "Figure 6": ("One to four static cameras: overall, and errors by component", camera_figures),
    "Figure 7": ("Error categories by level", mistakes_figure),
    "Figure 3": ("Questions by kind and data set", counts_figure),
}
"""Title and function of each figure by its label in the paper."""
