"""`assay doctor`: what works on this machine."""

from __future__ import annotations

import os
import platform

import typer
from rich.text import Text

from assay import __version__
from assay.errors import AssetError
from assay.support.console import number_of, output, say, styled, table_of

NOT_SET_UP = styled("not set up", "yellow")
GOOD, BAD = styled("works", "green"), styled("does not work", "red")


def doctor() -> None:
    """Check how images can be rendered and which asset packs are there. Exit status 1 if nothing can render."""
    from assay.sim import gl, mujoco_version
    from assay.sim.packs.registry import PACKS, load_pack

    say(f"assay {__version__}, Python {platform.python_version()}, MuJoCo {mujoco_version()}")
    pictures = table_of("images by", "state", "detail", title="Rendering", title_justify="left")
    probes = [gl.probe(backend) for backend in gl.BACKENDS]
    for probe in probes:
        pictures.add_row(probe.backend, GOOD if probe.works else BAD, probe.detail)
    output.print(pictures)
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    works = any(probe.works and chosen in ("", probe.backend) for probe in probes)
    if chosen:
        verdict = "works" if works else f"cannot draw here; unset it, or choose of {', '.join(gl.BACKENDS)}"
        say(f"MUJOCO_GL is '{chosen}': {verdict}")

    packs = table_of("pack", "state", "detail", title="Asset packs", title_justify="left")
    for name in PACKS:
        try:
            pack = load_pack(name)
            packs.add_row(name, GOOD, f"{len(pack.categories)} categories, digest {pack.digest()[:12]}")
        except AssetError as error:
            packs.add_row(name, NOT_SET_UP, str(error))
    packs.add_row("libero states", *_states())
    output.print(packs)

    if not works:
        if not chosen:
            say(
                f"No pictures can be drawn here. On Debian or Ubuntu: {gl.INSTALL_HINT}\n"
                "Everything that needs no picture still runs."
            )
        raise typer.Exit(1)


def _states() -> tuple[Text, str]:
    """Whether LIBERO's stored initial states are there, for --states, and where."""
    from assay.sim.packs.locate import locate_states

    try:
        folder = locate_states()
    except AssetError as error:
        return NOT_SET_UP, str(error)
    files = sum(1 for each in folder.rglob("*.pruned_init*") if each.is_file())
    return GOOD, f"{number_of(files, 'file')} of stored initial states in {folder}"
