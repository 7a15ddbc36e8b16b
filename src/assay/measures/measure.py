"""What a measure is: one value that says what is measured, where it makes sense, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from assay.measures.flaws import OwnFlaw
from assay.measures.result import MeasureError
from assay.measures.run_data import RunData
from assay.support.plugins import Registry, imported

T_co = TypeVar("T_co", covariant=True)
Lazy = str | Callable[..., Any]
"""A function, or where it is: ``module:function``, imported when it is called for."""


@dataclass(frozen=True, slots=True)
class Panel:
    """What a report shows of a measure under one heading; ``assay.report`` has tables and drawings."""

    section: str
    """The heading; a new one comes after Assay's own."""
    tables: tuple[Lazy, ...] = ()
    """Each makes a ``Table`` from the result and the ``RunReport``; None where there is nothing to show."""
    figures: tuple[Lazy, ...] = ()
    """Each makes a ``Drawing`` from the same; None where there is nothing to show. Raises MeasureError where
    it cannot be drawn."""
    runs: Lazy | None = None
    """Makes one ``Drawing`` of several runs, from a mapping of names to results; used for a single run, too."""


@dataclass(frozen=True, slots=True)
class Measure(Generic[T_co]):
    """A measure: a function from a run to a result, and how reports show it.

    A result is a frozen dataclass derived from `Result`, or a tuple or mapping of such; a function that
    cannot say anything about a run raises `MeasureError` that says why.

    >>> import polars as pl
    >>> from dataclasses import dataclass
    >>> from assay.measures import Measure, Panel, Result
    >>> @dataclass(frozen=True)
    ... class Longest(Result):
    ...     steps: int
    >>> def longest(run):
    ...     return Longest(run.frame["steps"].max())
    >>> def table(found, report):
    ...     from assay.measures.views.table import Column, Table
    ...     return Table("longest", "Longest episode", (Column("steps", "count"),), ((found.steps,),))
    >>> measure = Measure("longest", "The most control steps.", longest, panels=(Panel("Length", (table,)),))

    ``assay.register("measure", measure.name)(measure)`` makes it part of every profile, report and JSON object.
    """

    name: str
    """Its key in profiles and in JSON."""
    about: str
    """What it says, in one sentence."""
    measure: Callable[[RunData], T_co]
    needs: tuple[str, ...] = ()
    """Columns without a value in which it does not apply; ``name:`` stands for all that begin so."""
    continuous: bool = False
    """Whether it needs a world in which trajectories are paths through space."""
    world: str = ""
    """The only world that it is about; any, if empty."""
    instead_of: tuple[str, ...] = ()
    """Measures that are left out where this one applies."""
    panels: tuple[Panel, ...] = ()
    side_by_side: tuple[Lazy, ...] = ()
    """Each makes a table or a drawing of several runs only, from a mapping of names to results."""
    sentences: Lazy | None = None
    """Makes sentences for the summary, from the result and the profile."""
    numbers: Lazy | None = None
    """Makes the key numbers of the summary, from the same."""
    tests: Lazy | None = None
    """Makes tests of flaws (``FlawTest``, ``Untested``) from the profiles of the runs to which it applies, and
    which they are, from 0: ``[(which, profile), ...]``."""
    flaws: tuple[OwnFlaw, ...] = ()
    """Those that its tests name besides Assay's own."""
    wording: Lazy | None = None
    """Tells a ``Finding`` of its tests: makes a pair of texts from it, the evidence and a caveat (or nothing)."""

    def applies(self, run: RunData) -> bool:
        """Whether it makes sense for a run, whatever comes of it."""
        fits = not self.continuous or run.world.continuous
        return fits and self.world in ("", run.world.name) and all(run.has(column) for column in self.needs)


def load(function: Lazy) -> Callable[..., Any]:
    """The function that is meant."""
    return imported(function) if isinstance(function, str) else function


_HERE = "assay.measures"
MEASURES: Registry[Measure[Any]] = Registry(
    "measure",
    MeasureError,
    {
        name: f"{_HERE}.{address}"
        for name, address in {
            "success_rate": "success.rates:SUCCESS_RATE",
            "control": "success.rates:CONTROLS",
            "conditions": "success.rates:CONDITIONS",
            "changes": "success.drops:CHANGES",
            "axes": "success.drops:AXES",
            "drops": "success.drops:DROPS",
            "tasks": "success.rates:TASKS",
            "task_changes": "success.task_changes:TASK_CHANGES",
            "other_tasks": "success.other_tasks:OTHER_TASKS",
            "progress": "conduct.progress:PROGRESS",
            "side_effects": "conduct.side_effects:SIDE_EFFECTS",
            "stops": "conduct.stops:STOPS",
            "grid": "words.paraphrase:GRID",
            "names": "words.names:NAMES",
            "actions": "words.actions:ACTIONS",
            "surface": "words.surface:SURFACE",
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
            "worst_cases": "world.thresholds:WORST_CASES",
            "events": "world.events:EVENTS",
            "labels": "success.labels:LABELS",
            "memorisation": "memory.memorisation:MEMORISATION",
            "nonsense": "words.nonsense:NONSENSE",
            "failures": "failure.nearness:FAILURES",
            "starts": "failure.starts:STARTS",
            "moved": "failure.grounding:MOVED",
            "touched": "failure.grounding:TOUCHED",
            "attribution": "attribution:ATTRIBUTION",
            "latency": "world.curves:LATENCY",
            "time_limits": "time.timing:TIME_LIMITS",
            "time_to_success": "time.timing:TIME_TO_SUCCESS",
            "no_mistakes": "time.timing:NO_MISTAKES",
            "efficiency": "time.efficiency:EFFICIENCY",
        }.items()
    },
)
"""Every measure by its name; the order is that of the page."""
