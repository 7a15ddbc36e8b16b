"""The same items seen by more cameras or from elsewhere: Tables 2 to 4 and Figure 6 of ActionEQA."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from matplotlib.figure import Figure

from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.question import Kind
from assay.extensions.eqa.scoring.actioneqa.results import (
    SHARE,
    Results,
    best_models,
    mean_of,
    mean_proportions,
    means_of,
    overall_share,
    several_views,
    shares_by_kind,
)
from assay.extensions.eqa.scoring.sheet import COMPONENTS
from assay.measures.result import MeasureError
from assay.measures.views.style import FAINT, HALF, SERIES, Drawing, percent_axis, series, share_limits
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import signed

OUTSIDE = ("exo", "exo2", "exo3", "exo4")
PERSPECTIVES = {"ego": "egocentric", "exo": "exocentric", "both": "combined"}


def cameras_table(results: Results) -> Table:
    """Kinds by the number of cameras outside, model by model, on the same items."""
    views = several_views(results, OUTSIDE, "one and more cameras outside (--views exo,exo2,exo3,exo4)")
    rows: list[tuple[Value, ...]] = []
    everybody: dict[str, list[list[float | None]]] = {str(kind): [] for kind in Kind}
    for name, model in results.models.items():
        by_view = {view: shares_by_kind(results, model, view) for view in views}
        for kind in Kind:
            shares = [by_view[view].get(kind) for view in views]
            if any(share is not None for share in shares):
                rows.append((name, str(kind), *shares, _top(views, shares)))
                everybody[str(kind)].append(shares)
        if any(by_view.values()):
            means = [mean_of(list(by_view[view].values())) for view in views]
            rows.append((name, "average", *means, _top(views, means)))
    for label, found in everybody.items():
        if found:
            shares = means_of(found)
            rows.append(("mean of models", label, *shares, _top(views, shares)))
    columns = (
        *(Column("model"), Column("kind")),
        *(Column(f"{_count(view)}V", "share") for view in views),
        Column("best"),
    )
    return Table("views", "Cameras outside", columns, tuple(rows), f"{SHARE} Means over data sets.")


def camera_figures(results: Results) -> Iterator[Drawing]:
    """Overall against the number of cameras; and what mid-level errors are about, mean over models."""
    views = several_views(results, OUTSIDE, "one and more cameras outside (--views exo,exo2,exo3,exo4)")

    def lines(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (name, each) in enumerate(best_models(results)[: len(SERIES)]):
            points = [(_count(view), overall_share(results, each, view)) for view in views]
            axes.plot([x for x, _ in points], [y for _, y in points], label=name[:34], **series(place))
        axes.set_xticks([_count(view) for view in views])
        axes.set_xlabel("cameras outside")
        axes.axhline(results.score.chance, color=FAINT, linewidth=0.9, linestyle="--")
        share_limits(axes)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)

    yield Drawing("views", "Overall by cameras outside", "The dashed line is chance.", (HALF, 3.8), lines)
    found = mean_proportions(results, views)

    def stacks(figure: Figure) -> None:
        axes = figure.subplots()
        low = np.zeros(len(found))
        for place, component in enumerate(COMPONENTS):
            shares = np.array([each[place] for each in found.values()])
            axes.bar(range(len(found)), shares, bottom=low, color=SERIES[place], label=component, width=0.6)
            for x, (share, bottom) in enumerate(zip(shares, low, strict=True)):
                axes.text(
                    x,
                    bottom + share / 2,
                    f"{100 * share:.1f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white",
                )
            low = low + shares
        axes.set_xticks(
            range(len(found)), [f"{_count(view)} views"[: 6 + (_count(view) > 1)] for view in found]
        )
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    caption = "Mid level, mean over models: error rates of questions with each component, each in their sum."
    yield Drawing("components", "What errors are about", caption, (HALF, 3.4), stacks)


def perspectives_table(results: Results) -> Table:
    """Kinds by perspective, model by model, and the mean over models."""
    views = several_views(
        results, tuple(PERSPECTIVES), "the hand's camera, one outside and both (--views ego,exo,both)"
    )
    rows: list[tuple[Value, ...]] = []
    for name, model in results.models.items():
        for view in views:
            shares = shares_by_kind(results, model, view)
            rows.append(
                (
                    name,
                    PERSPECTIVES[view],
                    *(shares.get(kind) for kind in Kind),
                    mean_of(list(shares.values())),
                )
            )
    for view in views:
        found = [row[2:] for row in rows if row[1] == PERSPECTIVES[view]]
        rows.append(("mean of models", PERSPECTIVES[view], *means_of(found)))
    columns = (
        Column("model"),
        Column("view"),
        *(Column(str(kind), "share") for kind in Kind),
        Column("average", "share"),
    )
    return Table("perspectives", "Perspectives", columns, tuple(rows), f"{SHARE} Means over data sets.")


def worth_table(results: Results) -> Table:
    """Means over models: the best single view, and both against it."""
    views = several_views(
        results, tuple(PERSPECTIVES), "the hand's camera, one outside and both (--views ego,exo,both)"
    )
    if set(views) != set(PERSPECTIVES):
        raise MeasureError("needs all three of ego, exo and both")
    rows: list[tuple[Value, ...]] = []
    for predicts, level in product((True, False), Level):
        kind = next(each for each in Kind if each.predicts is predicts and each.level is level)
        means = [
            mean_of([shares_by_kind(results, model, view).get(kind) for model in results.models.values()])
            for view in PERSPECTIVES
        ]
        if any(mean is None for mean in means):
            continue
        ego, exo, both = (float(mean or 0.0) for mean in means)
        best = f"{'egocentric' if ego >= exo else 'exocentric'} ({signed(100 * abs(ego - exo))})"
        rows.append(
            (
                "prediction" if predicts else "inference",
                str(level),
                ego,
                exo,
                both,
                best,
                both - max(ego, exo),
            )
        )
    columns = (
        *map(Column, ("direction", "level")),
        *(Column(name, "share") for name in PERSPECTIVES.values()),
        *(Column("best single view"), Column("combined less best", "change")),
    )
    return Table("worth", "What views are worth", columns, tuple(rows), "Means over models.")


def _count(view: str) -> int:
    return int(view.removeprefix("exo") or 1)


def _top(views: Sequence[str], shares: Sequence[float | None]) -> str:
    known = [(share, view) for share, view in zip(shares, views, strict=True) if share is not None]
    most = max(share for share, _ in known)
    return ", ".join(f"{_count(view)}V" for share, view in known if share == most)
