"""What commands that print figures for papers share: their options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.errors import RunError

if TYPE_CHECKING:
    from assay.measures.views.printing import Print

Out = Annotated[Path | None, typer.Option(help="A folder for tables (LaTeX, CSV, Markdown) and the figure.")]
FigureFormat = Annotated[
    str | None,
    typer.Option("--figures", metavar="pdf|svg", help="With --out: figures and tables for a paper."),
]
FigureWidth = Annotated[
    str, typer.Option("--width", help="Of these figures: column (3.25in), page, 8.5cm, 240pt.")
]
Font = Annotated[str | None, typer.Option("--font", help="Of these figures; one that is installed.")]
FontSize = Annotated[
    float, typer.Option("--font-size", min=4, max=24, help="Of these figures' letters, points.")
]
Names = Annotated[
    Path | None,
    typer.Option(
        "--names", metavar="FILE", help="YAML or JSON: what conditions, tasks and runs are called there."
    ),
]


def print_of(
    figures: str | None, width: str, font: str | None, size: float, names: Path | None, out: Path | None
) -> Print | None:
    """How figures are printed for a paper, if they are. Raises RunError for options that make no sense."""
    if figures is None:
        if width != "column" or font is not None or names is not None:
            raise RunError("--width, --font and --names are for --figures pdf|svg")
        return None
    if out is None:
        raise RunError("--figures needs --out DIR")
    from assay.measures.views.printing import Print

    return Print.of(figures, width, font, size, names)
