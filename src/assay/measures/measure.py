"""Measures: functions from a run to a result, with the tables, figures and sentences that present it.

The profile of a run contains the result of each measure that applies to it, or the reason why the result is missing:

    results = profile(store)
    results["pride"]            # a Pride, or a Missing with the reason; KeyError if it does not apply
    results.get(PRIDE)          # the same with its type; None if missing
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

import polars as pl

from assay.episodes.episode import Trajectory
from assay.episodes.spec import CONTROL
from assay.measures.failure.near_far import OURS, NearFarRule
from assay.measures.findings import Finding, FlawTest, Profiles, Untested
from assay.measures.flaws import ABSENT, CONSEQUENCES, Flaw, OwnFlaw
from assay.measures.frames import label_changes, plausible
from assay.measures.memory.paths import MAX_POINTS, AnyPaths, Paths, StoredPaths
from assay.measures.result import MeasureError, Missing, attempt
from assay.runs.store import Store
from assay.support.plugins import Registry
from assay.support.stats.intervals import plain

if TYPE_CHECKING:
    from assay.measures.failure.failures import TaskPaths

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class RunData:
    """Data of a run, as passed to measures. Intermediate results that several measures share are computed once."""

    def __init__(
        self,
        store: Store,
        *,
        with_paths: bool = True,
        near_far: NearFarRule = OURS,
        only: Collection[str] | None = None,
    ) -> None:
        """``only``: keys of the episodes to use; by default all."""
        self._store, self._with_paths = store, with_paths
        self.near_far = near_far
        """Rule that separates near from far failures."""
        self._results: dict[str, Any] = {}
        self.world = store.world
        """Traits of the run's world."""
        self.whole = store.frame()
        if only is not None:
            self.whole = self.whole.filter(pl.col("key").is_in(list(only)))
        """All recorded episodes, one row each, as `Store.frame` returns them: labels are columns."""
        self.frame = self.whole.drop(*self.world.start_columns, strict=False)
        """All recorded episodes, without the columns that the start determines: they do not distinguish variants."""
        self.meta = store.meta
        """Provenance and plan of the run."""
        self.counts = store.counts()
        """Number of episodes by condition: planned, done, success, failure, error."""
        self.stopped = store.stopped
        """Conditions that were stopped early, with the stopping rule and its statistics."""

    # Not kept: each copy of the rows of a large run takes a hundred megabytes.
    @property
    def plausible(self) -> pl.DataFrame:
        """Rows in which success is expected."""
        return plausible(self.frame)

    @property
    def perturbed(self) -> pl.DataFrame:
        """Perturbed rows in which success is expected."""
        return self.plausible.filter(pl.col("condition") != CONTROL)

    @cached_property
    def changed(self) -> pl.DataFrame:
        """All rows with the columns added by `label_changes`."""
        return label_changes(self.frame)

    @cached_property
    def paths(self) -> AnyPaths:
        """Trajectories of the end effector. Raises MeasureError if they were not loaded."""
        if not self._with_paths:
            raise MeasureError("the trajectories of the run were not loaded")
        if self.whole["steps"].sum() > MAX_POINTS:
            return StoredPaths(self._store.trajectories)
        return Paths.of(self._store.trajectories())

    def trajectories(self, ids: Sequence[int] | None) -> Iterator[tuple[int, Trajectory]]:
        """Yield the trajectories of episodes by id with their actions, or those of all episodes."""
        return self._store.trajectories(ids)

    def attempt(self, measure: Measure[T]) -> T | Missing:
        """Return the result of a measure, or the reason why it is missing. Results are cached."""
        if measure.name not in self._results:
            applies = measure.applies(self)
            self._results[measure.name] = (
                attempt(self._measure, measure)
                if applies
                else Missing("the measure does not apply to the run")
            )
        result: T | Missing = self._results[measure.name]
        return result

    def _measure(self, measure: Measure[T]) -> T:
        """Return the result of a measure. Raises ValueError if one of its numbers is infinite or undefined."""
        result = measure.measure(self)
        plain(result)
        return result

    def result(self, measure: Measure[T]) -> T:
        """Return the result of another measure. Raises MeasureError if it is missing."""
        result = self.attempt(measure)
        if isinstance(result, Missing):
            raise MeasureError(result.missing)
        return result


class ReportedRun(Protocol):
    """Run described by a report, as passed to its tables and figures."""

    @property
    def profile(self) -> Profile:
        """Results of all measures."""

    @property
    def paths(self) -> Sequence[TaskPaths]:
        """Sampled trajectories of each task."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Tables and figures of a measure under one heading of the report."""

    section: str
    """Heading in the report; new headings follow the built-in ones."""
    tables: tuple[Callable[..., Any], ...] = ()
    """Functions of the result and the `ReportedRun` that return a ``Table``, or None if there is nothing to show."""
    figures: tuple[Callable[..., Any], ...] = ()
    """Functions of the result and the `ReportedRun` that return a ``Drawing`` or None.

    They raise MeasureError if the figure cannot be drawn.
    """
    runs: Callable[..., Any] | None = None
    """Function of a mapping from run names to results that returns one ``Drawing``; also used for a single run."""


@dataclass(frozen=True, slots=True)
class Measure(Generic[T_co]):
    """Function from a run to a result, with its views in reports.

    A result is a frozen dataclass derived from `Result`, or a tuple or mapping of such dataclasses. The function raises
    `MeasureError` with the reason if the run lacks the data.

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from assay.plugin import Column, Measure, Panel, Result, Table
    >>> @dataclass(frozen=True)
    ... class Longest(Result):
    ...     steps: Annotated[int, Column("steps", "count")]
    >>> def longest(run):
    ...     return Longest(run.frame["steps"].max())
    >>> def table(result, report):
    ...     return Table.of("longest", "Longest episode", [result])
    >>> measure = Measure("longest", "The most control steps.", longest, panels=(Panel("Length", (table,)),))

    ``assay.register("measure", measure.name)(measure)`` adds it to every profile, report and JSON object.
    """

    name: str
    """Name of the measure, used as a key in profiles and in JSON."""
    about: str
    """One-sentence description."""
    measure: Callable[[RunData], T_co]
    needs: tuple[str, ...] = ()
    """Columns that must have a value; ``name:`` matches all columns with that prefix."""
    continuous: bool = False
    """Whether the measure needs a world in which trajectories are paths through space."""
    world: str = ""
    """Name of the only world to which the measure applies; empty for any world."""
    instead_of: tuple[str, ...] = ()
    """Measures replaced by this one where it applies."""
    panels: tuple[Panel, ...] = ()
    side_by_side: tuple[Callable[..., Any], ...] = ()
    """Functions of a mapping from run names to results that return tables or drawings, for several runs only."""
    sentences: Callable[[Any, Any], Iterable[str]] | None = None
    """Function of the result and the profile that returns sentences for the summary."""
    numbers: Callable[[Any, Any], Iterable[Any]] | None = None
    """Function of the result and the profile that returns key numbers for the summary."""
    tests: Callable[[Profiles], Iterable[FlawTest | Untested]] | None = None
    """Function that returns tests of flaws from the profiles that have the measure: ``[(index, profile), ...]``."""
    flaws: tuple[OwnFlaw, ...] = ()
    """Flaws named by the tests in addition to the built-in ones."""
    wording: Callable[[Finding], tuple[str, str]] | None = None
    """Function that returns the evidence and the caveat (may be empty) for a ``Finding`` based on these tests."""

    def draw_runs(self, results: Mapping[str, Any]) -> Any:
        """Return the first panel's drawing of several runs, given their results by run name."""
        draw = self.panels[0].runs
        assert draw is not None, f"{self.name} has no drawing that compares several runs"
        return draw(results)

    def applies(self, run: RunData) -> bool:
        """Return whether the measure is meaningful for a run; evaluating it may still raise MeasureError."""
        if (self.continuous and not run.world.continuous) or self.world not in ("", run.world.name):
            return False
        columns = run.whole.columns
        for name in self.needs:
            if name.endswith(":"):
                has_values = any(column.startswith(name) for column in columns)
            else:
                texts = run.whole[name].cast(pl.String).fill_null("") if name in columns else pl.Series([""])
                has_values = not texts.is_in(("", "{}")).all()
            if not has_values:
                return False
        return True


MEASURES: Registry[Measure[Any]] = Registry(
    "measure",
    MeasureError,
    {
        name: f"assay.measures.{address}"
        for name, address in {
            "success_rate": "success.rates:SUCCESS_RATE",
            "control": "success.rates:CONTROLS",
            "conditions": "success.rates:CONDITIONS",
            "changes": "success.drops:CHANGES",
            "axes": "success.drops:AXES",
            "drops": "success.drops:DROPS",
            "spread": "success.spread:SPREAD",
            "tasks": "success.rates:TASKS",
            "task_changes": "success.task_changes:TASK_CHANGES",
            "task_map": "success.task_map:TASK_MAP",
            "over_tasks": "success.over_tasks:OVER_TASKS",
            "other_tasks": "success.other_tasks:OTHER_TASKS",
            "progress": "conduct.progress:PROGRESS",
            "side_effects": "conduct.side_effects:SIDE_EFFECTS",
            "stops": "conduct.progress:STOPS",
            "grid": "words.paraphrase:GRID",
            "names": "words.names:NAMES",
            "actions": "words.phrasing:ACTIONS",
            "surface": "words.phrasing:SURFACE",
            "object_gap": "words.paraphrase:OBJECT_GAP",
            "pride": "words.pride:PRIDE",
            "overestimation": "words.pride:OVERESTIMATION",
            "sweep": "words.pride:SWEEP",
            "distance_correlation": "words.paraphrase:DISTANCE_CORRELATION",
            "levels": "world.curves:LEVELS",
            "displacement": "world.curves:DISPLACEMENT",
            "dissimilarity": "world.curves:DISSIMILARITY",
            "corruption": "world.curves:CORRUPTION",
            "thresholds": "world.thresholds:THRESHOLDS",
            "events": "world.events:EVENTS",
            "labels": "success.task_labels:LABELS",
            "memorisation": "memory.memorisation:MEMORISATION",
            "nonsense": "words.phrasing:NONSENSE",
            "failures": "failure.failures:FAILURES",
            "starts": "failure.starts:STARTS",
            "moved": "failure.grounding:MOVED",
            "touched": "failure.grounding:TOUCHED",
            "attribution": "attribution:ATTRIBUTION",
            "latency": "world.curves:LATENCY",
            "time_limits": "time.timing:TIME_LIMITS",
            "time_to_success": "time.timing:TIME_TO_SUCCESS",
            "no_mistakes": "time.timing:NO_MISTAKES",
            "efficiency": "time.timing:EFFICIENCY",
        }.items()
    },
)
"""All measures by name, in the order of the report."""


def describe_flaw(flaw: str) -> OwnFlaw:
    """Return the texts for a flaw and the flaws that it can cause, whether built-in or defined by a measure."""
    built_in = next((own for own in Flaw if own == flaw), None)
    if built_in is not None:
        claim = built_in.claim
        return OwnFlaw(flaw, claim, ABSENT.get(flaw, f"{claim}? No"), consequences=CONSEQUENCES.get(flaw, ()))
    own = (own for name in MEASURES for own in MEASURES[name].flaws if own.name == flaw)
    return next(own, OwnFlaw(flaw, flaw.capitalize(), f"{flaw.capitalize()}? No"))


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
