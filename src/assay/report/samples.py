"""Episodes behind the tables of a paper: which ones several runs share, and what captions say about them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import polars as pl

from assay.episodes import CONTROL
from assay.measures.frames import START
from assay.measures.views.wording import listed, plural
from assay.runs.store import Store

MAX_LISTED = 8
"""Maximum number of conditions listed in a caption."""
MARK = "*"
"""Mark of unfinished runs in tables."""


def shared_keys(runs: Mapping[Hashable, tuple[str, pl.DataFrame]]) -> dict[str, frozenset[str]]:
    """Return the keys of the episodes that all runs of a group completed without an error, by group.

    ``runs`` maps runs to their group (an experiment, for example) and frame. Groups of a single run are left out;
    runs with no perturbed episode in common share nothing.
    """
    completed: dict[str, list[pl.DataFrame]] = {}
    for group, frame in runs.values():
        rows = frame.filter(pl.col("outcome") != "error").select("key", "condition")
        completed.setdefault(group, []).append(rows)
    shared = {}
    for group, (first, *others) in completed.items():
        for other in others:
            first = first.filter(pl.col("key").is_in(other["key"].implode()))
        if others:
            is_comparable = bool((first["condition"] != CONTROL).any())
            shared[group] = frozenset(first["key"]) if is_comparable else frozenset()
    return shared


def describe_sample(frame: pl.DataFrame, called: Callable[[str], str] = lambda name: name) -> str:
    """Describe the episodes of a table: their number, their starts and their conditions.

    ``called`` maps conditions to printed names; without one, the name of the experiment is left out.
    """
    conditions = [name for name in frame["condition"].unique(maintain_order=True) if name != CONTROL]
    more = len(conditions) - MAX_LISTED
    printed = [
        name.partition("/")[2] or name if called(name) == name else called(name)
        for name in conditions[:MAX_LISTED]
    ]
    names = [*printed, *([f"{more} more"] if more > 0 else [])]
    text = f"n = {len(frame):,} from {plural(frame.select(START).n_unique(), 'start')}"
    return f"{text}, {plural(len(conditions), 'condition')} ({listed(names)})" if names else text


def describe_unfinished(store: Store) -> str:
    """Return how much of a run is missing; empty for a finished run."""
    planned = max(store.planned, int(store.meta.get("expected", 0)))
    is_unfinished = planned > store.planned or bool(store.todo())
    return f"{store.done:,} of {planned:,} planned episodes" if is_unfinished else ""


def explain_marks(unfinished: Mapping[str, str]) -> str:
    """Return a sentence on the unfinished runs for a caption; empty if all runs are finished."""
    texts = [f"{name}: {text}" for name, text in unfinished.items()]
    return f"{MARK} Unfinished, so its numbers may change ({'; '.join(texts)})." if texts else ""
