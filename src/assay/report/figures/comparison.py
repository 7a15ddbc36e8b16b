"""Who is more robust: differences of drops, condition by condition."""

from __future__ import annotations

from matplotlib.figure import Figure

from assay.measures.compare import Aspect, Comparison, Robustness
from assay.measures.result import MeasureError
from assay.measures.views.forest import MOST, Mark, fits_a_column, forest, height
from assay.measures.views.style import BLUE, ORANGE, WIDTH, Drawing, points_axis
from assay.measures.views.wording import between, p_value, plural, points
from assay.support.stats.significance import SURE


def robustness_figure(found: Comparison, suffix: str = "") -> Drawing:
    """The difference of the runs' drops, over all changes and by condition; one group for each pair of runs.

    Raises MeasureError where nothing was changed, or no control is shared.
    """
    every = [each for each in found.robustness if each.aspect is Aspect.DROP]
    parts = [each for each in found.robustness_by_condition if each.aspect is Aspect.DROP]
    if not every:
        raise MeasureError("no perturbed episode has a control that all runs did")
    groups = {
        f"{pair.second} less {pair.first}": [
            _mark("all changes", pair, whole=True),
            *(
                _mark(str(part.condition), part, whole=False)
                for part in parts
                if (part.first, part.second) == (pair.first, pair.second)
            ),
        ][:MOST]
        for pair in every
    }

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        heads = ("points", "95 % interval", "Holm p")
        along = "difference of the drops, points (right: the second is more robust)"
        forest(axes, groups, along=along, heads=heads, zero=0.0, least=0.1)
        points_axis(axes.xaxis)

    caption = (
        f"What changes cost one run less what they cost the other, against each run's own controls; "
        f"{plural(max(each.pairs for each in every), 'pair')}. Lines: 95 % intervals over starts and wordings. "
        f"p: exact, over starts, Holm-adjusted; filled marks: p < {SURE:g}."
    )
    size, fits = (WIDTH, height(groups)), fits_a_column(groups)
    return Drawing(f"robustness{suffix}", "Who is more robust", caption, size, paint, in_a_column=fits)


def _mark(label: str, each: Robustness, *, whole: bool) -> Mark:
    return Mark(
        label,
        each.change,
        each.interval,
        (points(each.change), between(each.interval, 100), p_value(each.p_holm)),
        sure=each.p_holm < SURE,
        colour=ORANGE if whole else BLUE,
        shape="s" if whole else "o",
    )
