from __future__ import annotations

from matplotlib.figure import Figure

from assay.measures.time.timing import Limit, limits_axes
from assay.support.stats.intervals import Interval


def limits(*factors: float | None) -> list[Limit]:
    return [Limit(factor, 5, 10, 0.5, Interval(0.2, 0.8, "made up")) for factor in factors]


def test_every_run_has_its_limits_at_the_same_places():
    axes = Figure().subplots()
    limits_axes(axes, {"stopped": limits(0.9, 1.1), "free": limits(0.9, 1.0, 1.1, None)})
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.9", "1", "1.1", "none"]
    places = {line.get_label(): [round(float(x)) for x in line.get_xdata()] for line in axes.lines}
    assert places == {"stopped": [0, 2], "free": [0, 1, 2, 3]}
