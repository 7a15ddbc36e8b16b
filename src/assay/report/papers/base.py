"""A paper: a name and a function from runs to its tables and figures.

    def make(runs):  # one `PaperRun` for each model
        yield PaperSection("Results", "How often each model succeeds.", (
            exhibit("Table 2", "Success with and without paraphrases", success_table, runs),
        ))

    PAPER = Paper("libero-para", "LIBERO-Para: ...", make)

A function that makes a table or a figure raises MeasureError if the runs lack the data; the page then shows the reason
in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from assay.errors import AssayError
from assay.measures.result import MeasureError, Missing
from assay.measures.run_data import RunData
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.support.plugins import Registry

P = ParamSpec("P")
T = TypeVar("T")


class PaperError(AssayError):
    """Raised for an unknown paper, or one that cannot be generated from the runs."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperRun:
    """A run with its name in the tables, its episodes and its measures."""

    name: str
    """Name of the model in tables and figures: the file's name, unless two files share it."""
    meta: dict[str, Any]
    """Metadata as recorded when the run began: experiment, policy, versions, ..."""
    data: RunData
    """Rows (``data.frame``) and results of measures (``data.result(PRIDE)``), each computed once."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One table or figure of a paper, with the parts that the runs have data for."""

    label: str
    """Label in the paper, for example Table 3 or Figure 6."""
    title: str
    """Content of the table or figure in a few words."""
    tables: tuple[Table, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    missing: tuple[str, ...] = ()
    """Missing parts with the reason, one line each."""
    titled: bool = False
    """Whether the parts show their own titles, because there are several or one per run."""

    @property
    def anchor(self) -> str:
        """Anchor on the page and prefix of its files: table-3."""
        return self.label.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class PaperSection:
    """Tables and figures about one question."""

    title: str
    about: str
    exhibits: tuple[Exhibit, ...]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose tables and figures can be made from runs."""

    name: str
    """Name on the command line, for example libero-para."""
    about: str
    """Title of the paper."""
    make: Callable[[Sequence[PaperRun]], Iterable[PaperSection]]
    make_beside_published: Callable[[Sequence[PaperRun]], Iterable[PaperSection]] | None = None
    """Function like ``make`` that adds the authors' numbers to those of the runs.

    None if Assay does not have them.
    """
    world: str | None = None
    """Name of the world of the paper's tasks, the only one whose runs are accepted; None for any."""


Part = Table | Drawing | Missing
"""Part of an exhibit; a missing part is shown as one line."""


def exhibit(
    label: str,
    title: str,
    make: Callable[Concatenate[T, P], Part | Iterable[Part]],
    runs: T,
    *args: P.args,
    **options: P.kwargs,
) -> Exhibit:
    """A table or figure of all runs together, or the reason for its absence.

    ``make`` returns one part or several; their files are named after the label.
    """
    return _assemble(label, title, _collect(make, runs, *args, **options))


def exhibit_of_each(
    label: str,
    title: str,
    make: Callable[Concatenate[PaperRun, P], Part | Iterable[Part]],
    runs: Sequence[PaperRun],
    *args: P.args,
    **options: P.kwargs,
) -> Exhibit:
    """A table or figure of each run, and a line for each run without the data."""
    parts: list[Part] = []
    for place, run in enumerate(runs, start=1):
        for part in _collect(make, run, *args, **options):
            if isinstance(part, Missing):
                parts.append(Missing(f"of {run.name}: {part.missing}"))
            else:
                parts.append(
                    replace(part, name=f"{part.name}-run-{place}", title=f"{run.name}: {part.title}")
                )
    result = _assemble(label, title, parts)
    return replace(result, titled=result.titled or len(runs) > 1)


@dataclass(frozen=True, slots=True)
class ExhibitPlan:
    """A table or figure of a paper and the function that makes it."""

    label: str
    title: str
    make: Callable[..., Part | Iterable[Part]]
    """A function of all runs; of one run if ``of_each``."""
    of_each: bool = False
    has_published: bool = False
    """Whether ``make`` takes ``beside``, which adds the published numbers."""


def plan_sections(
    layout: Sequence[tuple[str, str, Sequence[str]]], plans: Iterable[ExhibitPlan]
) -> Callable[..., Iterator[PaperSection]]:
    """The function that makes a paper from ``layout``: title, introduction and exhibits' labels of each section."""
    by_label = {plan.label: plan for plan in plans}

    def make(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[PaperSection]:
        for title, about, labels in layout:
            exhibits = []
            for plan in (by_label[label] for label in labels):
                options = {"beside": beside} if plan.has_published else {}
                build: Any = exhibit_of_each if plan.of_each else exhibit
                exhibits.append(build(plan.label, plan.title, plan.make, runs, **options))
            yield PaperSection(title, about, tuple(exhibits))

    return make


def of_each(
    runs: Sequence[PaperRun], measure: Callable[[PaperRun], T]
) -> tuple[dict[str, T], tuple[Missing, ...]]:
    """Return results by run name, and a line for each run without a result.

    Raises MeasureError if no run has a result.
    """
    results: dict[str, T] = {}
    missing: list[Missing] = []
    for run in runs:
        try:
            results[run.name] = measure(run)
        except MeasureError as error:
            missing.append(Missing(f"of {run.name}: {error}"))
    if not results:
        raise MeasureError("; ".join(line.missing for line in missing) or "there is no run")
    return results, tuple(missing)


def by_run(
    measure: Callable[[PaperRun], T],
) -> Callable[
    [Callable[Concatenate[dict[str, T], P], Part | Iterable[Part]]],
    Callable[Concatenate[Sequence[PaperRun], P], Iterator[Part]],
]:
    """Decorate a function of results by run name so that it takes runs; runs without a result yield a line."""

    def decorate(
        make: Callable[Concatenate[dict[str, T], P], Part | Iterable[Part]],
    ) -> Callable[Concatenate[Sequence[PaperRun], P], Iterator[Part]]:
        @wraps(make)
        def build(runs: Sequence[PaperRun], /, *args: P.args, **options: P.kwargs) -> Iterator[Part]:
            results, missing = of_each(runs, measure)
            parts = make(results, *args, **options)
            yield from [parts] if isinstance(parts, Table | Drawing | Missing) else parts
            yield from missing

        return build

    return decorate


def model_table(name: str, title: str, results: Mapping[str, Any], *columns: Column, note: str = "") -> Table:
    """A table with a row per model: its name and the values that the columns read from its result."""
    reads = [column.value for column in columns if column.value is not None]
    rows = tuple((model, *(read(result) for read in reads)) for model, result in results.items())
    return Table(name, title, (Column("model"), *columns), rows, note)


def _collect(make: Callable[..., Part | Iterable[Part]], *args: Any, **options: Any) -> list[Part]:
    parts: list[Part] = []
    try:
        result = make(*args, **options)
        # a generator may raise after its first parts, which are kept
        for part in [result] if isinstance(result, Table | Drawing | Missing) else result:
            parts.append(part)
    except MeasureError as error:
        parts.append(Missing(str(error)))
    return parts


def _assemble(label: str, title: str, parts: Sequence[Part]) -> Exhibit:
    result = Exhibit(label, title)
    present = [part for part in parts if not isinstance(part, Missing)]
    titled = len(present) > 1
    renamed = [
        replace(part, name=f"{result.anchor}-{part.name}" if titled else result.anchor) for part in present
    ]
    return replace(
        result,
        tables=tuple(part for part in renamed if isinstance(part, Table)),
        drawings=tuple(part for part in renamed if isinstance(part, Drawing)),
        missing=tuple(part.missing for part in parts if isinstance(part, Missing)),
        titled=titled,
    )


PAPERS: Registry[Paper] = Registry("paper", PaperError, {})
"""Papers by name; extensions and plugins register them: ``assay.register("paper", "mine")(Paper(...))``."""
