"""Everything that can be said about one run: each measure that applies to it, or why it says nothing.

found = profile(store)
found["pride"]            # a Pride, or a Missing that says why; KeyError where it does not apply
found.get(PRIDE)          # the same with its type; None where there is none
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, overload

from assay.measures.failure.nearness import OURS, NearFarRule
from assay.measures.measure import MEASURES, Measure
from assay.measures.result import Missing
from assay.measures.run_data import RunData
from assay.runs.store import Store
from assay.support.stats.intervals import plain

T = TypeVar("T")


class Profile(Mapping[str, Any]):
    """A run in numbers: results by the names of measures."""

    def __init__(self, planned: int, done: int, errors: dict[str, int], results: Mapping[str, Any]) -> None:
        self.planned = planned
        self.done = done
        self.errors = errors
        """What broke, and how often."""
        self._results = dict(results)

    def __getitem__(self, name: str) -> Any:
        """The result of a measure, or a Missing. Raises KeyError where it does not apply."""
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def get(self, key: Measure[T], default: None = None) -> T | None: ...
    @overload
    def get(self, key: str, default: Any = None) -> Any: ...
    def get(self, key: Measure[Any] | str, default: Any = None) -> Any:
        """The result of a measure; None where it does not apply, or says nothing."""
        found = self._results.get(key.name if isinstance(key, Measure) else key, default)
        return default if isinstance(found, Missing) else found

    def why(self, name: str) -> str:
        """Why a measure says nothing; empty where it does not apply, or says something."""
        found = self._results.get(name)
        return found.missing if isinstance(found, Missing) else ""

    def replaced(self, **results: Any) -> Profile:
        """The same with other results."""
        return Profile(self.planned, self.done, self.errors, self._results | results)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain JSON types."""
        counts = {"planned": self.planned, "done": self.done, "errors": self.errors}
        return counts | {name: plain(found) for name, found in self._results.items()}


def profile(
    store: Store, *, with_paths: bool = True, near_far: NearFarRule = OURS, errors_fail: bool = False
) -> Profile:
    """Measure a run with everything that applies to it; ``near_far``: which failures are near.

    With ``errors_fail`` episodes that broke count as failures, in every measure.
    """
    run = RunData(store, with_paths=with_paths, near_far=near_far, errors_fail=errors_fail)
    applying = [measure for name in MEASURES if (measure := MEASURES[name]).applies(run)]
    replaced = {name for measure in applying for name in measure.instead_of}
    results = {each.name: run.attempt(each) for each in applying if each.name not in replaced}
    return Profile(store.planned, store.done, store.reasons(), results)
