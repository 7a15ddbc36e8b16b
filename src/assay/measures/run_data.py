"""A run as measures read it: its rows, its trajectories, and what other measures say about it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from assay.measures.changes import changed
from assay.measures.frames import errors_as_failures, perturbed_rows, plausible
from assay.measures.memory.paths import Paths
from assay.measures.result import MeasureError, Missing, attempt
from assay.runs.store import Store

if TYPE_CHECKING:
    from assay.measures.failure.nearness import NearFarRule
    from assay.measures.measure import Measure

T = TypeVar("T")


class RunData:
    """A run as measures read it; what several of them need is made once."""

    def __init__(
        self,
        store: Store,
        *,
        with_paths: bool = True,
        near_far: NearFarRule | None = None,
        errors_fail: bool = False,
    ) -> None:
        self._store, self._with_paths = store, with_paths
        self.errors_fail = errors_fail
        """Whether episodes that broke count as failures; otherwise they count for nothing."""
        self.near_far = near_far
        """Which failures are near; None for Assay's own rule."""
        self._results: dict[str, Any] = {}
        self.world = store.world
        """What must be known of the world it was played in."""
        self.whole = errors_as_failures(store.frame()) if errors_fail else store.frame()
        """Every recorded episode, one row each, as `Store.frame` has them: labels are columns."""
        self.frame = self.whole.drop(*self.world.start_columns, strict=False)
        """The same without what a start (task and seed) decides: it does not tell variants of a task apart."""

    @cached_property
    def meta(self) -> dict[str, Any]:
        """Where the run comes from, and how it was planned."""
        return self._store.meta

    @cached_property
    def counts(self) -> pl.DataFrame:
        """Per condition: planned, done, success, failure, error."""
        return self._store.counts()

    @cached_property
    def stopped(self) -> dict[str, dict[str, Any]]:
        """Conditions that were decided before their end: the rule and what it saw."""
        return self._store.stopped

    @cached_property
    def plausible(self) -> pl.DataFrame:
        """The rows in which success is expected."""
        return plausible(self.frame)

    @cached_property
    def perturbed(self) -> pl.DataFrame:
        """Those of them in which something was changed."""
        return perturbed_rows(self.plausible)

    @cached_property
    def changed(self) -> pl.DataFrame:
        """All rows, with what is changed, and which nouns of the instruction are."""
        return changed(self.frame)

    @cached_property
    def paths(self) -> Paths:
        """Where the end effector went. Raises MeasureError where that is not read."""
        if not self._with_paths:
            raise MeasureError("trajectories were not read")
        return Paths.read(self._store)

    def has(self, column: str) -> bool:
        """Whether some episode has a value in a column; ``name:`` stands for all that begin so."""
        if column.endswith(":"):
            return any(name.startswith(column) for name in self.whole.columns)
        return column in self.whole.columns and bool(
            (~self.whole[column].cast(pl.String).fill_null("").is_in(("", "{}"))).any()
        )

    def attempt(self, measure: Measure[T]) -> T | Missing:
        """What a measure says about the run, or why it says nothing; measured once."""
        if measure.name not in self._results:
            self._results[measure.name] = attempt(measure.measure, self)
        found: T | Missing = self._results[measure.name]
        return found

    def result(self, measure: Measure[T]) -> T:
        """What another measure says about the run. Raises MeasureError where it says nothing."""
        found = self.attempt(measure)
        if isinstance(found, Missing):
            raise MeasureError(found.missing)
        return found
