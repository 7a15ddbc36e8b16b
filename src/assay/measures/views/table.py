"""Tables: the same numbers for a page, a spreadsheet, plain text and a paper.

A column is declared once, on the field of the result that it shows; `Table.of` builds the table:

    @dataclass(frozen=True)
    class Stop(Result):
        stage: Annotated[str, Column("furthest stage")]
        share: Annotated[float, Column("share of failures", "share")]

    Table.of("stops", "Where failures stop", stops)
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from io import StringIO
from operator import attrgetter
from typing import Any, Literal, get_args, get_type_hints

from assay.measures.views.wording import NOT, between, group_name, number, p_value, signed
from assay.support.stats.intervals import Interval

Value = str | int | float | bool | Interval | None
Kind = Literal["text", "count", "share", "chance", "change", "p", "number", "metres"]
"""Format of a column. A share is a fraction, formatted as a percentage; a change is a difference of fractions, in
percentage points; a chance is a fraction that may be tiny."""

_DIGITS = {"share": 1, "change": 1, "number": 2, "metres": 3}
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\N{MINUS SIGN}": "$-$",
    NOT: "--",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, used alone or as the annotation of a result's field."""

    name: str
    kind: Kind = "text"
    bare: bool = False
    """Whether the heading leaves out the unit, because the table's note gives it."""
    value: Callable[[Any], Any] | None = None
    """Function that reads the cell from a result; None for the column of a field, or if rows are given as values."""

    @property
    def heading(self) -> str:
        """Name and unit of the column."""
        if self.bare:
            return self.name
        unit = {"share": ", %", "chance": ", %", "change": ", points", "metres": ", m"}.get(self.kind, "")
        return self.name + unit

    @property
    def right(self) -> bool:
        """Whether the column is right-aligned."""
        return self.kind != "text"

    def format(self, value: Value) -> str:
        """Format a value for display."""
        if value is None:
            return "not tested" if self.kind == "p" else NOT
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Interval):
            scale = 100.0 if self.kind in ("share", "change") else 1.0
            return between(value, scale, _DIGITS.get(self.kind, 1))
        if isinstance(value, str):
            return value
        match self.kind:
            case "count":
                return number(value, 0)
            case "share":
                return number(100 * value)
            case "chance":
                return f"{100 * value:.2g}"
            case "change":
                return signed(100 * value)
            case "p":
                return p_value(value)
            case "number" | "metres":
                return number(value, _DIGITS[self.kind])
        return str(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Table with named columns and rows of plain values."""

    name: str
    """Stem of the table's file names."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""
    shown_at_once: bool = False
    """Whether the page shows the table unfolded."""
    narrow: bool = False
    """Whether LaTeX should fit the table into a column."""

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        results: Iterable[Any],
        *columns: str | Column,
        note: str = "",
        shown_at_once: bool = False,
    ) -> Table:
        """Build a table with one row for each result.

        ``columns`` are names of annotated fields (``rate.count`` for a field of a nested result, with empty cells where
        that is None; ``rate.count as n`` with another heading) and columns with a ``value``; by default all annotated
        fields of the results' class.
        """
        results = list(results)
        if not results:
            return cls(name, title, (), (), note, shown_at_once)
        kind: Any = type(results[0])
        chosen = [
            column if isinstance(column, Column) else _find_column(kind, column)
            for column in columns or declared_columns(kind)
        ]
        readers = [column.value or attrgetter(column.name) for column in chosen]
        rows = tuple(
            tuple(group_name(value) if isinstance(value := read(result), dict) else value for read in readers)
            for result in results
        )
        return cls(name, title, tuple(chosen), rows, note, shown_at_once)

    def with_note(self, sentence: str) -> Table:
        """Return the table with a sentence added to its note."""
        return replace(self, note=f"{self.note} {sentence}".strip())

    def marked(self, mark: str, names: Collection[str]) -> Table:
        """Return the table with a mark after these names, where they are the whole text of a cell."""
        rows = (tuple(f"{cell}{mark}" if cell in names else cell for cell in row) for row in self.rows)
        return replace(self, rows=tuple(rows))

    @property
    def formatted_rows(self) -> list[list[str]]:
        """Rows formatted for display."""
        return [
            [column.format(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def as_csv(self) -> str:
        """Return the table as CSV with all digits: an interval becomes two columns, percentages are fractions."""
        wide = [
            any(isinstance(row[place], Interval) for row in self.rows) for place in range(len(self.columns))
        ]
        names: list[str] = []
        for column, is_interval in zip(self.columns, wide, strict=True):
            names += [f"{column.name} low", f"{column.name} high"] if is_interval else [column.name]
        written = StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(names)
        for row in self.rows:
            cells: list[object] = []
            for value, is_interval in zip(row, wide, strict=True):
                ends = (value.low, value.high) if isinstance(value, Interval) else (None, None)
                cells += ends if is_interval else (value,)
            writer.writerow(cells)
        return written.getvalue()

    def as_markdown(self) -> str:
        """Return the table as Markdown with the note as a caption."""
        rows = [[column.heading for column in self.columns], *self.formatted_rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        rule = "| " + " | ".join("---:" if column.right else "---" for column in self.columns) + " |"
        return "\n".join([f"**{self.title}.** {self.note}".strip(), "", lines[0], rule, *lines[1:], ""])

    def as_latex(self) -> str:
        """Return the table as LaTeX, which needs booktabs."""
        rows = [[column.heading for column in self.columns], *self.formatted_rows]
        lines = [" & ".join(map(latex, row)) + r" \\" for row in rows]
        places = "".join("r" if column.right else "l" for column in self.columns)
        return "\n".join(
            [
                r"% needs \usepackage{booktabs}",
                r"\begin{table}",
                r"\centering",
                *([r"\small\setlength{\tabcolsep}{3pt}"] if self.narrow else []),
                rf"\caption{{{latex(f'{self.title}. {self.note}'.strip())}}}",
                rf"\label{{tab:{self.name}}}",
                rf"\begin{{tabular}}{{{places}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


@cache
def declared_columns(kind: type) -> dict[str, Column]:
    """Return the columns declared on the fields of a result's class, in the order of the fields."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field: replace(note, value=attrgetter(field))
        for field, hint in hints.items()
        for note in getattr(hint, "__metadata__", ())
        if isinstance(note, Column)
    }


@cache
def _find_column(kind: type, path: str) -> Column:
    """Return the column of a field from its name, or from its dotted path, which may be followed by a heading."""
    path, _, heading = path.partition(" as ")
    if heading:
        return replace(_find_column(kind, path), name=heading)
    field, _, rest = path.partition(".")
    if not rest:
        return declared_columns(kind)[field]
    hint = get_type_hints(kind)[field]
    column = _find_column(next(part for part in (hint, *get_args(hint)) if is_dataclass(part)), rest)  # type: ignore[arg-type]
    read = column.value
    assert read is not None
    return replace(
        column,
        value=lambda result: None if (part := getattr(result, field)) is None else read(part),
    )


def latex(text: str) -> str:
    """Escape the characters that are commands in LaTeX."""
    return re.sub("|".join(map(re.escape, _LATEX)), lambda sign: _LATEX[sign[0]], text)
