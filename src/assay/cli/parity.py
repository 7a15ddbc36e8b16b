"""`assay parity`: is this installation the same as LIBERO?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.execution import JsonFile, write_json
from assay.support.console import output, progress_bar, say, styled, table_of

if TYPE_CHECKING:
    from assay.sim.parity import Parity


def parity(
    folder: Annotated[
        Path, typer.Argument(help="A folder with trajectories, predicates, images and composed models.")
    ],
    libero_assets: Annotated[Path | None, typer.Option(help="LIBERO's assets.")] = None,
    robosuite_assets: Annotated[Path | None, typer.Option(help="robosuite's assets.")] = None,
    out: JsonFile = None,
) -> None:
    """Replay LIBERO's own rollouts, predicates, images and models, and measure the difference.

    Assets that are not named, set in the environment or added are looked for beside FOLDER.
    """
    from assay.sim.packs.locate import find, locate
    from assay.sim.packs.registry import libero_pack
    from assay.sim.parity import find_records, measure

    records = find_records(folder)
    known = locate(libero_assets, robosuite_assets)
    beside = find(folder.resolve().parent)
    pack = libero_pack(known.libero or beside.libero, known.robosuite or beside.robosuite)
    with progress_bar() as bar:
        task = bar.add_task("replaying", total=None)
        result = measure(
            records,
            pack,
            lambda done, total, name: bar.update(task, completed=done, total=total, description=name),
        )
    if out is None and not output.is_terminal:
        out = "-"  # a pipe gets what programs read
    if out is None or not write_json(result.as_json(), out):
        _print(result)


def _print(result: Parity) -> None:
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
    output.print(styled("sound", "green") if result.sound else styled("not sound", "red"), "installation")
