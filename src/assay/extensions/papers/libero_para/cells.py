"""The cells of LIBERO-Para's grid as its analysis has them: means over seeds, and means of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import valid_rows
from assay.measures.measure import Measure
from assay.measures.result import Result
from assay.measures.views.heat_map import ACTIONS, NONE, OBJECTS
from assay.measures.words.paraphrase import paraphrases, wording_columns

Key = tuple[str, str]
"""An object type and an action type."""
ORIGINAL: Key = (NONE, NONE)
"""The cell of the original instruction: the controls."""
CATEGORIES = {
    "lexical": ("addition", "contextual", "habitual"),
    "structural": ("coordination", "subordination"),
    "pragmatic": ("need", "embedded", "permission", "question", "hint"),
}
"""The paper's kinds of action types."""
SCOPES: dict[str, Callable[[Key], bool]] = {
    "object only": lambda key: key[0] != NONE and key[1] == NONE,
    "action only": lambda key: key[0] == NONE and key[1] != NONE,
    "both": lambda key: NONE not in key,
    "all": lambda key: key != ORIGINAL,
}
"""What a paraphrase changes, as the analysis script of the release groups it."""


@dataclass(frozen=True, slots=True)
class ParaCell(Result):
    """One cell of the grid."""

    key: Key
    success: float
    """Mean over seeds of the share of its episodes that succeed."""
    spread: float | None
    """Standard deviation of that share over seeds (of a population, as in the release); None with one seed."""
    seeds: dict[int, float]
    """Seed -> share."""
    episodes: int
    pd: float | None
    """Mean distance of its wordings from the original; None where they were not scored."""


def para_cells(frame: pl.DataFrame) -> tuple[ParaCell, ...]:
    """The cells that have episodes, row by row; the original where there are controls."""
    worded = valid_rows(paraphrases(frame))
    usual = frame.filter((pl.col("condition") == CONTROL) & (pl.col("outcome") != "error")).with_columns(
        success=(pl.col("outcome") == "success").cast(pl.Int64), object=pl.lit(NONE), action=pl.lit(NONE)
    )
    columns = ("object", "action", "seed", "success")
    rates: dict[Key, dict[int, tuple[float, int]]] = {}
    by_seed = pl.concat([usual.select(columns), worded.select(columns)]).group_by("object", "action", "seed")
    for thing, action, seed, share, count in (
        by_seed.agg(pl.col("success").mean(), pl.len().alias("count")).sort("seed").iter_rows()
    ):
        rates.setdefault((thing, action), {})[seed] = (share, count)
    far = _distances(worded)
    found = []
    for key in ((thing, action) for thing in OBJECTS for action in ACTIONS):
        if key in rates:
            shares = {seed: share for seed, (share, _) in rates[key].items()}
            values = list(shares.values())
            spread = float(np.std(values)) if len(values) > 1 else None
            episodes = sum(count for _, count in rates[key].values())
            distance = 0.0 if key == ORIGINAL else far.get(key)
            found.append(ParaCell(key, float(np.mean(values)), spread, shares, episodes, distance))
    return tuple(found)


CELLS = Measure(
    "para_cells", "The cells of LIBERO-Para's grid, means over seeds.", lambda run: para_cells(run.frame)
)


def success_of(cells: Iterable[ParaCell]) -> dict[Key, float]:
    """The success of each cell."""
    return {cell.key: cell.success for cell in cells}


def average(models: Sequence[Mapping[Key, float]]) -> dict[Key, float]:
    """The mean over models of each cell that all of them have."""
    shared = [key for key in models[0] if all(key in model for model in models)] if models else []
    return {key: float(np.mean([model[key] for model in models])) for key in shared}


def action_means(cells: Mapping[Key, float]) -> dict[str, float]:
    """The mean of the cells of each action type, each cell alike; ``none`` has the original where it is known."""
    return _means({key: key[1] for key in cells}, cells)


def category_means(cells: Mapping[Key, float]) -> dict[str, float]:
    """The mean of the action types of each category."""
    types = action_means(cells)
    known = {name: [types[kind] for kind in kinds if kind in types] for name, kinds in CATEGORIES.items()}
    return {name: float(np.mean(values)) for name, values in known.items() if values}


def object_means(cells: Mapping[Key, float]) -> dict[str, float]:
    """The mean of the cells of each object type, without the original."""
    return _means({key: key[0] for key in cells if key != ORIGINAL}, cells)


def scope_means(cells: Mapping[Key, float]) -> dict[str, tuple[float, float | None]]:
    """By what is changed: mean, standard deviation over cells (of a sample, as in the release)."""
    found = {}
    for name, within in SCOPES.items():
        values = [value for key, value in cells.items() if within(key)]
        if values:
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
            found[name] = (float(np.mean(values)), spread)
    return found


def _means(groups: Mapping[Key, str], cells: Mapping[Key, float]) -> dict[str, float]:
    """The mean of the cells of each group."""
    members: dict[str, list[float]] = {}
    for key, group in groups.items():
        members.setdefault(group, []).append(cells[key])
    return {group: float(np.mean(values)) for group, values in members.items()}


def _distances(worded: pl.DataFrame) -> dict[Key, float | None]:
    """Mean PD of the wordings of each cell, each wording once."""
    if "pd" not in worded.columns:
        return {}
    each = worded.unique(wording_columns(worded)).group_by("object", "action").agg(pl.col("pd").mean())
    return {(thing, action): pd for thing, action, pd in each.iter_rows()}
