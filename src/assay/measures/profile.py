"""Profile of a run: the result of each measure that applies to it, or the reason why the result is missing.

results = profile(store)
results["pride"]            # a Pride, or a Missing with the reason; KeyError if it does not apply
results.get(PRIDE)          # the same with its type; None if missing
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from assay.measures.failure.near_far import OURS, NearFarRule
from assay.measures.measure import MEASURES, Measure
from assay.measures.result import Missing
from assay.measures.run_data import RunData
from assay.runs.store import Store
from assay.support.stats.intervals import plain

T = TypeVar("T")


class Profile(dict[str, Any]):
    """Results of measures by name, each of which may be a `Missing`; measures that do not apply are left out."""

    def __init__(self, planned: int, done: int, errors: dict[str, int], results: Mapping[str, Any]) -> None:
        super().__init__(results)
        self.planned, self.done = planned, done
        self.errors = errors
        """Number of episodes by error message."""

    @overload
    def get(self, key: Measure[T], default: None = None) -> T | None: ...
    @overload
    def get(self, key: str, default: Any = None) -> Any: ...
    def get(self, key: Measure[Any] | str, default: Any = None) -> Any:
        """Return the result of a measure, or the default if the measure does not apply or lacks data."""
        result = super().get(key.name if isinstance(key, Measure) else key, default)
        return default if isinstance(result, Missing) else result

    def as_json(self) -> dict[str, Any]:
        """Return all results as plain JSON types."""
        counts = {"planned": self.planned, "done": self.done, "errors": self.errors}
        return counts | {name: plain(result) for name, result in self.items()}


def profile(store: Store, *, with_paths: bool = True, near_far: NearFarRule = OURS) -> Profile:
    """Evaluate all measures that apply to a run; ``near_far`` is the rule that separates near from far failures."""
    run = RunData(store, with_paths=with_paths, near_far=near_far)
    applying = [measure for name in MEASURES if (measure := MEASURES[name]).applies(run)]
    replaced = {name for measure in applying for name in measure.instead_of}
    results = {measure.name: run.attempt(measure) for measure in applying if measure.name not in replaced}
    return Profile(store.planned, store.done, store.reasons(), results)
