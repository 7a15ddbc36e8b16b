"""`assay tabletop`: tasks told in words and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.console import say
from assay.cli.pictures import check_picture

app = typer.Typer(help="Tasks on a table, told in words and pictures.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Tasks on a table, told in words and pictures."""


@app.command()
def sheet(
    out: Annotated[Path, typer.Option(help="The picture to write, a .png.")],
    seed: Annotated[int, typer.Option(help="Another seed gives other scenes.")] = 0,
    difficulty: Annotated[
        str, typer.Option(help="default, distracting, extreme or extremely-distracting.")
    ] = "default",
) -> None:
    """Draw every task's prompt, its start, and the table once the demonstrator is done."""
    from assay.tabletop.pools import Difficulty, parsed
    from assay.tabletop.sheet import save_table_sheet

    check_picture(out, "--out")
    path = save_table_sheet(out, seed=seed, difficulty=parsed(Difficulty, difficulty))
    say(str(path))
