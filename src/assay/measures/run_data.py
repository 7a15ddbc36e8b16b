"""Data of a run, as passed to measures: rows, trajectories, and the results of other measures."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.failure.near_far import OURS, NearFarRule
from assay.measures.frames import label_changes, plausible
from assay.measures.memory.paths import Paths
from assay.measures.result import MeasureError, Missing, attempt
from assay.runs.store import Store

if TYPE_CHECKING:
    from assay.measures.measure import Measure

T = TypeVar("T")


class RunData:
    """Data of a run, as passed to measures. Intermediate results that several measures share are computed once."""

    def __init__(self, store: Store, *, with_paths: bool = True, near_far: NearFarRule = OURS) -> None:
        self._store, self._with_paths = store, with_paths
        self.near_far = near_far
        """Rule that separates near from far failures."""
        self._results: dict[str, Any] = {}
        self.world = store.world
        """Traits of the run's world."""
        self.whole = store.frame()
        """All recorded episodes, one row each, as `Store.frame` returns them: labels are columns."""
        self.frame = self.whole.drop(*self.world.start_columns, strict=False)
        """All recorded episodes, without the columns that the start determines: they do not distinguish variants."""
        self.plausible = plausible(self.frame)
        """Rows in which success is expected."""
        self.perturbed = self.plausible.filter(pl.col("condition") != CONTROL)
        """Perturbed rows in which success is expected."""
        self.meta = store.meta
        """Provenance and plan of the run."""
        self.counts = store.counts()
        """Number of episodes by condition: planned, done, success, failure, error."""
        self.stopped = store.stopped
        """Conditions that were stopped early, with the stopping rule and its statistics."""

    @cached_property
    def changed(self) -> pl.DataFrame:
        """All rows with the columns added by `label_changes`."""
        return label_changes(self.frame)

    @cached_property
    def paths(self) -> Paths:
        """Trajectories of the end effector. Raises MeasureError if they were not loaded."""
        if not self._with_paths:
            raise MeasureError("the trajectories of the run were not loaded")
        return Paths.of(self._store.trajectories())

    def attempt(self, measure: Measure[T]) -> T | Missing:
        """Return the result of a measure, or the reason why it is missing. Results are cached."""
        if measure.name not in self._results:
            applies = measure.applies(self)
            self._results[measure.name] = (
                attempt(measure.measure, self)
                if applies
                else Missing("the measure does not apply to the run")
            )
        result: T | Missing = self._results[measure.name]
        return result

    def result(self, measure: Measure[T]) -> T:
        """Return the result of another measure. Raises MeasureError if it is missing."""
        result = self.attempt(measure)
        if isinstance(result, Missing):
            raise MeasureError(result.missing)
        return result
