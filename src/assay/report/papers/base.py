"""What a paper is here: a name, and a function from runs to its tables and figures.

    def make(runs):  # one `PaperRun` for each model
        yield PaperSection("Results", "How often each model succeeds.", (
            exhibit("Table 2", "Success with and without paraphrases", success_table, runs),
        ))

    PAPER = Paper("libero-para", "LIBERO-Para: ...", make)

A function that makes a table or a figure raises MeasureError where the runs cannot give it; the page then says so in
one line, in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from assay.errors import AssayError
from assay.measures.result import MeasureError, Missing
from assay.measures.run_data import RunData
from assay.measures.views.style import Drawing
from assay.measures.views.table import Table
from assay.support.plugins import Registry

P = ParamSpec("P")
T = TypeVar("T")


class PaperError(AssayError):
    """A paper that is not known, or cannot be made."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperRun:
    """A run as a paper reads it: its name in the tables, and its episodes and measures."""

    name: str
    """Of the model in tables and figures: the file's, unless two files share it."""
    meta: dict[str, Any]
    """Experiment, policy, versions, ...: what was written down when it began."""
    data: RunData
    """Its rows (``data.frame``), and whatever measures say of it (``data.result(PRIDE)``), each made once."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One table or figure of a paper, as far as the runs can give it."""

    label: str
    """What the paper calls it: Table 3, Figure 6."""
    title: str
    """What it shows, in a few words."""
    tables: tuple[Table, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    missing: tuple[str, ...] = ()
    """What cannot be given, and why: a line each."""
    titled: bool = False
    """Whether its tables and figures need their own titles: there are several, or they are of one run each."""

    @property
    def anchor(self) -> str:
        """Its place on the page, and how its files' names begin: table-3."""
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
    """As the command line names it: libero-para."""
    about: str
    """Its title."""
    make: Callable[[Sequence[PaperRun]], Iterable[PaperSection]]
    make_beside_published: Callable[[Sequence[PaperRun]], Iterable[PaperSection]] | None = None
    """The same with the authors' own numbers beside those of the runs; None where none are known here."""
    world: str | None = None
    """Where its tasks are played; runs in another world cannot give its tables. None for any."""


Part = Table | Drawing | Missing
"""What a table or figure of a paper is made of; what is missing is a line."""


def exhibit(
    label: str,
    title: str,
    make: Callable[Concatenate[T, P], Part | Iterable[Part]],
    runs: T,
    *args: P.args,
    **options: P.kwargs,
) -> Exhibit:
    """A table or figure of all runs together, or of whatever else holds results, or the line that says why not.

    ``make`` returns one part or several; their files are named after the label.
    """
    return _exhibit(label, title, _parts(make, runs, *args, **options))


def exhibit_of_each(
    label: str,
    title: str,
    make: Callable[Concatenate[PaperRun, P], Part | Iterable[Part]],
    runs: Sequence[PaperRun],
    *args: P.args,
    **options: P.kwargs,
) -> Exhibit:
    """A table or figure of each run, and a line for each run that cannot give it."""
    shown: list[Part] = []
    for place, run in enumerate(runs, start=1):
        for part in _parts(make, run, *args, **options):
            if isinstance(part, Missing):
                shown.append(Missing(f"of {run.name}: {part.missing}"))
            else:
                shown.append(
                    replace(part, name=f"{part.name}-run-{place}", title=f"{run.name}: {part.title}")
                )
    found = _exhibit(label, title, shown)
    return replace(found, titled=found.titled or len(runs) > 1)


def of_each(
    runs: Sequence[PaperRun], measured: Callable[[PaperRun], T]
) -> tuple[dict[str, T], tuple[Missing, ...]]:
    """What can be measured, by the names of runs; and a line for each run in which it cannot.

    Raises MeasureError where no run gives it.
    """
    found: dict[str, T] = {}
    missing: list[Missing] = []
    for run in runs:
        try:
            found[run.name] = measured(run)
        except MeasureError as error:
            missing.append(Missing(f"of {run.name}: {error}"))
    if not found:
        raise MeasureError("; ".join(each.missing for each in missing) or "there is no run")
    return found, tuple(missing)


def _parts(make: Callable[..., Part | Iterable[Part]], *args: Any, **options: Any) -> list[Part]:
    try:
        made = make(*args, **options)
        if isinstance(made, Table | Drawing | Missing):
            return [made]
        found: list[Part] = []
        try:
            found.extend(made)
        except MeasureError as error:  # the others are there
            found.append(Missing(str(error)))
        return found
    except MeasureError as error:
        return [Missing(str(error))]


def _exhibit(label: str, title: str, parts: Sequence[Part]) -> Exhibit:
    found = Exhibit(label, title)
    shown = [part for part in parts if not isinstance(part, Missing)]
    named = [
        replace(each, name=f"{found.anchor}-{each.name}" if len(shown) > 1 else found.anchor)
        for each in shown
    ]
    return replace(
        found,
        tables=tuple(each for each in named if isinstance(each, Table)),
        drawings=tuple(each for each in named if isinstance(each, Drawing)),
        missing=tuple(part.missing for part in parts if isinstance(part, Missing)),
        titled=len(shown) > 1,
    )


PAPERS: Registry[Paper] = Registry("paper", PaperError, {})
"""Papers by name; extensions and plugins register them: ``assay.register("paper", "mine")(Paper(...))``."""
