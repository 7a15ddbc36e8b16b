"""`assay ui`: browse runs and watch episodes in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.support.console import say


def ui(
    folder: Annotated[Path, typer.Argument(help="Folder of runs; subfolders are searched.")] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8770,
) -> None:
    """Browse runs, watch episodes beside their controls and compare runs in a browser, until Ctrl-C."""
    from assay.errors import AssayError
    from assay.support.extras import require

    require("ui", "the web app needs FastAPI and Uvicorn", AssayError)
    from assay.web.app import serve

    serve(folder, port, lambda address: say(f"{folder} is at {address} (press Ctrl-C to stop)"))
