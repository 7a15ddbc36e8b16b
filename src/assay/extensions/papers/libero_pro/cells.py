"""Success of runs by LIBERO suite and dimension of LIBERO-PRO, and what its authors published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import polars as pl
import yaml

from assay.episodes.spec import CONTROL
from assay.measures.result import MeasureError, Missing
from assay.measures.success.drops import Drop, drops
from assay.measures.success.rates import Rate, rates
from assay.report.papers.base import PaperRun
from assay.support.stats.intervals import Interval, bernoulli_variance, wilson_interval

SUITES = ("libero_goal", "libero_spatial", "libero_10", "libero_object")
"""In the order of the paper's table."""
DIMENSIONS = ("object", "position", "semantic", "task", "environment")
"""What LIBERO-PRO changes, one at a time; the conditions of ``pro`` and ``libero-pro`` are named after them."""
COLUMNS = (CONTROL, *DIMENSIONS)
_OWN = ("pro", "libero-pro")
"""Before the name of a dimension in conditions: changes by rule, and entries of the release's tables."""
DRAWS = {"": _OWN, "joint draws": ("libero-pro/joint",), "frozen files": ("libero-pro/frozen",)}
"""How the release's changes were chosen, and what is before the dimension in their conditions: three experiments."""

NONE = "no episode of the four suites has a condition of LIBERO-PRO (pro, libero-pro)"

Cell = tuple[str, str]
"""A LIBERO suite, and the control or a dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A run by suite and dimension."""

    rates: Mapping[Cell, Rate]
    """Success, controls included; only cells with an episode that counts."""
    drops: Mapping[Cell, Drop]
    """The paired difference to the controls."""


def cells_of(runs: Sequence[PaperRun]) -> tuple[dict[str, Cells], tuple[Missing, ...]]:
    """The cells of each run, those of joint draws and of frozen files apart; and a line for each run without any.

    Raises MeasureError where no run has any.
    """
    found: dict[str, Cells] = {}
    missing: list[Missing] = []
    for run in runs:
        made = {draw: each for draw in DRAWS if (each := _cells(run, DRAWS[draw])) is not None}
        found |= {f"{run.name}, {draw}" if draw else run.name: each for draw, each in made.items()}
        if not made:
            missing.append(Missing(f"of {run.name}: {NONE}"))
    if not found:
        raise MeasureError("; ".join(each.missing for each in missing) or "there is no run")
    return found, tuple(missing)


def _cells(run: PaperRun, before: Sequence[str]) -> Cells | None:
    parts = pl.col("condition").str.extract_groups("^(.+)/([^/]+)$").struct
    name, change = parts.field("1"), parts.field("2")
    mine = name.is_in(before) & change.is_in(DIMENSIONS)
    dimension = (
        pl.when(pl.col("condition") == CONTROL).then("condition").when(mine).then(change).otherwise(None)
    )
    suite = pl.col("task").str.split("/").list.first()
    rows = run.data.frame.with_columns(_suite=suite, _dimension=dimension)
    rows = rows.filter(pl.col("_suite").is_in(SUITES)).drop_nulls("_dimension")
    if not rows["_dimension"].is_in(DIMENSIONS).any():
        return None
    by = ("_suite", "_dimension")
    found = {_cell(rate.group): rate for rate in rates(rows, by) if rate.count}
    try:
        paired = {_cell(drop.group): drop for drop in drops(rows, by, resampling=False)}
    except MeasureError:  # no control is left to compare with
        paired = {}
    return Cells(found, paired)


def total(found: Sequence[Rate]) -> tuple[float, Interval]:
    """The mean of cells, each alike, and Wilson's interval of it, with the cells as if they were independent."""
    known = [(each.rate, each.effective) for each in found if each.rate is not None and each.effective]
    mean = sum(rate for rate, _ in known) / len(known)
    variances = [(bernoulli_variance(rate, effective), effective) for rate, effective in known]
    alone = sum(variance / effective for variance, effective in variances) / len(known) ** 2
    together = sum(variance for variance, _ in variances) / len(known)
    return mean, wilson_interval(mean, together / alone)


def _cell(group: Mapping[str, object]) -> Cell:
    return str(group["_suite"]), str(group["_dimension"])


@dataclass(frozen=True, slots=True)
class Published:
    """The authors' numbers."""

    source: str
    models: Mapping[str, Mapping[Cell, float]]
    """Model -> success of each cell, 0 to 1."""


@cache
def published() -> Published:
    """What the authors published."""
    content = yaml.safe_load(files(__package__).joinpath("published.yaml").read_text(encoding="utf-8"))
    return Published(
        content["source"],
        {
            model: {
                (suite, column): float(value)
                for suite, values in suites.items()
                for column, value in zip(content["columns"], values, strict=True)
                if value is not None
            }
            for model, suites in content["models"].items()
        },
    )
