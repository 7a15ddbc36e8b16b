"""Where pictures may go."""

from __future__ import annotations

from pathlib import Path

from assay.errors import RenderingError


def check_picture(path: Path, option: str) -> None:
    """Refuse a path that a picture cannot be written to, before anything is drawn."""
    if path.suffix.lower() != ".png" or path.is_dir():
        raise RenderingError(f"{option} '{path}': valid: a file that ends in .png")
