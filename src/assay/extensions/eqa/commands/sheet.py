"""`assay eqa sheet`: look at questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import check_picture
from assay.support.console import say


def sheet(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    out: Annotated[Path, typer.Option(help="The PNG file to write.")],
    kinds: Annotated[str, typer.Option(help="With commas: H-SP, M-SP, L-SP, H-AI, M-AI, L-AI.")] = "all",
    count: Annotated[int, typer.Option(min=1, max=40, help="Questions of each kind.")] = 1,
    seed: Annotated[int, typer.Option(help="Decides which.")] = 0,
    answers: Annotated[
        bool, typer.Option(help="With the right answers, or for a person to find them.")
    ] = True,
) -> None:
    """Draw a few questions of each kind, with their answers or without."""
    from assay.extensions.eqa import options
    from assay.extensions.eqa.question import load
    from assay.extensions.eqa.sheet import chosen, save_sheet

    check_picture(out, "--out")
    picked = chosen(load(folder), options.kinds(kinds), count, seed)
    say(f"{save_sheet(out, folder, picked, answers=answers)}: {len(picked)} questions")
