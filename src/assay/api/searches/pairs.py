"""One axis of one task: what is searched, with how many episodes, and what a run remembers of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.api.searches.play import Search
from assay.api.searches.threshold import Threshold
from assay.errors import RunError
from assay.experiments.axes import Axis, AxisError, Rung
from assay.measures.world.thresholds import META
from assay.runs.store import Store
from assay.support.stats.thresholds import least_starts
from assay.tasks import Task

EACH = 30
"""Episodes for each axis of each task, if nobody says."""


@dataclass(slots=True)
class Pair:
    """One axis of one task."""

    task: Task
    axis: Axis
    ladder: tuple[Rung, ...]
    threshold: Threshold


def pairs_of(
    tasks: Sequence[Task], axes: Sequence[Axis], level: float, alpha: float
) -> tuple[list[Pair], list[str]]:
    """What can be searched, and why something cannot. Raises RunError where nothing can."""
    pairs, cannot = [], []
    for task in tasks:
        for axis in axes:
            try:
                ladder = axis.ladder(task)
            except AxisError as error:
                cannot.append(f"{axis.name}: {error}")
                continue
            pairs.append(Pair(task, axis, ladder, Threshold(axis.name, len(ladder), 0, level, alpha)))
    if not pairs:
        raise RunError(f"nothing can be searched: {'; '.join(cannot)}")
    return pairs, cannot


def share(pairs: Sequence[Pair], budget: int | None, level: float, alpha: float) -> None:
    """Give every search its part of the budget. Raises RunError where nothing could come of it."""
    least = 2 * least_starts(level, alpha)
    usual = max(EACH, least)
    each = usual if budget is None else budget // len(pairs)
    if each < least:
        raise RunError(
            f"a budget of {budget} episodes is {each} for each of {len(pairs)} searches, of which nothing could be "
            f"known; valid: {least * len(pairs)} or more, {usual * len(pairs)} by default; or fewer tasks or axes"
        )
    for pair in pairs:
        pair.threshold.budget = each


def search_of(pair: Pair, seeds: Sequence[int]) -> Search:
    """The search of a pair, to be carried out."""
    return Search(pair.task, {pair.axis.name: pair.ladder}, pair.threshold.search(seeds))


def remembered(store: Store, pairs: Sequence[Pair], cannot: Sequence[str]) -> dict[str, Any]:
    """What is searched, for the run to remember; with what earlier commands searched besides."""
    known = store.meta.get(META, {})
    found = {(each["task"], each["axis"]): each for each in known.get("pairs", ())}
    found |= {
        (pair.task.id, pair.axis.name): {
            "task": pair.task.id,
            "axis": pair.axis.name,
            "unit": pair.axis.unit,
            "magnitudes": [rung.magnitude for rung in pair.ladder],
            "ended": pair.threshold.ended or "going on",
        }
        for pair in pairs
    }
    return {
        "pairs": list(found.values()),
        "cannot": list(dict.fromkeys([*known.get("cannot", ()), *cannot])),
    }


def notes_on(pairs: Sequence[Pair]) -> list[str]:
    """What must be said of searches that came to nothing."""
    floor = [pair for pair in pairs if pair.threshold.ended == "controls"]
    said = []
    for task in dict.fromkeys(pair.task.id for pair in floor):
        starts = max(pair.threshold.starts for pair in floor if pair.task.id == task)
        said.append(f"{task}: all of {starts} controls failed: nothing can be searched at the floor")
    for pair in pairs:
        if given_up := sorted(pair.threshold.given_up):
            rungs = ", ".join(f"{pair.ladder[rung].magnitude:g}" for rung in given_up)
            said.append(
                f"{pair.task.id}: {pair.axis.name} of {rungs} {pair.axis.unit}".rstrip()
                + " was given up: hardly any start can be solved there"
            )
    return said
