"""Success by task label, and whether it is lower on tasks with a label than on tasks without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from assay.measures.findings import Evidence, FlawTest, Profiles
from assay.measures.flaws import Flaw
from assay.measures.frames import valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun, RunData
from assay.measures.result import MeasureError
from assay.measures.success.rates import RATE, Rate, interval_note, rates
from assay.measures.views.style import FAINT, HALF, RULE, Drawing, Figure, legend_below, percent_axis, series
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import describe_runs, group_name, negate, plural
from assay.support.stats.intervals import Interval, student_over_tasks
from assay.support.stats.resampling import labels_behind
from assay.tasks.labels import COLUMN, family_order, label_order, read

MIN_TASKS = 10
"""Minimum number of tasks needed to separate the effect of a label from that of single tasks."""


def label_families(frame: pl.DataFrame) -> list[str]:
    """Return the names of a frame's label families, in order."""
    names = (name.removeprefix(COLUMN) for name in frame.columns if name.startswith(COLUMN))
    return sorted(names, key=family_order)


def with_each_label(frame: pl.DataFrame, family: str) -> pl.DataFrame:
    """Repeat each episode for each of its labels in a family, with only that label in the family's column."""
    name = f"{COLUMN}{family}"
    labels = pl.col(name).map_elements(lambda text: list(read(text)), return_dtype=pl.List(pl.String))
    return frame.drop_nulls(name).with_columns(labels).explode(name)


@dataclass(frozen=True, slots=True)
class LabelRate(Rate):
    """Success on tasks with a label, compared with tasks without it."""

    others: int | None = None
    """Number of successes on tasks without the label; None for fewer than ten tasks, or if all have it."""
    others_count: int | None = None
    behind: float | None = None
    """Success with the label minus success without it."""
    behind_interval: Interval | None = None
    """Student interval over tasks."""
    p: float | None = None
    """One-sided p value, by permutation of the labels between tasks."""


def label_rates(frame: pl.DataFrame, family: str) -> tuple[Rate, ...]:
    """Return success by label in a family, in order."""
    column = f"{COLUMN}{family}"
    values = rates(with_each_label(frame, family), (column,))
    return tuple(sorted(values, key=lambda rate: label_order(family, str(rate.group[column]))))


def _rates_by_label(run: RunData) -> dict[str, tuple[Rate, ...]]:
    """Return success by label family, where success is expected; an episode counts for each of its labels."""
    rows = run.perturbed
    result = {}
    for family in label_families(run.frame):
        result[family] = label_rates(rows, family)
        # If a change names other objects, as level 4 of LIBERO-X does, its labels describe the change, not the task.
        label = pl.col(f"{COLUMN}{family}").drop_nulls()
        of_tasks = bool((rows.group_by("task").agg(count=label.n_unique())["count"] <= 1).all())
        if rows["task"].n_unique() >= MIN_TASKS and of_tasks:
            tasks = (
                valid_rows(rows)
                .group_by("task", maintain_order=True)
                .agg(hits=pl.col("success").sum(), count=pl.len(), labels=label.first())
            )
            result[family] = tuple(_against_others(tasks, rate) for rate in result[family])
    return result


def _against_others(tasks: pl.DataFrame, rate: Rate) -> Rate:
    """Add the comparison with tasks without the label to a rate. The units are tasks, not episodes."""
    (label,) = rate.group.values()
    hits, counts = tasks.select("hits", "count").to_numpy().astype(float).T
    mine = np.array([text is not None and label in read(text) for text in tasks["labels"]])
    if not rate.count or mine.all() or not mine.any():
        return rate
    one, other = (hits / counts)[mine], (hits / counts)[~mine]
    off = np.where(mine, hits / counts - one.mean(), hits / counts - other.mean())
    error = float(np.sqrt(off @ off / (len(hits) - 2) * (1 / len(one) + 1 / len(other))))
    return LabelRate(
        **{field.name: getattr(rate, field.name) for field in fields(rate)},
        others=int(hits[~mine].sum()),
        others_count=int(counts[~mine].sum()),
        behind=float(hits[mine].sum() / counts[mine].sum() - hits[~mine].sum() / counts[~mine].sum()),
        behind_interval=student_over_tasks(float(one.mean() - other.mean()), error, len(hits) - 2),
        p=labels_behind(hits, counts, mine),
    )


def _test_labels(profiles: Profiles) -> Iterator[FlawTest]:
    """Test the label whose tasks lose most significantly compared with other tasks, if there are many tasks."""
    for run, profile in profiles:
        evidence = []
        for family, values in (profile.get(LABELS) or {}).items():
            for rate in values:
                if isinstance(rate, LabelRate) and rate.behind is not None:
                    (name,) = rate.group.values()
                    part = (f"{family}={name}", rate.behind, rate.behind_interval, rate.p)
                    counts = (rate.successes, rate.count, rate.others, rate.others_count)
                    evidence.append(Evidence(run, LABELS.name, *part, *counts))
        if evidence:
            best = min(evidence, key=lambda part: part.p or 0.0)
            assert best.interval is not None and best.p is not None
            yield FlawTest(Flaw.KIND, (best,), min(1.0, best.p * len(evidence)), negate(best.interval))


def labels_table(families: Mapping[str, Sequence[Rate]], report: ReportedRun) -> Table | None:
    """Return a table of success by label."""
    values = [rate for rates in families.values() for rate in rates]
    if not values:
        return None
    return Table.of(
        "labels",
        "Success by label",
        values,
        Column("family", value=lambda rate: next(iter(rate.group)).removeprefix(COLUMN)),
        Column("label", value=lambda rate: group_name(rate.group)),
        *RATE,
        note=interval_note(values),
    )


Spoke = tuple[str, str]
"""A label family and a label in it."""


def spokes_of(runs: Iterable[Mapping[str, Sequence[Rate]]]) -> list[Spoke]:
    """Return the labels of the runs, in order. Raises MeasureError if there are too few for a radar plot."""
    spokes = dict.fromkeys(  # not a set, whose order differs between processes
        (family, group_name(rate.group))
        for families in runs
        for family, values in families.items()
        for rate in values
        if rate.rate is not None
    )
    if not spokes:
        raise MeasureError("no episode has labels of any family")
    if len(spokes) < 3:
        raise MeasureError(f"{plural(len(spokes), 'label')}; a radar plot needs at least 3")
    return sorted(spokes, key=lambda spoke: (family_order(spoke[0]), label_order(*spoke)))


def radar(
    axes: Any,
    runs: Mapping[str, Mapping[str, Sequence[Rate]]],
    spokes: Sequence[Spoke],
    *,
    size: float = 7.5,
    names: Sequence[str] | None = None,
) -> None:
    """Plot success by label on polar axes, one line for each run; ``size`` is the font size of labels in points."""
    angles = np.linspace(0, 2 * np.pi, len(spokes), endpoint=False)
    for place, (run, families) in enumerate(runs.items()):
        values = {
            (family, group_name(rate.group)): rate for family, rates in families.items() for rate in rates
        }
        by_angle = ((angle, values.get(spoke)) for angle, spoke in zip(angles, spokes, strict=True))
        corners = [(angle, rate) for angle, rate in by_angle if rate is not None and rate.rate is not None]
        if not corners:
            continue
        look = series(place)
        line = [(angle, rate.rate or 0.0) for angle, rate in [*corners, corners[0]]]
        axes.plot(*zip(*line, strict=True), **look, markersize=size / 2, clip_on=False, label=run)
        for angle, rate in corners if len(runs) == 1 else ():
            if rate.interval is not None:
                ends = [rate.interval.low, rate.interval.high]
                axes.plot([angle] * 2, ends, color=look["color"], lw=1.1, alpha=0.6)
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    axes.set_xticks(angles, names or [f"{family}:\n{label}" for family, label in spokes], fontsize=size)
    axes.tick_params(axis="x", pad=size if names else 2 * size)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.25, 0.5, 0.75] if names else [0.25, 0.5, 0.75, 1.0])
    axes.tick_params(axis="y", labelsize=size - 0.5, labelcolor=FAINT)
    percent_axis(axes.yaxis)
    axes.set_rlabel_position(180 / len(spokes))
    axes.spines["polar"].set_color(RULE)


def radar_figure(runs: Mapping[str, Mapping[str, Sequence[Rate]]]) -> Drawing:
    """Plot success by label, with one spoke for each label of each family and one line for each run."""
    spokes = spokes_of(runs.values())

    def paint(figure: Figure) -> None:
        radar(figure.add_subplot(projection="polar"), runs, spokes)
        legend_below(figure, len(runs), 3)

    sizes = {}
    for name, families in runs.items():
        counts = [rate.count for values in families.values() for rate in values if rate.count] or [0]
        sizes[name] = f"{min(counts):,} to {max(counts):,} perturbed episodes per label"
    where = (
        "Lines along the spokes: 95 % Wilson intervals"
        if len(runs) == 1
        else "Wilson intervals are in the tables"
    )
    caption = f"Success by label where success is expected; {describe_runs(sizes)}. {where}."
    return Drawing("labels", "Success by label", caption, (HALF + 0.4, 3.6), paint)


LABELS = Measure(
    "labels",
    "Success by kind of task: rates for each label family.",
    _rates_by_label,
    needs=(COLUMN,),
    panels=(Panel("World", (labels_table,), runs=radar_figure),),
    tests=_test_labels,
)
