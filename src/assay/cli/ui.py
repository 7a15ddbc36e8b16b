"""`assay ui`: browse runs and watch episodes in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.support.console import say


def ui(
    folder: Annotated[Path, typer.Argument(help="Where the runs are, or below.")] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8770,
) -> None:
    """Browse runs, watch episodes beside their controls and compare runs in a browser, until Ctrl-C."""
    from assay.web.server import serve

    serve(folder, port, lambda address: say(f"{folder} is at {address} (Ctrl-C ends it)"))
