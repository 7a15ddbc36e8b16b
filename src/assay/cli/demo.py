"""`assay demo`: a first look."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.console import output, progress_bar


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out/demo"),
    assets: Annotated[str, typer.Option(help="Asset pack: primitives or libero.")] = "primitives",
) -> None:
    """Load a few tasks, reach for what they are about, and write a contact sheet."""
    from assay.report.demo import TASKS, contact_sheet

    with progress_bar() as bar:
        task = bar.add_task("tasks", total=len(TASKS))
        sheet = contact_sheet(
            out / "contact_sheet.png", assets, lambda name: bar.update(task, advance=1, description=name)
        )
    output.print(f"{len(TASKS)} tasks drawn: {sheet}", highlight=False, soft_wrap=True)
