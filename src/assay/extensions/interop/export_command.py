"""`assay export`: a run's episodes for other programs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from assay.errors import RunError
from assay.support.console import emit, say


def export(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="NAME.assay")],
    parquet: Annotated[Path | None, typer.Option(help="Write a Parquet file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a CSV file, or print it: -")] = None,
    json: Annotated[Path | None, typer.Option(help="Write a JSON array, or print it: -")] = None,
    lerobot: Annotated[
        Path | None, typer.Option(help="Write a LeRobotDataset into a new folder, failures too.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="TOOL", help="wandb, trackio, tensorboard, rerun, lerobot or hf.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="With --to rerun, lerobot: a folder; with --to hf: a YAML file.")
    ] = None,
    episodes: Annotated[
        str, typer.Option(help="Of rerun and lerobot: all, failures, or keys with commas.")
    ] = "all",
    most: Annotated[
        int | None, typer.Option(min=1, help="Of rerun and lerobot: the most episodes. [50]")
    ] = None,
    images: Annotated[bool, typer.Option(help="Of rerun: draw images, by playing the actions again.")] = True,
    size: Annotated[int, typer.Option(help="Of lerobot: height and width of the images, pixels.")] = 256,
    project: Annotated[str, typer.Option(help="Of wandb and trackio: the project.")] = "assay",
    dataset: Annotated[
        str, typer.Option(help="Of hf: the id of the benchmark's dataset on the Hub, OWNER/NAME.")
    ] = "",
) -> None:
    """Write the episodes of a run as a table (key, condition, task, seed, outcome, steps, ...), or for other tools."""
    from assay.runs.store import Store
    from assay.support.files import replacing

    wanted = [("parquet", parquet), ("csv", csv), ("json", json)]
    if lerobot is not None:
        to, out = "lerobot", lerobot
    if to is None and not any(target for _, target in wanted):
        raise RunError("say where to: --parquet FILE, --csv FILE, --json FILE, --lerobot DIR or --to TOOL")
    with Store.reading(path) as store:
        if to is not None:
            from assay.extensions.interop.exchange.exporters import Wish, exporter

            wish = Wish(out, episodes, most, images, size, project, dataset)
            say(exporter(to).write(store, wish))
        for form, target in wanted:
            if target is None:
                continue
            frame, content = store.frame().drop("id"), BytesIO()
            getattr(frame, f"write_{form}")(content)
            if str(target) == "-":
                emit(content.getvalue())
            else:
                with replacing(target) as unfinished:
                    unfinished.write_bytes(content.getvalue())
                say(f"{len(frame)} episodes written to {target}")
