"""`assay check`: does a world keep to the interface?"""

from __future__ import annotations

from typing import Annotated

import typer

from assay.support.console import say


def check(
    world: Annotated[str, typer.Argument(help="Name of a world, or python:module:WORLD.")],
) -> None:
    """Play two short episodes in a world and list everything that is wrong with it."""
    from assay.episodes import WORLDS
    from assay.episodes.check import check_world

    problems = check_world(WORLDS[world])
    for problem in problems:
        say(problem)
    if problems:
        raise typer.Exit(1)
    say(f"{world}: no problems found")
