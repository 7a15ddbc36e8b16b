"""`assay demo`: does the instrument find the flaws that were planted?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.execution import Assets, Processes
from assay.support.console import progress_bar, say

PRIMITIVES = "primitives"


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page, the reports and the runs.")] = Path(
        "out/demo"
    ),
    assets: Assets = None,
    workers: Processes = None,
    pictures: Annotated[bool, typer.Option("--pictures", help="Only the contact sheet of tasks.")] = False,
) -> None:
    """Take policies with planted flaws through small experiments, and say what is wrong with each."""
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
    from assay.api.demo import run_demo

    with progress_bar() as bar:
        task = bar.add_task("episodes", total=None)
        page, examined = run_demo(
            out,
            assets or PRIMITIVES,
            workers=workers or os.cpu_count() or 1,
            watch=lambda done, planned: bar.update(task, completed=done, total=planned),
            sheet=sheet,
        )
    for each in examined:
        for sentence in each.diagnosis.found:
            say(f"{each.policy}: {sentence}")
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
