"""Tables: the same numbers for a page, a spreadsheet, a text and a paper."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from io import StringIO
from typing import Literal

from assay.measures.views.wording import NOT, between, number, p_value, signed
from assay.support.stats.intervals import Interval

Value = str | int | float | bool | Interval | None
Kind = Literal["text", "count", "share", "chance", "change", "p", "number", "metres"]
"""How a column is read: share and change are 0 to 1 and shown as percentages and percentage points.

A chance is a share that may be tiny."""

_DIGITS = {"share": 1, "change": 1, "number": 2, "metres": 3}
_LATEX = {
    "\\": r"\textbackslash{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\N{MINUS SIGN}": "$-$",
    NOT: "--",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    name: str
    kind: Kind = "text"
    bare: bool = False
    """Whether the heading leaves out the unit; the table's note says it then."""

    @property
    def heading(self) -> str:
        """Its name and unit."""
        if self.bare:
            return self.name
        unit = {"share": ", %", "chance": ", %", "change": ", points", "metres": ", m"}.get(self.kind, "")
        return self.name + unit

    @property
    def right(self) -> bool:
        """Whether it is set flush right."""
        return self.kind != "text"

    def shown(self, value: Value) -> str:
        """A value as people read it."""
        if value is None:
            return NOT
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
    """Named columns and rows of plain values."""

    name: str
    """Of its files, without the suffix."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""
    shown_at_once: bool = False
    """Whether the page shows it without being asked."""
    narrow: bool = False
    """Whether LaTeX should set it to fit a column."""

    @property
    def shown(self) -> list[list[str]]:
        """The rows as people read them."""
        return [
            [column.shown(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def as_csv(self) -> str:
        """Every digit; an interval makes two columns, shares are 0 to 1."""
        wide = [
            any(isinstance(row[place], Interval) for row in self.rows) for place in range(len(self.columns))
        ]
        names: list[str] = []
        for column, two in zip(self.columns, wide, strict=True):
            names += [f"{column.name} low", f"{column.name} high"] if two else [column.name]
        written = StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(names)
        for row in self.rows:
            cells: list[object] = []
            for value, two in zip(row, wide, strict=True):
                ends = (value.low, value.high) if isinstance(value, Interval) else (None, None)
                cells += ends if two else (value,)
            writer.writerow(cells)
        return written.getvalue()

    def as_markdown(self) -> str:
        """A table for a text."""
        rows = [[column.heading for column in self.columns], *self.shown]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        rule = "| " + " | ".join("---:" if column.right else "---" for column in self.columns) + " |"
        return "\n".join([f"**{self.title}.** {self.note}".strip(), "", lines[0], rule, *lines[1:], ""])

    def as_latex(self) -> str:
        """A table for a paper; needs booktabs."""
        rows = [[column.heading for column in self.columns], *self.shown]
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


def latex(text: str) -> str:
    """A text with what LaTeX would take for commands spelt out."""
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], text)
