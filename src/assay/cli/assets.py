"""`assay assets`: where the assets of the libero pack are, and what the things of a pack look like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.console import say

if TYPE_CHECKING:
    from assay.sim.packs.locate import Assets

app = typer.Typer(
    help="Find and remember LIBERO's and robosuite's assets; draw what a pack has.", no_args_is_help=True
)


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


@app.command("sheet")
def sheet_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .png file to write.")],
    assets: Annotated[str, typer.Option(help="The asset pack.")] = "primitives",
    patterns: Annotated[
        bool,
        typer.Option("--patterns", help="Every movable thing in every pattern, instead of everything once."),
    ] = False,
) -> None:
    """Draw a pack's things as the main camera sees them in a picture of 256 x 256, three times as large.

    Example: `assay assets sheet out/things.png`
    """
    from assay.cli.pictures import check_picture
    from assay.report.asset_sheet import asset_sheet
    from assay.sim.packs.registry import load_pack

    check_picture(file, "FILE")
    say(f"sheet: {asset_sheet(file, load_pack(assets), patterns=patterns)}")


def _show(assets: Assets) -> None:
    for name, folder in (("LIBERO", assets.libero), ("robosuite", assets.robosuite)):
        known = str(folder) if folder else "not known: assay assets add PATH"
        say(f"{name:<10} {known}")
