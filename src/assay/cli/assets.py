"""`assay assets`: where the assets of the libero pack are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.console import say

if TYPE_CHECKING:
    from assay.sim.packs.locate import Assets

app = typer.Typer(help="Find and remember LIBERO's and robosuite's assets.", no_args_is_help=True)


@app.command("add")
def add_command(
    path: Annotated[
        Path,
        typer.Argument(help="A LIBERO checkout, an installed robosuite or hf-libero, or a site-packages."),
    ],
) -> None:
    """Find assets below PATH and remember them."""
    from assay.sim.packs.locate import add, config_file

    _show(add(path))
    say(f"remembered in {config_file()}")


@app.command("show")
def show_command() -> None:
    """Say which assets are known."""
    from assay.sim.packs.locate import locate

    _show(locate())


def _show(assets: Assets) -> None:
    for name, folder in (("LIBERO", assets.libero), ("robosuite", assets.robosuite)):
        known = str(folder) if folder else "not known: assay assets add PATH"
        say(f"{name:<10} {known}")
